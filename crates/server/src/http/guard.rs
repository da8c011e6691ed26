//! Who may come in, asked before anything else of a request is looked at.
//!
//! A server on loopback can be reached by every page that a browser on this machine shows: by a form or a script
//! that sends to `127.0.0.1`, and by a name of the page's own that suddenly points there (DNS rebinding). So the
//! `Host` must be a name of this server, and a browser that says it acts for another origin may change nothing.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use axum::{
    extract::Request,
    http::{HeaderMap, Method, header},
};
use maitred_api::Reason;

use super::{Shared, problem::Failure, studio};
use crate::token::Grant;

/// The address of this server that a connection came in on.
#[derive(Clone, Copy, Debug)]
pub struct OwnAddress(pub IpAddr);

const HEADERS_MOST: usize = 64;
const HEADER_BYTES_MOST: usize = 16 * 1024;
/// Not all that the standard calls loopback: what nobody uses is not let in.
const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
/// Probes carry no token.
const OPEN: [&str; 3] = ["/livez", "/readyz", "/healthz"];

/// What the caller may do, if they may come in at all.
pub fn check(app: &Shared, own: OwnAddress, request: &Request) -> Result<Arc<Grant>, Failure> {
    within_size(request)?;
    let host = right_host(app, own, request)?;
    same_origin(request, host)?;
    known_caller(app, request)
}

fn within_size(request: &Request) -> Result<(), Failure> {
    let headers = request.headers();
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    let line = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if headers.len() <= HEADERS_MOST && bytes + line <= HEADER_BYTES_MOST {
        return Ok(());
    }
    let message = format!(
        "the request line and headers are too large; allowed: {HEADERS_MOST} headers, {HEADER_BYTES_MOST} bytes"
    );
    Err(Failure::new(Reason::HeadersTooLarge, message))
}

/// The `Host` of the request, if it is one of ours.
fn right_host<'a>(app: &Shared, own: OwnAddress, request: &'a Request) -> Result<&'a str, Failure> {
    let wrong = |what: &str| {
        let message = format!(
            "{what}; this server answers for localhost, for its own address and for names given by --allowed-host"
        );
        Failure::new(Reason::WrongHost, message)
    };
    if request.uri().authority().is_some() {
        return Err(wrong("the request names its target as a whole URL"));
    }
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(wrong("the request has no Host header, or several"));
    };
    let text = host.to_str().map_err(|_| wrong("the Host header is not text"))?;
    match is_ours(text, &app.allowed_hosts, own.0) {
        true => Ok(text),
        false => Err(wrong("the Host header names another server")),
    }
}

fn is_ours(host: &str, allowed: &[String], own: IpAddr) -> bool {
    let Some(name) = without_port(host).map(str::to_ascii_lowercase) else {
        return false;
    };
    match name.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(ip) => LOOPBACK.contains(&ip) || ip == own || allowed.contains(&name),
        Err(_) => name == "localhost" || allowed.contains(&name),
    }
}

/// The name or address in front of `:PORT`, if there is one; an IPv6 address with its brackets.
fn without_port(host: &str) -> Option<&str> {
    let end = if host.starts_with('[') { host.find(']')? + 1 } else { host.find(':').unwrap_or(host.len()) };
    let (name, rest) = host.split_at(end);
    let port_is_number =
        rest.strip_prefix(':').is_none_or(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    let is_whole = rest.is_empty() || rest.starts_with(':');
    (is_whole && port_is_number).then_some(name)
}

/// A browser says whom it acts for. What does not change anything may be asked from anywhere: without CORS headers
/// no other page can read the answer.
fn same_origin(request: &Request, host: &str) -> Result<(), Failure> {
    if !changes(request) {
        return Ok(());
    }
    let headers = request.headers();
    let site_is_ours =
        headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin" || site == "none");
    if site_is_ours && origin_is_ours(headers, host) {
        return Ok(());
    }
    Err(Failure::new(Reason::Forbidden, "a page of another origin may not change anything here"))
}

/// A look at a slot that waits puts its caller on the line, which may confirm the slot.
fn changes(request: &Request) -> bool {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let waits = request.uri().query().is_some_and(|query| query.contains("wait"));
    !reads || waits
}

fn origin_is_ours(headers: &HeaderMap, host: &str) -> bool {
    headers.get_all(header::ORIGIN).iter().all(|origin| {
        let origin = origin.to_str().unwrap_or_default();
        let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
    })
}

fn known_caller(app: &Shared, request: &Request) -> Result<Arc<Grant>, Failure> {
    let path = request.uri().path();
    let is_open = OPEN.contains(&path) || studio::is_here(path);
    let Some(tokens) = app.tokens.as_ref().filter(|_| !is_open) else {
        return Ok(Arc::new(Grant::anyone()));
    };
    let secret = bearer(request.headers()).unwrap_or_default();
    let message = match request.headers().contains_key(header::AUTHORIZATION) {
        false => "this server wants a token: send Authorization: Bearer TOKEN",
        true => "the token that was sent is none of this server's: wrong, revoked or expired",
    };
    tokens.grant(secret).ok_or_else(|| {
        let challenge = axum::http::HeaderValue::from_static("Bearer");
        Failure::new(Reason::Unauthorized, message).with_field(header::WWW_AUTHENTICATE, challenge)
    })
}

/// The token that is given, if exactly one is: of two nobody knows which was meant. How the scheme is spelled does not
/// matter.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (given.next(), given.next()) else { return None };
    let (scheme, secret) = value.as_bytes().split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(secret)
}

#[cfg(test)]
mod tests {
    use super::{HeaderMap, bearer, header, is_ours};

    #[test]
    fn a_token_is_given_once_and_its_scheme_in_any_case() {
        let read = |given: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in given {
                headers.append(header::AUTHORIZATION, value.parse().unwrap());
            }
            bearer(&headers).map(<[u8]>::to_vec)
        };
        for scheme in ["Bearer t", "bearer t", "BEARER t"] {
            assert_eq!(read(&[scheme]), Some(b"t".to_vec()), "{scheme}");
        }
        for given in
            [&["Basic t"][..], &["Bearer"], &["t"], &["Bearer a", "Bearer b"], &["x", "Bearer b"], &[]]
        {
            assert_eq!(read(given), None, "{given:?}");
        }
    }

    #[test]
    fn hosts_that_are_ours() {
        let allowed = ["box.example".to_owned()];
        let own = "10.0.0.7".parse().unwrap();
        for host in [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1",
            "127.0.0.1:7654",
            "[::1]",
            "[::1]:80",
            "box.example:1",
            "10.0.0.7:1",
        ] {
            assert!(is_ours(host, &allowed, own), "{host}");
        }
    }

    #[test]
    fn hosts_that_are_not() {
        let own = "127.0.0.1".parse().unwrap();
        for host in [
            "",
            "evil.test",
            "localhost.evil.test",
            "127.0.0.1.evil.test",
            "10.0.0.7",
            "user@localhost",
            "local host",
            "localhost:http",
            "0.0.0.0",
            "127.1",
            "[::ffff:127.0.0.1]",
            "localhost.",
            "2130706433",
        ] {
            assert!(!is_ours(host, &[], own), "{host}");
        }
    }
}
