//! Breadth first through all states of one cast.

use std::{
    collections::{HashSet, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
};

use maitred_engine::{
    Engine,
    command::Command,
    event::{Event, EventKind},
    outcome::Outcome,
};

use super::cast::{Cast, Move, ROLES, START, Stage};
use crate::judge::commanded::{
    Judge,
    answers::{engine_slot, model_slot, of_engine, of_model},
};

/// What was visited.
#[derive(Debug, Default)]
pub struct Visited {
    pub states: usize,
    pub moves: u64,
    /// The most moves that a state is away from the beginning.
    pub depth: u32,
    granted: u64,
    put_back: u64,
    ended: u64,
}

impl Visited {
    pub fn met_enough(&self) -> bool {
        let is_many = |met: u64, of: usize| met > (self.states / of) as u64;
        is_many(self.granted, 50) && is_many(self.put_back, 200) && is_many(self.ended, 50)
    }

    fn count(&mut self, events: &[Event]) {
        for event in events {
            match event.kind {
                EventKind::SlotGranted { .. } => self.granted += 1,
                EventKind::SlotPutBack(_) => self.put_back += 1,
                EventKind::SlotEnded(_) => self.ended += 1,
                _ => {}
            }
        }
    }
}

/// How a state was first reached: by this move from that state.
#[derive(Clone, Copy)]
struct Reached {
    from: u32,
    by: Option<Move>,
    depth: u32,
}

/// Visits so many states, or says what is wrong in one and how to come there.
pub fn explore(cast: &Cast, most: usize) -> Result<Visited, String> {
    let moves = cast.moves();
    let mut reached = vec![Reached { from: 0, by: None, depth: 0 }];
    let mut known = HashSet::from([Walk::along(cast, &[]).stage.shape()]);
    let mut frontier = VecDeque::from([0_u32]);
    let mut visited = Visited { states: 1, ..Visited::default() };
    while let Some(from) = frontier.pop_front() {
        let path = path_to(&reached, from);
        let here = Walk::along(cast, &path);
        for &made in &moves {
            let wrong = |wrong: String| shown(&path, made, &wrong);
            let Some(moved) = here.goes(cast, made).map_err(wrong)? else { continue };
            visited.moves += 1;
            here.check_model(&moved).map_err(wrong)?;
            if !known.insert(moved.next.shape()) {
                continue;
            }
            here.check_state(&moved).map_err(wrong)?;
            visited.count(&moved.events);
            let depth = reached[from as usize].depth + 1;
            frontier.push_back(reached.len() as u32);
            reached.push(Reached { from, by: Some(made), depth });
            (visited.states, visited.depth) = (reached.len(), depth);
            if visited.states >= most {
                return Ok(visited);
            }
        }
    }
    Ok(visited)
}

fn path_to(reached: &[Reached], mut at: u32) -> Vec<Move> {
    let mut path = Vec::new();
    while let Some(by) = reached[at as usize].by {
        path.push(by);
        at = reached[at as usize].from;
    }
    path.reverse();
    path
}

fn shown(path: &[Move], last: Move, wrong: &str) -> String {
    let lines: Vec<String> = path.iter().chain([&last]).map(|made| format!("  {made}")).collect();
    format!("{wrong}\nreached by\n{}", lines.join("\n"))
}

/// A move, and what came of it.
struct Moved {
    at: u64,
    command: Command,
    outcome: Outcome,
    events: Vec<Event>,
    next: Stage,
}

/// Engine and model after the same moves.
struct Walk {
    stage: Stage,
    judge: Judge,
}

impl Walk {
    fn along(cast: &Cast, path: &[Move]) -> Walk {
        let mut walk = Walk { stage: Stage::new(), judge: Judge::default() };
        let mut events = Vec::new();
        for command in cast.declarations() {
            walk.stage.engine.apply(START, &command, &mut events);
            walk.judge.command(START, &command);
        }
        for &made in path {
            events.clear();
            let Some((at, command)) = walk.stage.command(cast, made) else { continue };
            walk.stage.engine.apply(at, &command, &mut events);
            walk.judge.command(at, &command);
        }
        walk
    }

    /// A copy of the engine makes the move. A panic is something wrong like any other.
    fn goes(&self, cast: &Cast, made: Move) -> Result<Option<Moved>, String> {
        let mut next = self.stage.clone();
        let Some((at, command)) = next.command(cast, made) else { return Ok(None) };
        let mut events = Vec::new();
        let moved = catch_unwind(AssertUnwindSafe(|| next.engine.apply(at, &command, &mut events)));
        match moved {
            Ok(outcome) => Ok(Some(Moved { at, command, outcome, events, next })),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                Err(text.unwrap_or_else(|| "the engine panicked".to_owned()))
            }
        }
    }

    /// The model says what the engine says, and shows the same slots and queues: also where the state is not new, as it
    /// might only seem so.
    fn check_model(&self, moved: &Moved) -> Result<(), String> {
        let mut judge = self.judge.clone();
        let engine = &moved.next.engine;
        let answer = judge.command(moved.at, &moved.command).ok_or("the model does not know the command")?;
        same("the answer", of_model(&answer, true), of_engine(&moved.outcome))?;
        for role in 0..ROLES {
            let slot = moved.next.slot(role);
            let expected = model_slot(&judge.model.slot(engine.now(), "default", slot.as_str()));
            same(slot.as_str(), expected, engine_slot(&engine.status("default", slot.as_str())))?;
        }
        for limit in ["a", "b"] {
            let queue = engine.queue("default", limit, 0, usize::MAX);
            let queue: Vec<(String, bool)> =
                queue.iter().map(|slot| (slot.slot.to_string(), slot.on_line)).collect();
            let ids = judge.model.queue(engine.now(), "default", limit).unwrap_or_default();
            let with_lines = ids.into_iter().map(|id| (judge.model.is_on_line("default", &id), id));
            let expected: Vec<(String, bool)> = with_lines.map(|(on_line, id)| (id, on_line)).collect();
            same("the queue, and who is on the line", expected, queue)?;
        }
        Ok(())
    }

    /// A new state keeps what is promised, and comes back from a snapshot.
    fn check_state(&self, moved: &Moved) -> Result<(), String> {
        let engine = &moved.next.engine;
        check_grants(&self.stage.engine, engine, &moved.events)?;
        let restored = Engine::restore(&engine.snapshot())
            .map_err(|error| format!("its own snapshot is refused: {error}"))?;
        same("the state of a snapshot", engine.state_digest(), restored.state_digest())
    }
}

/// Whoever is granted has room, and a fence above all before.
fn check_grants(before: &Engine, after: &Engine, events: &[Event]) -> Result<(), String> {
    let mut highest = highest_fence(before);
    for event in events {
        let EventKind::SlotGranted { slot, fence, .. } = &event.kind else { continue };
        if *fence <= highest {
            return Err(format!("{} got the fence {fence} after {highest}", slot.id));
        }
        highest = *fence;
        let limit =
            after.limit("default", slot.limit.as_str()).ok_or("a grant of a limit that is not there")?;
        if limit.busy + limit.reserved > u64::from(limit.capacity) {
            return Err(format!("{} was granted and the limit holds {limit:?}", slot.id));
        }
    }
    Ok(())
}

fn highest_fence(engine: &Engine) -> u64 {
    let held = |limit| engine.holders("default", limit, 0, usize::MAX);
    let fences = ["a", "b"].into_iter().flat_map(held).filter_map(|slot| engine_slot(&slot.status).fence);
    fences.max().unwrap_or(0)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, model: T, engine: T) -> Result<(), String> {
    if model == engine { Ok(()) } else { Err(format!("{what}\n  model:  {model:?}\n  engine: {engine:?}")) }
}
