//! The supply of segments: made ahead, so that no append waits for zeroes to be written.
//!
//! One spare is always wanted. It is the next segment and the reserve at once: when it has become the current
//! segment and no other can be made, there is room for one more segment, which the caller keeps for what frees
//! places ([`Room::Reserve`](crate::Room)). A trim gives segments back, which come first: they are the fastest.

use std::{
    io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use super::{Making, names, shared::Shared};
use crate::{
    DiskFile, JournalError,
    disk::{create_anew, write_all},
};

/// So much is written between two flushes, lest the flushes of the writer wait behind a whole segment.
const STEP_BYTES: u64 = 1 << 20;
const RETRY: Duration = Duration::from_secs(1);

pub(crate) struct Supply {
    shared: Arc<Shared>,
    segment_bytes: u64,
    spares_max: usize,
    who: Making,
    /// One file is made at a time, in whichever thread.
    making: Mutex<()>,
    wake: Condvar,
    asked: Mutex<bool>,
    ended: AtomicBool,
}

impl Supply {
    pub(crate) fn new(shared: Arc<Shared>, segment_bytes: u64, spares_max: usize, who: Making) -> Self {
        let (making, asked) = (Mutex::new(()), Mutex::new(true));
        let (wake, ended) = (Condvar::new(), AtomicBool::new(false));
        Self { shared, segment_bytes, spares_max, who, making, wake, asked, ended }
    }

    pub(crate) fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// Sees to it that a spare will be there, now or soon.
    pub(crate) fn look_after(&self) {
        match self.who {
            Making::InBackground => self.ask(),
            // A failure is in the state, for `room` and for the next append that needs a segment.
            Making::InForeground => drop(self.make_ahead()),
        }
    }

    /// Makes the spare that is wanted, if it is not there.
    pub(crate) fn make_ahead(&self) -> Result<(), JournalError> {
        let _one = self.one_maker();
        if !self.shared.state().spares.is_empty() {
            return Ok(());
        }
        let made = self.make();
        let failure = made.as_ref().err().map(kind_of);
        self.shared.state().no_spare = failure;
        made
    }

    /// A spare to be used now. None if the disk is full, for all that is known.
    pub(crate) fn take(&self) -> Result<Option<String>, JournalError> {
        {
            let mut state = self.shared.state();
            let spare = state.spares.pop();
            // Whoever appends to a full disk again and again shall not fill it with zeroes each time.
            if spare.is_some() || state.no_spare.is_some_and(is_full) {
                return Ok(spare);
            }
        }
        // Waits for the thread, if it is making one.
        match self.make_ahead() {
            Ok(()) => Ok(self.shared.state().spares.pop()),
            Err(error) if is_full(kind_of(&error)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes files back that were segments. Their renaming is durable before anybody may write to them, or the
    /// power could fail with the old name over new bytes.
    pub(crate) fn recycle(&self, segments: &[(u64, u64)]) -> Result<(), JournalError> {
        let shared = &self.shared;
        let mut spares = Vec::new();
        for &(number, capacity) in segments {
            let from = names::segment(number);
            if capacity != self.segment_bytes || shared.state().spares.len() + spares.len() >= self.spares_max
            {
                shared.disk.remove(&from).map_err(shared.io(&from))?;
                continue;
            }
            let to = self.new_name();
            shared.disk.rename(&from, &to).map_err(shared.io(&from))?;
            spares.push(to);
        }
        shared.disk.sync_folder().map_err(shared.io(""))?;
        let mut state = shared.state();
        state.spares.extend(spares);
        if !state.spares.is_empty() {
            state.no_spare = None;
        }
        Ok(())
    }

    fn make(&self) -> Result<(), JournalError> {
        let shared = &self.shared;
        let half_made = names::SEGMENT_HALF_MADE;
        let made = create_anew(&*shared.disk, half_made).and_then(|file| self.fill(&*file));
        if let Err(source) = made {
            let _ = shared.disk.remove(half_made);
            return Err(JournalError::Io { place: shared.disk.place(half_made), source });
        }
        let name = self.new_name();
        shared.disk.rename(half_made, &name).map_err(shared.io(&name))?;
        shared.disk.sync_folder().map_err(shared.io(""))?;
        shared.state().spares.push(name);
        Ok(())
    }

    fn fill(&self, file: &dyn DiskFile) -> io::Result<()> {
        let zeroes = vec![0; STEP_BYTES.min(self.segment_bytes) as usize];
        let mut offset = 0;
        while offset < self.segment_bytes {
            let step = (self.segment_bytes - offset).min(STEP_BYTES) as usize;
            write_all(file, &zeroes[..step], offset)?;
            file.sync()?;
            offset += step as u64;
            if self.ended.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        Ok(())
    }

    fn new_name(&self) -> String {
        let mut state = self.shared.state();
        state.next_spare += 1;
        names::spare(state.next_spare)
    }

    fn one_maker(&self) -> MutexGuard<'_, ()> {
        self.making.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Asks the thread to look after the spare.
    fn ask(&self) {
        *self.asked.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = true;
        self.wake.notify_one();
    }

    fn keep_going(&self) {
        while !self.ended.load(Ordering::Relaxed) {
            // A failure is in the state, for `room` and for the next append that needs a segment.
            let _ = self.make_ahead();
            let mut asked = self.asked.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let failed = self.shared.state().no_spare.is_some();
            while !*asked && !self.ended.load(Ordering::Relaxed) {
                if failed {
                    asked = self
                        .wake
                        .wait_timeout(asked, RETRY)
                        .map_or_else(|poisoned| poisoned.into_inner().0, |woken| woken.0);
                    break;
                }
                asked = self.wake.wait(asked).unwrap_or_else(|poisoned| poisoned.into_inner());
            }
            *asked = false;
        }
    }
}

fn is_full(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn kind_of(error: &JournalError) -> io::ErrorKind {
    match error {
        JournalError::Io { source, .. } => source.kind(),
        _ => io::ErrorKind::Other,
    }
}

/// The thread that makes segments, until it is dropped.
pub(crate) struct Maker {
    supply: Arc<Supply>,
    thread: Option<JoinHandle<()>>,
}

impl Maker {
    pub(crate) fn start(supply: Arc<Supply>) -> io::Result<Self> {
        let at_work = Arc::clone(&supply);
        let named = std::thread::Builder::new().name("segments".to_owned());
        let thread = named.spawn(move || at_work.keep_going())?;
        Ok(Self { supply, thread: Some(thread) })
    }
}

impl Drop for Maker {
    fn drop(&mut self) {
        {
            // Under the lock, or the thread could miss it between looking and waiting.
            let _asked = self.supply.asked.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            self.supply.ended.store(true, Ordering::Relaxed);
            self.supply.wake.notify_one();
        }
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported by its own hook.
            let _ = thread.join();
        }
    }
}
