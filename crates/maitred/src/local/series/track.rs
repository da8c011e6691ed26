//! One limit's numbers in steps of equal length. Steps in which nothing happened take no room: what was true goes on.

use std::collections::VecDeque;

use maitred_engine::{
    bytes::{DecodeError, Reader, Writer},
    time::Millis,
    view::LimitView,
};

use super::spread::Spread;

/// How a limit stood at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    pub capacity: u32,
    pub available: u32,
    pub reserved: u32,
    pub waiting: u32,
}

impl Level {
    pub fn of(view: &LimitView) -> Level {
        let used = u32::try_from(view.busy + view.reserved).unwrap_or(u32::MAX);
        Level {
            capacity: view.capacity,
            available: view.capacity.saturating_sub(used),
            reserved: u32::try_from(view.reserved).unwrap_or(u32::MAX),
            waiting: view.waiting,
        }
    }

    fn encode(&self, w: &mut Writer) {
        w.numbers([self.capacity, self.available, self.reserved, self.waiting].map(u64::from));
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (capacity, available) = (r.number_u32()?, r.number_u32()?);
        Ok(Self { capacity, available, reserved: r.number_u32()?, waiting: r.number_u32()? })
    }
}

/// What happened to the slots of a limit in some time.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    pub grants: u32,
    pub released: u32,
    pub expired: u32,
    pub timed_out: u32,
    pub left: u32,
    pub run_ended: u32,
    /// Reservations that lapsed.
    pub lapsed: u32,
    /// How long those that were granted had waited.
    pub waits: Spread,
    /// How long those that were busy and ended had been held.
    pub holds: Spread,
}

impl Flow {
    pub fn add(&mut self, other: &Flow) {
        self.grants += other.grants;
        self.released += other.released;
        self.expired += other.expired;
        self.timed_out += other.timed_out;
        self.left += other.left;
        self.run_ended += other.run_ended;
        self.lapsed += other.lapsed;
        self.waits.merge(&other.waits);
        self.holds.merge(&other.holds);
    }

    fn encode(&self, w: &mut Writer) {
        let counts = [self.grants, self.released, self.expired, self.timed_out, self.left, self.run_ended];
        w.numbers(counts.map(u64::from));
        w.number(self.lapsed.into());
        self.waits.encode(w);
        self.holds.encode(w);
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            grants: r.number_u32()?,
            released: r.number_u32()?,
            expired: r.number_u32()?,
            timed_out: r.number_u32()?,
            left: r.number_u32()?,
            run_ended: r.number_u32()?,
            lapsed: r.number_u32()?,
            waits: Spread::decode(r)?,
            holds: Spread::decode(r)?,
        })
    }

    /// Slots that had been granted and came back.
    pub fn given_back(&self) -> u64 {
        u64::from(self.released) + u64::from(self.expired) + u64::from(self.run_ended)
    }
}

/// One step in which something happened.
#[derive(Clone, Debug)]
struct Row {
    /// Steps since 1970.
    number: u64,
    available_min: u32,
    /// When that few were available; of several such moments the most.
    reserved: u32,
    waiting_max: u32,
    last: Level,
    flow: Flow,
}

/// A step as it is told.
#[derive(Clone, Debug)]
pub struct Step<'a> {
    pub at: Millis,
    pub available_min: u32,
    /// When that few were available.
    pub reserved: u32,
    pub waiting_max: u32,
    /// At its end.
    pub last: Level,
    /// None if nothing happened.
    pub flow: Option<&'a Flow>,
}

#[derive(Clone, Debug)]
pub struct Track {
    step_ms: Millis,
    rows: VecDeque<Row>,
    /// How it stood before the first row.
    before: Level,
}

impl Track {
    pub fn new(step_ms: Millis, level: Level) -> Self {
        Self { step_ms, rows: VecDeque::new(), before: level }
    }

    pub fn encode(&self, w: &mut Writer) {
        self.before.encode(w);
        w.count(self.rows.len());
        for row in &self.rows {
            w.number(row.number);
            w.numbers([row.available_min, row.reserved, row.waiting_max].map(u64::from));
            row.last.encode(w);
            row.flow.encode(w);
        }
    }

    pub fn decode(step_ms: Millis, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let before = Level::decode(r)?;
        let mut rows = VecDeque::new();
        for _ in 0..r.count(17)? {
            rows.push_back(Row {
                number: r.number()?,
                available_min: r.number_u32()?,
                reserved: r.number_u32()?,
                waiting_max: r.number_u32()?,
                last: Level::decode(r)?,
                flow: Flow::decode(r)?,
            });
        }
        match rows.iter().is_sorted_by(|before, after| before.number < after.number) {
            true => Ok(Self { step_ms, rows, before }),
            false => Err(DecodeError::Invalid { what: "order of steps" }),
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn level(&self) -> Level {
        self.rows.back().map_or(self.before, |row| row.last)
    }

    /// At `at` something happened, and then the limit stood so.
    pub fn record(&mut self, at: Millis, level: Level, flow: &Flow) {
        let carried = self.level();
        let number = at / self.step_ms;
        if self.rows.back().is_none_or(|row| row.number < number) {
            self.rows.push_back(Row {
                number,
                available_min: carried.available,
                reserved: carried.reserved,
                waiting_max: carried.waiting,
                last: carried,
                flow: Flow::default(),
            });
        }
        let Some(row) = self.rows.back_mut() else { return };
        let is_lower = level.available < row.available_min;
        if is_lower || level.available == row.available_min && level.reserved > row.reserved {
            (row.available_min, row.reserved) = (level.available, level.reserved);
        }
        row.waiting_max = row.waiting_max.max(level.waiting);
        row.last = level;
        row.flow.add(flow);
    }

    /// Lets go of what was before `at`.
    pub fn forget_before(&mut self, at: Millis) {
        let oldest = at / self.step_ms;
        while let Some(row) = self.rows.pop_front_if(|row| row.number < oldest) {
            self.before = row.last;
        }
    }

    /// The steps from the one of `from` to the one of `to`.
    pub fn steps(&self, from: Millis, to: Millis) -> impl Iterator<Item = Step<'_>> {
        let first = from / self.step_ms;
        let begin = self.rows.partition_point(|row| row.number < first);
        let mut carried = begin.checked_sub(1).map_or(self.before, |at| self.rows[at].last);
        let mut rows = self.rows.range(begin..).peekable();
        (first..=to / self.step_ms).map(move |number| {
            let at = number * self.step_ms;
            let row = rows.next_if(|row| row.number == number);
            if let Some(row) = row {
                carried = row.last;
            }
            Step {
                at,
                available_min: row.map_or(carried.available, |row| row.available_min),
                reserved: row.map_or(carried.reserved, |row| row.reserved),
                waiting_max: row.map_or(carried.waiting, |row| row.waiting_max),
                last: carried,
                flow: row.map(|row| &row.flow),
            }
        })
    }

    /// All that happened from `from` on.
    pub fn flow_since(&self, from: Millis) -> Flow {
        let first = from / self.step_ms;
        let begin = self.rows.partition_point(|row| row.number < first);
        let mut sum = Flow::default();
        self.rows.range(begin..).for_each(|row| sum.add(&row.flow));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::{Flow, Level, Track};

    fn level(available: u32, waiting: u32) -> Level {
        Level { capacity: 3, available, waiting, ..Level::default() }
    }

    fn grant() -> Flow {
        Flow { grants: 1, ..Flow::default() }
    }

    fn told(track: &Track, from: u64, to: u64) -> Vec<(u64, u32, u32, u32)> {
        let flow = |flow: Option<&Flow>| flow.map_or(0, |flow| flow.grants);
        track
            .steps(from, to)
            .map(|step| (step.at, step.available_min, step.waiting_max, flow(step.flow)))
            .collect()
    }

    #[test]
    fn what_was_true_goes_on_and_extremes_are_kept() {
        let mut track = Track::new(10, level(3, 0));
        track.record(12, level(1, 0), &grant());
        track.record(19, level(2, 4), &grant());
        track.record(45, level(0, 1), &grant());
        let expected =
            [(0, 3, 0, 0), (10, 1, 4, 2), (20, 2, 4, 0), (30, 2, 4, 0), (40, 0, 4, 1), (50, 0, 1, 0)];
        assert_eq!(told(&track, 0, 59), expected);
        assert_eq!(told(&track, 30, 30), expected[3..4]);
        assert_eq!(track.flow_since(20).grants, 1);
    }

    #[test]
    fn reserved_ones_are_those_of_the_lowest_moment() {
        let mut track = Track::new(10, level(3, 0));
        let then = |available, reserved| Level { capacity: 3, available, reserved, waiting: 0 };
        for level in [then(2, 1), then(1, 0), then(1, 2), then(1, 1), then(2, 1)] {
            track.record(12, level, &grant());
        }
        let told: Vec<_> = track.steps(0, 29).map(|step| (step.available_min, step.reserved)).collect();
        assert_eq!(told, [(3, 0), (1, 2), (2, 1)]);
    }

    #[test]
    fn what_is_forgotten_leaves_how_things_stood() {
        let mut track = Track::new(10, level(3, 0));
        track.record(12, level(1, 0), &grant());
        track.record(25, level(0, 0), &grant());
        track.forget_before(20);
        assert_eq!((track.len(), told(&track, 10, 29)), (1, vec![(10, 1, 0, 0), (20, 0, 0, 1)]));
    }
}
