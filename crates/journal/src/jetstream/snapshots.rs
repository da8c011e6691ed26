//! Snapshots in a stream of their own: chunks, then a manifest that makes them one.
//!
//! # Worked example
//! A snapshot of 600,000 bytes becomes three messages on `<stream>-snapshots.chunk`, at 41, 42 and 44 say, since
//! another node is at it too. Last comes the manifest on `<stream>-snapshots.manifest`: position, length, checksum, the
//! numbers 41, 42, 44, and 17, where the manifest before it stands. It is taken only if that is still the last one: of
//! two nodes the second has worked in vain. Everything before the older snapshot's first chunk is then let go.
//!
//! Without its manifest a chunk means nothing. A manifest whose chunks are not all there, or not as they were, is
//! passed over for the one before it.

use std::io::ErrorKind;

use async_nats::jetstream::{
    context::PublishErrorKind,
    message::PublishMessage,
    stream::{RawMessageErrorKind, Stream},
};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::link::{Link, failed, unreachable};
use crate::{JournalError, Position, Snapshot};

const CHUNK_BYTES: usize = 256 * 1024;
const AT_ONCE: usize = 8;
const FORMAT: u32 = 1;
/// A manifest names at most so many chunks: 16 GiB.
const CHUNKS_MAX: usize = 1 << 16;

/// What makes chunks a snapshot.
struct Manifest {
    position: Position,
    length: u64,
    crc: u32,
    /// Where the manifest before it stands; 0 if there was none.
    before: u64,
    /// Where the chunks stand, in order.
    chunks: Vec<u64>,
}

impl Manifest {
    fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(40 + 8 * self.chunks.len());
        out.put_u32(FORMAT);
        out.put_u64(self.position);
        out.put_u64(self.length);
        out.put_u32(self.crc);
        out.put_u64(self.before);
        self.chunks.iter().for_each(|chunk| out.put_u64(*chunk));
        let crc = crc32c::crc32c(&out);
        out.put_u32(crc);
        out.freeze()
    }

    /// None if it is not whole.
    fn decode(bytes: &Bytes) -> Option<Manifest> {
        let (body, crc) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
        let chunks = body.len().checked_sub(32)?;
        if crc32c::crc32c(body).to_be_bytes() != crc || chunks % 8 != 0 || chunks / 8 > CHUNKS_MAX {
            return None;
        }
        let mut body = body;
        if body.get_u32() != FORMAT {
            return None;
        }
        let (position, length) = (body.get_u64(), body.get_u64());
        let (crc, before) = (body.get_u32(), body.get_u64());
        Some(Manifest {
            position,
            length,
            crc,
            before,
            chunks: (0..chunks / 8).map(|_| body.get_u64()).collect(),
        })
    }
}

/// Where the newest manifests stand, and what they say. At most two, the newest first.
async fn manifests(link: &Link) -> Result<Vec<(u64, Manifest)>, JournalError> {
    let stream = stream_of(link).await?;
    let mut found = Vec::new();
    let newest = stream.raw_message_builder().last_by_subject(subject(link, "manifest")).send();
    let mut next = got(link, newest.await)?;
    while let Some((number, bytes)) = next.take() {
        let Some(manifest) = Manifest::decode(&bytes) else { break };
        let before = manifest.before;
        found.push((number, manifest));
        if before == 0 || found.len() == 2 {
            break;
        }
        next = message(link, &stream, before).await?;
    }
    Ok(found)
}

/// The newest snapshot that is whole. That none of those there are is, is damage.
pub(super) async fn newest(link: &Link) -> Result<Option<Snapshot>, JournalError> {
    let found = manifests(link).await?;
    for (number, manifest) in &found {
        match whole(link, manifest).await? {
            Some(bytes) => return Ok(Some(Snapshot { position: manifest.position, bytes })),
            None => tracing::warn!(
                number,
                "a snapshot in the journal's stream is not whole; the one before it is used"
            ),
        }
    }
    match found.first() {
        None => Ok(None),
        Some(_) => {
            let what = "there are snapshots, and none of them is whole".to_owned();
            Err(JournalError::Damaged { place: place(link), what })
        }
    }
}

/// The position of the older of the two snapshots that are kept.
pub(super) async fn older(link: &Link) -> Result<Option<Position>, JournalError> {
    Ok(manifests(link).await?.get(1).map(|(_, manifest)| manifest.position))
}

pub(super) async fn newest_position(link: &Link) -> Result<Option<Position>, JournalError> {
    Ok(manifests(link).await?.first().map(|(_, manifest)| manifest.position))
}

async fn whole(link: &Link, manifest: &Manifest) -> Result<Option<Bytes>, JournalError> {
    let stream = stream_of(link).await?;
    let mut bytes = BytesMut::new();
    let mut chunks = stream::iter(manifest.chunks.iter().copied())
        .map(|chunk| message(link, &stream, chunk))
        .buffered(AT_ONCE);
    while let Some(chunk) = chunks.try_next().await? {
        let Some((_, chunk)) = chunk else { return Ok(None) };
        bytes.extend_from_slice(&chunk);
    }
    let is_whole = bytes.len() as u64 == manifest.length && crc32c::crc32c(&bytes) == manifest.crc;
    Ok(is_whole.then(|| bytes.freeze()))
}

/// Keeps a snapshot, unless one of this position or a later one is there.
pub(super) async fn save(link: &Link, snapshot: Snapshot) -> Result<(), JournalError> {
    let found = manifests(link).await?;
    let newest = found.first().map(|(number, manifest)| (*number, manifest));
    if newest.is_some_and(|(_, manifest)| manifest.position >= snapshot.position) {
        return Ok(());
    }
    let chunks = save_chunks(link, &snapshot.bytes).await?;
    let before = newest.map_or(0, |(number, _)| number);
    let manifest = Manifest {
        position: snapshot.position,
        length: snapshot.bytes.len() as u64,
        crc: crc32c::crc32c(&snapshot.bytes),
        before,
        chunks,
    };
    let message = PublishMessage::build().payload(manifest.encode()).expected_last_subject_sequence(before);
    match publish(link, "manifest", message).await? {
        // Somebody else was quicker: theirs will do.
        None => Ok(()),
        Some(number) => clear(link, newest.map_or(&manifest, |(_, manifest)| manifest), number).await,
    }
}

async fn save_chunks(link: &Link, bytes: &Bytes) -> Result<Vec<u64>, JournalError> {
    let starts = (0..bytes.len()).step_by(CHUNK_BYTES);
    let chunks: Vec<Bytes> = starts.map(|at| bytes.slice(at..bytes.len().min(at + CHUNK_BYTES))).collect();
    let sent =
        stream::iter(chunks).map(|chunk| publish(link, "chunk", PublishMessage::build().payload(chunk)));
    let numbers: Vec<Option<u64>> = sent.buffered(AT_ONCE).try_collect().await?;
    // A chunk is under no condition: none is refused.
    Ok(numbers.into_iter().flatten().collect())
}

/// Lets go of what is older than the older snapshot.
async fn clear(link: &Link, older: &Manifest, newest: u64) -> Result<(), JournalError> {
    let first = older.chunks.iter().copied().min().unwrap_or(newest).min(newest);
    let purge = stream_of(link).await?;
    let purge = purge.purge().sequence(first);
    purge.await.map(drop).map_err(|error| unreachable(&place(link), &error.to_string()))
}

/// The number it got; none if it is not the next one of its subject.
async fn publish(link: &Link, kind: &str, message: PublishMessage) -> Result<Option<u64>, JournalError> {
    let sent = link.context.send_publish(subject(link, kind), message).await;
    let done = match sent {
        Ok(acknowledged) => acknowledged.await,
        Err(error) => Err(error),
    };
    match done {
        Ok(acknowledged) => Ok(Some(acknowledged.sequence)),
        Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Ok(None),
        Err(error) if super::is_full(&error) => {
            Err(failed(&place(link), ErrorKind::StorageFull, &error.to_string()))
        }
        Err(error) => Err(unreachable(&place(link), &error.to_string())),
    }
}

async fn stream_of(link: &Link) -> Result<Stream<()>, JournalError> {
    let stream = link.context.get_stream_no_info(link.settings.snapshots()).await;
    stream.map_err(|error| unreachable(&place(link), &error.to_string()))
}

async fn message(
    link: &Link,
    stream: &Stream<()>,
    number: u64,
) -> Result<Option<(u64, Bytes)>, JournalError> {
    got(link, stream.raw_message_builder().sequence(number).send().await)
}

type Got =
    Result<async_nats::jetstream::message::StreamMessage, async_nats::jetstream::stream::RawMessageError>;

fn got(link: &Link, answer: Got) -> Result<Option<(u64, Bytes)>, JournalError> {
    match answer {
        Ok(message) => Ok(Some((message.sequence, message.payload))),
        Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(unreachable(&place(link), &error.to_string())),
    }
}

fn subject(link: &Link, kind: &str) -> String {
    format!("{}.{kind}", link.settings.snapshots())
}

fn place(link: &Link) -> String {
    format!("{} (stream {})", link.settings.place(), link.settings.snapshots())
}

#[cfg(test)]
mod tests {
    use super::Manifest;

    #[test]
    fn a_manifest_is_whole_or_nothing() {
        let manifest =
            Manifest { position: 7, length: 600_000, crc: 9, before: 17, chunks: vec![41, 42, 44] };
        let bytes = manifest.encode();
        let read = Manifest::decode(&bytes).expect("whole");
        assert_eq!((read.position, read.length, read.crc, read.before), (7, 600_000, 9, 17));
        assert_eq!(read.chunks, [41, 42, 44]);
        for bit in 0..bytes.len() * 8 {
            let mut wrong = bytes.to_vec();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(Manifest::decode(&wrong.into()).is_none(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(Manifest::decode(&bytes.slice(..length)).is_none(), "cut at {length}");
        }
    }
}
