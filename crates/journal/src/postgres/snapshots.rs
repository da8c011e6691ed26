//! Snapshots: chunks and their manifest in one transaction, so that a half of one is never seen.

use bytes::{Bytes, BytesMut};
use sha2::{Digest, Sha256};

use super::{
    archive::PostgresArchive,
    link::{BULK_WITHIN, Failure, Link},
};
use crate::{JournalError, Position, Snapshot, seal::Seal};

const CHUNK_BYTES: usize = 1 << 20;

const BEGIN: &str = "BEGIN";
const FORGET: &str = "DELETE FROM {s}.snapshot_chunks WHERE position = $1";
const CHUNK: &str = "INSERT INTO {s}.snapshot_chunks (position, chunk, bytes) VALUES ($1, $2, $3)";
const MANIFEST: &str = "
    INSERT INTO {s}.snapshots (position, seal, chunks, length, sum) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (position) DO UPDATE
    SET seal = excluded.seal, chunks = excluded.chunks, length = excluded.length, sum = excluded.sum";
/// Two are kept.
const KEEP_TWO: &str = "
    DELETE FROM {s}.snapshots WHERE position NOT IN (SELECT position FROM {s}.snapshots ORDER BY position DESC LIMIT 2)";
const NEWEST: &str =
    "SELECT position, seal, chunks, length, sum FROM {s}.snapshots ORDER BY position DESC LIMIT 2";
const CHUNKS: &str = "SELECT bytes FROM {s}.snapshot_chunks WHERE position = $1 ORDER BY chunk";
/// A claim that came to nothing is forgotten after ten minutes.
const CLAIM: &str = "
    INSERT INTO {s}.snapshot_claims (position, claimed_at)
    SELECT $1::bigint, clock_timestamp()
    WHERE NOT EXISTS (SELECT 1 FROM {s}.snapshots WHERE position > $1::bigint - $2::bigint)
    ON CONFLICT (one) DO UPDATE SET position = excluded.position, claimed_at = excluded.claimed_at
    WHERE {s}.snapshot_claims.position <= $1::bigint - $2::bigint
       OR {s}.snapshot_claims.claimed_at < clock_timestamp() - interval '10 minutes'";

impl PostgresArchive {
    pub(super) async fn snapshot_now(&mut self) -> Result<Option<Snapshot>, JournalError> {
        let manifests = self.connection.rows(BULK_WITHIN, NEWEST, &[]).await?;
        for manifest in &manifests {
            let position = manifest.get::<_, i64>(0) as Position;
            let bytes = self.chunks(position, manifest.get::<_, i64>(3) as usize).await?;
            // One that was deleted while it was read, or is not whole: the one before it serves.
            if bytes.len() == manifest.get::<_, i64>(3) as usize
                && Sha256::digest(&bytes)[..] == *manifest.get::<_, &[u8]>(4)
            {
                let seal = manifest.get::<_, Option<&[u8]>>(1).and_then(Seal::read);
                self.last = seal.map(|seal| (position, seal));
                return Ok(Some(Snapshot { position, bytes }));
            }
        }
        match manifests.first() {
            None => Ok(None),
            Some(newest) => Err(JournalError::Damaged {
                place: self.shared().place(),
                what: format!("the snapshot at {} and the one before it", newest.get::<_, i64>(0)),
            }),
        }
    }

    async fn chunks(&mut self, position: Position, length: usize) -> Result<Bytes, JournalError> {
        let rows = self.connection.rows(BULK_WITHIN, CHUNKS, &[&(position as i64)]).await?;
        let mut bytes = BytesMut::with_capacity(length);
        rows.iter().for_each(|row| bytes.extend_from_slice(row.get::<_, &[u8]>(0)));
        Ok(bytes.freeze())
    }

    pub(super) async fn claim_now(&mut self, position: Position, every: u64) -> Result<bool, JournalError> {
        let (position, every) = (position as i64, every as i64);
        Ok(self.connection.execute(BULK_WITHIN, CLAIM, &[&position, &every]).await? > 0)
    }

    pub(super) async fn save_now(&mut self, snapshot: Snapshot) -> Result<(), JournalError> {
        let position = snapshot.position;
        let seal = match self.last {
            Some((last, seal)) if last == position => Some(seal),
            _ => self.shared().seal_at(position),
        };
        let link = self.connection.link().await?;
        let saved = save(link, &snapshot, seal).await;
        if let Err(failure) = &saved {
            let error = self.connection.failed(failure);
            if let Some(link) = &mut self.connection.link {
                let _ = link.batch("ROLLBACK").await;
            }
            return Err(error);
        }
        Ok(())
    }
}

async fn save(link: &mut Link, snapshot: &Snapshot, seal: Option<Seal>) -> Result<(), Failure> {
    let position = snapshot.position as i64;
    link.batch(BEGIN).await?;
    link.execute(BULK_WITHIN, FORGET, &[&position]).await?;
    let mut count: i32 = 0;
    for chunk in snapshot.bytes.chunks(CHUNK_BYTES) {
        link.execute(BULK_WITHIN, CHUNK, &[&position, &count, &chunk]).await?;
        count += 1;
    }
    let length = snapshot.bytes.len() as i64;
    let sum = Sha256::digest(&snapshot.bytes).to_vec();
    let seal = seal.map(|seal| seal.0.to_vec());
    link.execute(BULK_WITHIN, MANIFEST, &[&position, &seal, &count, &length, &sum]).await?;
    link.execute(BULK_WITHIN, KEEP_TWO, &[]).await?;
    link.batch("COMMIT").await
}
