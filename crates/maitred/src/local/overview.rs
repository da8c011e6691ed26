//! The list of limits as an operator wants it: with health, searched, sorted, a page at a time; and a limit over time.
//!
//! How limits stand comes from the engine at one revision; what they did comes from the second engine's series, which
//! may be a few records behind. Both are put together here, on the caller's thread.

use std::{cmp::Reverse, collections::HashMap};

use maitred_api::{
    Answer, Call, Context, Given, HealthCount, LimitFilter, LimitHealth, LimitInfo, LimitOrder,
    LimitOverview, LimitsAnswer, OverviewAnswer, OverviewFields, Problem, Reason, SeriesAnswer, SlotInfo,
};
use maitred_engine::time::{DAY_MS, HOUR_MS, MINUTE_MS, Millis, parse_duration};

use super::{
    Node, check,
    looking_back::blocking,
    reading,
    series::{
        Book, COARSE_MS, FINE_MS, Flow, Space, Step, Tracks,
        verdict::{Case, Verdict, verdict},
    },
};

const WAITS_MS: Millis = 15 * MINUTE_MS;
const PACE_MS: Millis = 10 * MINUTE_MS;
const FLOOR_STEPS: u64 = 60;

impl Node {
    /// A page of the limits.
    pub(super) async fn overview(
        &self,
        context: &Context,
        fields: OverviewFields,
    ) -> Result<Answer, Problem> {
        let most = reading::page(fields.most)?;
        let namespace = check::namespace(context)?.to_string();
        let all = match self.read(context, Call::Overview(fields.clone())).await? {
            Answer::Limits(all) => all,
            _ => return Err(Problem::new(Reason::Internal, "a look at all limits gave something else")),
        };
        let series = self.series.clone();
        blocking(move || {
            let book = series.book();
            let look = Look::into(&book, &namespace, all.as_of);
            Ok(Answer::Overview(page(&look, all, &fields, most)))
        })
        .await
    }

    /// What a limit did.
    pub(super) async fn limit_series(
        &self,
        context: &Context,
        limit: &str,
        range: &Given,
    ) -> Result<Answer, Problem> {
        let range = range_ms(range)?;
        let namespace = check::namespace(context)?.to_string();
        let (revision, now) = match self.read(context, Call::Limit { limit: limit.to_owned() }).await? {
            Answer::Limit(answer) => (answer.revision, answer.as_of),
            _ => return Err(Problem::new(Reason::Internal, "a look at a limit gave something else")),
        };
        let (series, limit) = (self.series.clone(), limit.to_owned());
        blocking(move || {
            let book = series.book();
            let tracks = book.space(&namespace).and_then(|space| space.limits.get(limit.as_str()));
            let told = told(&book, tracks, range, now);
            Ok(Answer::Series(Box::new(SeriesAnswer { limit, revision, as_of: now, ..told })))
        })
        .await
    }

    /// Says of slots that are held on after their runs' end when that was.
    pub(super) fn mark_orphans(&self, context: &Context, answer: &mut Answer) {
        let namespace = context.namespace.as_deref().unwrap_or("default");
        let book = self.series.book();
        let Some(space) = book.space(namespace).filter(|space| !space.orphans.is_empty()) else { return };
        let ended_at = |slot: &SlotInfo| space.orphans.get(slot.slot.as_str()).map(|orphan| orphan.ended_at);
        let mark = |slot: &mut SlotInfo| slot.run_ended_at = ended_at(slot);
        match answer {
            Answer::LimitSlots(slots) => slots.holders.iter_mut().for_each(mark),
            Answer::Slot(answer) => mark(&mut answer.slot),
            Answer::Run(answer) => answer.run.slots.iter_mut().for_each(mark),
            Answer::Runs(answer) => answer.runs.iter_mut().flat_map(|run| &mut run.slots).for_each(mark),
            Answer::Explain(answer) => answer.slots.iter_mut().for_each(|slot| {
                mark(&mut slot.slot);
                slot.waits_for.iter_mut().flat_map(|limit| &mut limit.holders).for_each(mark);
            }),
            _ => {}
        }
    }
}

fn range_ms(range: &Given) -> Result<Millis, Problem> {
    let given = if range.is_missing() { Some(HOUR_MS) } else { None };
    let given = given.or_else(|| range.0.as_str().map_or_else(|| range.whole_number(), parse_duration));
    given.filter(|ms| (MINUTE_MS..=DAY_MS).contains(ms)).ok_or_else(|| {
        let message = format!("range is {}; allowed: 1m to 24h", range.shown());
        Problem::new(Reason::InvalidArgument, message)
    })
}

/// What is looked into for one answer.
struct Look<'a> {
    book: &'a Book,
    space: Option<&'a Space>,
    /// By limit, when the runs of busy slots ended, the longest ago first.
    orphans: HashMap<&'a str, Vec<Millis>>,
    now: Millis,
}

fn page(look: &Look<'_>, all: LimitsAnswer, fields: &OverviewFields, most: usize) -> OverviewAnswer {
    let LimitsAnswer { limits, revision, as_of, .. } = all;
    let prefixes = &fields.prefixes;
    let is_seen = |limit: &LimitInfo| {
        prefixes.is_empty() || prefixes.iter().any(|prefix| limit.limit.starts_with(prefix))
    };
    let seen = limits.into_iter().filter(is_seen);
    let mut rows: Vec<LimitOverview> = seen.map(|limit| look.overview(limit)).collect();
    let count = |health| rows.iter().filter(|row| row.health == health).count() as u32;
    let counts = LimitHealth::ALL.map(|health| HealthCount { health, limits: count(health) });
    let health = counts.into_iter().filter(|count| count.limits > 0).collect();
    let total = rows.len() as u32;
    rows.retain(|row| fits(row, fields));
    let matching = rows.len() as u32;
    sort(&mut rows, fields.sort, fields.reverse);
    let limits = rows.into_iter().skip(fields.skip as usize).take(most).map(|row| look.with_floor(row));
    OverviewAnswer { limits: limits.collect(), total, matching, health, revision, as_of }
}

fn fits(row: &LimitOverview, fields: &OverviewFields) -> bool {
    let limit = &row.limit;
    let is_so = |filter| match filter {
        LimitFilter::Overridden => limit.capacity_override.is_some() || limit.max_hold_override_ms.is_some(),
        LimitFilter::Waiting => limit.waiting > 0,
        LimitFilter::Paused => limit.paused,
        LimitFilter::Retired => limit.retired,
    };
    fields.limit.as_ref().is_none_or(|name| limit.limit == *name)
        && fields.text.as_ref().is_none_or(|text| limit.limit.contains(&text.to_lowercase()))
        && fields.health.is_none_or(|health| row.health == health)
        && fields.only.is_none_or(is_so)
}

/// Rows come in by name, and the sort is stable.
fn sort(rows: &mut [LimitOverview], order: LimitOrder, reverse: bool) {
    let most_first = |number: fn(&LimitOverview) -> u64| move |row: &LimitOverview| Reverse(number(row));
    let age = |at: Option<u64>| at.map_or(0, |at| u64::MAX - at);
    match order {
        LimitOrder::Name => {}
        LimitOrder::Attention => rows.sort_by_key(urgency),
        LimitOrder::Health => rows.sort_by_key(|row| row.health),
        LimitOrder::Used => rows.sort_by_key(most_first(used_per_million)),
        LimitOrder::Capacity => rows.sort_by_key(most_first(|row| row.limit.capacity.into())),
        LimitOrder::Waiting => rows.sort_by_key(most_first(|row| row.limit.waiting.into())),
        LimitOrder::OldestWait => rows.sort_by_key(|row| Reverse(age(row.limit.oldest_queued_at))),
        LimitOrder::OldestHold => rows.sort_by_key(|row| Reverse(age(row.limit.oldest_granted_at))),
        LimitOrder::WaitP50 => rows.sort_by_key(|row| Reverse(row.wait_p50_ms)),
        LimitOrder::WaitP99 => rows.sort_by_key(|row| Reverse(row.wait_p99_ms)),
        LimitOrder::Expired => rows.sort_by_key(most_first(|row| row.expired_24h)),
        LimitOrder::MaxHold => rows.sort_by_key(most_first(|row| row.limit.max_hold_ms)),
    }
    if reverse {
        rows.reverse();
    }
}

fn used_per_million(row: &LimitOverview) -> u64 {
    (row.limit.busy + row.limit.reserved) * 1_000_000 / u64::from(row.limit.capacity)
}

/// Small numbers first.
fn urgency(row: &LimitOverview) -> u8 {
    match row.health {
        LimitHealth::Leaking => 0,
        LimitHealth::Stuck => 1,
        LimitHealth::Stalled => 2,
        _ if row.limit.paused && row.limit.waiting > 0 => 3,
        LimitHealth::Saturated => 4,
        LimitHealth::Unknown => 5,
        LimitHealth::Ok if row.limit.waiting > 0 => 6,
        LimitHealth::Ok => 7,
    }
}

impl<'a> Look<'a> {
    fn into(book: &'a Book, namespace: &str, now: Millis) -> Self {
        let space = book.space(namespace);
        let mut orphans: HashMap<&str, Vec<Millis>> = HashMap::new();
        for orphan in space.iter().flat_map(|space| space.orphans.values()) {
            for limit in &orphan.limits {
                orphans.entry(limit.as_str()).or_default().push(orphan.ended_at);
            }
        }
        orphans.values_mut().for_each(|ended| ended.sort_unstable());
        Look { book, space, orphans, now }
    }

    fn tracks(&self, limit: &str) -> Option<&Tracks> {
        self.space.and_then(|space| space.limits.get(limit))
    }

    fn overview(&self, limit: LimitInfo) -> LimitOverview {
        if self.book.is_stale() {
            let verdict = Verdict::unknown("What the verdict is made from is more than 20 seconds old.");
            return bare(limit, verdict, self.now);
        }
        let Some(tracks) = self.tracks(&limit.limit) else {
            return bare(limit, Verdict::ok(), self.now); // declared a moment ago: nothing has happened to it yet
        };
        let orphans = self.orphans.get(limit.limit.as_str()).map_or(&[][..], Vec::as_slice);
        let verdict = verdict(&Case { limit: &limit, tracks, orphans, now: self.now });
        let waits = tracks.fine.flow_since(self.now.saturating_sub(WAITS_MS)).waits;
        let recent = tracks.coarse.flow_since(self.now.saturating_sub(PACE_MS));
        LimitOverview {
            held_by_ended_runs: orphans.len() as u32,
            wait_p50_ms: waits.percentile(50),
            wait_p99_ms: waits.percentile(99),
            expired_24h: tracks.coarse.flow_since(self.now.saturating_sub(DAY_MS)).expired.into(),
            drains_in_ms: drains_in(&limit, &recent),
            known_since: tracks.since.max(self.book.kept_since(self.now, COARSE_MS)),
            ..bare(limit, verdict, self.now)
        }
    }

    fn with_floor(&self, mut row: LimitOverview) -> LimitOverview {
        let Some(tracks) = self.tracks(&row.limit.limit) else { return row };
        let from = self.now.saturating_sub((FLOOR_STEPS - 1) * COARSE_MS);
        let floor =
            |step: Step<'_>| (step.at + COARSE_MS > tracks.since).then_some(step.available_min.into());
        row.floor = tracks.coarse.steps(from, self.now).map(floor).collect();
        row
    }
}

fn bare(limit: LimitInfo, verdict: Verdict, now: Millis) -> LimitOverview {
    LimitOverview {
        limit,
        health: verdict.health,
        evidence: verdict.evidence,
        advice: verdict.advice,
        held_by_ended_runs: 0,
        wait_p50_ms: None,
        wait_p99_ms: None,
        expired_24h: 0,
        drains_in_ms: None,
        floor: Vec::new(),
        known_since: now,
    }
}

fn drains_in(limit: &LimitInfo, recent: &Flow) -> Option<Millis> {
    let ended = recent.given_back();
    (limit.waiting > 0 && ended > 0).then(|| u64::from(limit.waiting) * PACE_MS / ended)
}

fn told(book: &Book, tracks: Option<&Tracks>, range: Millis, now: Millis) -> SeriesAnswer {
    let step_ms = if range <= HOUR_MS { FINE_MS } else { COARSE_MS };
    let mut told = SeriesAnswer {
        limit: String::new(),
        step_ms,
        known_since: now,
        at: Vec::new(),
        capacity: Vec::new(),
        available_min: Vec::new(),
        reserved: Vec::new(),
        waiting_max: Vec::new(),
        grants: Vec::new(),
        released: Vec::new(),
        expired: Vec::new(),
        timed_out: Vec::new(),
        left: Vec::new(),
        run_ended: Vec::new(),
        lapsed: Vec::new(),
        wait_p50_ms: Vec::new(),
        wait_p99_ms: Vec::new(),
        revision: 0,
        as_of: now,
    };
    let Some(tracks) = tracks else { return told };
    told.known_since = tracks.since.max(book.kept_since(now, step_ms));
    let track = if step_ms == FINE_MS { &tracks.fine } else { &tracks.coarse };
    let from = now.saturating_sub(range - 1);
    track.steps(from, now).for_each(|step| add(&mut told, &step));
    told
}

fn add(told: &mut SeriesAnswer, step: &Step<'_>) {
    let is_known = step.at + told.step_ms > told.known_since;
    let known = |number: u32| is_known.then_some(u64::from(number));
    let nothing = Flow::default();
    let flow = step.flow.unwrap_or(&nothing);
    told.at.push(step.at);
    told.capacity.push(known(step.last.capacity));
    told.available_min.push(known(step.available_min));
    told.reserved.push(known(step.reserved));
    told.waiting_max.push(known(step.waiting_max));
    told.grants.push(flow.grants.into());
    told.released.push(flow.released.into());
    told.expired.push(flow.expired.into());
    told.timed_out.push(flow.timed_out.into());
    told.left.push(flow.left.into());
    told.run_ended.push(flow.run_ended.into());
    told.lapsed.push(flow.lapsed.into());
    told.wait_p50_ms.push(flow.waits.percentile(50));
    told.wait_p99_ms.push(flow.waits.percentile(99));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::local::series::Series;

    /// While the second engine does not get through with what is there, nothing is said to be well, or ill.
    #[test]
    fn what_is_too_old_claims_nothing() {
        let series = Series::new();
        let limit = || LimitInfo { capacity: 1, waiting: 3, ..LimitInfo::default() };
        let health = |series: &Series| {
            let book = series.book();
            Look::into(&book, "default", 0).overview(limit())
        };
        series.has_been_at_work_for(Duration::from_secs(19));
        assert_eq!(health(&series).health, LimitHealth::Ok);
        series.has_been_at_work_for(Duration::from_secs(21));
        let told = health(&series);
        assert_eq!((told.health, told.wait_p99_ms, told.drains_in_ms), (LimitHealth::Unknown, None, None));
        assert!(told.evidence.contains("20 seconds old"), "{told:?}");
        series.at_work(false);
        assert_eq!(health(&series).health, LimitHealth::Ok);
    }
}
