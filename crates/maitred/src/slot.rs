//! A slot as a scoped guard.

use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use maitred_api::{LimitShare, Problem, SlotAnswer, SlotState};
use tokio::{task, time::Instant};

use crate::{Maitred, SlotId, releaser::What};

/// A slot that is held: for as long as this value lives, and at the longest until [`Slot::expires_at`].
///
/// Dropping it gives it back, on return, on error, on panic and on cancellation. The drop never blocks, never starts
/// anything and works outside a runtime: the client's own thread tells the limiter, again and again until it answers
/// or the slot has expired. [`Slot::release`] waits for the answer; [`Slot::detach`] keeps the slot for work that ends
/// elsewhere.
///
/// What is bounded is slots that have not expired, not processes: a holder that is slower than its max hold shares its
/// place with the next one. Where that must not do harm, hand [`Slot::fence`] to the resource and let it refuse
/// numbers lower than one it has seen.
#[must_use = "a slot that is dropped at once is given back at once; bind it to a name"]
pub struct Slot {
    home: Maitred,
    id: SlotId,
    limits: Vec<LimitShare>,
    fence: u64,
    expires_at_ms: u64,
    expires: Instant,
    held: bool,
    /// The task it was granted to, where that is looked at.
    taker: Option<task::Id>,
}

/// What a release did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released {
    /// Whether this call freed it. The second time, and after the max hold, it says false.
    pub released: bool,
    /// What the slot is now.
    pub state: SlotState,
}

impl Slot {
    /// A granted slot, heard of just now.
    pub(crate) fn new(home: Maitred, id: SlotId, answer: SlotAnswer) -> Slot {
        let expires_at_ms = answer.slot.expires_at.unwrap_or(answer.as_of);
        let left = Duration::from_millis(expires_at_ms.saturating_sub(answer.as_of));
        let taker = home.home.held.took();
        Slot {
            home,
            taker,
            id,
            limits: answer.slot.limits,
            fence: answer.slot.fence.unwrap_or_default(),
            expires_at_ms,
            expires: Instant::now() + left,
            held: true,
        }
    }

    /// The id: whoever knows it may release the slot, from anywhere.
    pub fn id(&self) -> &SlotId {
        &self.id
    }

    /// The limit it is of, or the first of several.
    pub fn limit(&self) -> &str {
        self.limits.first().map_or("", |share| &share.limit)
    }

    /// All limits it is of, with its weight in each, in the order they were asked for.
    pub fn limits(&self) -> &[LimitShare] {
        &self.limits
    }

    /// A number that only grows within a namespace, so that a resource can refuse a holder whose slot has expired.
    pub fn fence(&self) -> u64 {
        self.fence
    }

    /// When the limiter takes it back, by the limiter's clock. Set at the grant, never moved.
    pub fn expires_at(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.expires_at_ms)
    }

    /// How long it may still be held, by this machine's steady clock: too long by the time that the grant took to get
    /// here. Zero once it has expired.
    pub fn expires_in(&self) -> Duration {
        self.expires.saturating_duration_since(Instant::now())
    }

    /// Gives it back and waits for the answer.
    ///
    /// Cancel safe: if the future is dropped, or no answer comes, the client goes on giving it back in the background.
    ///
    /// # Errors
    /// The limiter could not be heard within 10 s; nothing more is to be done, see above.
    pub async fn release(mut self) -> Result<Released, Problem> {
        let released = self.home.release(&self.id).await?;
        self.held = false;
        Ok(released)
    }

    /// Keeps the slot beyond this value, for work that ends elsewhere: give the id to [`Maitred::release`] there.
    /// Until then, or until it expires, the slot stays held.
    #[must_use = "nobody but who has this id can give the slot back before it expires"]
    pub fn detach(mut self) -> SlotId {
        self.held = false;
        self.id.clone()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.home.home.held.gave_back(self.taker);
        if self.held {
            self.home.hand_over(What::Release { slot: self.id.clone() }, self.expires);
        }
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("id", &self.id)
            .field("limits", &self.limits)
            .field("fence", &self.fence)
            .finish_non_exhaustive()
    }
}
