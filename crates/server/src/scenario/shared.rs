//! The journals in databases and streams that this build knows: one made for each file, moved at a restart, dropped.

/// Whether this build knows a journal for the URL.
pub fn is_known(url: &str) -> bool {
    let scheme = scheme(url);
    let is_postgres = cfg!(feature = "postgres") && matches!(scheme, "postgres" | "postgresql");
    let is_jetstream = cfg!(feature = "jetstream") && matches!(scheme, "nats" | "tls");
    is_postgres || is_jetstream
}

/// All that may be told of a URL that may hold a password.
pub fn scheme(url: &str) -> &str {
    url.split_once("://").map_or("", |(scheme, _)| scheme)
}

/// The URL of a journal of this name in the same place: a schema, or a stream.
pub fn named(url: &str, name: &str) -> String {
    match scheme(url) {
        #[cfg(feature = "jetstream")]
        "nats" | "tls" => maitred::jetstream::with_stream(url, name),
        _ => format!("{url}{}schema={name}", if url.contains('?') { '&' } else { '?' }),
    }
}

pub async fn move_journal(url: &str, to_name: &str) -> Result<(), String> {
    match scheme(url) {
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => maitred::postgres::move_journal(url, to_name).await.map_err(text),
        #[cfg(feature = "jetstream")]
        "nats" | "tls" => maitred::jetstream::move_journal(url, to_name).await.map_err(text),
        other => Err(format!("this build has no journal for `{other}` ({to_name})")),
    }
}

pub async fn drop_journal(url: &str) -> Result<(), String> {
    match scheme(url) {
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => maitred::postgres::drop_journal(url).await.map_err(text),
        #[cfg(feature = "jetstream")]
        "nats" | "tls" => maitred::jetstream::drop_journal(url).await.map_err(text),
        other => Err(format!("this build has no journal for `{other}`")),
    }
}

#[cfg(any(feature = "jetstream", feature = "postgres"))]
fn text(error: maitred::JournalError) -> String {
    error.to_string()
}
