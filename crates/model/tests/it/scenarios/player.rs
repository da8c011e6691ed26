//! Plays a scenario on the model, as a server that is there all the time.

use maitred_model::{Acquire, Answer, Declared, EndStatus, Kind, Model, Spec, State, Verb, duration_text};

use super::line::{self, Line, duration_ms};

const NAMESPACE: &str = "default";
const DAY_MS: u64 = 86_400_000;
/// What no rule allows: stands for a value that cannot be read.
const UNREADABLE: u64 = u64::MAX;

/// Every line that differs, as `LINE: expected, got`.
pub fn play(text: &str) -> Vec<String> {
    let mut player = Player { model: Model::new(), last_line: 0, auto_asks: Vec::new() };
    let mut failures = Vec::new();
    for (i, text) in text.lines().enumerate() {
        match line::parse(i + 1, text) {
            Err(problem) => failures.push(format!("{}: {problem}", i + 1)),
            Ok(None) => {}
            Ok(Some(line)) => failures.extend(player.difference(&line)),
        }
    }
    failures
}

struct Player {
    model: Model,
    /// The last line held open for an auto slot.
    last_line: u64,
    auto_asks: Vec<Acquire>,
}

impl Player {
    fn difference(&mut self, line: &Line) -> Option<String> {
        self.step_to(line.at_ms);
        let got = self.answer(line).unwrap_or_else(|problem| format!("unreadable: {problem}"));
        let unreadable = got.starts_with("unreadable");
        let agrees = line.expected.as_ref().is_none_or(|expected| line::matches(expected, &got));
        let expected = line.expected.as_deref().unwrap_or_default().join(" ");
        (unreadable || !agrees).then(|| format!("{}: expected `{expected}`, got `{got}`", line.number))
    }

    /// The server acts at each due time (T2).
    fn step_to(&mut self, at_ms: u64) {
        while let Some(due_ms) = self.model.next_due().filter(|due_ms| *due_ms <= at_ms) {
            self.command(due_ms, Verb::Advance);
        }
        self.command(at_ms, Verb::Advance);
    }

    fn command(&mut self, at_ms: u64, verb: Verb) -> String {
        shown(&self.model.command(at_ms, NAMESPACE, None, verb), &[])
    }

    fn answer(&mut self, line: &Line) -> Result<String, String> {
        let at_ms = line.at_ms;
        let args = Arguments(&line.arguments);
        Ok(match line.verb.as_str() {
            "acquire" => self.acquire(at_ms, args)?,
            "admit" | "check" => self.rates(at_ms, &line.verb, args)?,
            "restart" => self.restart(at_ms),
            "slot" => slot_text(&self.model.slot(at_ms, NAMESPACE, args.word(0)?)),
            "show" => self.show(at_ms, args.word(0)?),
            "queue" => self.queue(at_ms, args.word(0)?),
            "counter" => self.counter(at_ms, args.named("task")?, args.named("key")?),
            "inflight" => {
                let used = self.model.inflight(at_ms, NAMESPACE, args.named("task")?, args.named("key")?);
                format!("inflight used={used}")
            }
            _ => self.command(at_ms, simple_verb(&line.verb, args)?),
        })
    }

    /// An auto caller waits on a line of its own.
    fn acquire(&mut self, at_ms: u64, args: Arguments) -> Result<String, String> {
        let mut ask = acquire(args)?;
        if ask.auto {
            self.last_line += 1;
            ask.line = Some(self.last_line);
            self.auto_asks.push(ask.clone());
        }
        Ok(self.command(at_ms, Verb::Acquire(ask)))
    }

    fn rates(&mut self, at_ms: u64, verb: &str, args: Arguments) -> Result<String, String> {
        let (task, run, specs) = (args.named("task")?.to_owned(), args.owned("run"), specs(args)?);
        let answer = if verb == "check" {
            self.model.check(at_ms, NAMESPACE, &task, run.as_deref(), &specs)
        } else {
            self.model.command(at_ms, NAMESPACE, None, Verb::Admit { task, run, specs: specs.clone() })
        };
        Ok(shown(&answer, &specs))
    }

    /// Killed and started again: every line is gone, and the callers of queued auto slots ask again at once.
    fn restart(&mut self, at_ms: u64) -> String {
        let answer = self.command(at_ms, Verb::DropLines);
        for mut ask in self.auto_asks.clone() {
            if self.model.slot(at_ms, NAMESPACE, &ask.slot).state == State::Queued {
                self.last_line += 1;
                ask.line = Some(self.last_line);
                self.command(at_ms, Verb::Acquire(ask));
            }
        }
        answer
    }

    fn show(&self, at_ms: u64, limit: &str) -> String {
        let yes = |it: bool| if it { "yes" } else { "no" };
        match self.model.limit(at_ms, NAMESPACE, limit) {
            Err(code) => format!("error {code}"),
            Ok(it) => format!(
                "limit capacity={} max_hold={} busy={} reserved={} waiting={} overridden={} retired={} paused={}",
                it.capacity,
                duration_text(it.max_hold_ms),
                it.busy,
                it.reserved,
                it.waiting,
                yes(it.overridden),
                yes(it.retired),
                yes(it.paused)
            ),
        }
    }

    fn queue(&self, at_ms: u64, limit: &str) -> String {
        match self.model.queue(at_ms, NAMESPACE, limit) {
            Err(code) => format!("error {code}"),
            Ok(ids) if ids.is_empty() => "-".into(),
            Ok(ids) => ids.join(","),
        }
    }

    fn counter(&self, at_ms: u64, task: &str, key: &str) -> String {
        match self.model.counter(at_ms, NAMESPACE, task, key) {
            None => "none".into(),
            Some(it) => format!("counter used={} resets_in={}s", it.used, it.resets_in_ms.div_ceil(1000)),
        }
    }
}

fn simple_verb(verb: &str, args: Arguments) -> Result<Verb, String> {
    Ok(match verb {
        "declare" => {
            let capacity = args.find("capacity").map_or(UNREADABLE, number);
            let max_hold_ms = args.find("max_hold").map_or(UNREADABLE, duration);
            Verb::Declare { limit: args.word(0)?.into(), capacity, max_hold_ms }
        }
        "deploy" => Verb::Deploy { limits: args.0.iter().map(|entry| declared(entry)).collect() },
        "capacity" => {
            let value = args.word(1)?;
            Verb::Capacity { limit: args.word(0)?.into(), value: (value != "reset").then(|| number(value)) }
        }
        "max_hold" => {
            let value = args.word(1)?;
            Verb::MaxHold {
                limit: args.word(0)?.into(),
                value_ms: (value != "reset").then(|| duration(value)),
            }
        }
        "pause" => Verb::Pause { limit: args.word(0)?.into() },
        "resume" => Verb::Resume { limit: args.word(0)?.into() },
        "confirm" => Verb::Confirm { slot: args.word(0)?.into() },
        "leave" => Verb::Leave { slot: args.word(0)?.into() },
        "release" => Verb::Release { slot: args.word(0)?.into() },
        "end" => Verb::End { run: args.word(0)?.into(), status: end_status(args.word(1)?)? },
        "advance" => Verb::Advance,
        other => return Err(format!("{other} is not a verb")),
    })
}

fn declared(entry: &str) -> Declared {
    let mut fields = entry.splitn(3, ':');
    Declared {
        limit: fields.next().unwrap_or_default().into(),
        capacity: fields.next().map_or(UNREADABLE, number),
        max_hold_ms: fields.next().map_or(UNREADABLE, duration),
    }
}

fn end_status(word: &str) -> Result<EndStatus, String> {
    match word {
        "succeeded" => Ok(EndStatus::Succeeded),
        "failed" => Ok(EndStatus::Failed),
        "cancelled" => Ok(EndStatus::Cancelled),
        other => Err(format!("{other} is not an end")),
    }
}

fn acquire(args: Arguments) -> Result<Acquire, String> {
    let limit = |part: &str| match part.split_once('*') {
        Some((name, weight)) => (name.to_owned(), number(weight)),
        None => (part.to_owned(), 1),
    };
    Ok(Acquire {
        slot: args.named("slot")?.into(),
        limits: args.word(0)?.split('+').map(limit).collect(),
        run: args.owned("run"),
        timeout_ms: args.find("timeout").map_or(DAY_MS, duration),
        auto: args.find("confirm") == Some("auto"),
        hold_run: args.find("hold") == Some("run"),
        line: None,
    })
}

fn specs(args: Arguments) -> Result<Vec<Spec>, String> {
    args.0.split(|word| word == "+").map(|words| spec(Arguments(words))).collect()
}

fn spec(args: Arguments) -> Result<Spec, String> {
    Ok(Spec {
        key: args.named("key")?.into(),
        limit: number(args.named("limit")?),
        window_ms: args.find("window").map(duration),
        cost: args.find("cost").map_or(1, number),
        successes_only: args.0.iter().any(|word| word == "successes_only"),
        label: args.owned("label"),
    })
}

fn number(text: &str) -> u64 {
    // Digits only: no sign, no fraction.
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())).unwrap_or(UNREADABLE)
}

fn duration(text: &str) -> u64 {
    duration_ms(text).unwrap_or(UNREADABLE)
}

fn shown(answer: &Answer, specs: &[Spec]) -> String {
    match answer {
        Answer::Done => "ok".into(),
        Answer::Slot(slot) => slot_text(slot),
        Answer::Released(true) => "released".into(),
        Answer::Released(false) => "not_released".into(),
        Answer::Error(code) => format!("error {code}"),
        Answer::Verdict(verdict) => match &verdict.blocking {
            None => "allowed".into(),
            Some(blocking) => {
                let spec = &specs[blocking.spec];
                let kind = if blocking.kind == Kind::Rate { "rate" } else { "concurrency" };
                let wait = blocking.retry_after_seconds.map_or("none".into(), |wait| wait.to_string());
                let label = spec.label.as_ref().map_or(String::new(), |label| format!(" label={label}"));
                format!("over type={kind} retry_after={wait} limit={}{label}", spec.limit)
            }
        },
    }
}

fn slot_text(slot: &maitred_model::SlotView) -> String {
    match slot.place {
        Some(place) => format!("{} {place}", slot.state),
        None => slot.state.to_string(),
    }
}

#[derive(Clone, Copy)]
struct Arguments<'a>(&'a [String]);

impl<'a> Arguments<'a> {
    fn word(self, i: usize) -> Result<&'a str, String> {
        self.0.get(i).map(String::as_str).ok_or(format!("argument {} is missing", i + 1))
    }

    fn find(self, name: &str) -> Option<&'a str> {
        let pair = |word: &'a String| word.split_once('=').filter(|(it, _)| *it == name);
        self.0.iter().find_map(pair).map(|(_, value)| value)
    }

    fn named(self, name: &str) -> Result<&'a str, String> {
        self.find(name).ok_or(format!("{name}= is missing"))
    }

    fn owned(self, name: &str) -> Option<String> {
        self.find(name).map(str::to_owned)
    }
}
