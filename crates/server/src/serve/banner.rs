//! What a person sees first: where the server is, what it keeps, and what to type next.

use std::net::SocketAddr;

use super::ServeOptions;
use crate::cli::DEFAULT_URL;

pub fn print(options: &ServeOptions, addr: SocketAddr, wants_token: bool) {
    anstream::println!("{}", text(options, addr, wants_token));
}

/// Where it is.
pub fn url(options: &ServeOptions, addr: SocketAddr) -> String {
    let scheme = if options.tls_cert.is_some() { "https" } else { "http" };
    format!("{scheme}://{addr}")
}

/// Where the web UI is.
pub fn studio(options: &ServeOptions, addr: SocketAddr) -> String {
    format!("{}/studio", url(options, addr))
}

fn text(options: &ServeOptions, addr: SocketAddr, wants_token: bool) -> String {
    let data = match (&options.journal, &options.data) {
        // Its URL may hold a password.
        (Some(_), _) => "in the database that --journal names (shared)".to_owned(),
        (None, Some(folder)) => format!("{} (kept)", folder.display()),
        (None, None) => "in memory (thrown away at the end)".to_owned(),
    };
    let token = match wants_token {
        true => "wanted: Authorization: Bearer …; the command line takes it from MAITRED_TOKEN",
        false => "none needed on this machine",
    };
    let version = env!("CARGO_PKG_VERSION");
    let studio = studio(options, addr);
    let url = url(options, addr);
    let flag = if url == DEFAULT_URL { String::new() } else { format!(" --url {url}") };
    format!(
        "maitred {version} listens on {url}\n  data   {data}\n  studio {studio}\n  token  {token}\n  next   maitred limits list{flag}"
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{ServeOptions, text};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: ServeOptions,
    }

    #[test]
    fn it_says_where_what_and_what_next() {
        let options = Line::parse_from(["maitred", "--data", "/var/lib/maitred"]).options;
        let addr = "127.0.0.1:7654".parse().unwrap();
        let expected = format!(
            "maitred {} listens on http://127.0.0.1:7654\n  data   /var/lib/maitred (kept)\n  \
             studio http://127.0.0.1:7654/studio\n  token  none needed on this machine\n  next   maitred limits list",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(text(&options, addr, false), expected);
    }

    #[test]
    fn it_tells_no_password() {
        let options =
            Line::parse_from(["maitred", "--journal", "postgres://me:secret@db.example/limits"]).options;
        let text = text(&options, "127.0.0.1:7654".parse().unwrap(), false);
        assert!(text.contains("that --journal names (shared)") && !text.contains("secret"), "{text}");
        assert!(!format!("{options:?}").contains("secret"));
    }

    #[test]
    fn it_does_not_promise_to_keep_what_is_thrown_away() {
        let options = Line::parse_from(["maitred"]).options;
        let text = text(&options, "10.0.0.7:80".parse().unwrap(), true);
        for part in ["in memory (thrown away at the end)", "token  wanted", "--url http://10.0.0.7:80"] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
    }
}
