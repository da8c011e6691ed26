//! Defects that a test build can be told to have, to see whether the tests would see them.
//!
//! # Worked example
//! ```text
//! MAITRED_PLANTED=barging cargo test -p maitred-engine -p maitred-planted --features maitred-planted/planted --test it judge::
//! ```
//! runs the judge of the engine on an engine that grants a free slot past its queue. The judge must fail; `cargo xtask
//! see` does this with every defect and the test that is to see it.
//!
//! Without the feature `planted` [`has`] is a constant, and nothing of a defect is compiled. No crate switches the
//! feature on, which `cargo xtask tidy` checks.
#![forbid(unsafe_code)]

macro_rules! defects {
    ($($(#[$about:meta])* $item:ident = $name:literal,)*) => {
        /// What can be wrong on purpose, one at a time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Defect { $($(#[$about])* $item,)* }

        impl Defect {
            pub const ALL: &'static [Defect] = &[$(Defect::$item,)*];

            /// What the variable says.
            pub fn name(self) -> &'static str {
                match self { $(Defect::$item => $name,)* }
            }
        }
    };
}

defects! {
    // Rules: what falls due, and when.
    /// `<` where `<=` belongs: what is due at this instant comes after the command.
    DueLate = "due-late",
    /// A lapse at the very end of a slot's wait puts it back instead of ending it.
    LapseForgetsTimeout = "lapse-forgets-timeout",
    /// A rate window still runs at the instant of its end.
    WindowEndsLate = "window-ends-late",
    /// A place in flight still counts at the instant of its end.
    PlaceEndsLate = "place-ends-late",
    /// Of what is due at one instant, waits end before holds do.
    TimeoutsFirst = "timeouts-first",
    /// After an outage grants are made at the times that have passed, not now.
    GrantsInThePast = "grants-in-the-past",
    // Rules: who is granted what.
    /// Whoever asks takes free room past those who wait.
    Barging = "barging",
    /// A slot whose reservation lapsed keeps its place.
    LapseToHead = "lapse-to-head",
    /// The hold begins at the confirmation, not at the grant.
    ExpiryMoves = "expiry-moves",
    /// A reservation is two minutes long even where the max hold is shorter.
    ReservationIgnoresHold = "reservation-ignores-hold",
    /// Slots are counted, not their weights.
    WeightsIgnored = "weights-ignored",
    /// Reservations take no room.
    ReservedTakesNoRoom = "reserved-takes-no-room",
    /// What a run's end frees is granted before all of the run has ended.
    GrantsToTheDying = "grants-to-the-dying",
    /// Two copies of the state come to differ, by what differs between processes.
    DiffersByCopy = "differs-by-copy",
    // Rules: ids and what is remembered.
    /// A release frees the longest holder of the limit, whoever is named.
    ReleasesByLimit = "releases-by-limit",
    /// How a slot ended is forgotten at once.
    EndForgotten = "end-forgotten",
    /// The same slot id with other content is taken for the same slot.
    ContentIgnored = "content-ignored",
    /// The same request id with other content is taken for the same request.
    RequestContentIgnored = "request-content-ignored",
    /// A hit is given back although its run succeeded.
    GivesBackSuccess = "gives-back-success",
    /// What is given back is given back again with every end of the run.
    GivesBackTwice = "gives-back-twice",
    /// A call that is over a limit is counted all the same.
    CountsRefused = "counts-refused",
    /// A key lets one more through than its limit.
    OneMore = "one-more",
    /// A snapshot does not keep the last fence.
    FenceForgotten = "fence-forgotten",
    /// Any hang-up ends the slot, also one of an older line.
    AnyLineHangsUp = "any-line-hangs-up",
    /// A process that is gone keeps its lines.
    DeadLinesStay = "dead-lines-stay",
    /// A command of a kind that is not known is passed over.
    UnknownSkipped = "unknown-skipped",
    // The local journal.
    /// A flush is reported and not made.
    NoSync = "no-sync",
    /// A flush that failed is reported as made.
    SyncErrorIgnored = "sync-error-ignored",
    /// A flush that failed is made once more, and that one is believed.
    SyncRetried = "sync-retried",
    /// The name of a new segment is not flushed.
    NoFolderSync = "no-folder-sync",
    /// Recovery takes every bad record for a torn tail.
    NoLookAhead = "no-look-ahead",
    /// Recovery takes every whole record of the next position, whoever wrote it.
    OldBytesTaken = "old-bytes-taken",
    /// An append is taken wherever its writer believes the end to be.
    AppendAnywhere = "append-anywhere",
    // The node.
    /// Answers leave before their record is durable.
    AnswersBeforeSync = "answers-before-sync",
    /// A refused append is taken for done.
    ConflictIgnored = "conflict-ignored",
    /// A record takes effect wherever it stands.
    ChainIgnored = "chain-ignored",
    /// Every stamp of the journal is believed.
    StampsBelieved = "stamps-believed",
    /// A slot is told as this node knows it, without asking for the journal's end.
    StaleReads = "stale-reads",
    /// A node that stands still for a while is taken for dead by nobody.
    NobodyIsDead = "nobody-is-dead",
}

/// Whether this process was told to have the defect.
#[cfg(feature = "planted")]
pub fn has(defect: Defect) -> bool {
    static TOLD: std::sync::OnceLock<Option<Defect>> = std::sync::OnceLock::new();
    *TOLD.get_or_init(told) == Some(defect)
}

/// Always false: this build has no defects to plant.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub const fn has(_: Defect) -> bool {
    false
}

#[cfg(feature = "planted")]
fn told() -> Option<Defect> {
    let name = std::env::var("MAITRED_PLANTED").ok()?;
    let named = Defect::ALL.iter().copied().find(|defect| defect.name() == name);
    Some(named.unwrap_or_else(|| panic!("MAITRED_PLANTED={name}: there is no such defect")))
}

#[cfg(test)]
mod tests {
    use super::Defect;

    #[test]
    fn names_are_different() {
        let mut names: Vec<_> = Defect::ALL.iter().map(|defect| defect.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Defect::ALL.len());
        assert!(names.len() >= 30);
    }
}
