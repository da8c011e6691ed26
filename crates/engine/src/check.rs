//! What must be true of the whole state between commands. Looked at after a snapshot is read, and, with the feature
//! `check`, after every command.

use std::collections::BTreeSet;

use crate::{
    engine::Engine,
    limits::{Limit, Presence},
    memory::Share,
    slab::Ref,
    slots::{Ask, Slot, Stage},
};

type Fault = &'static str;

fn must(holds: bool, fault: Fault) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(fault) }
}

impl Engine {
    /// The first thing that is wrong, if anything is. Linear in the state.
    pub(crate) fn inspect(&self) -> Result<(), &'static str> {
        must(self.ready.is_empty(), "something is left to be looked at")?;
        must(
            self.spaces.is_sound() && self.limits.is_sound(),
            "a namespace or limit is not found by its name",
        )?;
        must(self.slots.is_sound(), "a slot is not found by its id")?;
        must(self.rates.is_sound(), "a rate window is not kept as it should be")?;
        must(self.places.is_sound(), "a place in flight is not kept as it should be")?;
        for (at, limit) in self.limits.scan(0) {
            self.inspect_limit(at, limit)?;
        }
        for (at, slot) in self.slots.scan(0) {
            self.inspect_slot(at, slot)?;
        }
        self.inspect_numbers()?;
        self.inspect_totals()?;
        self.inspect_runs_and_tasks()
    }

    fn inspect_limit(&self, at: Ref<Limit>, limit: &Limit) -> Result<(), Fault> {
        must(self.spaces[limit.space].limits.get(&limit.name) == Some(&at), "a limit is not listed")?;
        must(
            limit.presence == Presence::Declared || !limit.is_empty() || limit.is_set_by_hand(),
            "a limit is left over",
        )?;
        must(
            limit.presence != Presence::Retired || !limit.is_empty(),
            "a retired limit is empty and not gone",
        )?;
        must(limit.presence != Presence::Gone || limit.is_empty(), "a limit that is gone is not empty")?;
        let weight_of = |slot: Ref<Slot>| {
            self.slots.get(slot)?.asks.iter().find(|ask| ask.limit == at).map(|ask| u64::from(ask.weight))
        };
        let sides = [&limit.holders.busy, &limit.holders.reserved];
        let sums = sides.map(|held| held.iter().map(weight_of).sum::<Option<u64>>());
        must(sums == sides.map(|held| Some(held.weight())), "a sum of weights is not that of the slots")?;
        must(limit.queue.iter(0).count() == limit.queue.len(), "a queue has another length than it says")
    }

    fn inspect_slot(&self, at: Ref<Slot>, slot: &Slot) -> Result<(), Fault> {
        must(self.calendar.get(slot.due()) == Some(at), "a slot is not in the calendar")?;
        must(slot.due().at() > self.now, "something is due and has not happened")?;
        must(slot.arrival <= self.arrivals, "an arrival number was never given")?;
        let is_on_line = slot.line.is_none_or(|line| self.lines.contains(&(line.writer, at)));
        must(is_on_line, "a line is not known by its holder")?;
        let all = |holds: &dyn Fn(&Ask) -> bool| slot.asks.iter().all(holds);
        match slot.stage {
            Stage::Queued { firsts, .. } => {
                let is_first = |ask: &&Ask| self.limits[ask.limit].queue.first() == Some(at);
                let counted = slot.asks.iter().filter(is_first).count();
                must(counted == usize::from(firsts), "a slot is not first where it should be")?;
                let may_go = slot.is_first_everywhere() && self.has_room_for(&slot.asks);
                must(!may_go, "a slot waits beside free room")
            }
            Stage::Reserved(grant) => {
                let holds = |ask: &Ask| self.limits[ask.limit].holders.reserved.get(grant.fence) == Some(at);
                must(all(&holds) && grant.fence <= self.fences, "a reserved slot is not among the holders")
            }
            Stage::Busy(grant) => {
                let holds = |ask: &Ask| self.limits[ask.limit].holders.busy.get(grant.fence) == Some(at);
                must(all(&holds) && grant.fence <= self.fences, "a busy slot is not among the holders")
            }
        }
    }

    /// Arrivals and fences are each given once.
    fn inspect_numbers(&self) -> Result<(), Fault> {
        let arrivals: BTreeSet<u64> = self.slots.scan(0).map(|(_, slot)| slot.arrival).collect();
        must(arrivals.len() == self.slots.len() as usize, "two slots have one arrival number")?;
        let fences: Vec<u64> = self.slots.scan(0).filter_map(|(_, slot)| slot.fence()).collect();
        let different: BTreeSet<u64> = fences.iter().copied().collect();
        must(different.len() == fences.len(), "two slots have one fence")
    }

    fn inspect_totals(&self) -> Result<(), Fault> {
        let slots = || self.slots.scan(0).map(|(_, slot)| slot);
        let places = |is_queued: bool| {
            slots().filter(|slot| slot.is_queued() == is_queued).map(|slot| slot.asks.len()).sum::<usize>()
        };
        let limits = || self.limits.scan(0).map(|(_, limit)| limit);
        must(
            self.calendar.len() == self.slots.len() as usize,
            "the calendar knows slots that are not there",
        )?;
        must(
            slots().filter(|slot| slot.is_queued()).count() == self.waiting as usize,
            "the number waiting is wrong",
        )?;
        must(
            limits().map(|limit| limit.queue.len()).sum::<usize>() == places(true),
            "a queue holds a stranger",
        )?;
        must(
            limits().map(|limit| limit.holders.len()).sum::<usize>() == places(false),
            "a limit holds a stranger",
        )?;
        let on_line = slots().filter(|slot| slot.line.is_some()).count();
        must(on_line == self.lines.len(), "a line leads to nobody")?;
        let promised = slots().filter(|slot| slot.share == Share::Other).count();
        must(promised == self.memory.promised() as usize, "a place in the memory is promised to nobody")
    }

    fn inspect_runs_and_tasks(&self) -> Result<(), Fault> {
        must(self.runs.table.is_sound() && self.tasks.is_sound(), "a run or task is not found by its id")?;
        for (at, run) in self.runs.table.scan(0) {
            let slots = self
                .runs
                .slots_of(at)
                .all(|slot| self.slots.get(slot).is_some_and(|slot| slot.run == Some(at)));
            must(slots, "a run has a slot of somebody else")?;
            let holds = self.runs.slots_of(at).count()
                + self.rates.counters_hit_by(at).len()
                + self.places.held_by(at).count();
            must(holds == run.holds as usize && holds > 0, "a run does not hold what it says")?;
        }
        let with_run = self.slots.scan(0).filter(|(_, slot)| slot.run.is_some()).count();
        must(with_run == self.runs.slot_count(), "a slot is missing from its run")?;
        let mut uses = 0;
        for (_, task) in self.tasks.scan(0) {
            must(task.uses > 0, "a task without keys is left over")?;
            uses += task.uses;
        }
        must(uses == self.rates.counters.len() + self.places.keys.len(), "a task has other keys than it says")
    }
}
