//! `[callbacks.NAME]` of `maitred.toml`: which app is called, and how it knows that it is us.

use std::{
    collections::BTreeMap,
    env,
    net::IpAddr,
    path::{Path, PathBuf},
};

use maitred::far::tls;
use reqwest::Url;
use rustls::ClientConfig;
use serde::Deserialize;

use super::Network;
use crate::{
    config::{ConfigError, DEFAULT_NAMESPACE},
    token::private_text,
};

/// As it stands in the file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetFields {
    /// Where the app takes callbacks.
    pub url: String,
    /// The namespace whose runs it has; `default` if absent.
    pub namespace: Option<String>,
    /// What the ids of its runs begin with; `wrun_`, as Workflow DevKit's do, if absent.
    pub runs: Option<String>,
    #[serde(default)]
    pub network: Network,
    /// The variable that has the secret; `MAITRED_CALLBACK_SECRET` if neither is given.
    pub secret_env: Option<String>,
    /// Or a file of mode 600 that has it.
    pub secret_file: Option<PathBuf>,
    /// A PEM file with roots to believe beside the platform's, for `https` with a certificate of one's own making.
    pub ca: Option<PathBuf>,
}

/// An app that can be called: everything about it has been checked.
#[derive(Clone)]
pub struct Target {
    pub name: String,
    pub url: Url,
    pub namespace: String,
    pub runs: String,
    pub network: Network,
    pub secret: Secret,
    /// Whom to believe that they are the app.
    pub believed: ClientConfig,
}

impl Target {
    /// Where it is, without what may be secret in a URL.
    pub fn shown(&self) -> Url {
        let mut url = self.url.clone();
        url.set_query(None);
        url.set_fragment(None);
        url
    }
}

/// Never shown.
#[derive(Clone)]
pub struct Secret(pub String);

const SECRET_ENV: &str = "MAITRED_CALLBACK_SECRET";
const SECRET_LEAST: usize = 32;

/// The targets of a file, with their secrets.
pub fn targets(fields: &BTreeMap<String, TargetFields>, path: &str) -> Result<Vec<Target>, ConfigError> {
    let variable = |name: &str| env::var(name).ok();
    fields
        .iter()
        .map(|(name, fields)| target(name, fields, variable))
        .collect::<Result<_, _>>()
        .map_err(|message| ConfigError { path: path.to_owned(), message })
}

fn target(
    name: &str,
    fields: &TargetFields,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Target, String> {
    let wrong = |field: &str, why: String| format!("callback `{name}`: {field}: {why}");
    let network = fields.network;
    let url = url(&fields.url, network).map_err(|why| wrong("url", why))?;
    let secret = secret(fields, variable).map_err(|(field, why)| wrong(field, why))?;
    let runs = fields.runs.clone().unwrap_or_else(|| "wrun_".to_owned());
    if runs.is_empty() {
        return Err(wrong("runs", "it is empty; allowed: what the app's run ids begin with".to_owned()));
    }
    let namespace = fields.namespace.clone().unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned());
    let believed = believed(&url, fields.ca.as_deref()).map_err(|why| wrong("ca", why))?;
    Ok(Target { name: name.to_owned(), url, namespace, runs, network, secret, believed })
}

fn believed(url: &Url, ca: Option<&Path>) -> Result<ClientConfig, String> {
    if ca.is_some() && url.scheme() != "https" {
        return Err(format!(
            "nobody shows a certificate over `{}`; use `https`, or leave it out",
            url.scheme()
        ));
    }
    tls::of_scheme(url.scheme(), ca).map_err(|problem| problem.message)
}

/// The parser writes `0x7f.1` and its like as the addresses they mean, so that what is checked is what is called.
fn url(text: &str, network: Network) -> Result<Url, String> {
    let url: Url = text.parse().map_err(|error| format!("it is no URL: {error}"))?;
    let is_open = network != Network::Public;
    match url.scheme() {
        "https" => {}
        "http" if is_open => {}
        "http" => {
            return Err(
                "`http` would show the secret to everyone on the way; use `https`, or say `network = \
                        \"private\"` or `\"loopback\"` if the app is there"
                    .to_owned(),
            );
        }
        other => return Err(format!("`{other}` is no scheme for it; allowed: https, http")),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it has a user name or password; the app is told the secret in a header".to_owned());
    }
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse::<IpAddr>() {
        Ok(address) if !network.allows(address) => {
            Err(format!("{address} is not in the network `{}`; see `network`", network.as_str()))
        }
        _ => Ok(url),
    }
}

fn secret(
    fields: &TargetFields,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Secret, (&'static str, String)> {
    let (field, found) = match (&fields.secret_file, &fields.secret_env) {
        (Some(_), Some(_)) => {
            return Err(("secret_file", "there is `secret_env` too; give one of them".to_owned()));
        }
        (Some(file), None) => {
            ("secret_file", private_text(file).map_err(|error| ("secret_file", error.to_string()))?)
        }
        (None, name) => {
            let name = name.as_deref().unwrap_or(SECRET_ENV);
            let unset = || format!("the variable {name} is not set; make a secret: openssl rand -hex 32");
            ("secret_env", variable(name).ok_or_else(|| ("secret_env", unset()))?)
        }
    };
    let secret = found.trim();
    match secret.len() >= SECRET_LEAST && secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(Secret(secret.to_owned())),
        false => {
            let why = format!(
                "the secret must have at least {SECRET_LEAST} visible ASCII characters; make one: openssl rand -hex 32"
            );
            Err((field, why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Network, TargetFields, target};

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn error(url: &str, network: Network, secret: Option<&str>) -> String {
        let fields = TargetFields { url: url.to_owned(), network, ..TargetFields::default() };
        let found = target("voice", &fields, |_| secret.map(str::to_owned));
        found.err().unwrap_or_default()
    }

    #[test]
    fn where_callbacks_may_go() {
        for (url, network) in [
            ("https://app.example/maitred", Network::Public),
            ("https://1.1.1.1/x", Network::Public),
            ("http://app.internal:3000/maitred", Network::Private),
            ("http://10.0.0.7/x", Network::Private),
            ("http://127.0.0.1:3000/x", Network::Loopback),
            ("http://[::1]:3000/x", Network::Loopback),
        ] {
            assert_eq!(error(url, network, Some(SECRET)), "", "{url}");
        }
    }

    #[test]
    fn where_they_may_not_go() {
        for (url, network) in [
            ("http://app.example/x", Network::Public),
            ("https://127.0.0.1/x", Network::Public),
            ("https://0x7f.1/x", Network::Public),
            ("https://2130706433/x", Network::Public),
            ("https://0177.0.0.1/x", Network::Public),
            ("https://127.1/x", Network::Public),
            ("https://127.0.0.1./x", Network::Public),
            ("https://１２７.0.0.1/x", Network::Public),
            ("https://0/x", Network::Public),
            ("https://0xa9fea9fe/latest/meta-data", Network::Public),
            ("https://[::]/x", Network::Public),
            ("https://[::1]/x", Network::Public),
            ("https://[::ffff:127.0.0.1]/x", Network::Public),
            ("https://[::ffff:7f00:1]/x", Network::Loopback),
            ("https://[::ffff:10.0.0.7]/x", Network::Private),
            ("https://[::127.0.0.1]/x", Network::Loopback),
            ("https://[64:ff9b::a9fe:a9fe]/x", Network::Public),
            ("https://[fe80::1]/x", Network::Private),
            ("https://[fd00:ec2::254]/latest/meta-data", Network::Private),
            ("https://100.100.100.200/latest/meta-data", Network::Private),
            ("https://user:secret@app.example/x", Network::Public),
            ("https://app.example@127.0.0.1/x", Network::Public),
            ("https://169.254.169.254/latest/meta-data", Network::Private),
            ("http://10.0.0.7/x", Network::Loopback),
            ("http://127.0.0.1/x", Network::Private),
            ("ftp://app.example/x", Network::Private),
            ("app.example", Network::Public),
        ] {
            let error = error(url, network, Some(SECRET));
            assert!(error.starts_with("callback `voice`: url: "), "{url}: {error}");
        }
    }

    #[test]
    fn roots_are_for_https_and_have_certificates() {
        let of = |url: &str, ca: &std::path::Path| {
            let network = if url.starts_with("https") { Network::Public } else { Network::Loopback };
            let (url, ca) = (url.to_owned(), Some(ca.to_owned()));
            let fields = TargetFields { url, ca, network, ..TargetFields::default() };
            target("voice", &fields, |_| Some(SECRET.to_owned())).err().unwrap_or_default()
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        let refused = of("http://127.0.0.1:3000/x", file.path());
        assert!(
            refused.starts_with("callback `voice`: ca: ") && refused.contains("use `https`"),
            "{refused}"
        );
        let empty = of("https://app.example/x", file.path());
        assert!(empty.starts_with("callback `voice`: ca: ") && empty.contains("no certificate"), "{empty}");
        let missing = of("https://app.example/x", "no-such.pem".as_ref());
        assert!(missing.contains("no-such.pem cannot be read"), "{missing}");
    }

    #[test]
    fn a_secret_is_long_and_never_told() {
        let of = |secret| error("https://app.example/x", Network::Public, secret);
        assert!(of(None).contains("MAITRED_CALLBACK_SECRET is not set"));
        let weak = of(Some(&SECRET[1..]));
        assert!(weak.contains("at least 32") && !weak.contains(&SECRET[1..]), "{weak}");
    }
}
