//! Reading what is durable, keeping snapshots, and giving up what they have made obsolete.

use std::sync::Arc;

use super::{
    entries::{Cursor, Pages},
    names,
    shared::{Segment, Shared, place_in},
    snapshots,
    supply::Supply,
};
use crate::{Answer, Archive, JournalError, Position, Record, Snapshot};

const SNAPSHOTS_KEPT: usize = 2;

/// The reader's handle of a local journal. It may be used from any thread, and blocks it while it reads.
pub struct LocalArchive {
    shared: Arc<Shared>,
    supply: Arc<Supply>,
    /// Where the last read ended, so that the next one need not begin with its segment.
    cursor: Option<Cursor>,
}

impl LocalArchive {
    pub(crate) fn new(shared: Arc<Shared>, supply: Arc<Supply>) -> Self {
        Self { shared, supply, cursor: None }
    }

    fn read_now(&mut self, after: Position, bytes_max: usize) -> Result<Vec<Record>, JournalError> {
        let mut records = Vec::new();
        let mut room = bytes_max;
        let mut last_read = after;
        while let Some((segment, last)) = self.segment_behind(last_read)? {
            let number = segment.header.number;
            let full = self.read_segment(&segment, last_read, last, &mut room, &mut records);
            let full = full.map_err(|error| self.excuse(number, last_read, error))?;
            last_read = records.last().map_or(last_read, |record: &Record| record.position);
            if full {
                break;
            }
        }
        Ok(records)
    }

    /// The segment with the next durable record, if there is one, and the last one in it that is durable.
    fn segment_behind(&self, after: Position) -> Result<Option<(Segment, Position)>, JournalError> {
        let state = self.shared.state();
        if after >= state.durable {
            return Ok(None);
        }
        let found = state.segment_of(after + 1);
        found.map(Some).ok_or(JournalError::Trimmed { after, oldest: state.oldest() })
    }

    /// Collects the records behind `after` up to `last`; true when there is no room for more.
    fn read_segment(
        &mut self,
        segment: &Segment,
        after: Position,
        last: Position,
        room: &mut usize,
        records: &mut Vec<Record>,
    ) -> Result<bool, JournalError> {
        let header = segment.header;
        let start = Cursor::at_start(&header);
        let known = self.cursor.filter(|known| known.segment == header.number && known.position <= after);
        let mut cursor = known.unwrap_or(start);
        let mut pages = Pages::new(&*segment.file, self.shared.seed, header.capacity).in_pieces_for(*room);
        while cursor.position < last {
            let before = cursor;
            let name = names::segment(header.number);
            let entry = pages.next(&mut cursor).map_err(self.shared.io(&name))?;
            let entry = entry.ok_or_else(|| self.damaged(&before))?;
            let Some(record) = entry.into_record() else { continue };
            if record.position <= after {
                continue;
            }
            if !records.is_empty() && record.bytes.len() > *room {
                self.cursor = Some(before);
                return Ok(true);
            }
            *room = room.saturating_sub(record.bytes.len());
            records.push(record);
        }
        self.cursor = Some(cursor);
        Ok(*room == 0)
    }

    fn damaged(&self, cursor: &Cursor) -> JournalError {
        let what = format!(
            "record {} was flushed here and is no longer whole; bring the file back from a backup",
            cursor.position + 1
        );
        JournalError::Damaged { place: place_in(&*self.shared.disk, cursor.segment, cursor.offset), what }
    }

    /// A segment that was given back while it was read may hold anything.
    fn excuse(&self, number: u64, after: Position, error: JournalError) -> JournalError {
        let state = self.shared.state();
        if state.keeps(number) {
            return error;
        }
        JournalError::Trimmed { after, oldest: state.oldest() }
    }

    fn snapshot_now(&mut self) -> Result<Option<Snapshot>, JournalError> {
        loop {
            let newest = self.shared.state().snapshots.last().copied();
            let Some(position) = newest else { return self.no_snapshot() };
            match snapshots::read(&*self.shared.disk, position, self.shared.id) {
                Ok(snapshot) => return Ok(Some(snapshot)),
                Err(error @ JournalError::Io { .. }) => return Err(error),
                Err(error) => {
                    let mut state = self.shared.state();
                    state.warnings.push(format!("a snapshot is passed over: {error}"));
                    state.snapshots.retain(|&kept| kept != position);
                }
            }
        }
    }

    fn no_snapshot(&self) -> Result<Option<Snapshot>, JournalError> {
        let oldest = self.shared.state().oldest();
        if oldest == 1 {
            return Ok(None);
        }
        let what = format!("no snapshot is whole, and the records before {oldest} are gone");
        Err(JournalError::Damaged { place: self.shared.disk.place(""), what })
    }

    fn save_now(&mut self, snapshot: &Snapshot) -> Result<(), JournalError> {
        let shared = &self.shared;
        let durable = shared.state().durable;
        assert!(
            snapshot.position <= durable,
            "a snapshot of {} while only {durable} is durable",
            snapshot.position
        );
        snapshots::write(&*shared.disk, snapshot, shared.id)?;
        let mut state = shared.state();
        state.snapshots.retain(|&kept| kept != snapshot.position);
        state.snapshots.push(snapshot.position);
        state.snapshots.sort_unstable();
        let surplus = state.snapshots.len().saturating_sub(SNAPSHOTS_KEPT);
        let old: Vec<_> = state.snapshots.drain(..surplus).collect();
        drop(state);
        for position in old {
            if let Err(error) = shared.disk.remove(&names::snapshot(position)) {
                // It only takes room; the next start tries again.
                shared.state().warnings.push(format!("the old snapshot of {position} stays: {error}"));
            }
        }
        Ok(())
    }

    fn trim_now(&mut self, upto: Position) -> Result<(), JournalError> {
        let mut obsolete = Vec::new();
        {
            let mut state = self.shared.state();
            // The older snapshot must be able to stand in for the newer one.
            let needed_behind = match state.snapshots[..] {
                [.., older, _] => upto.min(older),
                _ => 0,
            };
            while state.segments.len() > 1 && state.segments[1].header.first_position - 1 <= needed_behind {
                let header = state.segments.pop_front().expect("more than one").header;
                obsolete.push((header.number, header.capacity));
            }
        }
        if obsolete.is_empty() { Ok(()) } else { self.supply.recycle(&obsolete) }
    }
}

impl Archive for LocalArchive {
    fn read(&mut self, after: Position, bytes_max: usize) -> Answer<'_, Result<Vec<Record>, JournalError>> {
        Box::pin(async move { self.read_now(after, bytes_max) })
    }

    fn snapshot(&mut self) -> Answer<'_, Result<Option<Snapshot>, JournalError>> {
        Box::pin(async move { self.snapshot_now() })
    }

    fn save_snapshot(&mut self, snapshot: Snapshot) -> Answer<'_, Result<(), JournalError>> {
        Box::pin(async move { self.save_now(&snapshot) })
    }

    fn trim(&mut self, upto: Position) -> Answer<'_, Result<(), JournalError>> {
        Box::pin(async move { self.trim_now(upto) })
    }
}
