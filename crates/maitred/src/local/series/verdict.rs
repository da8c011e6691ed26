//! What is wrong with a limit, if anything is: from how it stands and from its last hour. The same words for Studio, the
//! command line and everybody else.
//!
//! An example: capacity 3, a worker that forgets to release now and then. The lowest number of available places per 5
//! minutes goes 3, 2, 2, 1, 1, 0 while people wait: it never rises, falls three times, so places do not come back.
//! Load alone does not do this: when holders give back, the floor rises between two peaks.

use maitred_api::{LimitHealth, LimitInfo};
use maitred_engine::time::{HOUR_MS, MINUTE_MS, Millis, SECOND_MS, format_duration};

use super::{Flow, Tracks};

/// So many expiries in an hour are no accident, if they are also one in twenty of all slots that came back.
const EXPIRED_LEAST: u32 = 3;
const EXPIRED_ONE_IN: u64 = 20;
/// A floor is looked at in buckets of this length, so many of them.
const FLOOR_MS: Millis = 5 * MINUTE_MS;
const FLOOR_BUCKETS: usize = 6;
const FLOOR_FALLS: usize = 3;
/// Nothing granted for this long, or three times a usual hold, is stuck.
const STUCK_MS: Millis = 5 * MINUTE_MS;
/// So many holds tell what is usual.
const USUAL_FROM: u64 = 5;
/// A run that ended this long ago was not about to release.
const ORPHAN_MS: Millis = MINUTE_MS;
const STALLED_WINDOW_MS: Millis = 10 * MINUTE_MS;
/// Grants in the hour before that make a pace.
const PACE_LEAST: u64 = 60;
const SATURATED_MS: Millis = 15 * MINUTE_MS;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub health: LimitHealth,
    pub evidence: String,
    pub advice: String,
}

/// What a verdict is made from.
pub struct Case<'a> {
    pub limit: &'a LimitInfo,
    pub tracks: &'a Tracks,
    /// When the runs of busy slots ended, where they did: the longest ago first.
    pub orphans: &'a [Millis],
    pub now: Millis,
}

impl Verdict {
    fn new(health: LimitHealth, evidence: String, advice: &str) -> Self {
        Self { health, evidence, advice: advice.to_owned() }
    }

    pub fn ok() -> Self {
        Self::new(LimitHealth::Ok, String::new(), "")
    }

    pub fn unknown(evidence: &str) -> Self {
        Self::new(LimitHealth::Unknown, evidence.to_owned(), "see the server's log, and maitred doctor")
    }
}

/// The worst that can be shown.
pub fn verdict(case: &Case<'_>) -> Verdict {
    let hour = case.tracks.coarse.flow_since(case.now.saturating_sub(HOUR_MS));
    lost_releases(&hour)
        .or_else(|| orphaned(case, &hour))
        .or_else(|| falling_floor(case))
        .or_else(|| stuck(case, &hour))
        .or_else(|| stalled(case))
        .or_else(|| saturated(case))
        .unwrap_or_else(|| as_meant(case.limit))
}

/// Nothing is wrong; what an operator did is said where somebody waits for its end.
fn as_meant(limit: &LimitInfo) -> Verdict {
    if limit.paused && limit.waiting > 0 {
        let evidence = format!("Paused by an operator, and {} wait.", limit.waiting);
        return Verdict::new(LimitHealth::Ok, evidence, "Resume it when what it was paused for is over.");
    }
    Verdict::ok()
}

fn lost_releases(hour: &Flow) -> Option<Verdict> {
    let (expired, all) = (hour.expired, hour.given_back());
    let is_accident = expired < EXPIRED_LEAST || u64::from(expired) * EXPIRED_ONE_IN < all;
    (!is_accident).then(|| {
        let evidence = format!("{expired} of {all} slots in the last hour were taken back at their max hold: their releases did not come.");
        Verdict::new(LimitHealth::Leaking, evidence, "Find who does not release: see how the last slots ended, by label and run.")
    })
}

/// Runs that are over hold on while others wait.
fn orphaned(case: &Case<'_>, hour: &Flow) -> Option<Verdict> {
    let limit = case.limit;
    let patience = match usual_hold(hour) {
        Some(usual) => ORPHAN_MS.max(3 * usual),
        None => ORPHAN_MS.max(limit.max_hold_ms / 4),
    };
    let overdue = case.orphans.iter().filter(|ended_at| **ended_at + patience <= case.now).count();
    if overdue == 0 || limit.waiting == 0 || limit.available > 0 {
        return None;
    }
    let longest = span(case.now.saturating_sub(case.orphans[0]));
    let evidence = format!(
        "{} held by {} that ended, up to {longest} ago, while {} wait.",
        count(overdue as u64, "place is", "places are"),
        if overdue == 1 { "a run" } else { "runs" },
        limit.waiting
    );
    let advice = "If the work is over, release the slot; then make its workflow release in every outcome.";
    Some(Verdict::new(LimitHealth::Leaking, evidence, advice))
}

fn falling_floor(case: &Case<'_>) -> Option<Verdict> {
    let from = case.now.saturating_sub(FLOOR_MS * FLOOR_BUCKETS as Millis);
    if case.tracks.since > from || case.limit.available > 0 && case.limit.waiting == 0 {
        return None;
    }
    let mut floors = [u32::MAX; FLOOR_BUCKETS];
    let mut somebody_waited = false;
    let mut capacities = Vec::new();
    for step in case.tracks.fine.steps(from, case.now.saturating_sub(1)) {
        let bucket = (step.at.saturating_sub(from) / FLOOR_MS) as usize;
        let floor = &mut floors[bucket.min(FLOOR_BUCKETS - 1)];
        *floor = (*floor).min(step.available_min);
        somebody_waited |= step.waiting_max > 0;
        capacities.push(step.last.capacity);
    }
    capacities.dedup();
    let falls = floors.windows(2).filter(|pair| pair[1] < pair[0]).count();
    let never_rises = floors.is_sorted_by(|before, after| before >= after);
    if capacities.len() > 1 || !somebody_waited || !never_rises || falls < FLOOR_FALLS {
        return None;
    }
    let path = floors.map(|floor| floor.to_string()).join(", ");
    let evidence =
        format!("The lowest number of free places per 5 minutes only fell in the last half hour: {path}.");
    Some(Verdict::new(
        LimitHealth::Leaking,
        evidence,
        "Places do not come back: look at the oldest holders, and at what no longer releases.",
    ))
}

fn stuck(case: &Case<'_>, hour: &Flow) -> Option<Verdict> {
    let limit = case.limit;
    let queued_at = limit.oldest_queued_at.filter(|_| !limit.paused)?;
    let patience = STUCK_MS.max(3 * usual_hold(hour).unwrap_or(0));
    let last_move = case.tracks.granted_at.unwrap_or(case.tracks.since).max(queued_at);
    let idle = case.now.saturating_sub(last_move);
    if idle <= patience {
        return None;
    }
    let waited = span(case.now.saturating_sub(queued_at));
    let evidence =
        format!("Nothing was granted for {}, and the first in line has waited {waited}.", span(idle));
    let advice = match limit.available {
        0 => "See who holds longest; release what is no longer working.",
        _ => {
            "Places are free: ask what the first in line waits for, it may need another limit or more places."
        }
    };
    Some(Verdict::new(LimitHealth::Stuck, evidence, advice))
}

fn stalled(case: &Case<'_>) -> Option<Verdict> {
    let window_from = case.now.saturating_sub(STALLED_WINDOW_MS);
    let hour_from = window_from.saturating_sub(HOUR_MS);
    if case.limit.waiting == 0 || case.limit.paused || case.tracks.since > hour_from {
        return None;
    }
    let now = u64::from(case.tracks.coarse.flow_since(window_from).grants);
    let before = u64::from(case.tracks.coarse.flow_since(hour_from).grants) - now;
    let usual = before / (HOUR_MS / STALLED_WINDOW_MS);
    if before < PACE_LEAST || now * 2 >= usual {
        return None;
    }
    let evidence = format!(
        "{now} grants in the last 10 minutes; in the hour before it were {usual} per 10 minutes, and {} wait.",
        case.limit.waiting
    );
    Some(Verdict::new(
        LimitHealth::Stalled,
        evidence,
        "Holders became slow or stopped: look at how long slots are held now.",
    ))
}

fn saturated(case: &Case<'_>) -> Option<Verdict> {
    let from = case.now.saturating_sub(SATURATED_MS);
    if case.limit.waiting == 0 || case.limit.available > 0 || case.tracks.since > from {
        return None;
    }
    let steps = case.tracks.fine.steps(from, case.now);
    let (full, all) =
        steps.fold((0, 0), |(full, all), step| (full + u32::from(step.last.available == 0), all + 1));
    (full * 5 > all * 4).then(|| {
        let evidence = format!(
            "Full {} % of the last 15 minutes, and {} wait.",
            full * 100 / all.max(1),
            case.limit.waiting
        );
        Verdict::new(
            LimitHealth::Saturated,
            evidence,
            "More places, if the resource bears them (maitred plan), or less work.",
        )
    })
}

/// Half of the last holds were no longer than this; none if there were too few.
fn usual_hold(hour: &Flow) -> Option<Millis> {
    hour.holds.percentile(50).filter(|_| hour.holds.count() >= USUAL_FROM)
}

fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn span(ms: Millis) -> String {
    if ms < SECOND_MS { format_duration(ms) } else { format_duration(ms / SECOND_MS * SECOND_MS) }
}

#[cfg(test)]
mod tests {
    use maitred_api::{LimitHealth, LimitInfo};
    use maitred_engine::time::{MINUTE_MS, Millis};

    use super::{Case, Verdict, verdict};
    use crate::local::series::{Flow, Level, Tracks};

    const CAPACITY: u32 = 5;

    /// A limit that is told step by step.
    struct Told {
        tracks: Tracks,
        orphans: Vec<Millis>,
        now: Millis,
        level: Level,
        queued_at: Option<Millis>,
    }

    impl Told {
        fn new() -> Self {
            let level = Level { capacity: CAPACITY, available: CAPACITY, reserved: 0, waiting: 0 };
            let now = 1_000 * MINUTE_MS;
            Self { tracks: Tracks::new(level, 0), orphans: Vec::new(), now, level, queued_at: None }
        }

        fn step(&mut self, after_ms: Millis, available: u32, waiting: u32, flow: Flow) -> &mut Self {
            self.now += after_ms;
            self.level = Level { capacity: CAPACITY, available, reserved: 0, waiting };
            if flow.grants > 0 {
                self.tracks.granted_at = Some(self.now);
            }
            self.queued_at = if waiting == 0 { None } else { self.queued_at.or(Some(self.now)) };
            self.tracks.fine.record(self.now, self.level, &flow);
            self.tracks.coarse.record(self.now, self.level, &flow);
            self
        }

        fn verdict(&self) -> Verdict {
            let limit = LimitInfo {
                limit: "voice".to_owned(),
                capacity: CAPACITY,
                max_hold_ms: 8 * MINUTE_MS,
                declared_capacity: CAPACITY,
                declared_max_hold_ms: 8 * MINUTE_MS,
                busy: u64::from(CAPACITY - self.level.available),
                available: u64::from(self.level.available),
                busy_slots: CAPACITY - self.level.available,
                waiting: self.level.waiting,
                oldest_queued_at: self.queued_at,
                ..LimitInfo::default()
            };
            let (tracks, orphans) = (&self.tracks, self.orphans.as_slice());
            verdict(&Case { limit: &limit, tracks, orphans, now: self.now })
        }

        #[track_caller]
        fn is(&self, health: LimitHealth, part: &str) {
            let verdict = self.verdict();
            assert_eq!(verdict.health, health, "{verdict:?}");
            assert!(verdict.evidence.contains(part), "{verdict:?}");
        }
    }

    fn grants(grants: u32) -> Flow {
        Flow { grants, ..Flow::default() }
    }

    fn ends(released: u32, expired: u32) -> Flow {
        Flow { released, expired, ..Flow::default() }
    }

    #[test]
    fn expiries_are_a_leak_when_they_are_many_of_all() {
        let mut told = Told::new();
        told.step(0, 5, 0, ends(40, 2)).is(LimitHealth::Ok, "");
        told.step(MINUTE_MS, 5, 0, ends(0, 1)).is(LimitHealth::Leaking, "3 of 43 slots");
        told.step(MINUTE_MS, 5, 0, ends(18, 0)).is(LimitHealth::Ok, "");
        told.step(70 * MINUTE_MS, 5, 0, ends(0, 2)).is(LimitHealth::Ok, "");
    }

    #[test]
    fn a_floor_that_only_falls_is_a_leak_and_one_that_rises_is_load() {
        let half_hour = |floors: [u32; 6]| {
            let mut told = Told::new();
            told.step(0, floors[0], 1, grants(1));
            for floor in &floors[1..] {
                told.step(5 * MINUTE_MS, *floor, 1, grants(1));
            }
            told.now += 4 * MINUTE_MS;
            told
        };
        half_hour([3, 2, 2, 1, 1, 0]).is(LimitHealth::Leaking, "only fell");
        half_hour([3, 1, 3, 3, 1, 0]).is(LimitHealth::Ok, "");
        half_hour([1, 1, 1, 1, 0, 0]).is(LimitHealth::Ok, "");
    }

    #[test]
    fn runs_that_ended_and_hold_while_others_wait_are_a_leak_after_a_while() {
        let mut told = Told::new();
        told.step(0, 0, 2, grants(1));
        told.orphans.push(told.now);
        told.step(MINUTE_MS, 0, 2, Flow::default()).is(LimitHealth::Ok, "");
        told.step(MINUTE_MS, 0, 2, Flow::default())
            .is(LimitHealth::Leaking, "1 place is held by a run that ended, up to 2m ago, while 2 wait");
        told.step(0, 0, 0, Flow::default()).is(LimitHealth::Ok, "");
    }

    #[test]
    fn nothing_granted_for_long_is_stuck_unless_that_is_usual() {
        let mut told = Told::new();
        told.step(0, 0, 1, grants(1)).step(5 * MINUTE_MS, 0, 1, Flow::default()).is(LimitHealth::Ok, "");
        told.step(1, 0, 1, Flow::default()).is(LimitHealth::Stuck, "Nothing was granted for 5m");
        let mut holds = ends(5, 0);
        (0..5).for_each(|_| holds.holds.add(4 * MINUTE_MS));
        told.step(1, 0, 1, holds).is(LimitHealth::Ok, "");
    }

    #[test]
    fn half_the_pace_is_stalled_and_full_all_the_time_is_saturated() {
        let mut told = Told::new();
        for _ in 0..60 {
            told.step(MINUTE_MS, 0, 3, grants(10));
        }
        told.is(LimitHealth::Saturated, "Full 100 %");
        for _ in 0..10 {
            told.step(MINUTE_MS, 0, 3, grants(3));
        }
        told.is(LimitHealth::Stalled, "40 grants");
        told.step(MINUTE_MS, 1, 3, grants(40)).is(LimitHealth::Ok, "");
    }
}
