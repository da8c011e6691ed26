//! Where the end is, proven, and who else is at work.
//!
//! A stream's leader that has been replaced and does not know it yet still answers questions. So on a cluster the end is
//! asked for behind something that the leader can do only with most of the others: a purge of a subject on which there
//! never is anything. It changes nothing, and is answered when it has been agreed on. Where the end is is then believed
//! of a leader that has lately heard of most of the others, so not of one that was asleep and has missed its end.
//!
//! Each node shows itself on a subject of its own in the stream `<stream>-nodes`, which keeps the last message of each.

use std::time::{Duration, SystemTime};

use async_nats::jetstream::stream::{ClusterInfo, Info, RawMessageErrorKind};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures_util::TryStreamExt;
use tokio::time::Instant;

use super::{
    link::{Link, unreachable},
    tail::millis,
};
use crate::{JournalError, Meeting, Peer, Position};

/// A leader hears of the others every second; an election takes them at least four.
const HEARD_WITHIN: Duration = Duration::from_secs(2);
/// Whoever has not shown itself for so long is not told of, and forgotten.
const SEEN_WITHIN_MS: u64 = 5 * 60 * 1000;
/// Who else is there is found out so often at most; the end each time.
const SHOW_EVERY: Duration = Duration::from_millis(250);

/// What this process knows of the others.
#[derive(Default)]
pub(super) struct Peers {
    shown_at: Option<Instant>,
    others: Vec<Peer>,
}

/// The position of the last record at some moment after the call began.
pub(super) async fn end(link: &Link) -> Result<Position, JournalError> {
    let state = link.state().await?;
    if !link.is_replicated() {
        return Ok(state.last);
    }
    let purge = link.records.purge().filter(format!("{}.nothing", link.settings.subject()));
    purge.await.map_err(|error| unreachable(&link.settings.place(), &error.to_string()))?;
    let info = link.info().await?;
    if !info.cluster.as_ref().is_some_and(has_most_of_them) {
        return Err(unreachable(
            &link.settings.place(),
            "the stream's leader has not heard of most of the others",
        ));
    }
    Ok(info.state.last_sequence)
}

fn has_most_of_them(cluster: &ClusterInfo) -> bool {
    let heard = cluster.replicas.iter().filter(|peer| !peer.offline && peer.active < HEARD_WITHIN).count();
    // The leader itself is none of the replicas that it tells of.
    2 * (heard + 1) > cluster.replicas.len() + 1
}

pub(super) async fn meet(link: &Link, peers: &mut Peers, me: Peer) -> Result<Meeting, JournalError> {
    if peers.shown_at.is_none_or(|at| at.elapsed() >= SHOW_EVERY) {
        show(link, me).await?;
        peers.others = others(link, me.process).await?;
        peers.shown_at = Some(Instant::now());
    }
    let head = end(link).await?;
    Ok(Meeting { head, peers: peers.others.clone() })
}

async fn show(link: &Link, me: Peer) -> Result<(), JournalError> {
    let mut sign = BytesMut::with_capacity(12);
    sign.put_u64(me.beat);
    sign.put_u32(me.supports);
    let sent = link.context.publish(subject(link, me.process), sign.freeze()).await;
    let done = match sent {
        Ok(acknowledged) => acknowledged.await,
        Err(error) => Err(error),
    };
    done.map(drop).map_err(|error| unreachable(&link.settings.place(), &error.to_string()))
}

async fn others(link: &Link, own: u64) -> Result<Vec<Peer>, JournalError> {
    let failed = |what: String| unreachable(&link.settings.place(), &what);
    let stream = link.context.get_stream_no_info(link.settings.nodes()).await;
    let stream = stream.map_err(|error| failed(error.to_string()))?;
    let info: Info = stream.get_info().await.map_err(|error| failed(error.to_string()))?;
    // By the servers' clock, as their messages are.
    let now = millis(SystemTime::from(info.state.last_timestamp));
    let subjects = stream.info_with_subjects(format!("{}.*", link.settings.nodes())).await;
    let subjects = subjects.map_err(|error| failed(error.to_string()))?;
    let subjects: Vec<(String, usize)> =
        subjects.try_collect().await.map_err(|error| failed(error.to_string()))?;
    let mut peers = Vec::new();
    for (subject, _) in subjects {
        let Some(process) = process_of(&subject).filter(|process| *process != own) else { continue };
        match stream.raw_message_builder().last_by_subject(subject.as_str()).send().await {
            Ok(message) if millis(message.time.into()) + SEEN_WITHIN_MS < now => {
                // Nobody waits for this, and whoever comes next tries again.
                let _ = stream.purge().filter(subject).await;
            }
            Ok(message) => peers.extend(read(process, message.payload)),
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => {}
            Err(error) => return Err(failed(error.to_string())),
        }
    }
    peers.sort_by_key(|peer| peer.process);
    Ok(peers)
}

fn read(process: u64, mut sign: Bytes) -> Option<Peer> {
    (sign.len() == 12).then(|| Peer { process, beat: sign.get_u64(), supports: sign.get_u32() })
}

fn subject(link: &Link, process: u64) -> String {
    format!("{}.{process:016x}", link.settings.nodes())
}

fn process_of(subject: &str) -> Option<u64> {
    u64::from_str_radix(subject.rsplit('.').next()?, 16).ok()
}
