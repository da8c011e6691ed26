//! Random commands to judge the engine by: few names, so that they meet; times that fall on what is due, a
//! millisecond beside it, and beyond the bound of T2a.
//!
//! A model runs along to know what is due and which slots live; the steps are plain data and mean the same to whoever
//! plays them. Every value is well formed. Each seed switches some verbs off, so that rare ones meet often.
//! Steps stay within 20 hours: nothing is forgotten on the way (B1). Lines and request ids are never used again for another slot or
//! namespace, and no line outlives `DropLines`.

use crate::chance::Chance;
use crate::{Acquire, Declared, EndStatus, Model, Spec, State, Verb};

const SECOND_MS: u64 = 1000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const LATEST_MS: u64 = 20 * HOUR_MS;
const OUTAGE_MS: u64 = 5 * SECOND_MS; // T2a

/// Steps that declare limits before anything else, the last two in the other namespace.
const FIRST_DECLARED: usize = 6;
const LIMITS: [&str; 4] = ["a", "b", "c", "d"];
const RUNS: [&str; 4] = ["r1", "r2", "r3", "r4"];
const TASKS: [&str; 2] = ["t", "u"];
const KEYS: [&str; 3] = ["k", "j", "i"];
/// With how often each is drawn: mostly long enough for queues to build up.
const HOLDS_MS: [(u64, u64); 7] = [
    (SECOND_MS, 5),
    (30 * SECOND_MS, 8),
    (2 * MINUTE_MS, 12),
    (2 * MINUTE_MS + 1, 8),
    (10 * MINUTE_MS, 27),
    (HOUR_MS, 25),
    (30 * 24 * HOUR_MS, 15),
];
const TIMEOUTS_MS: [(u64, u64); 8] = [
    (0, 5),
    (SECOND_MS, 5),
    (5 * SECOND_MS, 8),
    (MINUTE_MS, 20),
    (2 * MINUTE_MS, 12),
    (2 * MINUTE_MS + 1, 6),
    (HOUR_MS, 22),
    (24 * HOUR_MS, 22),
];
const WINDOWS_MS: [u64; 5] = [SECOND_MS, 2 * SECOND_MS, 10 * SECOND_MS, MINUTE_MS, HOUR_MS];

/// One command at an absolute time, which may lie before that of the step before (T1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub at_ms: u64,
    pub namespace: String,
    pub request_id: Option<String>,
    pub verb: Verb,
}

/// The same seed and length give the same steps.
pub fn generate(seed: u64, length: usize) -> Vec<Step> {
    let mut generator = Generator::new(seed);
    (0..length).map(|_| generator.step()).collect()
}

/// What can come next, and how often.
#[derive(Clone, Copy)]
enum Choice {
    Acquire,
    AskAgain,
    Confirm,
    Leave,
    Release,
    HangUp,
    LineEnd,
    DropLines,
    End,
    Admit,
    Declare,
    Deploy,
    Capacity,
    MaxHold,
    Pause,
    Resume,
    Retry,
    Advance,
}

const CHOICES: [(Choice, u64); 18] = [
    (Choice::Acquire, 60),
    (Choice::AskAgain, 14),
    (Choice::Confirm, 24),
    (Choice::Leave, 8),
    (Choice::Release, 24),
    (Choice::HangUp, 8),
    (Choice::LineEnd, 8),
    (Choice::DropLines, 2),
    (Choice::End, 12),
    (Choice::Admit, 30),
    (Choice::Declare, 6),
    (Choice::Deploy, 3),
    (Choice::Capacity, 6),
    (Choice::MaxHold, 4),
    (Choice::Pause, 2),
    (Choice::Resume, 4),
    (Choice::Retry, 8),
    (Choice::Advance, 8),
];

struct Generator {
    chance: Chance,
    weights: Vec<u64>,
    model: Model,
    steps_made: usize,
    last_id: u64,
    /// Every acquire so far, with its namespace.
    asked: Vec<(String, Acquire)>,
    /// Lines since the last `DropLines`, with namespace and slot.
    lines: Vec<(String, String, u64)>,
    /// Commands that carried a request id.
    sent: Vec<Step>,
}

impl Generator {
    fn new(seed: u64) -> Generator {
        let mut chance = Chance::new(seed);
        let kept_on = |(choice, weight): &(Choice, u64)| {
            let always = matches!(choice, Choice::Acquire | Choice::Declare | Choice::Resume);
            if !always && chance.percent(15) { 0 } else { *weight }
        };
        let weights = CHOICES.iter().map(kept_on).collect();
        Generator {
            chance,
            weights,
            model: Model::new(),
            steps_made: 0,
            last_id: 0,
            asked: Vec::new(),
            lines: Vec::new(),
            sent: Vec::new(),
        }
    }

    fn step(&mut self) -> Step {
        let at_ms = if self.steps_made < FIRST_DECLARED { 0 } else { self.time() };
        self.model.command(at_ms, "default", None, Verb::Advance);
        let mut step = self.choice(at_ms);
        if step.request_id.is_none() && self.chance.percent(25) {
            self.give_request_id(&mut step);
        }
        self.steps_made += 1;
        self.model.command(at_ms, &step.namespace, step.request_id.as_deref(), step.verb.clone());
        step
    }

    /// Mostly the same instant or a due one, sometimes beside it, across the bound of an outage, or back in time.
    fn time(&mut self) -> u64 {
        let now_ms = self.model.now_ms();
        let due_ms = self.model.next_due().unwrap_or(now_ms);
        // A far due empties the queues on the way to it: rarely worth it.
        let near = due_ms < now_ms + 3 * MINUTE_MS || self.chance.percent(20);
        let due_ms = if near { due_ms } else { now_ms };
        let at_ms = match self.chance.weighted(&[50, 12, 4, 4, 3, 3, 16, 2, 1, 1, 4]) {
            0 => now_ms,
            1 => due_ms,
            2 => due_ms.saturating_sub(1),
            3 => due_ms + 1,
            4 => due_ms + OUTAGE_MS,
            5 => due_ms + OUTAGE_MS + 1,
            6 => now_ms + 1 + self.chance.below(3 * SECOND_MS),
            7 => now_ms + 6 * SECOND_MS + self.chance.below(MINUTE_MS),
            8 => now_ms + 2 * MINUTE_MS,
            9 => now_ms + HOUR_MS,
            _ => now_ms.saturating_sub(self.chance.below(MINUTE_MS)),
        };
        if at_ms > LATEST_MS { now_ms } else { at_ms }
    }

    fn choice(&mut self, at_ms: u64) -> Step {
        let in_default = match self.steps_made {
            0..4 => true,
            4..FIRST_DECLARED => false,
            _ => self.chance.percent(88),
        };
        let namespace = if in_default { "default" } else { "other" }.to_owned();
        let choice = match self.steps_made {
            ..FIRST_DECLARED => Choice::Declare,
            _ => CHOICES[self.chance.weighted(&self.weights)].0,
        };
        match choice {
            Choice::Retry => self.retry(at_ms, namespace),
            Choice::AskAgain => self.ask_again(at_ms, namespace),
            Choice::HangUp | Choice::LineEnd => self.line_over(at_ms, namespace, choice),
            _ => {
                let verb = self.verb(&namespace, choice);
                Step { at_ms, namespace, request_id: None, verb }
            }
        }
    }

    fn verb(&mut self, namespace: &str, choice: Choice) -> Verb {
        match choice {
            Choice::Acquire => self.acquire(namespace),
            Choice::Confirm => Verb::Confirm { slot: self.slot(namespace, &[State::Reserved]) },
            Choice::Leave => Verb::Leave { slot: self.slot(namespace, &[State::Queued, State::Reserved]) },
            Choice::Release => Verb::Release { slot: self.slot(namespace, &[State::Reserved, State::Busy]) },
            Choice::DropLines => {
                self.lines.clear();
                Verb::DropLines
            }
            Choice::End => self.end(),
            Choice::Admit => self.admit(),
            Choice::Declare => {
                let declared = self.declared(LIMITS[self.steps_made % LIMITS.len()]);
                let Declared { limit, capacity, max_hold_ms } = declared;
                Verb::Declare { limit, capacity, max_hold_ms }
            }
            Choice::Deploy => self.deploy(),
            Choice::Capacity => {
                let value = self.chance.percent(65).then(|| 1 + self.chance.below(5));
                Verb::Capacity { limit: self.limit(), value }
            }
            Choice::MaxHold => {
                let value_ms = self.chance.percent(65).then(|| self.chance.pick_weighted(&HOLDS_MS));
                Verb::MaxHold { limit: self.limit(), value_ms }
            }
            Choice::Pause => Verb::Pause { limit: self.limit() },
            Choice::Resume => Verb::Resume { limit: self.limit() },
            _ => Verb::Advance,
        }
    }

    fn limit(&mut self) -> String {
        self.chance.pick(&LIMITS).into()
    }

    fn declared(&mut self, limit: &str) -> Declared {
        let capacity = 1 + self.chance.weighted(&[45, 30, 15, 10]) as u64;
        Declared { limit: limit.into(), capacity, max_hold_ms: self.chance.pick_weighted(&HOLDS_MS) }
    }

    fn deploy(&mut self) -> Verb {
        let mut limits = Vec::new();
        for limit in LIMITS {
            if self.chance.percent(80) {
                limits.push(self.declared(limit));
            }
        }
        Verb::Deploy { limits }
    }

    fn acquire(&mut self, namespace: &str) -> Verb {
        self.last_id += 1;
        let auto = self.chance.percent(40);
        let mut ask = Acquire {
            slot: format!("s{}", self.last_id),
            limits: self.limits_with_weights(),
            run: self.chance.percent(60).then(|| self.chance.pick(&RUNS).into()),
            timeout_ms: self.chance.pick_weighted(&TIMEOUTS_MS),
            auto,
            hold_run: self.chance.percent(30),
            line: None,
        };
        self.asked.push((namespace.into(), ask.clone()));
        if auto && self.chance.percent(65) {
            ask.line = Some(self.new_line(namespace, &ask.slot));
        }
        Verb::Acquire(ask)
    }

    fn limits_with_weights(&mut self) -> Vec<(String, u64)> {
        let count = 1 + self.chance.weighted(&[60, 30, 10]);
        let mut limits: Vec<(String, u64)> = Vec::new();
        while limits.len() < count {
            // The first two limits are named most: that is where queues build up.
            let limit = LIMITS[self.chance.weighted(&[40, 35, 18, 7])];
            if !limits.iter().any(|(named, _)| named == limit) {
                limits.push((limit.into(), [1, 2, 3, 5][self.chance.weighted(&[82, 12, 4, 2])]));
            }
        }
        limits
    }

    fn new_line(&mut self, namespace: &str, slot: &str) -> u64 {
        self.last_id += 1;
        self.lines.push((namespace.into(), slot.into(), self.last_id));
        self.last_id
    }

    /// The same acquire again, perhaps on a new line; sometimes with other content.
    fn ask_again(&mut self, at_ms: u64, namespace: String) -> Step {
        if self.asked.is_empty() {
            let verb = self.acquire(&namespace);
            return Step { at_ms, namespace, request_id: None, verb };
        }
        let (namespace, mut ask) =
            self.pick_live(&self.asked.clone(), |(namespace, ask)| (namespace, &ask.slot));
        if self.chance.percent(12) {
            match self.chance.below(4) {
                0 => ask.run = Some("r9".into()),
                1 => ask.timeout_ms += 1,
                2 => ask.hold_run = !ask.hold_run,
                _ => ask.limits[0].1 += 1,
            }
        } else if ask.auto && self.chance.percent(60) {
            ask.line = Some(self.new_line(&namespace, &ask.slot));
        }
        Step { at_ms, namespace, request_id: None, verb: Verb::Acquire(ask) }
    }

    /// Mostly a slot in a state the command is meant for, sometimes any.
    fn slot(&mut self, namespace: &str, states: &[State]) -> String {
        let own = self.asked.iter().filter(|(asked_in, _)| asked_in == namespace);
        let mut ids: Vec<String> = own.map(|(_, ask)| ask.slot.clone()).collect();
        ids.retain(|id| self.state(namespace, id) != State::Unknown);
        let meant = |id: &&String| states.contains(&self.state(namespace, id));
        let fitting: Vec<String> = ids.iter().filter(meant).cloned().collect();
        if !fitting.is_empty() && self.chance.percent(85) {
            return self.chance.pick(&fitting);
        }
        if ids.is_empty() || self.chance.percent(5) { "nobody".into() } else { self.chance.pick(&ids) }
    }

    /// Mostly one whose slot lives, sometimes any.
    fn pick_live<T: Clone>(&mut self, from: &[T], slot_of: impl Fn(&T) -> (&String, &String)) -> T {
        let lives = |it: &&T| {
            let (namespace, slot) = slot_of(it);
            matches!(self.state(namespace, slot), State::Queued | State::Reserved | State::Busy)
        };
        let live: Vec<T> = from.iter().filter(lives).cloned().collect();
        let any_will_do = live.is_empty() || self.chance.percent(25);
        self.chance.pick(if any_will_do { from } else { &live })
    }

    fn state(&self, namespace: &str, slot: &str) -> State {
        self.model.slot(self.model.now_ms(), namespace, slot).state
    }

    fn line_over(&mut self, at_ms: u64, namespace: String, choice: Choice) -> Step {
        if self.lines.is_empty() {
            return Step { at_ms, namespace, request_id: None, verb: Verb::Advance };
        }
        let (namespace, slot, line) =
            self.pick_live(&self.lines.clone(), |(namespace, slot, _)| (namespace, slot));
        let hangs_up = matches!(choice, Choice::HangUp);
        let verb = if hangs_up { Verb::HangUp { slot, line } } else { Verb::LineEnd { slot, line } };
        Step { at_ms, namespace, request_id: None, verb }
    }

    fn end(&mut self) -> Verb {
        let statuses = [EndStatus::Succeeded, EndStatus::Failed, EndStatus::Cancelled];
        Verb::End { run: self.chance.pick(&RUNS).into(), status: self.chance.pick(&statuses) }
    }

    fn admit(&mut self) -> Verb {
        let run = self.chance.percent(85).then(|| self.chance.pick(&RUNS).into());
        let count = 1 + self.chance.weighted(&[50, 35, 15]);
        let mut specs: Vec<Spec> = Vec::new();
        while specs.len() < count {
            let spec = self.spec(run.is_some());
            if !specs.iter().any(|other| other.key == spec.key && other.kind() == spec.kind()) {
                specs.push(spec);
            }
        }
        Verb::Admit { task: self.chance.pick(&TASKS).into(), run, specs }
    }

    fn spec(&mut self, with_run: bool) -> Spec {
        let is_rate = !with_run || self.chance.percent(65);
        Spec {
            key: self.chance.pick(&KEYS).into(),
            limit: self.chance.below(if is_rate { 6 } else { 3 }),
            window_ms: is_rate.then(|| self.chance.pick(&WINDOWS_MS)),
            cost: if is_rate { 1 + self.chance.weighted(&[80, 15, 5]) as u64 } else { 1 },
            successes_only: is_rate && with_run && self.chance.percent(45),
            label: None,
        }
    }

    /// A lost answer: the same command with the same request id once more.
    fn retry(&mut self, at_ms: u64, namespace: String) -> Step {
        if self.sent.is_empty() {
            return Step { at_ms, namespace, request_id: None, verb: Verb::Advance };
        }
        Step { at_ms, ..self.chance.pick(&self.sent) }
    }

    /// A new id, or rarely one that stands for something else already.
    fn give_request_id(&mut self, step: &mut Step) {
        let is_deploy = matches!(step.verb, Verb::Declare { .. } | Verb::Deploy { .. });
        if !step.verb.may_carry_request_id() || is_deploy {
            return;
        }
        let used: Vec<&Step> = self.sent.iter().filter(|sent| sent.namespace == step.namespace).collect();
        if !used.is_empty() && self.chance.percent(10) {
            step.request_id = self.chance.pick(&used).request_id.clone();
            return;
        }
        self.last_id += 1;
        step.request_id = Some(format!("q{}", self.last_id));
        self.sent.push(step.clone());
    }
}
