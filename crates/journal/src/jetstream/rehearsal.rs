//! Journals that are made for a rehearsal and thrown away: under another name, moved, dropped.

use std::io::ErrorKind;

use async_nats::jetstream::ErrorCode;

use super::{
    JetStream, Settings,
    link::{failed, unreachable},
    streams,
};
use crate::{Journal, JournalError};

const READ_BYTES: usize = 4 * 1024 * 1024;

/// The URL with the stream of this name in place of its own.
pub fn with_stream(url: &str, stream: &str) -> String {
    let (place, query) =
        url.split_once('?').map_or((url, String::new()), |(place, query)| (place, format!("?{query}")));
    let servers_at = place.find("://").map_or(0, |at| at + 3);
    let servers = place[servers_at..].split('/').next().unwrap_or_default();
    format!("{}{servers}/{stream}{query}", &place[..servers_at])
}

/// Moves the records to a stream of another name, where they get new stamps. Whoever used the old one finds it gone.
pub async fn move_journal(url: &str, to_stream: &str) -> Result<(), JournalError> {
    let from = open(url).await?;
    let mut to = open(&with_stream(url, to_stream)).await?;
    let mut archive = from.archive();
    loop {
        let records = archive.read(to.head(), READ_BYTES).await?;
        if records.is_empty() {
            return drop_journal(url).await;
        }
        for record in records {
            let place = from.link.settings.place();
            let appended = to.append(record.position - 1, record.bytes).await;
            appended.map_err(|error| failed(&place, ErrorKind::Other, &error.to_string()))?;
        }
    }
}

/// Deletes the three streams.
pub async fn drop_journal(url: &str) -> Result<(), JournalError> {
    let settings = parse(url)?;
    let context = streams::connect(&settings).await?;
    for name in [&settings.stream, &settings.snapshots(), &settings.nodes()] {
        match context.delete_stream(name).await {
            Ok(_) => {}
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(unreachable(&settings.place(), &error.to_string())),
        }
    }
    Ok(())
}

fn is_gone(error: &async_nats::jetstream::context::DeleteStreamError) -> bool {
    use async_nats::jetstream::context::DeleteStreamErrorKind;
    match error.kind() {
        DeleteStreamErrorKind::JetStream(error) => error.error_code() == ErrorCode::STREAM_NOT_FOUND,
        _ => false,
    }
}

async fn open(url: &str) -> Result<JetStream, JournalError> {
    JetStream::open(Settings { accept_weaker_durability: true, ..parse(url)? }).await
}

fn parse(url: &str) -> Result<Settings, JournalError> {
    Settings::parse(url).map_err(|what| failed("--journal", ErrorKind::InvalidInput, &what))
}

#[cfg(test)]
mod tests {
    use super::with_stream;

    #[test]
    fn another_stream_on_the_same_servers() {
        assert_eq!(with_stream("nats://a:1,b:2/x?tls=off", "y"), "nats://a:1,b:2/y?tls=off");
        assert_eq!(with_stream("nats://u:p@a", "y"), "nats://u:p@a/y");
        assert_eq!(with_stream("tls://a/", "y"), "tls://a/y");
    }
}
