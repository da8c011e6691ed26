//! Between the nodes and the store: what is asked of the journal, what becomes of it on the way, and how the truth
//! is told to the witness.

use bytes::Bytes;
use maitred::local::{record, sequencer::Input};
use maitred_engine::time::{MINUTE_MS, Millis, SECOND_MS};
use maitred_journal::{AppendError, JournalError, Peer, Position, Record, Stamp};

use crate::{
    books::CallId,
    faults::{Branch, Fault},
    pace::Landing,
    world::{Checked, Event, StoreAsk, World},
};

const LATE_MAX_MS: Millis = 10 * MINUTE_MS;
/// So many records are read at once.
const READ_MAX: usize = 50;
/// A connection that is silent for so long is given up.
const PATIENCE_MS: Millis = 5 * SECOND_MS;

impl World {
    pub(crate) fn reaches_store(&mut self, process: u32, ask: StoreAsk) -> Checked {
        let Some(node) = self.node_of(process) else { return self.left_behind(ask) };
        let unreachable_until = self.store_down_until.max(self.nodes[node].cut_off_until);
        if self.now < unreachable_until {
            return self.not_reached(process, ask, unreachable_until);
        }
        match ask {
            StoreAsk::Append { after, bytes } => self.append(process, after, bytes),
            StoreAsk::Sync => self.sync(process),
            StoreAsk::Read { after } => self.read(process, after),
            StoreAsk::Meet(me) => self.meet(process, me),
        }
    }

    pub(crate) fn reaches_node(&mut self, process: u32, input: Input<CallId>) -> Checked {
        let Some(node) = self.node_of(process) else { return Ok(()) };
        if let Input::Met(Ok(_)) = &input {
            let writer = self.nodes[node].writer();
            self.books.met(writer, self.now);
        }
        if let Input::Appended(Ok(stamp)) = &input {
            self.witness.pace.told(self.nodes[node].writer(), stamp.position);
        }
        self.input(node, input)
    }

    fn reply(&mut self, process: u32, more_ms: Millis, input: Input<CallId>) {
        let ms = self.journey_ms() + more_ms;
        self.after(ms, Event::FromStore { process, input: Box::new(input) });
    }

    /// What a process sent before it died may still land, where the store is not a part of the process.
    fn left_behind(&mut self, ask: StoreAsk) -> Checked {
        match ask {
            StoreAsk::Append { after, bytes } if self.store.shared().is_some() => self.lands(after, bytes),
            _ => Ok(()),
        }
    }

    fn not_reached(&mut self, process: u32, ask: StoreAsk, until: Millis) -> Checked {
        match ask {
            StoreAsk::Append { .. } => {
                let unknown = AppendError::Unknown("no answer".to_owned());
                self.reply(process, PATIENCE_MS, Input::Appended(Err(unknown)));
            }
            StoreAsk::Read { .. } if self.store.shared().is_some() => {
                self.reply(process, PATIENCE_MS, Input::Records(Err(unreachable())));
            }
            StoreAsk::Meet(_) => self.reply(process, PATIENCE_MS, Input::Met(Err(unreachable()))),
            // Whatever asks again until it is answered.
            ask => self.after(until - self.now + 1, Event::ToStore { process, ask }),
        }
        Ok(())
    }

    fn append(&mut self, process: u32, after: Position, bytes: Bytes) -> Checked {
        let unknown = || Err(AppendError::Unknown("the answer is lost".to_owned()));
        if self.store.shared().is_some() {
            if self.plan.meets(&mut self.chance, Fault::LostAppend, 1) {
                self.counts.met(Fault::LostAppend);
                self.reply(process, PATIENCE_MS, Input::Appended(unknown()));
                return Ok(());
            }
            if self.plan.meets(&mut self.chance, Fault::LateAppend, 1) {
                self.counts.met(Fault::LateAppend);
                let late_ms = if self.chance.percent(70) {
                    self.chance.below(PATIENCE_MS + 40)
                } else {
                    self.chance.below(LATE_MAX_MS)
                };
                self.after(late_ms, Event::Lands { after, bytes });
                self.reply(process, PATIENCE_MS, Input::Appended(unknown()));
                return Ok(());
            }
            if self.plan.meets(&mut self.chance, Fault::TwiceAppend, 2) {
                self.counts.met(Fault::TwiceAppend);
                let again_ms = self.chance.below(SECOND_MS);
                self.after(again_ms, Event::Lands { after, bytes: bytes.clone() });
            }
        }
        let appended = self.append_now(process, after, bytes)?;
        if appended.is_ok()
            && self.store.shared().is_some()
            && self.plan.meets(&mut self.chance, Fault::LostAnswer, 2)
        {
            self.counts.met(Fault::LostAnswer);
            self.reply(process, PATIENCE_MS, Input::Appended(unknown()));
            return Ok(());
        }
        self.reply(process, 0, Input::Appended(appended));
        Ok(())
    }

    fn append_now(
        &mut self,
        process: u32,
        after: Position,
        bytes: Bytes,
    ) -> Result<Result<Stamp, AppendError>, String> {
        let at = self.store_now();
        let appended = if self.now < self.full_until {
            Err(AppendError::Full { bytes: bytes.len() })
        } else {
            self.store.append(at, after, bytes.clone())
        };
        if let Err(AppendError::Conflict { .. }) = &appended {
            self.counts.took(Branch::Conflict);
            if self.plan.meets(&mut self.chance, Fault::FaultyCompare, 30)
                && let Some(shared) = self.store.shared()
            {
                let stamp = shared.append_anyway(at, bytes);
                self.counts.met(Fault::FaultyCompare);
                self.landed(process)?;
                return Ok(Ok(stamp));
            }
        }
        match &appended {
            Ok(_) => self.landed(process)?,
            Err(AppendError::Full { .. }) => self.counts.took(Branch::AppendFull),
            Err(_) => {}
        }
        Ok(appended)
    }

    /// An append of which nobody waits for the answer any more.
    pub(crate) fn lands(&mut self, after: Position, bytes: Bytes) -> Checked {
        if self.now < self.store_down_until {
            return Ok(());
        }
        self.append_now(0, after, bytes).map(drop)?;
        self.landed(0)
    }

    /// There is a new record: the witness takes it if it is durable, the other nodes will hear of it.
    fn landed(&mut self, by: u32) -> Checked {
        self.witness_catches_up()?;
        if self.store.shared().is_none() {
            return Ok(());
        }
        for node in 0..self.nodes.len() {
            let deaf_ms = self.nodes[node].hard_of_hearing_until.saturating_sub(self.now);
            let Some(process) = &self.nodes[node].process else { continue };
            if process.id != by {
                let process = process.id;
                let ms = self.chance.below(40) + deaf_ms;
                self.after(ms, Event::FromStore { process, input: Box::new(Input::Changed) });
            }
        }
        Ok(())
    }

    fn sync(&mut self, process: u32) -> Checked {
        let synced = self.store.sync();
        self.witness_catches_up()?;
        self.reply(process, 0, Input::Synced(synced));
        Ok(())
    }

    fn read(&mut self, process: u32, after: Position) -> Checked {
        let fails =
            self.store.shared().is_some() && self.plan.has(Fault::FailedRead) && self.chance.below(400) == 0;
        let read = if fails {
            self.counts.met(Fault::FailedRead);
            let source = std::io::Error::other("by plan");
            Err(JournalError::Io { place: "store".to_owned(), source })
        } else {
            self.store.read(after).map(|mut records| {
                records.truncate(READ_MAX);
                records
            })
        };
        self.reply(process, 0, Input::Records(read));
        Ok(())
    }

    fn meet(&mut self, process: u32, me: Peer) -> Checked {
        let Some(shared) = self.store.shared() else { return Err("nobody else can be there".to_owned()) };
        let meeting = shared.meet(me);
        self.reply(process, 0, Input::Met(Ok(meeting)));
        Ok(())
    }

    pub(crate) fn witness_catches_up(&mut self) -> Checked {
        let records = self.store.newly_durable();
        records.iter().try_for_each(|record| self.witness_takes(record))
    }

    pub(crate) fn witness_takes(&mut self, record: &Record) -> Checked {
        if record.position <= self.witness.head() {
            return Ok(());
        }
        let made_at = self.made.get(&record::hash(&record.bytes)).copied().unwrap_or(self.now);
        let landing = Landing { made_at, landed_at: self.now };
        let dues = self.witness.engine().and_then(|engine| engine.next_due());
        self.witness.take(record, landing, &self.books, &mut self.counts)?;
        if self.witness.engine().and_then(|engine| engine.next_due()) != dues {
            self.not_in_vain();
        }
        self.trace(self.witness.digest_at(record.position).unwrap_or_default());
        let what = (record.position, record.at);
        self.note(&what);
        Ok(())
    }
}

fn unreachable() -> JournalError {
    JournalError::Unreachable { place: "store".to_owned(), what: "no answer".to_owned() }
}
