//! A limit on how many calls run at once in this process: fair, scoped, watched.
//!
//! Ten thousand records to enrich, a partner that allows 50 connections and answers 429 to the 51st:
//!
//! ```
//! # use maitred_permits as maitred;
//! use maitred::permits::{AcquireError, Permits, fan_out};
//!
//! # #[derive(Debug)] struct Enriched;
//! # fn prepare(record: u32) -> u32 { record }
//! # async fn partner_enrich(_: u32) -> Result<Enriched, AcquireError> { Ok(Enriched) }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), AcquireError> {
//! let partner = Permits::new("partner", 50); // one for all who call that partner; clones share it
//!
//! // One call. Local work stays outside: a permit held for it is capacity left idle.
//! let request = prepare(1);
//! let enriched = partner.try_with_permit(async || partner_enrich(request).await).await?;
//!
//! // Ten thousand, 50 inside, all results in order, none orphaned.
//! let results = fan_out(0..10_000, &partner, |record| partner_enrich(record)).await;
//! # assert_eq!(results.len(), 10_000);
//! # let _ = enriched;
//! # Ok(())
//! # }
//! ```
//!
//! What holds, whatever the schedule: at most *size* are inside (after a shrink: never more than before it, and fewer
//! with every end), and every permit comes back exactly once, on return, error, panic and cancellation. There is no
//! release to call, so none can be forgotten or doubled. Waiting is in order of arrival, and bounded: 5 s unless
//! changed ([`Acquire::timeout`], [`Permits::with_timeout`]), because a wait without end turns one stuck holder into a
//! process that hangs and looks healthy.
//!
//! # Where to put it
//!
//! A limit protects what shares its scope, and nothing wider. It is the same call on every rung of this ladder; what
//! differs is who shares the value.
//!
//! | Where | What it bounds | Protects | How it fails |
//! |---|---|---|---|
//! | **Call site**: a `Permits` made in the function | this loop | memory and sockets of this loop | six call sites of 50 are 300 at the partner, and each looks right |
//! | **Client object**: a `Permits` inside the client of that partner, cloned with it | every use in this process | the partner, from this process | twelve instances of 50 are 600, and the autoscaler changes the number ([`Signals::across_instances`]) |
//! | **Process**: one `Permits` for everything that goes out | all that this instance sends | this instance's own memory and sockets | says nothing of any one downstream |
//! | **Fleet**: a named limit of a maitred server, `acquire("partner")` instead of a `Permits` | all processes, in one queue | the partner, from all of you | one more call over the network; callers outside the fleet are not seen |
//!
//! So: on the client object by default, on the fleet as soon as there is a second instance. And above all of them stands
//! whoever owns the resource: a limit on the caller's side only avoids sending what would be rejected. Honour its 429 and
//! `Retry-After` (around an HTTP client, `maitred::route::HeedLayer` does), wait before trying again, and report the rejection ([`Permit::rejected`]): above zero with a limit in
//! place, the size is too high or the limit is multiplied.
//!
//! # How many
//!
//! Start from what the downstream states or what you measured of it, never from your own cores: [`plan`](crate::plan)
//! computes the table and the N to choose. Then watch [`Signals`] and correct with [`Permits::resize`], without restart.
//!
//! | Signal | Says |
//! |---|---|
//! | [`Permits::history`], floor of available permits | falls and never rises: a leak ([`Permits::leak_alarm`] looks for it) |
//! | `wait_p50`, `wait_p99` | how much of your latency is this limiter; high while the downstream is idle: N is too small |
//! | `timeouts` | above zero: holders are stuck, the warning before the stall |
//! | `in_flight`, and what the downstream counts | differ: the limit is not where you think it is |
//! | `rejected` | above zero: N is too high, or multiplied |
//! | `completed_per_s` beside `failed_per_s` | throughput falls at a flat error rate: permits are gone |
//! | `oldest_hold` | far above the usual call: somebody hangs with a permit |
//!
//! # When something else is right
//!
//! | You have | Use |
//! |---|---|
//! | so many **per second**, per minute, per day | a rate (`admit`, `consume`): permits count who is inside, not how often |
//! | both | both: the rate first, so that nobody holds a permit while it refuses; or a rate and a place in flight in one `admit`, all or none |
//! | work that must also run **somewhere else** (blocking, CPU) | a pool: N workers decide how many *and* where. Permits move nothing |
//! | excess that should be **seen and dropped** | a bounded queue and N consumers; or [`Permits::try_acquire`], which refuses at once |
//! | 500 small calls to the same service | one call with 500 records: the need for a limit goes away |
//! | a loop that may be a little slow | slices of 50, one after another: no limiter, but each slice waits for its slowest |
//! | calls of 5 ms beside calls of 5 minutes | a `Permits` for each kind, or more permits for the heavy ones ([`Permits::acquire_many`]) |
//! | **one writer** of shared data | a mutex. 50 permits are 50 writers |
//! | a slot that outlives the process, or ends elsewhere | a slot of a named limit: it has an id, a longest hold, and a server that frees it |
//!
//! # What people believe
//!
//! * *"We allow 50 at once, so we keep the rate limit."* 50 at once that take 10 ms each are 5,000 a second.
//! * *"Each replica allows 50, so we send 50."* You send 50 times the replicas.
//! * *"One permit is a mutex."* It bounds the same number, but belongs to nobody: a guard may be dropped by another task
//!   than took it, and a holder that asks again waits for itself. Debug builds warn of that; see below.
//! * *"If it is too low we are just slow."* With a leak or an endless wait it becomes a standstill without an error. Hence
//!   guards instead of calls, the default timeout, and the leak alarm.
//!
//! # Several at once
//!
//! Never hold one and ask for another of the same: ask for all with [`Permits::acquire_many`]. Of several limits ask with
//! [`acquire_all`], which takes them in a fixed order. A retry after a timeout is a new acquire at the end of the line:
//! wait before it, or an impatient client asks more the slower things get.
//!
//! In debug builds a holder that asks the same permits again is warned of once (`tracing`, level `warn`). For bodies of
//! [`with_permit`](Permits::with_permit) and [`fan_out`] this is exact within the task; for guards it goes by the id of
//! the task that took them: it cannot see guards taken outside a task (in `main`) nor chains over several tasks, and it
//! can be mistaken about guards moved into other tasks and siblings joined in one. As soon as a guard comes back from
//! another task than took it, it stops judging these permits by task.
//!
//! # What it cannot do
//!
//! * Stop a holder that hangs. Give the call itself a timeout; [`Signals::oldest_hold`] tells that one is missing.
//! * Serve a waiter nobody polls. An [`Acquire`] that is kept without being awaited keeps its place and what was set aside
//!   for it ([`Signals::set_aside`]).
//! * See a guard that was leaked on purpose (`mem::forget`) as anything but a hold that never ends.

mod acquire;
mod acquire_all;
mod circulation;
mod error;
mod fan_out;
mod handle;
mod history;
mod holds;
#[cfg(test)]
mod interleavings;
mod leak;
mod ledger;
mod nested;
mod permit;
mod running;
mod shared;
mod signals;
mod waits;

pub use acquire::Acquire;
pub use acquire_all::{AcquireAll, acquire_all};
pub use error::{AcquireError, FanOutError, TryAcquireError};
pub use fan_out::fan_out;
pub use handle::{DEFAULT_TIMEOUT, Permits};
pub use history::{INTERVAL, INTERVALS_KEPT, Interval};
// For the guards of named limits, which warn by the same rule.
pub use leak::{LeakEvidence, LeakSign, LeakVerdict};
#[doc(hidden)]
pub use nested::{TaskHolds, current_task};
pub use permit::Permit;
pub use signals::Signals;
