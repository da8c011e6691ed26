//! Reads records from the stream's leader, and lets go of old ones.

use std::sync::Arc;

use futures_util::{StreamExt, stream};

use super::{
    link::{Link, State, unreachable},
    snapshots,
};
use crate::{Answer, Archive, JournalError, Millis, Position, Record, Snapshot};

/// So many records are asked for at once.
const AT_ONCE_MAX: usize = 32;

pub(super) struct JetStreamArchive {
    pub link: Arc<Link>,
}

impl JetStreamArchive {
    async fn read_now(&self, after: Position, bytes_max: usize) -> Result<Vec<Record>, JournalError> {
        let state = self.link.state().await?;
        if after > state.last {
            self.link.is_short(after).await?;
            return Ok(Vec::new());
        }
        self.link.is_long_enough();
        if after == state.last {
            return Ok(Vec::new());
        }
        if after + 1 < state.first {
            return Err(JournalError::Trimmed { after, oldest: state.first });
        }
        let records = self.fetch(after, state, bytes_max).await?;
        self.link.verify().await?;
        if let Some(last) = records.last() {
            self.link.knows(last);
        }
        Ok(records)
    }

    /// The records behind `after`, as many of them as fit.
    async fn fetch(
        &self,
        after: Position,
        state: State,
        bytes_max: usize,
    ) -> Result<Vec<Record>, JournalError> {
        // No more at once than are likely to fit: the rest would be fetched in vain.
        let fit = usize::try_from(bytes_max as u64 / state.record_bytes.max(1)).unwrap_or(usize::MAX);
        let mut answers = stream::iter(after + 1..=state.last)
            .map(|position| async move { (position, self.link.get(position).await) })
            .buffered(fit.clamp(1, AT_ONCE_MAX));
        let mut records: Vec<Record> = Vec::new();
        let mut bytes = 0;
        while let Some((position, answer)) = answers.next().await {
            let Some(record) = answer? else { return Err(self.gap(after, position).await?) };
            bytes += record.bytes.len();
            if !records.is_empty() && bytes > bytes_max {
                break;
            }
            records.push(record);
        }
        Ok(records)
    }

    /// Why a record is missing that was not behind the end: let go meanwhile, or lost.
    async fn gap(&self, after: Position, position: Position) -> Result<JournalError, JournalError> {
        let State { first, last, .. } = self.link.state().await?;
        if position < first {
            return Ok(JournalError::Trimmed { after, oldest: first });
        }
        let what = format!("it is missing, and the stream goes on to {last}");
        let place = self.link.place_of(position);
        Ok(JournalError::Damaged { place, what })
    }

    async fn trim_now(&self, upto: Position) -> Result<(), JournalError> {
        let Some(older) = snapshots::older(&self.link).await? else { return Ok(()) };
        let state = self.link.state().await?;
        // The last record stays: it holds the numbers, and is what a node knows the stream by.
        let upto = upto.min(older).min(state.last.saturating_sub(1));
        let before = state.last_at.saturating_sub(self.link.settings.keep_ms);
        let upto = self.last_before(before, state.first, upto).await?;
        if upto < state.first {
            return Ok(());
        }
        let purge = self.link.records.purge().sequence(upto + 1);
        purge.await.map(drop).map_err(|error| unreachable(&self.link.settings.place(), &error.to_string()))
    }

    /// The last record from `first` to `upto` that was written at or before the time; `first - 1` if there is none.
    async fn last_before(
        &self,
        time: Millis,
        first: Position,
        upto: Position,
    ) -> Result<Position, JournalError> {
        let (mut low, mut high) = (first.saturating_sub(1), upto);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            match self.link.get(middle).await? {
                Some(record) if record.at > time => high = middle - 1,
                // One that is gone is old enough.
                _ => low = middle,
            }
        }
        Ok(low)
    }
}

impl Archive for JetStreamArchive {
    fn read(&mut self, after: Position, bytes_max: usize) -> Answer<'_, Result<Vec<Record>, JournalError>> {
        Box::pin(self.read_now(after, bytes_max))
    }

    fn snapshot(&mut self) -> Answer<'_, Result<Option<Snapshot>, JournalError>> {
        Box::pin(snapshots::newest(&self.link))
    }

    fn claim_snapshot(&mut self, position: Position, every: u64) -> Answer<'_, Result<bool, JournalError>> {
        Box::pin(async move {
            let newest = snapshots::newest_position(&self.link).await?;
            Ok(newest.is_none_or(|newest| newest + every <= position))
        })
    }

    fn save_snapshot(&mut self, snapshot: Snapshot) -> Answer<'_, Result<(), JournalError>> {
        Box::pin(snapshots::save(&self.link, snapshot))
    }

    fn trim(&mut self, upto: Position) -> Answer<'_, Result<(), JournalError>> {
        Box::pin(self.trim_now(upto))
    }
}
