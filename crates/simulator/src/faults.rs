//! What can go wrong, and what of it does in one world.
//!
//! Each world switches about half of the faults off: a world with few faults goes further into each than one
//! where everything happens at once.

use crate::{
    chance::Chance,
    store::{Journal, Kind},
};

macro_rules! counted {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $item:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$about])* $item,)* }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$item,)*];

            pub fn name(self) -> &'static str {
                match self { $($name::$item => $text,)* }
            }
        }
    };
}

counted! {
    /// A kind of trouble that the world makes.
    Fault {
        /// The process dies; what it has written to the disk stays.
        Kill = "kill",
        /// The machine dies; of what was not flushed some sectors survive.
        PowerCut = "power_cut",
        /// The node ends its waits, finishes what it took, and starts again.
        OrderlyStop = "orderly_stop",
        /// No node is there, for seconds or for days.
        Outage = "outage",
        /// The clock that stamps records leaps ahead, by seconds or by years.
        StoreLeapsAhead = "store_leaps_ahead",
        StoreStepsBack = "store_steps_back",
        /// A process stands still, for seconds or minutes, and goes on as if nothing had been.
        StandStill = "stand_still",
        /// A node's boot clock runs fast or slow.
        Drift = "drift",
        /// A node's boot clock leaps ahead.
        BootLeapsAhead = "boot_leaps_ahead",
        /// A flush takes seconds.
        SlowSync = "slow_sync",
        /// A call of the disk fails: the process must end.
        DiskError = "disk_error",
        DiskFull = "disk_full",
        /// Appended, and the answer is lost.
        LostAnswer = "append_answer_lost",
        /// Not appended, and the answer is lost.
        LostAppend = "append_lost",
        /// The answer is lost, and the record lands up to ten minutes later, if its place is still free.
        LateAppend = "append_late",
        /// The same append reaches the store twice.
        TwiceAppend = "append_twice",
        /// The store lets an append through that is not directly behind the head.
        FaultyCompare = "faulty_compare",
        /// No node reaches the store.
        JournalOutage = "journal_outage",
        /// One node does not reach the store.
        CutOff = "cut_off",
        /// A node learns of others' records minutes later.
        SlowNotice = "slow_notice",
        /// All clients act at once, on all nodes.
        Storm = "storm",
        /// A read of the journal fails: the node must stop.
        FailedRead = "read_failed",
        /// A call does not reach its node.
        LostCall = "call_lost",
        /// An answer does not reach its caller.
        LostReply = "reply_lost",
        /// A caller asks a second time while the first call is under way.
        AskTwice = "asked_twice",
        /// A caller goes while it waits.
        HangUp = "hang_up",
    }
}

counted! {
    /// Something rare that has to have happened somewhere in a run.
    Branch {
        Conflict = "append conflicted",
        Void = "void record",
        NotBelieved = "stamp not believed",
        NobodyThere = "nobody was there (T2a)",
        SnapshotUsed = "started from a snapshot",
        Halted = "node stopped itself",
        AppendFull = "append found the disk full",
        StorageFull = "refused: storage full",
        GrantedAtOnce = "granted at once",
        GrantedFromQueue = "granted from the queue",
        GrantedAuto = "granted busy",
        Lapsed = "reservation lapsed",
        Expired = "slot expired",
        TimedOut = "slot timed out",
        Left = "slot left",
        Released = "slot released",
        RunEnded = "slot ended with its run",
        HangUpReleased = "hang-up gave back a busy slot",
        AskedAgain = "asked again, the same slot",
        OtherContent = "same id, other content",
        NeverFits = "never fits",
        Retired = "limit retired",
        OverRate = "over a rate",
        OverConcurrency = "over a concurrency key",
        Replayed = "request id replayed",
        Woken = "caller on the line woken",
        WaitOver = "wait ran out",
        Unknown = "caller told: unknown",
    }
}

impl Branch {
    pub(crate) fn concerns(self, kind: Kind) -> bool {
        match self {
            Branch::AppendFull | Branch::StorageFull => kind.is_local(),
            Branch::Conflict | Branch::Void => kind.nodes > 1,
            _ => true,
        }
    }
}

impl Fault {
    pub(crate) fn concerns(self, kind: Kind) -> bool {
        use Fault::*;
        match self {
            PowerCut | SlowSync | DiskError | DiskFull => kind.is_local(),
            LostAnswer | LostAppend | LateAppend | JournalOutage | FailedRead => !kind.is_local(),
            // A commit is not sent twice, and a database compares what it says it compares.
            TwiceAppend => kind.journal == Journal::Jetstream,
            FaultyCompare => kind.journal == Journal::Jetstream && kind.nodes > 1,
            CutOff | SlowNotice | Storm => kind.nodes > 1,
            _ => true,
        }
    }

    /// Those that come on their own, as against those that meet one call.
    pub(crate) const EVENTS: [(Fault, u64); 16] = [
        (Fault::Kill, 30),
        (Fault::PowerCut, 25),
        (Fault::OrderlyStop, 10),
        (Fault::StandStill, 12),
        (Fault::Outage, 4),
        (Fault::StoreLeapsAhead, 8),
        (Fault::StoreStepsBack, 8),
        (Fault::Drift, 6),
        (Fault::BootLeapsAhead, 6),
        (Fault::SlowSync, 6),
        (Fault::DiskError, 10),
        (Fault::DiskFull, 8),
        (Fault::JournalOutage, 6),
        (Fault::CutOff, 8),
        (Fault::SlowNotice, 8),
        (Fault::Storm, 8),
    ];
}

/// Which faults one world has.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    on: Vec<Fault>,
    /// The faulty phase is over.
    pub healed: bool,
}

impl Plan {
    pub(crate) fn new(chance: &mut Chance, kind: Kind) -> Self {
        let on = Fault::ALL.iter().copied().filter(|fault| fault.concerns(kind) && chance.percent(50));
        Self { on: on.collect(), healed: false }
    }

    pub(crate) fn enabled(&self) -> &[Fault] {
        &self.on
    }

    pub(crate) fn has(&self, fault: Fault) -> bool {
        !self.healed && self.on.contains(&fault)
    }

    /// Whether this fault meets the call that is being made, at so many in a hundred calls.
    pub(crate) fn meets(&self, chance: &mut Chance, fault: Fault, percent: u64) -> bool {
        self.has(fault) && chance.percent(percent)
    }

    /// The next trouble that comes on its own, if this world has any.
    pub(crate) fn next_event(&self, chance: &mut Chance) -> Option<Fault> {
        let weights: Vec<u64> =
            Fault::EVENTS.iter().map(|(fault, weight)| if self.has(*fault) { *weight } else { 0 }).collect();
        let any = weights.iter().sum::<u64>() > 0;
        any.then(|| Fault::EVENTS[chance.weighted(&weights)].0)
    }
}
