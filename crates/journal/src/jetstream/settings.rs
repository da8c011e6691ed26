//! Where the stream is and how it must be, as one URL says it.
//!
//! ```text
//! nats://[user:password@]host[:port][,host[:port]…]/[stream][?name=value&…]
//! ```

use std::{net::IpAddr, path::PathBuf};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const DEFAULT_STREAM: &str = "maitred";

/// Where the stream is and how it must be.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// With their scheme.
    pub servers: Vec<String>,
    /// User and password, or a token alone.
    pub login: Option<(String, Option<String>)>,
    /// The stream of the records; the others have `-snapshots` and `-nodes` behind it.
    pub stream: String,
    /// How many servers keep each record. By default three in a cluster, one on a server of its own.
    pub replicas: Option<usize>,
    /// The most that the records may take. Beyond it new ones are refused; none is dropped.
    pub max_bytes: Option<u64>,
    /// Nothing is sent before the connection is encrypted and the server has shown a certificate for its name.
    pub tls: bool,
    /// Trusted instead of what the system trusts.
    pub ca: Option<PathBuf>,
    /// The certificate and the key by which this client is known.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// `http://host:port` of the servers' monitoring, one for each: they say whether a record is flushed before it is
    /// acknowledged.
    pub monitors: Vec<String>,
    /// Take a stream that may lose what it has acknowledged; what it may lose is then told among the notes.
    pub accept_weaker_durability: bool,
    /// Records younger than this are kept, whatever snapshots there are.
    pub keep_ms: u64,
}

/// Passwords stay out of what is printed.
impl std::fmt::Debug for Settings {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Settings {{ place: {:?}, replicas: {:?}, .. }}", self.place(), self.replicas)
    }
}

impl Settings {
    /// Reads a URL. The error says what is wrong with it and what is allowed.
    pub fn parse(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("it has no scheme"))?;
        if !matches!(scheme, "nats" | "tls") {
            return Err(wrong(&format!("the scheme {scheme:?} is neither nats nor tls")));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (servers, stream) = rest.split_once('/').unwrap_or((rest, ""));
        if servers.split(',').any(str::is_empty) {
            return Err(wrong("it names no server"));
        }
        let (login, servers) = servers.rsplit_once('@').map_or(("", servers), |(login, rest)| (login, rest));
        let (user, password) = login.split_once(':').map_or((login, None), |(user, word)| (user, Some(word)));
        let login = match (user, password) {
            ("", None) => None,
            (user, None) => Some((plain(user)?, None)),
            (user, Some(password)) => Some((plain(user)?, Some(plain(password)?))),
        };
        let is_near = servers.split(',').all(is_loopback);
        let mut settings = Self {
            servers: servers.split(',').map(|server| format!("{scheme}://{server}")).collect(),
            login,
            stream: if stream.is_empty() { DEFAULT_STREAM } else { stream }.to_owned(),
            replicas: None,
            max_bytes: None,
            tls: scheme == "tls" || !is_near,
            ca: None,
            identity: None,
            monitors: Vec::new(),
            accept_weaker_durability: false,
            keep_ms: DAY_MS,
        };
        if !is_name(&settings.stream) {
            return Err(wrong("the stream's name is 1 to 64 of A-Z a-z 0-9 _ -"));
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            settings.set(name, value).map_err(|why| told(why, query, settings.login.is_some()))?;
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match (name, value) {
            ("replicas", "1" | "3" | "5") => self.replicas = value.parse().ok(),
            ("replicas", _) => return Err(wrong("replicas is 1, 3 or 5")),
            ("max_bytes", _) => match value.parse() {
                Ok(bytes @ 1_048_576..=0x7fff_ffff_ffff_ffff) => self.max_bytes = Some(bytes),
                _ => return Err(wrong("max_bytes is a number of bytes, at least 1048576")),
            },
            ("tls", "off") => self.tls = false,
            ("tls", "on") => self.tls = true,
            ("tls", _) => return Err(wrong("tls is on or off")),
            (_, "") => return Err(wrong(&format!("{name} has no value"))),
            ("ca", _) => self.ca = Some(value.into()),
            ("identity", _) => match value.split_once(',') {
                Some((certificate, key)) => self.identity = Some((certificate.into(), key.into())),
                None => return Err(wrong("identity is two files, CERTIFICATE,KEY")),
            },
            ("monitor", _) => self.monitors = value.split(',').map(str::to_owned).collect(),
            _ => {
                return Err(wrong(&format!(
                    "{name} is not known; there are replicas, max_bytes, tls, ca, identity and monitor"
                )));
            }
        }
        Ok(())
    }

    /// Names the stream for people, without a password.
    pub fn place(&self) -> String {
        let hosts = self.servers.iter().map(|server| server.rsplit(['@', '/']).next().unwrap_or_default());
        format!("nats://{}/{}", hosts.collect::<Vec<_>>().join(","), self.stream)
    }

    /// Where records are published.
    pub fn subject(&self) -> String {
        format!("{}.records", self.stream)
    }

    pub fn snapshots(&self) -> String {
        format!("{}-snapshots", self.stream)
    }

    pub fn nodes(&self) -> String {
        format!("{}-nodes", self.stream)
    }
}

fn wrong(what: &str) -> String {
    format!(
        "the journal's URL: {what}. It is nats://[user:password@]host[:port][,…]/[stream][?name=value&…], or tls://"
    )
}

/// What looks like a parameter may be the end of a password with a question mark in it, and is then not repeated.
fn told(why: String, query: &str, has_login: bool) -> String {
    match query.contains('@') && !has_login {
        true => wrong("behind the first ? stands a @; in a password write %3F for ? and %40 for @"),
        false => why,
    }
}

/// With `%40` and its like read.
fn plain(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits =
            [rest.next(), rest.next()].map(|digit| digit.and_then(|digit| (digit as char).to_digit(16)));
        match digits {
            [Some(high), Some(low)] => bytes.push((16 * high + low) as u8),
            _ => {
                return Err(wrong("a % in user or password is not followed by two digits; write %25 for it"));
            }
        }
    }
    String::from_utf8(bytes).map_err(|_| wrong("user and password are not UTF-8"))
}

fn is_name(name: &str) -> bool {
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(is_good)
}

fn is_loopback(server: &str) -> bool {
    let host = match server.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => server.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::Settings;

    #[test]
    fn a_url_says_it_all() {
        let url = "nats://ada:se:c%40ret@one:4222,two,[::1]:5/limits?replicas=3&max_bytes=9000000&ca=/etc/ca.pem\
                   &monitor=http://one:8222,http://two:8222&identity=a.pem,b.pem";
        let settings = Settings::parse(url).expect("a good URL");
        assert_eq!(settings.servers, ["nats://one:4222", "nats://two", "nats://[::1]:5"]);
        assert_eq!(settings.login, Some(("ada".to_owned(), Some("se:c@ret".to_owned()))));
        assert_eq!((settings.stream.as_str(), settings.replicas), ("limits", Some(3)));
        assert_eq!(settings.monitors, ["http://one:8222", "http://two:8222"]);
        assert_eq!(settings.max_bytes, Some(9_000_000));
        assert!(settings.tls && settings.ca.is_some() && settings.identity.is_some());
        assert_eq!(settings.place(), "nats://one:4222,two,[::1]:5/limits");
        assert!(!format!("{settings:?}").contains("ret"));
        assert_eq!(
            Settings::parse("nats://t0ken@one").expect("a good URL").login,
            Some(("t0ken".to_owned(), None))
        );
    }

    #[test]
    fn only_a_near_server_is_spoken_to_in_plain_text() {
        let tls = |url: &str| Settings::parse(url).expect("a good URL").tls;
        assert!(!tls("nats://localhost") && !tls("nats://127.0.0.1:4222/x") && !tls("nats://[::1]:4222"));
        assert!(tls("nats://example.org") && tls("nats://localhost,10.0.0.1") && tls("tls://localhost"));
        assert!(!tls("nats://example.org?tls=off"));
        assert_eq!(Settings::parse("nats://localhost").expect("a good URL").stream, "maitred");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (url, what) in [
            ("localhost:4222", "no scheme"),
            ("http://localhost", "neither nats nor tls"),
            ("nats:///limits", "no server"),
            ("nats://one,,two", "no server"),
            ("nats://one/a.b", "stream's name"),
            ("nats://one?replicas=2", "1, 3 or 5"),
            ("nats://one?max_bytes=5", "max_bytes"),
            ("nats://one?sync=always", "sync is not known"),
            ("nats://one?ca", "ca has no value"),
            ("nats://ada:se?cret@one", "write %3F"),
            ("nats://ada:se?cret=word@one", "write %3F"),
            ("nats://a:100%@one", "%25"),
            ("nats://one?tls=maybe", "on or off"),
            ("nats://one?identity=x", "CERTIFICATE,KEY"),
        ] {
            let error = Settings::parse(url).expect_err(url);
            assert!(error.contains(what), "{url}: {error}");
        }
    }
}
