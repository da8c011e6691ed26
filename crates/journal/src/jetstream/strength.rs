//! Whether what the servers acknowledge can still be lost: by what the streams' configuration says, and, where the
//! servers' monitoring can be asked, by how they flush.
//!
//! A server that does not flush before it acknowledges (the default flushes every two minutes) loses the last records
//! when its machine loses power; several of them do when they lose it together.

use std::{collections::BTreeSet, io, time::Duration};

use async_nats::jetstream::stream::{Config, DiscardPolicy, PersistenceMode, RetentionPolicy, StorageType};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::Settings;
use crate::JournalError;

/// Fewer cannot lose one and still agree.
const REPLICAS_MIN: usize = 3;
const MONITOR_WITHIN: Duration = Duration::from_secs(3);
const MONITOR_BYTES_MAX: u64 = 1 << 20;

/// What the stream of the records may lose, a line each.
pub(super) fn of_records(config: &Config, is_cluster: bool) -> Vec<String> {
    let mut weak = of_any(config);
    let name = &config.name;
    let mut check = |is_weak: bool, what: &str| {
        if is_weak {
            weak.push(format!("stream {name}: {what}"));
        }
    };
    check(
        is_cluster && config.num_replicas < REPLICAS_MIN,
        "fewer than 3 replicas in a cluster: losing one server loses or stops it",
    );
    check(config.max_messages > 0, "max_msgs is set: it drops or refuses by number");
    check(config.max_bytes > 0 && config.discard != DiscardPolicy::New, "max_bytes drops old records");
    check(config.max_messages_per_subject > 0, "max_msgs_per_subject drops old records");
    check(config.allow_rollup, "rollups are allowed: one message may replace all others");
    check(!config.deny_delete, "single records may be deleted (deny_delete is off)");
    weak
}

/// The same of the streams beside it, whose old messages may go.
pub(super) fn of_aside(config: &Config, records: &Config) -> Vec<String> {
    let mut weak = of_any(config);
    if config.num_replicas < records.num_replicas {
        weak.push(format!("stream {}: fewer replicas than the records", config.name));
    }
    weak
}

fn of_any(config: &Config) -> Vec<String> {
    let checks = [
        (config.storage != StorageType::File, "it is kept in memory"),
        (config.retention != RetentionPolicy::Limits, "its messages go when they are consumed"),
        (!config.max_age.is_zero(), "max_age drops messages by age"),
        (
            config.persist_mode == Some(PersistenceMode::Async),
            "persist_mode async acknowledges before it writes",
        ),
        (config.allow_message_ttl, "messages may carry a time to live"),
    ];
    let weak = checks.into_iter().filter(|(is_weak, _)| *is_weak);
    weak.map(|(_, what)| format!("stream {}: {what}", config.name)).collect()
}

/// What the servers' monitoring says, or that it was not asked.
pub(super) async fn of_servers(settings: &Settings, replicas: usize) -> Vec<String> {
    let mut weak = Vec::new();
    let mut servers = BTreeSet::new();
    for monitor in &settings.monitors {
        match ask(monitor).await {
            Ok((server, true)) => drop(servers.insert(server)),
            Ok((_, false)) => {
                weak.push(format!(
                    "{monitor}: it acknowledges before it flushes; set jetstream sync_interval: always"
                ));
            }
            Err(error) => weak.push(format!("{monitor}: its monitoring could not be read: {error}")),
        }
    }
    if weak.is_empty() && servers.len() < replicas {
        weak.push(format!(
            "{} of {replicas} servers have said that they flush before they acknowledge \
             (jetstream sync_interval: always); name the monitoring of each in the URL: \
             ?monitor=http://host:8222,http://…",
            servers.len()
        ));
    }
    weak
}

/// The server's id, and whether it flushes before it acknowledges.
async fn ask(monitor: &str) -> io::Result<(String, bool)> {
    let answer = tokio::time::timeout(MONITOR_WITHIN, get(monitor)).await??;
    let answer: serde_json::Value = serde_json::from_slice(&answer)?;
    let server = answer["server_id"].as_str().ok_or_else(|| io::Error::other("it names no server_id"))?;
    Ok((server.to_owned(), answer["jetstream"]["config"]["sync_always"] == true))
}

/// The body of `GET /varz`. One request to a server that closes behind its answer needs no library.
async fn get(monitor: &str) -> io::Result<Vec<u8>> {
    let host = monitor.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
    let host = host.ok_or_else(|| io::Error::other("it is not http://host:port"))?;
    let mut stream = TcpStream::connect(host).await?;
    stream.write_all(format!("GET /varz HTTP/1.0\r\nHost: {host}\r\n\r\n").as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(MONITOR_BYTES_MAX).read_to_end(&mut answer).await?;
    let body = answer.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
    let (Some(body), true) = (body, answer.starts_with(b"HTTP/1.") && answer[8..].starts_with(b" 200"))
    else {
        return Err(io::Error::other("it did not answer 200 to GET /varz"));
    };
    Ok(answer.split_off(body))
}

/// The weaknesses as notes, if they have been accepted or there are none.
pub(super) fn accept(settings: &Settings, weak: Vec<String>) -> Result<Vec<String>, JournalError> {
    if !weak.is_empty() && !settings.accept_weaker_durability {
        let what = format!(
            "what is acknowledged may be lost: {}; change that, or start with --accept-weaker-durability",
            weak.join("; ")
        );
        return Err(JournalError::Io { place: settings.place(), source: io::Error::other(what) });
    }
    Ok(weak.into_iter().map(|weak| format!("accepted by --accept-weaker-durability: {weak}")).collect())
}
