//! Asking for a slot.

mod asking;

use std::{pin::Pin, time::Duration};

use maitred_api::{AcquireFields, ConfirmMode, Given, HoldMode, WeightedLimit};
use maitred_engine::bounds::TIMEOUT_DEFAULT_MS;

use crate::{Maitred, Slot, SlotId, error::AcquireError};
use asking::Asking;

/// A question for a slot; await it. Made by [`Maitred::acquire`].
///
/// # Cancel safety
/// Dropped at any moment, before, while and after it waits, it leaves nothing behind: the slot leaves the queue, and a
/// grant that was already on its way is given back. It loses its place in the queue.
#[must_use = "nothing is asked until it is awaited"]
#[derive(Clone, Debug)]
pub struct Acquire {
    home: Maitred,
    wanted: Box<Wanted>,
    timeout: Duration,
}

/// What is asked for, as small as can be: whoever waits keeps it. Each try makes the fields of the wire of it.
#[derive(Clone, Debug, Default)]
struct Wanted {
    /// Limits with their weights, where one was given.
    limits: Vec<(Box<str>, Option<u32>)>,
    label: Option<Box<str>>,
    run: Option<Box<str>>,
    workflow: Option<Box<str>>,
    hold: HoldMode,
}

impl Wanted {
    fn fields(&self, slot: &SlotId, timeout_ms: u64, wait: Duration) -> AcquireFields {
        let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        let limits = self.limits.iter().map(|(limit, weight)| WeightedLimit {
            limit: limit.to_string(),
            weight: weight.map_or_else(Given::default, Given::from),
        });
        AcquireFields {
            slot: Some(slot.to_string()),
            limits: limits.collect(),
            run: text(&self.run),
            workflow: text(&self.workflow),
            label: text(&self.label),
            timeout: timeout_ms.into(),
            confirm: ConfirmMode::Auto,
            hold: self.hold,
            wait: (wait.as_millis() as u64).into(),
            ..AcquireFields::default()
        }
    }
}

impl Maitred {
    /// Asks for a slot of a limit: first come, first served, waiting up to 24 h unless changed.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let maitred = maitred::Maitred::memory().await?;
    /// maitred.declare("voice-calls", 20, Duration::from_secs(45 * 60)).await?;
    /// maitred.declare("outbound", 100, Duration::from_secs(3600)).await?;
    ///
    /// let slot = maitred
    ///     .acquire("voice-calls")
    ///     .and("outbound").weight(2) // both or none, no deadlock whatever the order
    ///     .label("call to Ana")
    ///     .run("run-1")
    ///     .timeout(Duration::from_secs(30 * 60))
    ///     .await?;
    /// assert!(slot.expires_in() <= Duration::from_secs(45 * 60));
    /// slot.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn acquire(&self, limit: impl Into<String>) -> Acquire {
        let wanted = Box::default();
        Acquire { home: self.clone(), wanted, timeout: Duration::from_millis(TIMEOUT_DEFAULT_MS) }.and(limit)
    }

    /// Runs the body while a slot of this limit is held. The slot is given back when the body returns, whatever it
    /// returns, and when it panics or is cancelled.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let maitred = maitred::Maitred::memory().await?;
    /// # maitred.declare("partner-api", 5, Duration::from_secs(60)).await?;
    /// let answer = maitred.with_limit("partner-api", async |slot| slot.fence()).await?;
    /// # assert_eq!(answer, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// There was no slot, and the body did not run.
    pub async fn with_limit<T>(
        &self,
        limit: impl Into<String>,
        body: impl AsyncFnOnce(&Slot) -> T,
    ) -> Result<T, AcquireError> {
        self.acquire(limit).with(body).await
    }
}

impl Acquire {
    /// A limit more: the slot is granted when it is first in the queue of all and all have room, at one instant.
    /// At most 8.
    ///
    /// Taking one and then waiting for another instead, in another order than somebody else, is a deadlock; debug builds
    /// warn of a task that holds a slot and waits for one more (`tracing`, level `warn`).
    pub fn and(mut self, limit: impl Into<String>) -> Self {
        self.wanted.limits.reserve_exact(1);
        self.wanted.limits.push((boxed(limit), None));
        self
    }

    /// How much of the limit named last the slot takes, 1 if not given, at most 100 000. A weight over its capacity
    /// is refused at once.
    pub fn weight(mut self, weight: u32) -> Self {
        if let Some((_, of_last)) = self.wanted.limits.last_mut() {
            *of_last = Some(weight);
        }
        self
    }

    /// What people find it by. No personal data.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.wanted.label = Some(boxed(label));
        self
    }

    /// How long to stay in the queue, 24 h if not given, at most 400 days. Zero does not wait.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The run it is for: when that ends, the slot leaves the queue.
    pub fn run(mut self, run: impl Into<String>) -> Self {
        self.wanted.run = Some(boxed(run));
        self
    }

    /// The workflow it is for, shown to people.
    pub fn workflow(mut self, workflow: impl Into<String>) -> Self {
        self.wanted.workflow = Some(boxed(workflow));
        self
    }

    /// Frees the slot also when its run ends.
    pub fn until_run_ends(mut self) -> Self {
        self.wanted.hold = HoldMode::Run;
        self
    }

    /// The limit that was named first.
    fn limit(&self) -> &str {
        self.wanted.limits.first().map_or("", |(limit, _)| limit)
    }

    /// Runs the body while the slot is held, as [`Maitred::with_limit`] does.
    ///
    /// # Errors
    /// There was no slot, and the body did not run.
    pub async fn with<T>(self, body: impl AsyncFnOnce(&Slot) -> T) -> Result<T, AcquireError> {
        let slot = self.await?;
        let outcome = body(&slot).await;
        // If no answer comes, the client goes on asking by itself; the body's outcome does not depend on it.
        let _ = slot.release().await;
        Ok(outcome)
    }
}

fn boxed(text: impl Into<String>) -> Box<str> {
    text.into().into_boxed_str()
}

impl IntoFuture for Acquire {
    type Output = Result<Slot, AcquireError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let mut asking = Asking::new(self);
            asking.settle().await
        })
    }
}
