//! The courier of one namespace: hears what happens there, keeps a notice open for every slot that its run has to
//! hear of, and looks around every 15 s.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use maitred::local::{LiveEvents, Node, Scope};
use maitred_api::{Call, Context, LiveEvent, RunStatus, SlotState};
use tokio::{
    sync::{Notify, mpsc},
    task::{AbortHandle, JoinSet},
    time::{MissedTickBehavior, interval, sleep},
};

use super::{
    CallbackNumbers,
    client::App,
    notice::{About, Notice},
    numbers::OpenNotice,
    past, survey,
};

const LOOK_EVERY: Duration = Duration::from_secs(15);
/// Who did it, in the limiter's record.
const BY: &str = "callback";
/// How long a notice of what its run was answered anyway is held back.
const KNOWS_FOR: Duration = Duration::from_secs(1);
/// Reservations that a look has found and the courier has not yet taken.
const FOUND_AHEAD: usize = 1_000;

/// The ways to the limiter and to the apps.
pub struct Ways {
    pub node: Node,
    pub context: Context,
    pub apps: Vec<Arc<App>>,
    pub numbers: CallbackNumbers,
}

impl Ways {
    pub fn apps_of(&self, run: &str) -> impl Iterator<Item = &Arc<App>> {
        self.apps.iter().filter(move |app| app.has(run))
    }

    /// The run is over: it leaves every queue, and what is reserved for it goes on.
    pub async fn end(&self, run: &str, status: RunStatus) {
        let call = Call::EndRun { run: run.to_owned(), status };
        match self.node.call(&self.context, call).await {
            Ok(_) => {
                tracing::info!(run, ?status, "a run is over, its app says");
                self.numbers.runs_ended.inc();
            }
            // The next look asks again.
            Err(problem) => tracing::warn!(run, %problem, "a run that is over could not be ended"),
        }
    }
}

pub struct Courier {
    ways: Arc<Ways>,
    open: BTreeMap<String, Open>,
    notices: JoinSet<String>,
    look: JoinSet<()>,
    look_back: JoinSet<()>,
    found_to: mpsc::Sender<About>,
    found: mpsc::Receiver<About>,
}

struct Open {
    task: AbortHandle,
    nudge: Arc<Notify>,
    _counted: OpenNotice,
}

impl Courier {
    pub fn new(node: Node, namespace: String, apps: Vec<Arc<App>>, numbers: CallbackNumbers) -> Self {
        let context = Context { namespace: Some(namespace), by: Some(BY.to_owned()), ..Context::default() };
        let (found_to, found) = mpsc::channel(FOUND_AHEAD);
        let ways = Arc::new(Ways { node, context, apps, numbers });
        let (notices, look, look_back) = (JoinSet::new(), JoinSet::new(), JoinSet::new());
        Self { ways, open: BTreeMap::new(), notices, look, look_back, found_to, found }
    }

    /// As long as the node runs.
    pub async fn run(mut self) {
        loop {
            match self.ways.node.listen(&self.ways.context, Scope::default(), None).await {
                Ok((_, events)) => {
                    if self.follow(events).await.is_stopped() {
                        return;
                    }
                }
                Err(problem) => {
                    tracing::warn!(%problem, "callbacks cannot hear what happens");
                    sleep(LOOK_EVERY).await;
                }
            }
        }
    }

    /// Until the events end. What happened before is found by a look back, and by the first look, which comes at once.
    async fn follow(&mut self, mut events: LiveEvents) -> Ended {
        self.look_back().await;
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                heard = events.next() => match heard {
                    Ok(Some((_, list))) => for event in &list {
                        self.hear(event).await;
                    },
                    Ok(None) => return Ended::Stopped,
                    Err(_) => return Ended::TooFarBehind,
                },
                _ = looks.tick() => self.look_around(),
                Some(about) = self.found.recv() => self.open(about, Duration::ZERO),
                Some(closed) = self.notices.join_next() => self.close(closed.ok()),
                Some(_) = self.look.join_next() => {}
                Some(_) = self.look_back.join_next() => {}
            }
        }
    }

    /// In place of the look back that is still under way, if there is one.
    async fn look_back(&mut self) {
        let head = self.ways.node.health().await.revision;
        self.look_back = JoinSet::new();
        self.look_back.spawn(past::look_back(Arc::clone(&self.ways), head, self.found_to.clone()));
    }

    fn look_around(&mut self) {
        if self.look.is_empty() {
            self.look.spawn(survey::look(Arc::clone(&self.ways), self.found_to.clone()));
        }
    }

    async fn hear(&mut self, event: &LiveEvent) {
        let Some(slot) = &event.slot else { return };
        match event.kind.as_str() {
            "slot_granted" if event.state.as_deref() == Some(SlotState::Reserved.as_str()) => {
                // Who was granted in the answer to its own question knows, and is about to confirm.
                let first_after = if event.waited_ms == Some(0) { KNOWS_FOR } else { Duration::ZERO };
                if let Some(about) = self.ways.slot(slot).await.and_then(|slot| About::of(&slot)) {
                    self.open(about, first_after);
                }
            }
            "slot_confirmed" => self.confirmed(slot),
            "slot_ended" => self.ended(slot, event),
            _ => {}
        }
    }

    fn open(&mut self, about: About, first_after: Duration) {
        if let Some(open) = self.open.get(&about.slot) {
            open.nudge.notify_one();
        } else if self.ways.apps_of(&about.run).next().is_some() {
            let nudge = Arc::new(Notify::new());
            let (slot, ways) = (about.slot.clone(), Arc::clone(&self.ways));
            let task =
                self.notices.spawn(Notice { about, ways, nudge: Arc::clone(&nudge) }.deliver(first_after));
            self.open.insert(slot, Open { task, nudge, _counted: self.ways.numbers.open_notice() });
        }
    }

    fn confirmed(&mut self, slot: &str) {
        if let Some(open) = self.open.remove(slot) {
            open.task.abort();
        }
    }

    /// A run is told of the end of a slot that it does not have yet. One that it has is its own affair: such a slot
    /// has no open notice, and ends as `released` or `expired`.
    fn ended(&mut self, slot: &str, event: &LiveEvent) {
        if let Some(open) = self.open.get(slot) {
            open.nudge.notify_one();
            return;
        }
        let was_waiting = matches!(event.state.as_deref(), Some("timed_out" | "left"));
        if let (true, Some(limit), Some(run)) = (was_waiting, &event.limit, &event.run) {
            let about = About { slot: slot.to_owned(), limit: limit.clone(), run: run.clone() };
            self.open(about, Duration::ZERO);
        }
    }

    /// One that was aborted is not there any more, or there anew.
    fn close(&mut self, slot: Option<String>) {
        if let Some(slot) = slot {
            self.open.remove(&slot);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Stopped,
    TooFarBehind,
}

impl Ended {
    fn is_stopped(self) -> bool {
        self == Ended::Stopped
    }
}
