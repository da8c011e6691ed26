//! Many items, few at once, every result kept.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Sleep, sleep};

use super::acquire::Acquire;
use super::error::{AcquireError, FanOutError};
use super::handle::Permits;
use super::nested;
use super::permit::Permit;
use super::running::{Panic, Running};

/// Runs `body` for every item, each with a permit, and returns all results in the order of the items.
///
/// All of it happens in the calling task: only the items inside exist as futures, the others are still in the
/// iterator. So ten thousand items cost what the permits allow, nothing is spawned, and bodies may borrow. (Work that
/// should use several cores can spawn inside its body.)
///
/// * An item that fails or panics is a result of its own; the others go on.
/// * Only the next item stands in line, so several fan-outs and single calls over the same permits take fair turns.
/// * The timeout of the permits bounds a stall: if nothing of this fan-out is inside and no permit comes for that
///   long, all items that are left get [`AcquireError::TimedOut`]. An item that hangs inside is not stopped: give the
///   body a timeout of its own.
/// * After [`Permits::close`] the items that are left get [`AcquireError::Closed`].
///
/// ```
/// # use maitred_permits as maitred;
/// use maitred::permits::{FanOutError, Permits, fan_out};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let permits = Permits::new("partner", 50);
/// let results = fan_out(1..=10_000u32, &permits, |item| async move {
///     if item == 7 { Err("no such record") } else { Ok(item * 2) }
/// })
/// .await;
/// assert_eq!(results.len(), 10_000);
/// assert_eq!(results[0], Ok(2));
/// assert_eq!(results[6], Err(FanOutError::Failed("no such record")));
/// assert_eq!(permits.available(), 50);
/// # }
/// ```
///
/// # Cancel safety
///
/// Dropped, it drops every future inside, and each gives its permit back. Nothing goes on behind it.
///
/// # Panics
///
/// If the iterator panics; and as [`Acquire`] does, if it has to wait outside a runtime with timers.
pub async fn fan_out<I, F, Fut, T, E>(
    items: I,
    permits: &Permits,
    mut body: F,
) -> Vec<Result<T, FanOutError<E>>>
where
    I: IntoIterator,
    F: FnMut(I::Item) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    let items = items.into_iter();
    let mut fan = FanOut {
        results: Vec::with_capacity(items.size_hint().0),
        items,
        permits,
        next: None,
        running: Running::new(),
        stall: None,
        start: |item| nested::scope(permits.id(), body(item)),
    };
    poll_fn(|cx| fan.poll(cx)).await
}

type Results<T, E> = Vec<Option<Result<T, FanOutError<E>>>>;

struct FanOut<'a, I: Iterator, S, Fut, T, E> {
    items: I,
    permits: &'a Permits,
    start: S,
    /// The item at the head, and its request for a permit.
    next: Option<(I::Item, Acquire)>,
    /// What is inside: each future with its place in the results and its permit.
    running: Running<Fut, (usize, Permit)>,
    /// Runs while nothing is inside and no permit comes.
    stall: Option<Pin<Box<Sleep>>>,
    /// One for every item taken from the iterator; filled when it ends.
    results: Results<T, E>,
}

impl<I, S, Fut, T, E> FanOut<'_, I, S, Fut, T, E>
where
    I: Iterator,
    S: FnMut(I::Item) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Vec<Result<T, FanOutError<E>>>> {
        loop {
            let results = &mut self.results;
            self.running.poll_woken(cx, |(at, permit), ended| {
                permit.set_failed(!matches!(ended, Ok(Ok(_))));
                results[at] = Some(result_of(ended));
            });
            if !self.start_those_with_permits(cx) {
                break;
            }
        }
        if self.next.is_some() && !self.is_stalled(cx) {
            return Poll::Pending;
        }
        if !self.running.is_empty() {
            return Poll::Pending;
        }
        Poll::Ready(self.results.drain(..).map(|result| result.expect("every item has ended")).collect())
    }

    /// Starts items for as long as permits come; whether any was started.
    fn start_those_with_permits(&mut self, cx: &mut Context<'_>) -> bool {
        let mut any = false;
        while self.next_in_line() {
            let (_, acquire) = self.next.as_mut().expect("just seen");
            let Poll::Ready(answer) = Pin::new(acquire).poll(cx) else { break };
            let (item, _) = self.next.take().expect("just seen");
            match answer {
                Ok(permit) => any |= self.start(item, permit),
                Err(refused) => self.end_last(Err(FanOutError::Acquire(refused))),
            }
        }
        any
    }

    /// Puts the next item in line if none is; `false` when there are no more.
    fn next_in_line(&mut self) -> bool {
        if self.next.is_none() {
            let acquire = || self.permits.acquire_for_body().no_timeout();
            self.next = self.items.next().map(|item| (item, acquire()));
            self.results.extend(self.next.is_some().then_some(None));
        }
        self.next.is_some()
    }

    /// Starts the item taken last. A body that panics before it has a future ends at once.
    fn start(&mut self, item: I::Item, permit: Permit) -> bool {
        self.stall = None;
        permit.set_failed(true); // until it has ended well
        match catch_unwind(AssertUnwindSafe(|| (self.start)(item))) {
            Ok(future) => self.running.insert(future, (self.results.len() - 1, permit)),
            Err(panic) => {
                drop(permit);
                self.end_last(Err(FanOutError::Panicked(message(&panic))));
            }
        }
        true
    }

    fn end_last(&mut self, result: Result<T, FanOutError<E>>) {
        *self.results.last_mut().expect("an item was taken") = Some(result);
    }

    /// With an item in line: whether nothing has been inside for the timeout. Then everything left has its answer.
    fn is_stalled(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(timeout) = self.permits.default_timeout().filter(|_| self.running.is_empty()) else {
            self.stall = None;
            return false;
        };
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(timeout)));
        if stall.as_mut().poll(cx).is_pending() {
            return false;
        }
        let refused = self.permits.shared().timed_out(1, timeout);
        self.fail_the_rest(&refused);
        true
    }

    fn fail_the_rest(&mut self, refused: &AcquireError) {
        let failed = || Some(Err(FanOutError::Acquire(refused.clone())));
        self.next = None;
        *self.results.last_mut().expect("an item was in line") = failed();
        self.results.extend(self.items.by_ref().map(|_| failed()));
    }
}

fn result_of<T, E>(ended: Result<Result<T, E>, Panic>) -> Result<T, FanOutError<E>> {
    match ended {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(FanOutError::Failed(error)),
        Err(panic) => Err(FanOutError::Panicked(message(&panic))),
    }
}

fn message(panic: &Panic) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is no text".to_owned())
}
