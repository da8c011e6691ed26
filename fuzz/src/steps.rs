//! Commands for engine and model, from bytes: few names and round times, so that they meet.
//!
//! The model leaves out what is only forgotten after a day, so no step is later than twenty hours. It numbers lines over
//! all servers, so no line is used twice for different slots, nor after `DropLines`.

use arbitrary::{Result, Unstructured};
use maitred_model::{Acquire, Declared, EndStatus, Spec, Step, Verb};

const STEPS_MOST: usize = 48;
const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;
const LATEST_MS: u64 = 20 * HOUR_MS;

const LIMITS: [&str; 4] = ["a", "b", "c", "d"];
const RUNS: [&str; 3] = ["r1", "r2", "r3"];
const TASKS: [&str; 2] = ["t", "u"];
const KEYS: [&str; 3] = ["k", "j", "i"];
const WEIGHTS: [u64; 4] = [1, 2, 3, 100_000];
const HOLDS_MS: [u64; 6] = [1, SECOND_MS, 2 * MINUTE_MS, 2 * MINUTE_MS + 1, HOUR_MS, 30 * DAY_MS];
const TIMEOUTS_MS: [u64; 7] = [0, 1, SECOND_MS, 2 * MINUTE_MS, 2 * MINUTE_MS + 1, HOUR_MS, 400 * DAY_MS];
const WINDOWS_MS: [u64; 4] = [SECOND_MS, 2 * SECOND_MS, MINUTE_MS, HOUR_MS];
/// On due instants, beside them, and about the five seconds after which nobody is taken to have been there.
const LATER_MS: [u64; 16] = [
    0,
    0,
    0,
    0,
    1,
    SECOND_MS - 1,
    SECOND_MS,
    SECOND_MS + 1,
    5 * SECOND_MS,
    5 * SECOND_MS + 1,
    2 * MINUTE_MS - 1,
    2 * MINUTE_MS,
    2 * MINUTE_MS + 1,
    2 * MINUTE_MS + 5 * SECOND_MS,
    HOUR_MS - 1,
    HOUR_MS,
];
const COUNT_MOST: u64 = (1 << 53) - 1;

/// Up to the end of the bytes.
pub(crate) fn steps(bytes: &[u8]) -> Vec<Step> {
    let mut script = Script { input: Unstructured::new(bytes), ..Script::default() };
    while !script.input.is_empty() && script.steps.len() < STEPS_MOST {
        // Bytes that are missing at the end are no error, but zeroes.
        let Ok(step) = script.step() else { break };
        script.steps.push(step);
    }
    script.steps
}

struct Script<'a> {
    input: Unstructured<'a>,
    steps: Vec<Step>,
    now_ms: u64,
    /// Every slot that was asked for, with its namespace.
    asked: Vec<(String, Acquire)>,
    /// Since the last `DropLines`, with namespace and slot.
    lines: Vec<(String, String, u64)>,
    last_line: u64,
    last_id: u64,
}

impl Default for Script<'_> {
    fn default() -> Self {
        let (steps, asked, lines) = (Vec::new(), Vec::new(), Vec::new());
        Self { input: Unstructured::new(&[]), steps, now_ms: 0, asked, lines, last_line: 0, last_id: 0 }
    }
}

impl Script<'_> {
    fn step(&mut self) -> Result<Step> {
        let at_ms = self.time()?;
        let namespace = if self.input.ratio(1, 8)? { "other" } else { "default" }.to_owned();
        let step = match self.input.int_in_range(0..=19_u8)? {
            0..=4 => Step { verb: self.acquire(&namespace)?, at_ms, namespace, request_id: None },
            5 | 6 => self.ask_again(at_ms, namespace)?,
            7 => self.line_over(at_ms, namespace)?,
            8 => self.retry(at_ms, namespace)?,
            choice => Step { verb: self.verb(choice, &namespace)?, at_ms, namespace, request_id: None },
        };
        self.with_request_id(step)
    }

    fn time(&mut self) -> Result<u64> {
        let later = *self.input.choose(&LATER_MS)?;
        // Once in a while a clock that was set back.
        if later == 1 && self.input.ratio(1, 4)? {
            return Ok(self.now_ms.saturating_sub(SECOND_MS));
        }
        if self.now_ms + later <= LATEST_MS {
            self.now_ms += later;
        }
        Ok(self.now_ms)
    }

    fn verb(&mut self, choice: u8, namespace: &str) -> Result<Verb> {
        Ok(match choice {
            9 => Verb::Confirm { slot: self.slot(namespace)? },
            10 => Verb::Leave { slot: self.slot(namespace)? },
            11 => Verb::Release { slot: self.slot(namespace)? },
            12 => Verb::End { run: self.pick(&RUNS)?, status: self.status()? },
            13 | 14 => self.admit()?,
            15 => {
                let Declared { limit, capacity, max_hold_ms } = self.declared()?;
                Verb::Declare { limit, capacity, max_hold_ms }
            }
            16 => self.deploy()?,
            17 => self.setting()?,
            18 => {
                let limit = self.pick(&LIMITS)?;
                if self.input.arbitrary()? { Verb::Pause { limit } } else { Verb::Resume { limit } }
            }
            _ if self.input.ratio(1, 4)? => {
                self.lines.clear();
                Verb::DropLines
            }
            _ => Verb::Advance,
        })
    }

    fn pick(&mut self, from: &[&str]) -> Result<String> {
        Ok((*self.input.choose(from)?).to_owned())
    }

    fn declared(&mut self) -> Result<Declared> {
        let (limit, capacity) = (self.pick(&LIMITS)?, self.capacity()?);
        Ok(Declared { limit, capacity, max_hold_ms: *self.input.choose(&HOLDS_MS)? })
    }

    fn capacity(&mut self) -> Result<u64> {
        self.input.choose(&[1, 1, 2, 3, 100_000]).copied()
    }

    fn deploy(&mut self) -> Result<Verb> {
        let mut limits: Vec<Declared> = Vec::new();
        for _ in 0..self.input.int_in_range(0..=LIMITS.len())? {
            let declared = self.declared()?;
            limits.retain(|earlier| earlier.limit != declared.limit);
            limits.push(declared);
        }
        Ok(Verb::Deploy { limits })
    }

    fn setting(&mut self) -> Result<Verb> {
        let limit = self.pick(&LIMITS)?;
        let is_reset = self.input.ratio(1, 3)?;
        Ok(if self.input.arbitrary()? {
            let value = self.capacity()?;
            Verb::Capacity { limit, value: (!is_reset).then_some(value) }
        } else {
            let value = *self.input.choose(&HOLDS_MS)?;
            Verb::MaxHold { limit, value_ms: (!is_reset).then_some(value) }
        })
    }

    fn acquire(&mut self, namespace: &str) -> Result<Verb> {
        let mut limits: Vec<(String, u64)> = Vec::new();
        for _ in 0..self.input.int_in_range(1..=3_u8)? {
            let limit = self.pick(&LIMITS)?;
            if limits.iter().all(|(named, _)| *named != limit) {
                let weight = if self.input.ratio(1, 4)? { *self.input.choose(&WEIGHTS)? } else { 1 };
                limits.push((limit, weight));
            }
        }
        let mut ask = Acquire {
            slot: format!("s{}", self.asked.len()),
            limits,
            run: if self.input.arbitrary()? { Some(self.pick(&RUNS)?) } else { None },
            timeout_ms: *self.input.choose(&TIMEOUTS_MS)?,
            auto: self.input.arbitrary()?,
            hold_run: self.input.ratio(1, 3)?,
            line: None,
        };
        self.asked.push((namespace.to_owned(), ask.clone()));
        ask.line = self.new_line(namespace, &ask)?;
        Ok(Verb::Acquire(ask))
    }

    /// Only who is granted without asking has one.
    fn new_line(&mut self, namespace: &str, ask: &Acquire) -> Result<Option<u64>> {
        if !ask.auto || !self.input.ratio(2, 3)? {
            return Ok(None);
        }
        self.last_line += 1;
        self.lines.push((namespace.to_owned(), ask.slot.clone(), self.last_line));
        Ok(Some(self.last_line))
    }

    /// The same slot once more, perhaps on a new line, or with other content.
    fn ask_again(&mut self, at_ms: u64, namespace: String) -> Result<Step> {
        if self.asked.is_empty() {
            return Ok(Step { verb: self.acquire(&namespace)?, at_ms, namespace, request_id: None });
        }
        let (namespace, mut ask) = self.input.choose(&self.asked)?.clone();
        match self.input.int_in_range(0..=15_u8)? {
            0 => ask.run = Some("r9".to_owned()),
            1 => ask.timeout_ms = MINUTE_MS,
            2 => ask.hold_run = !ask.hold_run,
            3 => ask.limits[0].1 = 4,
            _ => ask.line = self.new_line(&namespace, &ask)?,
        }
        Ok(Step { verb: Verb::Acquire(ask), at_ms, namespace, request_id: None })
    }

    fn line_over(&mut self, at_ms: u64, namespace: String) -> Result<Step> {
        if self.lines.is_empty() {
            return Ok(Step { verb: Verb::Advance, at_ms, namespace, request_id: None });
        }
        let (namespace, slot, line) = self.input.choose(&self.lines)?.clone();
        let hangs_up = self.input.arbitrary()?;
        let verb = if hangs_up { Verb::HangUp { slot, line } } else { Verb::LineEnd { slot, line } };
        Ok(Step { verb, at_ms, namespace, request_id: None })
    }

    /// Any that was asked for there; one that nobody asked for, if none was.
    fn slot(&mut self, namespace: &str) -> Result<String> {
        let own = self.asked.iter().filter(|(asked_in, _)| asked_in == namespace);
        let ids: Vec<String> = own.map(|(_, ask)| ask.slot.clone()).chain(["nobody".to_owned()]).collect();
        self.input.choose(&ids).cloned()
    }

    fn status(&mut self) -> Result<EndStatus> {
        self.input.choose(&[EndStatus::Succeeded, EndStatus::Failed, EndStatus::Cancelled]).copied()
    }

    fn admit(&mut self) -> Result<Verb> {
        let run = if self.input.ratio(4, 5)? { Some(self.pick(&RUNS)?) } else { None };
        let mut specs: Vec<Spec> = Vec::new();
        for _ in 0..self.input.int_in_range(1..=3_u8)? {
            let spec = self.spec(run.is_some())?;
            if specs.iter().all(|other| other.key != spec.key || other.kind() != spec.kind()) {
                specs.push(spec);
            }
        }
        Ok(Verb::Admit { task: self.pick(&TASKS)?, run, specs })
    }

    fn spec(&mut self, with_run: bool) -> Result<Spec> {
        let is_rate = !with_run || self.input.ratio(2, 3)?;
        let counts = [1, 1, 1, 2, 3, COUNT_MOST];
        Ok(Spec {
            key: self.pick(&KEYS)?,
            limit: *self.input.choose(&[0, 1, 2, 5, COUNT_MOST])?,
            window_ms: if is_rate { Some(*self.input.choose(&WINDOWS_MS)?) } else { None },
            cost: if is_rate { *self.input.choose(&counts)? } else { 1 },
            successes_only: is_rate && with_run && self.input.arbitrary()?,
            label: None,
        })
    }

    /// A lost answer: the same command with the same id once more.
    fn retry(&mut self, at_ms: u64, namespace: String) -> Result<Step> {
        let sent: Vec<&Step> = self.steps.iter().filter(|step| step.request_id.is_some()).collect();
        if sent.is_empty() {
            return Ok(Step { verb: Verb::Advance, at_ms, namespace, request_id: None });
        }
        let step = (*self.input.choose(&sent)?).clone();
        Ok(Step { at_ms, ..step })
    }

    /// Some of those that may carry one: a new id, or rarely one that stands for something else already.
    fn with_request_id(&mut self, mut step: Step) -> Result<Step> {
        if step.request_id.is_some() || !step.verb.may_carry_request_id() || !self.input.ratio(1, 4)? {
            return Ok(step);
        }
        let own = self.steps.iter().filter(|earlier| earlier.namespace == step.namespace);
        let used: Vec<String> = own.filter_map(|earlier| earlier.request_id.clone()).collect();
        step.request_id = Some(if !used.is_empty() && self.input.ratio(1, 8)? {
            self.input.choose(&used)?.clone()
        } else {
            self.last_id += 1;
            format!("q{}", self.last_id)
        });
        Ok(step)
    }
}
