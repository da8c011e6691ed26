//! A journal around another one, that fails as real ones do: by a script, or by chance from a seed.
//!
//! # Worked example
//! With the script `[(2, UnknownLate { calls: 1 })]` the first append works. The second answers `Unknown`, and the
//! record is not there; the caller reads its position back, finds nothing, and is still wrong: with the next call
//! that reaches this handle the record lands after all, if its place is still free. So the caller's next append is
//! answered with a conflict.

use bytes::Bytes;

use crate::{Answer, AppendError, Archive, Journal, JournalError, Position, Room, Stamp, chance::Chance};

/// What goes wrong with one append or sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A conflict is reported though nobody else appended. Nothing is written.
    Conflict,
    /// No room, this once.
    Full,
    /// Not known, and written.
    UnknownWritten,
    /// Not known, and never written.
    UnknownLost,
    /// Not known, and written only so many calls later, if nobody has taken the place by then.
    UnknownLate { calls: u32 },
    /// The handle breaks before anything is written.
    Broken,
    /// The handle breaks with the crash of the machine: see [`Faulty::on_crash`].
    Crash,
}

impl Trouble {
    const ALL: [Self; 7] = [
        Self::Conflict,
        Self::Full,
        Self::UnknownWritten,
        Self::UnknownLost,
        Self::UnknownLate { calls: 1 },
        Self::Broken,
        Self::Crash,
    ];
}

enum Plan {
    /// (the how manieth call, what happens), counting appends and syncs from 1.
    Script(Vec<(u64, Trouble)>),
    Chance {
        chance: Chance,
        percent: u64,
        kinds: Vec<Trouble>,
    },
}

/// Wraps a journal. Reading and snapshots are not disturbed.
pub struct Faulty<J> {
    inner: J,
    plan: Plan,
    calls: u64,
    met: u64,
    late: Vec<Late>,
    broken: bool,
    on_crash: Option<Box<dyn FnMut() + Send>>,
}

struct Late {
    due: u64,
    after: Position,
    bytes: Bytes,
}

impl<J: Journal> Faulty<J> {
    /// Trouble at exactly these calls.
    pub fn scripted(inner: J, script: Vec<(u64, Trouble)>) -> Self {
        Self::new(inner, Plan::Script(script))
    }

    /// Trouble of these kinds at so many per cent of the calls; of every kind, if none is named.
    pub fn seeded(inner: J, seed: u64, percent: u64, kinds: &[Trouble]) -> Self {
        let kinds = if kinds.is_empty() { Trouble::ALL.to_vec() } else { kinds.to_vec() };
        Self::new(inner, Plan::Chance { chance: Chance::new(seed), percent, kinds })
    }

    fn new(inner: J, plan: Plan) -> Self {
        Self { inner, plan, calls: 0, met: 0, late: Vec::new(), broken: false, on_crash: None }
    }

    /// What a crash does besides breaking the handle: drop what the store has not synced, say.
    pub fn on_crash(mut self, crash: impl FnMut() + Send + 'static) -> Self {
        self.on_crash = Some(Box::new(crash));
        self
    }

    /// How many calls have really gone wrong.
    pub fn troubles_met(&self) -> u64 {
        self.met
    }

    pub fn into_inner(self) -> J {
        self.inner
    }

    /// Counts the call, lets land what is due, and says what goes wrong.
    async fn begin(&mut self) -> Option<Trouble> {
        self.calls += 1;
        self.land().await;
        let calls = self.calls;
        let trouble = match &mut self.plan {
            Plan::Script(script) => {
                script.iter().find(|(call, _)| *call == calls).map(|(_, trouble)| *trouble)
            }
            Plan::Chance { chance, percent, kinds } => {
                let at = chance.below(kinds.len() as u64) as usize;
                chance.happens(*percent).then(|| kinds[at])
            }
        }?;
        self.met += 1;
        Some(trouble)
    }

    async fn land(&mut self) {
        let calls = self.calls;
        for late in self.late.extract_if(.., |late| late.due <= calls).collect::<Vec<_>>() {
            // If its place has been taken it is lost, which the caller has been told is possible.
            let _ = self.inner.append(late.after, late.bytes).await;
        }
    }

    fn break_down(&mut self, crash: bool) -> String {
        self.broken = true;
        if crash && let Some(on_crash) = &mut self.on_crash {
            on_crash();
        }
        format!("planned trouble at call {}", self.calls)
    }

    async fn append_later(&mut self, after: Position, bytes: Bytes) -> Result<Stamp, AppendError> {
        if self.broken {
            return Err(AppendError::Broken("it broke before".to_owned()));
        }
        let length = bytes.len();
        let Some(trouble) = self.begin().await else { return self.inner.append(after, bytes).await };
        let unknown = Err(AppendError::Unknown(format!("planned trouble at call {}", self.calls)));
        match trouble {
            Trouble::Conflict => Err(AppendError::Conflict { expected: after }),
            Trouble::Full => Err(AppendError::Full { bytes: length }),
            // A definite refusal of the store stays one.
            Trouble::UnknownWritten => self.inner.append(after, bytes).await.and(unknown),
            Trouble::UnknownLost => unknown,
            Trouble::UnknownLate { calls } => {
                self.late.push(Late { due: self.calls + u64::from(calls), after, bytes });
                unknown
            }
            Trouble::Broken | Trouble::Crash => {
                Err(AppendError::Broken(self.break_down(trouble == Trouble::Crash)))
            }
        }
    }

    async fn sync_later(&mut self) -> Result<Position, JournalError> {
        let error = |why: String| {
            Err(JournalError::Io { place: "faulty".to_owned(), source: std::io::Error::other(why) })
        };
        if self.broken {
            return error("it broke before".to_owned());
        }
        match self.begin().await {
            None => self.inner.sync().await,
            // A sync has no harmless way to fail.
            Some(trouble) => error(self.break_down(trouble == Trouble::Crash)),
        }
    }
}

impl<J: Journal> Journal for Faulty<J> {
    fn append(&mut self, after: Position, bytes: Bytes) -> Answer<'_, Result<Stamp, AppendError>> {
        Box::pin(self.append_later(after, bytes))
    }

    fn sync(&mut self) -> Answer<'_, Result<Position, JournalError>> {
        Box::pin(self.sync_later())
    }

    fn attest(&mut self) -> Answer<'_, Result<(), JournalError>> {
        self.inner.attest()
    }

    fn head(&self) -> Position {
        self.inner.head()
    }

    fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    fn room(&self) -> Room {
        self.inner.room()
    }

    fn changed(&mut self) -> Answer<'_, ()> {
        self.inner.changed()
    }

    fn archive(&self) -> Box<dyn Archive> {
        self.inner.archive()
    }
}
