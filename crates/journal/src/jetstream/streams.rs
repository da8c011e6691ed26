//! The connection, and the three streams of a journal: made where they are missing, and looked at before use.

use std::{io::ErrorKind, time::Duration};

use async_nats::{
    ConnectOptions, Event,
    jetstream::{
        self, Context, ErrorCode,
        context::{CreateStreamErrorKind, GetStreamErrorKind},
        stream::{Config, DiscardPolicy, Info, StorageType},
    },
};

use super::{
    Settings,
    link::{ANSWER_MAX, failed, unreachable},
    strength,
};
use crate::{JournalError, RECORD_BYTES_MAX};

/// The layout of the three streams. It stands in the description of each.
const FORMAT: u32 = 1;
const DESCRIPTION: &str = "maitred journal, format ";
/// How often a cluster that is only just electing is asked again.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(500);
/// Room for the headers of a record.
const HEADERS_BYTES: usize = 1024;

pub(super) async fn connect(settings: &Settings) -> Result<Context, JournalError> {
    let place = settings.place();
    // More than one provider may be compiled in, and then none is chosen by itself.
    let _ = async_nats::rustls::crypto::ring::default_provider().install_default();
    let mut options = ConnectOptions::new()
        .name("maitred")
        .require_tls(settings.tls)
        .connection_timeout(ANSWER_MAX)
        .request_timeout(Some(ANSWER_MAX))
        .ping_interval(Duration::from_secs(5))
        .reconnect_delay_callback(|tries| Duration::from_millis((20 << tries.min(5)) as u64))
        .event_callback(|event| async move {
            match event {
                Event::Connected => tracing::info!("connected to a server of the journal"),
                other => tracing::warn!(event = %other, "the connection to the journal's servers"),
            }
        });
    options = match &settings.login {
        None => options,
        Some((user, Some(password))) => options.user_and_password(user.clone(), password.clone()),
        Some((token, None)) => options.token(token.clone()),
    };
    if let Some(ca) = &settings.ca {
        options = options.add_root_certificates(ca.clone());
    }
    if let Some((certificate, key)) = &settings.identity {
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    let servers: Result<Vec<async_nats::ServerAddr>, _> =
        settings.servers.iter().map(|server| server.parse()).collect();
    let servers = servers.map_err(|source| JournalError::Io { place: place.clone(), source })?;
    let client = options.connect(servers).await.map_err(|error| unreachable(&place, &describe(&error)))?;
    let payload = client.server_info().max_payload;
    if payload < RECORD_BYTES_MAX + HEADERS_BYTES {
        let what = format!(
            "the server takes messages of {payload} bytes, and a record may have {RECORD_BYTES_MAX}; set max_payload: 1MB"
        );
        return Err(failed(&place, ErrorKind::Unsupported, &what));
    }
    Ok(jetstream::context::ContextBuilder::new().timeout(ANSWER_MAX).build(client))
}

/// An error with what brought it about, unless it repeats that.
fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = next.source();
    }
    text
}

/// Makes the streams that are missing, and checks all three. Answers the records' and what the operator has to know.
pub(super) async fn prepare(
    context: &Context,
    settings: &Settings,
) -> Result<(Info, Vec<String>), JournalError> {
    let is_cluster = context.client().server_info().cluster.is_some();
    let replicas = settings.replicas.unwrap_or(if is_cluster { 3 } else { 1 });
    let records = provide(context, settings, records(settings, replicas)).await?;
    let snapshots = provide(context, settings, aside(settings.snapshots(), replicas, -1)).await?;
    let nodes = provide(context, settings, aside(settings.nodes(), replicas, 1)).await?;
    let mut weak = strength::of_records(&records.config, is_cluster);
    weak.extend(strength::of_aside(&snapshots.config, &records.config));
    weak.extend(strength::of_aside(&nodes.config, &records.config));
    weak.extend(strength::of_servers(settings, records.config.num_replicas).await);
    Ok((records, strength::accept(settings, weak)?))
}

fn records(settings: &Settings, replicas: usize) -> Config {
    let max_bytes = settings.max_bytes.and_then(|bytes| i64::try_from(bytes).ok());
    Config {
        subjects: vec![settings.subject()],
        max_bytes: max_bytes.unwrap_or(-1),
        // What is full refuses; it never drops.
        discard: DiscardPolicy::New,
        deny_delete: true,
        ..base(settings.stream.clone(), replicas)
    }
}

/// What is not a record: snapshots in chunks, and the nodes' signs of life.
fn aside(name: String, replicas: usize, max_messages_per_subject: i64) -> Config {
    Config { subjects: vec![format!("{name}.>")], max_messages_per_subject, ..base(name, replicas) }
}

fn base(name: String, num_replicas: usize) -> Config {
    Config {
        name,
        num_replicas,
        storage: StorageType::File,
        max_messages: -1,
        max_bytes: -1,
        max_messages_per_subject: -1,
        description: Some(format!("{DESCRIPTION}{FORMAT}")),
        ..Config::default()
    }
}

/// The stream as it is, or made as it should be.
async fn provide(context: &Context, settings: &Settings, wanted: Config) -> Result<Info, JournalError> {
    let place = format!("{} (stream {})", settings.place(), wanted.name);
    let mut tries = 0;
    let info = loop {
        tries += 1;
        match look_or_make(context, &wanted).await {
            Ok(info) => break info,
            Err(Attempt::Refused(what)) => return Err(failed(&place, ErrorKind::Other, &what)),
            Err(Attempt::NotNow(what)) if tries == TRIES => return Err(unreachable(&place, &what)),
            Err(Attempt::NotNow(_)) => tokio::time::sleep(PAUSE).await,
        }
    };
    check_ours(&place, &info.config, &wanted)?;
    match settings.replicas {
        Some(replicas) if replicas != info.config.num_replicas => {
            let config = Config { num_replicas: replicas, ..info.config };
            let updated = context.update_stream(config).await;
            updated.map_err(|error| failed(&place, ErrorKind::Other, &describe(&error)))
        }
        _ => Ok(info),
    }
}

enum Attempt {
    Refused(String),
    /// A cluster that elects, or a stream that is only just being made or deleted.
    NotNow(String),
}

async fn look_or_make(context: &Context, wanted: &Config) -> Result<Info, Attempt> {
    match context.get_stream(&wanted.name).await {
        Ok(stream) => return Ok(stream.cached_info().clone()),
        Err(error) => match error.kind() {
            GetStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND => {}
            GetStreamErrorKind::JetStream(error) if is_refusal(error.error_code()) => {
                return Err(Attempt::Refused(error.to_string()));
            }
            _ => return Err(Attempt::NotNow(describe(&error))),
        },
    }
    match context.create_stream(wanted.clone()).await {
        Ok(stream) => Ok(stream.cached_info().clone()),
        Err(error) => match error.kind() {
            CreateStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NAME_EXIST => {
                Err(Attempt::NotNow(error.to_string()))
            }
            CreateStreamErrorKind::JetStream(error) if is_refusal(error.error_code()) => {
                Err(Attempt::Refused(error.to_string()))
            }
            _ => Err(Attempt::NotNow(describe(&error))),
        },
    }
}

/// Not a cluster that is not ready, nor a stream on its way.
fn is_refusal(code: ErrorCode) -> bool {
    let passing = [
        ErrorCode::CLUSTER_NOT_AVAILABLE,
        ErrorCode::STREAM_CREATE,
        ErrorCode::CLUSTER_NO_PEERS,
        ErrorCode::CLUSTER_NOT_LEADER,
    ];
    !passing.contains(&code)
}

/// Somebody else's stream is left alone, and so is one of a newer version.
fn check_ours(place: &str, found: &Config, wanted: &Config) -> Result<(), JournalError> {
    let format = found.description.as_deref().and_then(|text| text.strip_prefix(DESCRIPTION));
    let Some(format) = format.and_then(|format| format.parse::<u32>().ok()) else {
        let what = "its description is not that of a journal; name another stream in the URL".to_owned();
        return Err(JournalError::Foreign { place: place.to_owned(), what });
    };
    if format > FORMAT {
        return Err(JournalError::Newer { place: place.to_owned(), found: format, known: FORMAT });
    }
    let is_copy = found.mirror.is_some() || found.sources.as_ref().is_some_and(|sources| !sources.is_empty());
    if found.subjects != wanted.subjects || is_copy || found.sealed || found.no_ack {
        let what = format!(
            "it must have the subject {:?} alone, be no mirror, not be sealed and acknowledge what it takes",
            wanted.subjects
        );
        return Err(JournalError::Foreign { place: place.to_owned(), what });
    }
    Ok(())
}
