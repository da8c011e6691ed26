//! The seam between the limiter and a durable engine.

use maitred::api::RunStatus;

/// What the limiter's side needs of an engine that hosts runs. Another engine is supported by two methods, and by
/// telling [`Maitred::end_run_in_background`](maitred::Maitred::end_run_in_background) of ends that it hears of.
pub trait RunHost: Send + Sync + 'static {
    /// Puts a notice into the run's durable inbox. Once it is accepted it is there over any crash. The same notice may
    /// come twice.
    fn deliver(&self, notice: &Notice) -> impl Future<Output = Delivery> + Send;

    /// Which of these runs have ended, and how. Nothing is said about runs that go on, that this engine does not know,
    /// or that it cannot look at just now.
    fn ended(&self, runs: Vec<String>) -> impl Future<Output = Vec<(String, RunStatus)>> + Send;
}

/// Something happened to a slot that a run waits for: it is to look. A hint; the slot's state is the truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The run.
    pub run: String,
    /// The slot.
    pub slot: String,
    /// Where the run waits for it.
    pub inbox: String,
}

/// What came of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is in the inbox.
    Accepted,
    /// The run has ended: it wants nothing any more.
    RunEnded(RunStatus),
    /// This engine has no such run.
    NotHere,
    /// The engine could not take it now.
    TryLater,
}
