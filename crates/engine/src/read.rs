//! What can be seen. Reads change nothing; an unknown namespace is an empty one (N1).

use crate::{
    engine::Engine,
    limits::{Limit, Presence},
    names::Namespace,
    outcome::SlotStatus,
    rates::Counter,
    runs::Run,
    slab::Ref,
    slots::{Slot, Stage},
    time::Millis,
    view::{CounterView, KeyView, LimitView, RunView, SlotView, Stats},
};

/// How many things one page of a listing with a cursor looks at, at most: such a page may be short.
const LOOKED_AT: usize = 10_000;

impl Engine {
    pub fn limit(&self, namespace: &str, limit: &str) -> Option<LimitView> {
        self.find_limit(namespace, limit).map(|at| self.limit_view(&self.limits[at]))
    }

    /// By name, from the first one after `after`.
    pub fn limits(&self, namespace: &str, after: Option<&str>, most: usize) -> Vec<LimitView> {
        use std::ops::Bound::{Excluded, Unbounded};
        let Some(space) = self.find_space(namespace) else { return Vec::new() };
        let from = after.map_or(Unbounded, Excluded);
        let behind =
            self.spaces[space].limits.range::<str, _>((from, Unbounded)).map(|(_, &at)| &self.limits[at]);
        let present = behind.filter(|limit| limit.presence != Presence::Gone);
        present.take(most).map(|limit| self.limit_view(limit)).collect()
    }

    /// Who holds a limit: busy by grant, then reserved by grant.
    pub fn holders(&self, namespace: &str, limit: &str, skip: usize, most: usize) -> Vec<SlotView> {
        let Some(at) = self.find_limit(namespace, limit) else { return Vec::new() };
        self.limits[at].holders.iter().skip(skip).take(most).map(|slot| self.slot_view(slot)).collect()
    }

    /// Who waits for a limit, in order.
    pub fn queue(&self, namespace: &str, limit: &str, skip: usize, most: usize) -> Vec<SlotView> {
        let Some(at) = self.find_limit(namespace, limit) else { return Vec::new() };
        self.limits[at].queue.iter(skip).take(most).map(|slot| self.slot_view(slot)).collect()
    }

    /// What a slot is, now or since its end, for as long as that is remembered.
    pub fn status(&self, namespace: &str, slot: &str) -> SlotStatus {
        match self.find_slot(namespace, slot) {
            Some(at) => self.status_now(at),
            None => self.ended_status(self.slot_hash(namespace, slot)),
        }
    }

    /// A slot that has not ended.
    pub fn slot(&self, namespace: &str, slot: &str) -> Option<SlotView> {
        self.find_slot(namespace, slot).map(|at| self.slot_view(at))
    }

    /// A run that holds something or waits.
    pub fn run(&self, namespace: &str, run: &str) -> Option<RunView> {
        self.find_run(namespace, run).map(|at| self.run_view(at)).filter(is_of_now)
    }

    /// The runs that hold something or wait, in no order that means anything, and where to go on. A page may be
    /// short; what stays is seen once.
    pub fn runs(&self, namespace: &str, cursor: u64, most: usize) -> (Vec<RunView>, Option<u64>) {
        let Some(space) = self.find_space(namespace) else { return (Vec::new(), None) };
        let view = |(at, run): (Ref<Run>, &Run)| {
            (
                at.place(),
                Some(at).filter(|_| run.space == space).map(|at| self.run_view(at)).filter(is_of_now),
            )
        };
        page(self.runs.table.scan(from_cursor(cursor)).map(view), most)
    }

    /// The running window of a rate key.
    pub fn counter(&self, at: Millis, namespace: &str, task: &str, key: &str) -> Option<CounterView> {
        let found = self.rates.counters.find(self.counter_hash(namespace, task, key))?;
        counter_view(&self.rates.counters[found], self.now.max(at))
    }

    /// How many places of a key are taken.
    pub fn in_flight(&self, at: Millis, namespace: &str, task: &str, key: &str) -> u64 {
        let found = self.places.keys.find(self.place_hash(namespace, task, key));
        found.map_or(0, |found| self.places.in_flight(found, self.now.max(at)))
    }

    /// The live keys, in no order that means anything, and where to go on. A page may be short; what stays is seen
    /// once: first the keys with a running window, then those with places only.
    pub fn keys(&self, at: Millis, namespace: &str, cursor: u64, most: usize) -> (Vec<KeyView>, Option<u64>) {
        let now = self.now.max(at);
        if cursor < PLACES_FROM {
            let (keys, next) = self.keys_with_counters(now, namespace, cursor, most);
            return (keys, Some(next.unwrap_or(PLACES_FROM)));
        }
        let (keys, next) = self.keys_with_places_only(now, namespace, cursor - PLACES_FROM, most);
        (keys, next.map(|next| PLACES_FROM + next))
    }

    fn keys_with_counters(
        &self,
        now: Millis,
        namespace: &str,
        cursor: u64,
        most: usize,
    ) -> (Vec<KeyView>, Option<u64>) {
        let space = self.find_space(namespace);
        let view = |(at, counter): (Ref<Counter>, &Counter)| {
            let task = &self.tasks[counter.task];
            let running = counter_view(counter, now).filter(|_| Some(task.space) == space);
            let key_view = running.map(|running| KeyView {
                task: task.id.clone(),
                key: counter.key.clone(),
                counter: Some(running),
                in_flight: self.in_flight(now, namespace, task.id.as_str(), counter.key.as_str()),
            });
            (at.place(), key_view)
        };
        page(self.rates.counters.scan(from_cursor(cursor)).map(view), most)
    }

    fn keys_with_places_only(
        &self,
        now: Millis,
        namespace: &str,
        cursor: u64,
        most: usize,
    ) -> (Vec<KeyView>, Option<u64>) {
        let space = self.find_space(namespace);
        let view = |(at, key): (Ref<_>, &crate::places::PlaceKey)| {
            let task = &self.tasks[key.task];
            let in_flight = self.places.in_flight(at, now);
            let is_seen = Some(task.space) == space
                && in_flight > 0
                && self.counter(now, namespace, task.id.as_str(), key.key.as_str()).is_none();
            let (task, key) = (task.id.clone(), key.key.clone());
            (at.place(), is_seen.then_some(KeyView { task, key, counter: None, in_flight }))
        };
        page(self.places.keys.scan(from_cursor(cursor)).map(view), most)
    }

    /// The processes on whose lines slots wait or are held, in the order of their numbers.
    pub fn line_holders(&self) -> Vec<u64> {
        let mut holders = Vec::new();
        let mut next = self.lines.first();
        while let Some((writer, _)) = next {
            holders.push(*writer);
            next = writer.checked_add(1).and_then(|after| self.lines.range((after, Ref::MIN)..).next());
        }
        holders
    }

    /// All that exist, by name.
    pub fn namespaces(&self) -> Vec<Namespace> {
        let mut names: Vec<Namespace> = self.spaces.scan(0).map(|(_, space)| space.name.clone()).collect();
        names.sort_unstable();
        names
    }

    pub fn stats(&self) -> Stats {
        Stats {
            namespaces: self.spaces.len(),
            limits: self.limits.len(),
            slots: self.slots.len(),
            waiting: self.waiting,
            runs: self.runs.table.len(),
            counters: self.rates.counters.len(),
            places: self.places.len() as u32,
            remembered_timed: self.memory.timed.len() as u32,
            remembered_other: self.memory.other.len() as u32 + self.memory.promised(),
            horizon: self.memory.horizon,
            last_fence: self.fences,
        }
    }

    fn limit_view(&self, limit: &Limit) -> LimitView {
        let granted_at = |slot: Ref<Slot>| match self.slots[slot].stage {
            Stage::Reserved(grant) | Stage::Busy(grant) => Some(grant.granted_at),
            Stage::Queued { .. } => None,
        };
        let holders = &limit.holders;
        let longest_holders = holders.busy.iter().take(1).chain(holders.reserved.iter().take(1));
        LimitView {
            limit: limit.name.clone(),
            capacity: limit.capacity(),
            max_hold_ms: limit.max_hold_ms(),
            declared_capacity: limit.declared_capacity,
            declared_max_hold_ms: limit.declared_max_hold_ms,
            capacity_override: limit.capacity_override,
            max_hold_override_ms: limit.max_hold_override_ms,
            paused: limit.paused,
            retired: limit.presence == Presence::Retired,
            busy: holders.busy.weight(),
            reserved: holders.reserved.weight(),
            busy_slots: holders.busy.len() as u32,
            reserved_slots: holders.reserved.len() as u32,
            waiting: limit.queue.len() as u32,
            oldest_queued_at: limit.queue.first().map(|slot| self.slots[slot].queued_at),
            oldest_granted_at: longest_holders.filter_map(granted_at).min(),
        }
    }

    fn slot_view(&self, at: Ref<Slot>) -> SlotView {
        let slot = &self.slots[at];
        SlotView {
            slot: slot.id.clone(),
            limits: self.named_asks(&slot.asks),
            run: slot.run.map(|run| self.runs.id(run).clone()),
            workflow: slot.workflow.clone(),
            label: slot.label.clone(),
            status: self.status_now(at),
            confirm: slot.confirm,
            hold: slot.hold,
            on_line: slot.is_queued() && slot.has_auto_caller(),
            asked_at: slot.asked_at,
            queued_at: slot.queued_at,
            gives_up_at: slot.gives_up_at,
            laps: slot.laps,
        }
    }

    /// Slots in order of arrival, places by key; windows and places that are over are left out.
    fn run_view(&self, at: Ref<Run>) -> RunView {
        let mut slots: Vec<Ref<Slot>> = self.runs.slots_of(at).collect();
        slots.sort_unstable_by_key(|&slot| self.slots[slot].arrival);
        let held = self.places.held_by(at).filter(|(_, expires_at)| *expires_at > self.now);
        let mut places: Vec<_> = held
            .map(|(key, expires_at)| {
                let key = &self.places.keys[key];
                (self.tasks[key.task].id.clone(), key.key.clone(), expires_at)
            })
            .collect();
        places.sort_unstable();
        let hit = self.rates.counters_hit_by(at).into_iter();
        let running = hit.filter(|&counter| self.rates.counters[counter].runs_at(self.now));
        RunView {
            run: self.runs.id(at).clone(),
            slots: slots.into_iter().map(|slot| self.slot_view(slot)).collect(),
            places,
            hits: running.map(|counter| self.rates.hits_of_run(counter, at).count).sum(),
        }
    }
}

/// Cursors of [`Engine::keys`] from here on are among the places.
const PLACES_FROM: u64 = 1 << 32;

fn from_cursor(cursor: u64) -> u32 {
    u32::try_from(cursor).unwrap_or(u32::MAX)
}

fn is_of_now(run: &RunView) -> bool {
    !run.slots.is_empty() || !run.places.is_empty() || run.hits > 0
}

fn counter_view(counter: &Counter, now: Millis) -> Option<CounterView> {
    let Counter { used, started_at, ends_at, .. } = *counter;
    counter.runs_at(now).then_some(CounterView { used, started_at, ends_at })
}

/// The first `most` that are to be seen, and the place to go on from if there may be more.
fn page<T>(all: impl Iterator<Item = (u32, Option<T>)>, most: usize) -> (Vec<T>, Option<u64>) {
    let mut seen = Vec::new();
    for (looked_at, (place, item)) in all.enumerate() {
        if seen.len() == most || looked_at == LOOKED_AT {
            return (seen, Some(u64::from(place)));
        }
        seen.extend(item);
    }
    (seen, None)
}
