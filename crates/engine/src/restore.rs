//! An engine from a snapshot. Everything is checked: damaged or invented bytes give an error, never a panic and never
//! an engine whose state could not have come about.

use std::{collections::BTreeSet, fmt};

use maitred_planted::{Defect, has};
use smallvec::SmallVec;

use crate::{
    bounds::{ASKS_MAX, Bounds, CAPACITY_MAX, COUNT_MAX, MAX_HOLD_MAX_MS, PLACE_MAX_MS, WEIGHT_MAX},
    bytes::{DecodeError, Reader},
    command::{Confirm, Hold, Line},
    digest::Digest,
    engine::{Engine, RULES_MAX, TIME_MAX},
    granting::Ready,
    holders::Holders,
    limits::{Limit, Presence, Space},
    memory::{Entry, Share, after_id},
    names::{Key, LimitName, Namespace, RunId, SlotId, TaskId},
    places::PlaceKey,
    queue::Queue,
    rates::{Counter, Hits},
    requests::Answer,
    slab::Ref,
    slots::{Ask, Grant, Slot, Stage},
    snapshot::VERSION,
    time::Millis,
};

/// Why no engine could be made of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// Written by a newer version; start that one.
    Newer { found: u64, known: u64 },
    /// Of a journal whose rules are newer than this binary knows; start the newer one.
    NewerRules { found: u32 },
    /// The bytes cannot be read.
    Damaged(DecodeError),
    /// The bytes can be read, but no engine was ever in this state.
    Inconsistent(&'static str),
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer { found, known } => {
                write!(
                    f,
                    "the snapshot is of version {found}, this binary reads up to {known}; start the newer binary"
                )
            }
            Self::NewerRules { found } => {
                write!(f, "its rules {found} are newer than this binary knows; start the newer binary")
            }
            Self::Damaged(error) => write!(f, "the snapshot is damaged: {error}"),
            Self::Inconsistent(what) => write!(f, "the snapshot contradicts itself: {what}"),
        }
    }
}

impl std::error::Error for SnapshotError {}

impl From<DecodeError> for SnapshotError {
    fn from(error: DecodeError) -> Self {
        Self::Damaged(error)
    }
}

type Checked<T> = Result<T, SnapshotError>;

/// No count comes near it; far from where one more would overflow.
const NUMBER_MAX: u64 = 1 << 60;

fn must(holds: bool, what: &'static str) -> Checked<()> {
    if holds { Ok(()) } else { Err(SnapshotError::Inconsistent(what)) }
}

impl Engine {
    /// An engine in the state that [`Engine::snapshot`] wrote. It goes on exactly as the one that wrote it.
    pub fn restore(bytes: &[u8]) -> Result<Engine, SnapshotError> {
        let r = &mut Reader::new(bytes);
        let mut engine = read_head(r)?;
        let spaces = engine.read_spaces(r)?;
        let limits = engine.read_limits(r, &spaces)?;
        engine.read_slots(r, &spaces, &limits)?;
        engine.read_counters(r, &spaces)?;
        engine.read_places(r, &spaces)?;
        engine.read_memory(r)?;
        r.clone().finish()?;
        // What was offered while the slots took their places is not news.
        engine.ready = Ready::default();
        engine.inspect().map_err(SnapshotError::Inconsistent)?;
        Ok(engine)
    }

    fn read_spaces(&mut self, r: &mut Reader<'_>) -> Checked<Vec<Ref<Space>>> {
        let count = r.count(2)?;
        let mut spaces = Vec::with_capacity(count);
        let mut last: Option<Namespace> = None;
        for _ in 0..count {
            let name: Namespace = r.name("namespace")?;
            must(last.as_ref().is_none_or(|last| *last < name), "namespaces out of order")?;
            spaces.push(self.space_of(&name));
            last = Some(name);
        }
        must(count <= self.bounds.namespaces as usize, "too many namespaces")?;
        Ok(spaces)
    }

    fn read_limits(&mut self, r: &mut Reader<'_>, spaces: &[Ref<Space>]) -> Checked<Vec<Ref<Limit>>> {
        let count = r.count(8)?;
        let mut limits = Vec::with_capacity(count);
        let mut last: Option<(Ref<Space>, LimitName)> = None;
        for _ in 0..count {
            let limit = self.read_limit(r, spaces)?;
            let name = (limit.space, limit.name.clone());
            must(last.as_ref().is_none_or(|last| *last < name), "limits out of order")?;
            last = Some(name.clone());
            let at = self.limits.insert(limit);
            self.spaces[name.0].limits.insert(name.1, at);
            limits.push(at);
        }
        must(count <= self.bounds.limits as usize, "too many limits")?;
        Ok(limits)
    }

    fn read_limit(&self, r: &mut Reader<'_>, spaces: &[Ref<Space>]) -> Checked<Limit> {
        let space = pick(spaces, r.number()?)?;
        let name: LimitName = r.name("limit")?;
        let presence = match r.number()? {
            0 => Presence::Declared,
            1 => Presence::Retired,
            2 => Presence::Gone,
            kind => return Err(DecodeError::UnknownKind { what: "presence of a limit", kind }.into()),
        };
        let limit = Limit {
            hash: self.limit_hash(self.spaces[space].name.as_str(), name.as_str()),
            space,
            name,
            presence,
            declared_capacity: r.number_u32()?,
            declared_max_hold_ms: r.number()?,
            capacity_override: r.option(Reader::number_u32)?,
            max_hold_override_ms: r.option(Reader::number)?,
            paused: r.flag()?,
            holders: Holders::default(),
            queue: Queue::default(),
        };
        let mut capacities = [Some(limit.declared_capacity), limit.capacity_override].into_iter().flatten();
        must(capacities.all(|capacity| (1..=CAPACITY_MAX).contains(&capacity)), "a capacity out of bounds")?;
        let mut holds = [Some(limit.declared_max_hold_ms), limit.max_hold_override_ms].into_iter().flatten();
        must(
            holds.all(|max_hold_ms| (1..=MAX_HOLD_MAX_MS).contains(&max_hold_ms)),
            "a max hold out of bounds",
        )?;
        Ok(limit)
    }

    fn read_slots(
        &mut self,
        r: &mut Reader<'_>,
        spaces: &[Ref<Space>],
        limits: &[Ref<Limit>],
    ) -> Checked<()> {
        let count = r.count(24)?;
        let mut last_arrival = 0;
        let mut fences = BTreeSet::new();
        for _ in 0..count {
            let (slot, run) = self.read_slot(r, spaces, limits)?;
            let is_given = slot.arrival <= self.arrivals;
            must(is_given && slot.arrival > last_arrival, "slots out of order")?;
            last_arrival = slot.arrival;
            must(slot.fence().is_none_or(|fence| fences.insert(fence)), "two slots have one fence")?;
            let namespace = self.spaces[slot.space].name.clone();
            let is_new = self.find_slot(namespace.as_str(), slot.id.as_str()).is_none();
            must(is_new, "two slots have one id")?;
            self.restore_slot(slot, run, &namespace);
        }
        must(count <= self.bounds.slots as usize, "too many slots")
    }

    fn restore_slot(&mut self, slot: Slot, run: Option<RunId>, namespace: &Namespace) {
        let (line, space) = (slot.line, slot.space);
        self.memory.promise(slot.share);
        let at = self.slots.insert(slot);
        self.slots[at].line = None;
        self.set_line(at, line);
        if let Some(run) = run {
            let run = self.runs.hold(self.hash_key, namespace, space, &run);
            self.runs.add_slot(run, at);
            self.slots[at].run = Some(run);
        }
        self.attach(at);
    }

    fn read_slot(
        &self,
        r: &mut Reader<'_>,
        spaces: &[Ref<Space>],
        limits: &[Ref<Limit>],
    ) -> Checked<(Slot, Option<RunId>)> {
        let space = pick(spaces, r.number()?)?;
        let id: SlotId = r.name("slot")?;
        let after_id = after_id(id.as_str());
        let content = r.fixed()?;
        let share = if r.flag()? { Share::Timed } else { Share::Other };
        let asks = self.read_asks(r, space, limits)?;
        let run = r.option(|r| r.name("run"))?;
        let slot = Slot {
            hash: self.slot_hash(self.spaces[space].name.as_str(), id.as_str()),
            space,
            id,
            content,
            share,
            after_id,
            asks,
            run: None,
            workflow: r.option(|r| r.name("workflow"))?,
            label: r.option(|r| r.name("label"))?,
            confirm: Confirm::decode(r)?,
            hold: Hold::decode(r)?,
            line: r.option(Line::decode)?,
            arrival: r.number()?,
            asked_at: r.number()?,
            queued_at: r.number()?,
            gives_up_at: r.number()?,
            laps: r.number_u32()?,
            stage: read_stage(r)?,
        };
        self.check_times(&slot)?;
        must(slot.line.is_none() || slot.confirm == Confirm::Auto, "an ordinary slot is on a line")?;
        Ok((slot, run))
    }

    fn check_times(&self, slot: &Slot) -> Checked<()> {
        let is_in_order = slot.asked_at <= slot.queued_at && slot.queued_at <= self.now;
        must(is_in_order && slot.gives_up_at <= 2 * TIME_MAX, "times of a slot out of order")?;
        let Some(grant) = slot.last_grant() else { return Ok(()) };
        let is_in_order = grant.granted_at <= self.now && grant.granted_at < grant.lapses_at;
        let is_granted = is_in_order && grant.lapses_at <= grant.expires_at;
        must(
            is_granted && grant.expires_at <= grant.granted_at + MAX_HOLD_MAX_MS,
            "times of a grant out of order",
        )
    }

    fn read_asks(
        &self,
        r: &mut Reader<'_>,
        space: Ref<Space>,
        limits: &[Ref<Limit>],
    ) -> Checked<SmallVec<[Ask; 2]>> {
        let count = r.count(2)?;
        must((1..=ASKS_MAX).contains(&count), "a slot in no limit, or in too many")?;
        let mut asks = SmallVec::<[Ask; 2]>::new();
        for _ in 0..count {
            let ask = Ask { limit: pick(limits, r.number()?)?, weight: r.number_u32()? };
            must((1..=WEIGHT_MAX).contains(&ask.weight), "a weight out of bounds")?;
            must(self.limits[ask.limit].space == space, "a slot in a limit of another namespace")?;
            must(asks.iter().all(|other| other.limit != ask.limit), "a slot names a limit twice")?;
            asks.push(ask);
        }
        Ok(asks)
    }

    fn read_counters(&mut self, r: &mut Reader<'_>, spaces: &[Ref<Space>]) -> Checked<()> {
        for _ in 0..r.count(7)? {
            let (namespace, space, task, key) = self.read_key(r, spaces)?;
            let hash = self.counter_hash(namespace.as_str(), task.as_str(), key.as_str());
            let found = self.rates.counters.find(hash);
            must(found.is_none(), "two windows of one key")?;
            let [used, started_at, ends_at] = [r.number()?, r.number()?, r.number()?];
            must((1..=COUNT_MAX).contains(&used), "a count out of bounds")?;
            must(
                started_at <= self.now && started_at < ends_at && ends_at <= 2 * TIME_MAX,
                "a window out of time",
            )?;
            let task = self.use_task(&namespace, space, &task);
            let at = self.rates.insert(Counter { hash, task, key, used, started_at, ends_at });
            self.read_hits(r, at, &namespace, used)?;
        }
        Ok(())
    }

    fn read_hits(
        &mut self,
        r: &mut Reader<'_>,
        at: Ref<Counter>,
        namespace: &Namespace,
        used: u64,
    ) -> Checked<()> {
        let mut rest = used;
        for _ in 0..r.count(4)? {
            let run: RunId = r.name("run")?;
            let hits = Hits { count: r.number()?, cost: r.number()? };
            must((1..=hits.cost).contains(&hits.count) && hits.cost <= rest, "more hits than are counted")?;
            rest -= hits.cost;
            must(self.note_hits(at, namespace, &run, hits), "a run's hits are there twice")?;
        }
        Ok(())
    }

    fn read_places(&mut self, r: &mut Reader<'_>, spaces: &[Ref<Space>]) -> Checked<()> {
        for _ in 0..r.count(5)? {
            let (namespace, space, task, key) = self.read_key(r, spaces)?;
            let hash = self.place_hash(namespace.as_str(), task.as_str(), key.as_str());
            let found = self.places.keys.find(hash);
            must(found.is_none(), "a key of places is there twice")?;
            let task = self.use_task(&namespace, space, &task);
            let at = self.places.keys.insert(PlaceKey { hash, task, key, taken: 0 });
            for _ in 0..r.count(3)? {
                let run: RunId = r.name("run")?;
                let expires_at = r.number()?;
                must(expires_at <= self.now + PLACE_MAX_MS, "a place is held too long")?;
                let run = self.runs.hold(self.hash_key, &namespace, space, &run);
                must(!self.places.holds(run, at, 0), "a run holds a place twice")?;
                self.places.insert(at, run, expires_at);
            }
        }
        must(self.live_keys() <= self.bounds.keys as usize, "too many keys")
    }

    fn read_key(
        &self,
        r: &mut Reader<'_>,
        spaces: &[Ref<Space>],
    ) -> Checked<(Namespace, Ref<Space>, TaskId, Key)> {
        let space = pick(spaces, r.number()?)?;
        Ok((self.spaces[space].name.clone(), space, r.name("task")?, r.name("key")?))
    }

    fn read_memory(&mut self, r: &mut Reader<'_>) -> Checked<()> {
        self.memory.horizon = r.number()?;
        must(self.memory.horizon <= 2 * TIME_MAX, "the horizon is out of time")?;
        for share in [Share::Timed, Share::Other] {
            for _ in 0..r.count(27)? {
                let entry = self.read_entry(r)?;
                must(self.memory.restore(share, entry), "more is remembered than may be")?;
            }
        }
        Ok(())
    }

    fn read_entry(&self, r: &mut Reader<'_>) -> Checked<Entry> {
        let [id, content] = [r.fixed_wide()?, u128::from(r.fixed()?)];
        let entry = Entry {
            id,
            content: content as u64,
            answer: r.number()?,
            at: r.number()?,
            after_id: r.number()?,
        };
        must(Answer::unpack(entry.answer).is_some(), "an answer that was never given")?;
        must(entry.at <= self.now && entry.after_id <= TIME_MAX, "a memory out of time")?;
        Ok(entry)
    }
}

fn read_head(r: &mut Reader<'_>) -> Checked<Engine> {
    let version = r.number()?;
    if version != VERSION {
        return Err(SnapshotError::Newer { found: version, known: VERSION });
    }
    let now: Millis = r.number()?;
    must(now <= TIME_MAX, "a time out of bounds")?;
    let rules = r.number_u32()?;
    if rules > RULES_MAX {
        return Err(SnapshotError::NewerRules { found: rules });
    }
    must(rules > 0, "rules that there never were")?;
    let bounds = read_bounds(r)?;
    let mut engine = Engine::new([r.fixed()?, r.fixed()?], bounds);
    engine.now = now;
    engine.rules = rules;
    engine.arrivals = r.number()?;
    engine.fences = r.number()? * u64::from(!has(Defect::FenceForgotten));
    must(engine.arrivals <= NUMBER_MAX && engine.fences <= NUMBER_MAX, "a counter out of bounds")?;
    engine.digest = Digest(r.fixed()?);
    Ok(engine)
}

fn read_bounds(r: &mut Reader<'_>) -> Result<Bounds, DecodeError> {
    Ok(Bounds {
        namespaces: r.number_u32()?,
        limits: r.number_u32()?,
        waiting_per_limit: r.number_u32()?,
        waiting: r.number_u32()?,
        slots: r.number_u32()?,
        keys: r.number_u32()?,
        remembered_timed: r.number_u32()?,
        remembered_other: r.number_u32()?,
    })
}

fn read_stage(r: &mut Reader<'_>) -> Result<Stage, DecodeError> {
    Ok(match r.number()? {
        0 => Stage::Queued { firsts: 0, lapsed: r.option(read_grant)? },
        1 => Stage::Reserved(read_grant(r)?),
        2 => Stage::Busy(read_grant(r)?),
        kind => return Err(DecodeError::UnknownKind { what: "stage of a slot", kind }),
    })
}

fn read_grant(r: &mut Reader<'_>) -> Result<Grant, DecodeError> {
    Ok(Grant { fence: r.number()?, granted_at: r.number()?, lapses_at: r.number()?, expires_at: r.number()? })
}

fn pick<T>(refs: &[Ref<T>], number: u64) -> Checked<Ref<T>> {
    let found = usize::try_from(number).ok().and_then(|number| refs.get(number)).copied();
    found.ok_or(SnapshotError::Inconsistent("something refers to what is not there"))
}
