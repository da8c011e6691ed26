//! One caller: takes a slot, holds it for a moment, gives it back, at whichever server answers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use maitred::{
    Far, FarOptions,
    api::{AcquireFields, Answer, Call, Certainty, ConfirmMode, Context, Problem, SlotState},
};
use maitred_testbed::history::{self, Asked, Told};
use tokio::{task::JoinSet, time::sleep};
use uuid::Uuid;

use super::{LIMITS, stage::Stage};
use crate::chance::Chance;

/// What was begun is finished within this after the end of the trouble.
const FINISH_WITHIN: Duration = Duration::from_secs(60);
/// A caller whose slot is not granted by then leaves it.
const PATIENCE: Duration = Duration::from_secs(20);

/// A call that was made, and where.
#[derive(Clone)]
pub struct Made {
    pub server: usize,
    /// It waits for a grant.
    pub hangs: bool,
    pub call: history::Call,
}

/// All of them, at work.
pub struct Callers {
    working: JoinSet<Result<Vec<Made>, String>>,
    over: Arc<AtomicBool>,
    abandoned: Arc<AtomicBool>,
}

impl Callers {
    pub fn begin(stage: &Stage, many: u64, seed: u64) -> Result<Callers, String> {
        let urls: Vec<String> = stage.servers.iter().map(|server| server.url()).collect();
        let (over, abandoned) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let mut working = JoinSet::new();
        for number in 0..many {
            let (over, abandoned) = (Arc::clone(&over), Arc::clone(&abandoned));
            let caller = Caller { over, abandoned, ..Caller::new(number as u32, &urls, seed, stage.clock)? };
            working.spawn(caller.work());
        }
        Ok(Callers { working, over, abandoned })
    }

    /// They leave what they have begun: there is nobody to ask any more.
    pub async fn abandon(self) -> Result<Vec<Made>, String> {
        self.abandoned.store(true, Ordering::Relaxed);
        self.end().await
    }

    /// Lets them finish what they have begun: everything that was asked and told.
    pub async fn end(mut self) -> Result<Vec<Made>, String> {
        self.over.store(true, Ordering::Relaxed);
        let mut made = Vec::new();
        while let Some(joined) = self.working.join_next().await {
            made.extend(joined.map_err(|error| error.to_string())??);
        }
        Ok(made)
    }
}

struct Caller {
    number: u32,
    fars: Vec<Far>,
    /// The server it talks to.
    at: usize,
    chance: Chance,
    clock: Instant,
    over: Arc<AtomicBool>,
    abandoned: Arc<AtomicBool>,
    made: Vec<Made>,
}

impl Caller {
    fn new(number: u32, urls: &[String], seed: u64, clock: Instant) -> Result<Caller, String> {
        let options = FarOptions {
            deadline: Duration::from_secs(3),
            connect_within: Duration::from_secs(1),
            ..FarOptions::default()
        };
        let far = |url: &String| Far::connect(url, options.clone()).map_err(|problem| problem.to_string());
        let fars = urls.iter().map(far).collect::<Result<Vec<_>, _>>()?;
        let chance = Chance::new(seed, &format!("caller-{number}"));
        let (over, abandoned) = Default::default();
        let at = number as usize % fars.len();
        Ok(Caller { number, at, fars, chance, clock, over, abandoned, made: Vec::new() })
    }

    /// Until it is over and its last slot is given back: everything that was asked and told.
    async fn work(mut self) -> Result<Vec<Made>, String> {
        while !self.over.load(Ordering::Relaxed) {
            self.one_slot().await?;
        }
        Ok(self.made)
    }

    async fn one_slot(&mut self) -> Result<(), String> {
        let (slot, limit) = (Uuid::now_v7().to_string(), self.chance.pick(&LIMITS).0);
        let begun = Instant::now();
        // Some wait on the line at once; of the others it is known when they were queued.
        let mut waits = self.chance.one_in(3);
        loop {
            let told = self.acquire(&slot, limit, waits).await?;
            if self.abandoned.load(Ordering::Relaxed) {
                return Ok(());
            }
            match told {
                Told::Granted { .. } => break,
                Told::Released { .. } | Told::Ended { .. } => return Ok(()),
                Told::Queued { .. } if begun.elapsed() > PATIENCE => break,
                Told::Queued { .. } if !waits => waits = true,
                Told::Queued { .. } => {
                    self.look(&slot).await?;
                }
                Told::Refused | Told::Unknown => self.try_another().await,
            }
            if self.over.load(Ordering::Relaxed) && begun.elapsed() > FINISH_WITHIN {
                return Err(format!("slot {slot} of caller {} never came to anything", self.number));
            }
        }
        sleep(Duration::from_millis(self.chance.below(8))).await;
        if self.chance.one_in(3) {
            self.look(&slot).await?;
        }
        self.give_back(&slot).await
    }

    async fn give_back(&mut self, slot: &str) -> Result<(), String> {
        let begun = Instant::now();
        while !self.abandoned.load(Ordering::Relaxed) {
            let call = Call::Release { slot: slot.to_owned() };
            match self.ask(Asked::Release { slot: slot.to_owned() }, call).await? {
                Told::Refused | Told::Unknown => self.try_another().await,
                Told::Ended { .. } | Told::Queued { .. } => {
                    // Not granted: it leaves.
                    let call = Call::Leave { slot: slot.to_owned() };
                    match self.ask(Asked::Look { slot: slot.to_owned() }, call).await? {
                        Told::Refused | Told::Unknown => self.try_another().await,
                        Told::Granted { .. } => {}
                        _ => return Ok(()),
                    }
                }
                _ => return Ok(()),
            }
            if begun.elapsed() > FINISH_WITHIN {
                return Err(format!("slot {slot} of caller {} could not be given back", self.number));
            }
        }
        Ok(())
    }

    async fn try_another(&mut self) {
        self.at = self.chance.below(self.fars.len() as u64) as usize;
        sleep(Duration::from_millis(20 + self.chance.below(60))).await;
    }

    async fn acquire(&mut self, slot: &str, limit: &str, waits: bool) -> Result<Told, String> {
        let fields = AcquireFields {
            slot: Some(slot.to_owned()),
            limit: Some(limit.to_owned()),
            confirm: ConfirmMode::Auto,
            timeout: "1h".into(),
            wait: if waits { "2s".into() } else { Default::default() },
            ..AcquireFields::default()
        };
        let asked = Asked::Acquire { slot: slot.to_owned(), limit: limit.to_owned(), waits };
        self.ask(asked, Call::Acquire(fields)).await
    }

    async fn look(&mut self, slot: &str) -> Result<Told, String> {
        let call = Call::Slot { slot: slot.to_owned(), wait: Default::default() };
        self.ask(Asked::Look { slot: slot.to_owned() }, call).await
    }

    async fn ask(&mut self, asked: Asked, call: Call) -> Result<Told, String> {
        let began_at = self.clock.elapsed().as_micros() as u64;
        let answer = self.fars[self.at].call(&Context::default(), call).await;
        let ended_at = self.clock.elapsed().as_micros() as u64;
        let told = told(&asked, answer)?;
        let hangs = matches!(asked, Asked::Acquire { waits: true, .. });
        let call = history::Call { caller: self.number, began_at, ended_at, asked, told: told.clone() };
        self.made.push(Made { server: self.at, hangs, call });
        Ok(told)
    }
}

fn told(asked: &Asked, answer: Result<Answer, Problem>) -> Result<Told, String> {
    Ok(match answer {
        Ok(Answer::Slot(answer)) => {
            let revision = answer.revision;
            match (answer.slot.state, answer.slot.fence) {
                (SlotState::Queued, _) => Told::Queued { revision },
                (SlotState::Reserved | SlotState::Busy, Some(fence)) => Told::Granted { fence, revision },
                (SlotState::Released, _) => Told::Released { now: false, revision },
                _ => Told::Ended { revision },
            }
        }
        Ok(Answer::Release(answer)) => {
            let revision = answer.revision;
            match (answer.released, answer.state) {
                (true, _) => Told::Released { now: true, revision },
                (false, SlotState::Released) => Told::Released { now: false, revision },
                (false, SlotState::Queued) => Told::Queued { revision },
                (false, _) => Told::Ended { revision },
            }
        }
        Err(problem) if matches!(problem.reason.http_status(), 503 | 504) => {
            match problem.reason.certainty() {
                Certainty::Refused => Told::Refused,
                Certainty::Unknown => Told::Unknown,
            }
        }
        other => return Err(format!("{asked:?} was answered with {other:?}")),
    })
}
