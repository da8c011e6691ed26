//! Asking for permits: at once if they are free, else in line.

use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use std::{fmt, mem};

use tokio::task::{self, coop};
use tokio::time::{Instant, sleep_until};

use super::error::{AcquireError, TryAcquireError};
use super::ledger::WaitEnd;
use super::nested;
use super::permit::Permit;
use super::shared::Shared;

type Waiting = Pin<Box<dyn Future<Output = Result<Permit, AcquireError>> + Send>>;

/// A request for permits; await it. Made by [`Permits::acquire`](super::Permits::acquire) and
/// [`acquire_many`](super::Permits::acquire_many).
///
/// It takes its place in line when it is first polled. First come, first served, whatever is asked for: a large request
/// at the head holds back small ones behind it until it is served or leaves.
///
/// # Cancel safety
///
/// Dropped while it waits, it leaves the line and holds nothing; what had been set aside for it goes to the next. Kept
/// but not polled any more, it keeps its place and may keep permits set aside for it: drop it or await it.
///
/// # Panics
///
/// If it has to wait with a timeout outside a tokio runtime, or in one without timers; `no_timeout()` waits anywhere.
#[must_use = "an acquire does nothing unless it is awaited"]
pub struct Acquire {
    state: State,
    asked: u32,
    timeout: Option<Duration>,
    taker: Taker,
}

enum State {
    New(Arc<Shared>),
    Waiting(Waiting),
    Done,
}

/// Who will hold the permits, for the warning of [`nested`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taker {
    /// A guard of the task that runs now.
    Task,
    /// A body that runs in a scope of its own.
    Body,
}

impl Taker {
    fn task(self) -> Option<task::Id> {
        if self == Taker::Task { nested::current_task() } else { None }
    }
}

impl Acquire {
    pub(crate) fn new(shared: Arc<Shared>, asked: u32, timeout: Option<Duration>, taker: Taker) -> Self {
        Self { state: State::New(shared), asked, timeout, taker }
    }

    /// Waits at most this long; zero means only if permits are free now. Without this or [`no_timeout`](Self::no_timeout)
    /// the timeout of the [`Permits`](super::Permits) holds: 5 s unless changed.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Waits for as long as it takes. A holder that is stuck then stalls this caller silently.
    pub fn no_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }
}

impl Future for Acquire {
    type Output = Result<Permit, AcquireError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let State::New(_) = self.state {
            // Free permits must not keep a loop of acquires from ever yielding to its runtime.
            let budget = ready!(coop::poll_proceed(cx));
            let State::New(shared) = mem::replace(&mut self.state, State::Done) else {
                unreachable!("just seen")
            };
            match ask(shared, self.asked, self.timeout, self.taker) {
                Asked::Answered(answer) => {
                    budget.made_progress();
                    return Poll::Ready(answer);
                }
                Asked::MustWait(waiting) => self.state = State::Waiting(waiting),
            }
        }
        let State::Waiting(waiting) = &mut self.state else {
            panic!("an acquire was polled after it had answered")
        };
        let answer = ready!(waiting.as_mut().poll(cx));
        self.state = State::Done;
        Poll::Ready(answer)
    }
}

enum Asked {
    Answered(Result<Permit, AcquireError>),
    MustWait(Waiting),
}

/// The first look: the answer if there is one at once, else the wait for it.
fn ask(shared: Arc<Shared>, asked: u32, timeout: Option<Duration>, taker: Taker) -> Asked {
    shared.warn_if_nested();
    let task = taker.task();
    match shared.take_or(asked, task, |ledger, now| (now, ledger.wait_begins(now, asked))) {
        Ok(Ok(key)) => Asked::Answered(Ok(Permit::new(shared, asked, key, task))),
        Ok(Err((since, added))) => {
            let place = InLine { shared: Some(shared), asked, since, timed_out: false };
            place.shared().line.add_permits(added as usize);
            Asked::MustWait(Box::pin(wait(place, timeout, taker)))
        }
        Err(refused) => Asked::Answered(Err(refused)),
    }
}

/// Takes what is free now, without waiting.
pub(crate) fn try_ask(shared: Arc<Shared>, asked: u32) -> Result<Permit, TryAcquireError> {
    let task = Taker::Task.task();
    match shared.take_or(asked, task, |_, _| ())? {
        Ok(key) => Ok(Permit::new(shared, asked, key, task)),
        Err(()) => Err(shared.none_free(asked)),
    }
}

/// Waits in line. Whatever comes first: permits, a refusal, or the timeout; permits win a draw.
async fn wait(mut place: InLine, timeout: Option<Duration>, taker: Taker) -> Result<Permit, AcquireError> {
    let deadline = timeout.and_then(|timeout| place.since.checked_add(timeout));
    let (shared, asked) = (place.shared(), place.asked);
    let answer = tokio::select! {
        biased;
        // Once it has answered there is no await until the permits are in the books, so nothing can come between.
        taken = shared.line.acquire_many(asked) => taken.map(|taken| taken.forget()).map_err(|_| shared.closed()),
        too_many = shared.shrunk_below(asked) => Err(too_many),
        () = until(deadline) => Err(shared.timed_out(asked, timeout.unwrap_or_default())),
    };
    place.timed_out = matches!(answer, Err(AcquireError::TimedOut { .. }));
    answer.map(|()| place.served(taker.task()))
}

/// Until the deadline, or for ever without one.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}

/// A place in line, in the books until it is served or dropped.
struct InLine {
    /// `None` once served.
    shared: Option<Arc<Shared>>,
    asked: u32,
    since: Instant,
    timed_out: bool,
}

impl InLine {
    fn shared(&self) -> &Shared {
        self.shared.as_ref().expect("served only once, at the end")
    }

    /// Books the end of the wait and the hold in one go. The permits are ours already.
    fn served(&mut self, task: Option<task::Id>) -> Permit {
        let shared = self.shared.take().expect("served only once, at the end");
        let now = Instant::now();
        let mut ledger = shared.ledger();
        ledger.wait_ended(
            now,
            self.asked,
            WaitEnd::Answered(now.saturating_duration_since(self.since)),
            &shared.line,
        );
        ledger.task_holds.took(task);
        let key = ledger.granted(now, self.asked);
        drop(ledger);
        Permit::new(shared, self.asked, key, task)
    }
}

impl Drop for InLine {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            let now = Instant::now();
            let waited = now.saturating_duration_since(self.since);
            let end = if self.timed_out { WaitEnd::Answered(waited) } else { WaitEnd::Left };
            shared.ledger().wait_ended(now, self.asked, end, &shared.line);
        }
    }
}

impl fmt::Debug for Acquire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire")
            .field("asked", &self.asked)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten thousand may wait at once; what one costs is the box and what is in it.
    #[test]
    fn a_waiting_acquire_is_small() {
        fn size_of_wait<F: Future>(_: fn(InLine, Option<Duration>, Taker) -> F) -> usize {
            size_of::<F>()
        }
        let bytes = size_of::<Acquire>() + size_of_wait(wait);
        assert!(bytes <= 768, "{bytes} bytes");
    }
}
