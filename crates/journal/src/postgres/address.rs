//! The URL that names a journal: what the library for PostgreSQL understands, and four parameters of ours.

use std::{path::PathBuf, time::Duration};

use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};

/// How the server's certificate is looked at, as `sslmode` tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tls {
    /// No TLS.
    Off,
    /// TLS with any certificate: nobody listens in, but anybody may answer.
    Unverified,
    /// A certificate of an authority that is trusted; with `name`, one made out for this host.
    Verified { name: bool, roots: Option<PathBuf> },
}

/// Where a journal is.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub config: Config,
    pub tls: Tls,
    /// The schema that holds the tables. Another one is another journal.
    pub schema: String,
    /// Whether the others are notified of each record. Without it they only look at the tail now and then.
    pub notify: bool,
    /// For people and errors: without a password.
    pub place: String,
}

const SCHEMA: &str = "maitred";
const CONNECT_WITHIN: Duration = Duration::from_secs(2);

impl Address {
    /// Reads `postgres://user@host/database?sslmode=…&sslrootcert=…&schema=…&notify=…`.
    pub(super) fn parse(url: &str) -> Result<Address, String> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        if query.contains('@') && !base.contains('@') {
            // It may be the end of a password, which is not repeated.
            return Err(
                "behind the first ? stands a @; in a password write %3F for ? and %40 for @".to_owned()
            );
        }
        let mut kept = Vec::new();
        let (mut schema, mut mode, mut roots, mut notify) = (SCHEMA.to_owned(), None, None, true);
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("schema", value)) => schema = schema_name(value)?,
                Some(("sslmode", value)) => mode = Some(value.to_owned()),
                Some(("sslrootcert", value)) => roots = Some(PathBuf::from(value.replace("%2F", "/"))),
                Some(("notify", "on")) => notify = true,
                Some(("notify", "off")) => notify = false,
                Some(("notify", other)) => return Err(format!("notify={other}: allowed are on and off")),
                _ => kept.push(parameter),
            }
        }
        let rest = if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) };
        let mut config: Config = rest.parse().map_err(|error| format!("not a URL of PostgreSQL: {error}"))?;
        let tls = tls(mode.as_deref(), roots, is_near(&config))?;
        let with_tls = if tls == Tls::Off { SslMode::Disable } else { SslMode::Require };
        config.ssl_mode(with_tls).target_session_attrs(TargetSessionAttrs::ReadWrite);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_WITHIN);
        }
        if config.get_application_name().is_none() {
            config.application_name("maitred");
        }
        let place = place(&config, &schema);
        Ok(Address { config, tls, schema, notify, place })
    }
}

/// It stands in SQL without quotes.
fn schema_name(name: &str) -> Result<String, String> {
    let fits = |(at, byte): (usize, u8)| match byte {
        b'a'..=b'z' | b'_' => true,
        b'0'..=b'9' => at > 0,
        _ => false,
    };
    match (1..=48).contains(&name.len()) && name.bytes().enumerate().all(fits) {
        true => Ok(name.to_owned()),
        false => Err(format!("schema={name}: allowed are 1 to 48 of a-z 0-9 _, not beginning with a digit")),
    }
}

/// Over a socket or to this machine nobody is on the way.
fn is_near(config: &Config) -> bool {
    let near = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
        }
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(near) && config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback)
}

/// Where nothing is said, a server elsewhere must prove who it is.
fn tls(mode: Option<&str>, roots: Option<PathBuf>, near: bool) -> Result<Tls, String> {
    match mode {
        None if near && roots.is_none() => Ok(Tls::Off),
        None | Some("verify-full") => Ok(Tls::Verified { name: true, roots }),
        Some("verify-ca") => Ok(Tls::Verified { name: false, roots }),
        Some("require") if roots.is_some() => Ok(Tls::Verified { name: false, roots }),
        Some("require") => Ok(Tls::Unverified),
        Some("disable") => Ok(Tls::Off),
        Some(other) => Err(format!(
            "sslmode={other}: allowed are disable, require, verify-ca and verify-full (the default, except to this \
             machine); one that may or may not use TLS is not offered"
        )),
    }
}

fn place(config: &Config, schema: &str) -> String {
    let host = config.get_hosts().first().map_or("localhost".to_owned(), |host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("postgres://{host}:{port}/{database}, schema {schema}")
}

#[cfg(test)]
mod tests {
    use super::{Address, Tls};

    fn tls(url: &str) -> Tls {
        Address::parse(url).expect(url).tls
    }

    #[test]
    fn a_server_elsewhere_must_prove_who_it_is() {
        let verified = Tls::Verified { name: true, roots: None };
        assert_eq!(tls("postgres://me@db.example/limits"), verified);
        assert_eq!(tls("postgres://me@db.example/limits?sslmode=verify-full"), verified);
        assert_eq!(tls("postgres://me@127.0.0.1:5433/limits"), Tls::Off);
        assert_eq!(tls("postgres://me@db.example/limits?sslmode=require"), Tls::Unverified);
        assert_eq!(tls("postgres://me@db.example/limits?sslmode=disable"), Tls::Off);
        let own = Tls::Verified { name: false, roots: Some("/etc/ca.pem".into()) };
        assert_eq!(tls("postgres://me@db.example/limits?sslmode=require&sslrootcert=/etc/ca.pem"), own);
    }

    #[test]
    fn what_is_not_allowed_is_said() {
        for (parameter, what) in [
            ("sslmode=prefer", "may or may not"),
            ("notify=never", "on and off"),
            ("schema=Drop", "allowed are"),
            ("schema=1st", "allowed are"),
            ("colour=red", "not a URL"),
        ] {
            let error = Address::parse(&format!("postgres://me@db/limits?{parameter}")).expect_err(parameter);
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn a_password_is_told_to_nobody() {
        let address =
            Address::parse("postgres://me:secret@db.example:5433/limits?schema=prod").expect("a URL");
        assert_eq!(address.place, "postgres://db.example:5433/limits, schema prod");
        assert_eq!(address.schema, "prod");
        for url in [
            "postgres://me:x?canary@db/limits",
            "postgres://me:x?notify=canary@db/limits",
            "postgres://me:x/canary@db/limits",
            "postgres://me:canary:canary@db:port/limits",
            "postgres://me:%zzcanary@db/limits",
        ] {
            let told = Address::parse(url).map_or_else(|error| error, |address| format!("{address:?}"));
            assert!(!told.contains("canary"), "{url}: {told}");
        }
        let options = super::super::PostgresOptions::new("postgres://me:secret@db.example/limits");
        let shown = format!("{options:?} {address:?}");
        assert!(shown.contains("db.example") && !shown.contains("secret"), "{shown}");
    }
}
