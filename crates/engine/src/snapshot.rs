//! The whole state as bytes, and its digest.
//!
//! The bytes are canonical: they follow names, arrivals and fences, never the places where things happen to live, so
//! equal states are equal bytes whatever their histories. Sets and sums that follow from the rest are not written;
//! they are made anew when a snapshot is read (`restore.rs`). Every struct is taken apart field by field, so that a new
//! field cannot be forgotten.
//!
//! ```text
//! version · now · rules · bounds · hash key · counters of arrivals and fences · digest of outcomes
//! namespaces by name · limits by namespace and name · slots by arrival
//! rate windows by namespace, task and key, with hits by run · places likewise, by run
//! memory: horizon, timed ids, other ids, each oldest first
//! ```

use std::collections::BTreeMap;

use crate::{
    bounds::Bounds,
    bytes::Writer,
    engine::Engine,
    limits::{Limit, Presence, Space},
    memory::{Entry, Memory, Ring, Share},
    places::PlaceKey,
    rates::{Counter, Hits},
    slab::Ref,
    slots::{Ask, Grant, Slot, Stage},
};

/// Of the layout of snapshots. Every one that was ever released can still be read.
pub(crate) const VERSION: u64 = 1;

/// Where namespaces and limits stand in the snapshot.
struct Numbers {
    spaces: BTreeMap<Ref<Space>, u64>,
    limits: BTreeMap<Ref<Limit>, u64>,
}

impl Engine {
    /// The whole state. [`Engine::restore`] makes an engine of it that goes on exactly as this one.
    pub fn snapshot(&self) -> Vec<u8> {
        let mut w = Writer::new();
        self.write_head(&mut w);
        let spaces = self.spaces_by_name();
        let limits: Vec<Ref<Limit>> =
            spaces.iter().flat_map(|&space| self.spaces[space].limits.values().copied()).collect();
        let numbers = Numbers { spaces: number(&spaces), limits: number(&limits) };
        w.count(spaces.len());
        spaces.iter().for_each(|&space| w.text(self.spaces[space].name.as_str()));
        w.count(limits.len());
        limits.iter().for_each(|&at| write_limit(&mut w, &self.limits[at], &numbers));
        self.write_slots(&mut w, &numbers);
        self.write_counters(&mut w, &numbers);
        self.write_places(&mut w, &numbers);
        write_memory(&mut w, &self.memory);
        w.into_bytes()
    }

    /// Two engines in equal states have the same.
    pub fn state_digest(&self) -> u64 {
        self.hash_key.content(&self.snapshot())
    }

    fn write_head(&self, w: &mut Writer) {
        let Engine {
            now,
            rules,
            bounds,
            hash_key,
            arrivals,
            fences,
            digest, // written here
            spaces: _,
            limits: _,
            slots: _,
            runs: _,
            tasks: _,
            rates: _,
            places: _,
            memory: _, // written below
            waiting: _,
            lines: _,
            calendar: _,
            ready: _,
            scratch: _, // these follow from the slots
        } = self;
        w.number(VERSION);
        w.number(*now);
        w.number(u64::from(*rules));
        write_bounds(w, bounds);
        hash_key.0.iter().for_each(|half| w.fixed(*half));
        w.number(*arrivals);
        w.number(*fences);
        w.fixed(digest.0);
    }

    fn spaces_by_name(&self) -> Vec<Ref<Space>> {
        let mut spaces: Vec<Ref<Space>> = self.spaces.scan(0).map(|(at, _)| at).collect();
        spaces.sort_unstable_by(|a, b| self.spaces[*a].name.cmp(&self.spaces[*b].name));
        spaces
    }

    fn write_slots(&self, w: &mut Writer, numbers: &Numbers) {
        let mut slots: Vec<&Slot> = self.slots.scan(0).map(|(_, slot)| slot).collect();
        slots.sort_unstable_by_key(|slot| slot.arrival);
        w.count(slots.len());
        slots.into_iter().for_each(|slot| self.write_slot(w, slot, numbers));
    }

    fn write_slot(&self, w: &mut Writer, slot: &Slot, numbers: &Numbers) {
        let Slot {
            hash: _,
            space,
            id,
            content,
            share,
            after_id: _,
            asks,
            run,
            workflow,
            label,
            confirm,
            hold,
            line,
            arrival,
            asked_at,
            queued_at,
            gives_up_at,
            laps,
            stage,
        } = slot;
        w.number(numbers.spaces[space]);
        w.text(id.as_str());
        w.fixed(*content);
        w.flag(*share == Share::Timed);
        w.count(asks.len());
        for Ask { limit, weight } in asks {
            w.number(numbers.limits[limit]);
            w.number(u64::from(*weight));
        }
        w.option(*run, |w, run| w.text(self.runs.id(run).as_str()));
        w.option(workflow.as_ref(), |w, workflow| w.text(workflow.as_str()));
        w.option(label.as_ref(), |w, label| w.text(label.as_str()));
        confirm.encode(w);
        hold.encode(w);
        w.option(*line, |w, line| line.encode(w));
        w.numbers([*arrival, *asked_at, *queued_at, *gives_up_at, u64::from(*laps)]);
        write_stage(w, stage);
    }

    fn write_counters(&self, w: &mut Writer, numbers: &Numbers) {
        let mut counters: Vec<(Ref<Counter>, &Counter)> = self.rates.counters.scan(0).collect();
        counters.sort_by_cached_key(|(_, counter)| {
            let task = &self.tasks[counter.task];
            (numbers.spaces[&task.space], task.id.clone(), counter.key.clone())
        });
        w.count(counters.len());
        for (at, counter) in counters {
            let Counter { hash: _, task, key, used, started_at, ends_at } = counter;
            w.number(numbers.spaces[&self.tasks[*task].space]);
            w.text(self.tasks[*task].id.as_str());
            w.text(key.as_str());
            w.numbers([*used, *started_at, *ends_at]);
            let hits = self.rates.hits_of(at).map(|(run, hits)| (self.runs.id(run), hits));
            let by_run: BTreeMap<_, Hits> = hits.collect();
            w.count(by_run.len());
            for (run, Hits { count, cost }) in by_run {
                w.text(run.as_str());
                w.number(count);
                w.number(cost);
            }
        }
    }

    fn write_places(&self, w: &mut Writer, numbers: &Numbers) {
        let mut keys: Vec<(Ref<PlaceKey>, &PlaceKey)> = self.places.keys.scan(0).collect();
        keys.sort_by_cached_key(|(_, key)| {
            let task = &self.tasks[key.task];
            (numbers.spaces[&task.space], task.id.clone(), key.key.clone())
        });
        w.count(keys.len());
        for (at, key) in keys {
            let PlaceKey { hash: _, task, key, taken: _ } = key;
            w.number(numbers.spaces[&self.tasks[*task].space]);
            w.text(self.tasks[*task].id.as_str());
            w.text(key.as_str());
            let holders = self.places.holders_of(at).map(|(run, expires_at)| (self.runs.id(run), expires_at));
            let by_run: BTreeMap<_, u64> = holders.collect();
            w.count(by_run.len());
            for (run, expires_at) in by_run {
                w.text(run.as_str());
                w.number(expires_at);
            }
        }
    }
}

fn number<T>(refs: &[Ref<T>]) -> BTreeMap<Ref<T>, u64> {
    refs.iter().enumerate().map(|(number, &at)| (at, number as u64)).collect()
}

fn write_bounds(w: &mut Writer, bounds: &Bounds) {
    let Bounds {
        namespaces,
        limits,
        waiting_per_limit,
        waiting,
        slots,
        keys,
        remembered_timed,
        remembered_other,
    } = *bounds;
    w.numbers(
        [namespaces, limits, waiting_per_limit, waiting, slots, keys, remembered_timed, remembered_other]
            .map(u64::from),
    );
}

fn write_limit(w: &mut Writer, limit: &Limit, numbers: &Numbers) {
    let Limit {
        hash: _,
        space,
        name,
        presence,
        declared_capacity,
        declared_max_hold_ms,
        capacity_override,
        max_hold_override_ms,
        paused,
        holders: _,
        queue: _,
    } = limit;
    w.number(numbers.spaces[space]);
    w.text(name.as_str());
    w.number(match presence {
        Presence::Declared => 0,
        Presence::Retired => 1,
        Presence::Gone => 2,
    });
    w.number(u64::from(*declared_capacity));
    w.number(*declared_max_hold_ms);
    w.option(*capacity_override, |w, capacity| w.number(u64::from(capacity)));
    w.option(*max_hold_override_ms, Writer::number);
    w.flag(*paused);
}

fn write_stage(w: &mut Writer, stage: &Stage) {
    match stage {
        Stage::Queued { firsts: _, lapsed } => {
            w.number(0);
            w.option(lapsed.as_ref(), write_grant);
        }
        Stage::Reserved(grant) => {
            w.number(1);
            write_grant(w, grant);
        }
        Stage::Busy(grant) => {
            w.number(2);
            write_grant(w, grant);
        }
    }
}

fn write_grant(w: &mut Writer, grant: &Grant) {
    let Grant { fence, granted_at, lapses_at, expires_at } = *grant;
    w.numbers([fence, granted_at, lapses_at, expires_at]);
}

fn write_memory(w: &mut Writer, memory: &Memory) {
    w.number(memory.horizon);
    write_ring(w, &memory.timed);
    write_ring(w, &memory.other);
}

fn write_ring(w: &mut Writer, ring: &Ring) {
    w.count(ring.len());
    for entry in ring.iter() {
        let Entry { id, content, answer, at, after_id } = *entry;
        w.fixed_wide(id);
        w.fixed(content);
        w.numbers([answer, at, after_id]);
    }
}
