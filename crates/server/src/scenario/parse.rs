//! A scenario file as commands.

use std::fmt;

use maitred_api::{
    AcquireFields, AdmitFields, Call, ConfirmMode, Given, HoldMode, NamedLimit, Reason, RunStatus,
    SpecFields, WeightedLimit,
};

use crate::scenario::{
    args::{Args, Form, Token},
    expect::Expected,
};

/// A hundred years: no story is longer, and no sum of times runs over.
const OFFSET_MAX_MS: u64 = 36_500 * 24 * 60 * 60 * 1000;

const VERBS: &str = "declare deploy capacity max_hold pause resume acquire confirm leave slot release end show queue \
                     admit check counter inflight restart advance";

/// One command of a file.
#[derive(Clone, Debug)]
pub struct Line {
    /// From 1.
    pub number: usize,
    /// From the start of the story.
    pub at_ms: u64,
    /// Verb and arguments, as they stand in the file.
    pub text: String,
    pub command: Command,
    pub expected: Option<Expected>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Ask(Call),
    /// The ids in a limit's queue.
    Queue {
        limit: String,
    },
    Counter {
        task: String,
        key: String,
    },
    InFlight {
        task: String,
        key: String,
    },
    Restart,
    Advance,
    /// A word that no call can carry.
    Refused(Reason),
}

/// Where a file cannot be read, and what is allowed there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

/// All commands of a file, or the first place that cannot be read.
pub fn parse(text: &str) -> Result<Vec<Line>, Wrong> {
    let mut lines = Vec::new();
    for (index, text) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let number = index + 1;
        let tokens = tokens(text);
        if !tokens.is_empty() {
            lines.push(line(number, &tokens).map_err(|wrong| Wrong { line: number, ..wrong })?);
        }
    }
    Ok(lines)
}

/// The words before a comment: `#` at the start or after a space.
fn tokens(line: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = line;
    let mut column = 1;
    loop {
        let word = rest.trim_start();
        column += rest[..rest.len() - word.len()].chars().count();
        let end = word.find(char::is_whitespace).unwrap_or(word.len());
        let text = &word[..end];
        if text.is_empty() || text.starts_with('#') {
            return found;
        }
        found.push(Token { text, column });
        column += text.chars().count();
        rest = &word[end..];
    }
}

fn line(number: usize, tokens: &[Token<'_>]) -> Result<Line, Wrong> {
    let arrow = tokens.iter().position(|token| token.text == "=>");
    let (asked, expected) = match arrow {
        Some(at) => (&tokens[..at], Some((tokens[at], &tokens[at + 1..]))),
        None => (tokens, None),
    };
    let Some((time, asked)) = asked.split_first() else {
        return Err(tokens[0].wrong("a line starts with a time; allowed: 0s, 2m10s, 1h1ms".to_owned()));
    };
    let at_ms = offset(*time)?;
    let Some((verb, args)) = asked.split_first() else {
        return Err(time.wrong(format!("after the time comes a verb; allowed: {VERBS}")));
    };
    let expected = expected.map(|(arrow, words)| expectation(*verb, arrow, words)).transpose()?;
    let words: Vec<&str> = asked.iter().map(|token| token.text).collect();
    Ok(Line { number, at_ms, text: words.join(" "), command: command(*verb, args)?, expected })
}

fn offset(token: Token<'_>) -> Result<u64, Wrong> {
    maitred::parse_duration(token.text).filter(|ms| *ms <= OFFSET_MAX_MS).ok_or_else(|| {
        token.wrong(format!("`{}` is not a time; allowed: 0s, 2m10s, 1h1ms, at most 36500d", token.text))
    })
}

/// Plain words, then pairs. What `queue` answers is ids, and an id may hold a `=`.
fn expectation(verb: Token<'_>, arrow: Token<'_>, tokens: &[Token<'_>]) -> Result<Expected, Wrong> {
    let mut expected = Expected::default();
    for token in tokens {
        match token.text.split_once('=') {
            Some((name, value)) if verb.text != "queue" => {
                expected.pairs.push((name.to_owned(), value.to_owned()))
            }
            _ if expected.pairs.is_empty() => expected.words.push(token.text.to_owned()),
            _ => {
                let message = format!(
                    "`{}` stands after a pair; allowed: plain words first, then name=value",
                    token.text
                );
                return Err(token.wrong(message));
            }
        }
    }
    if tokens.is_empty() {
        return Err(arrow.wrong("nothing stands behind `=>`; leave it out if any answer will do".to_owned()));
    }
    Ok(expected)
}

fn command(verb: Token<'_>, tokens: &[Token<'_>]) -> Result<Command, Wrong> {
    let form = |places, names| Form { places, names, flags: &[] };
    let by_id = |call: fn(String) -> Call| {
        let args = Args::read(verb, tokens, form(&["ID"], &[]))?;
        Ok(Command::Ask(call(args.place(0).to_owned())))
    };
    let by_limit = |call: fn(String) -> Call| {
        let args = Args::read(verb, tokens, form(&["LIMIT"], &[]))?;
        Ok(Command::Ask(call(args.place(0).to_owned())))
    };
    match verb.text {
        "declare" => Ok(declare(&Args::read(verb, tokens, form(&["LIMIT"], &["capacity", "max_hold"]))?)),
        "deploy" => Ok(deploy(tokens)),
        "capacity" => Ok(capacity(&Args::read(verb, tokens, form(&["LIMIT", "NUMBER|reset"], &[]))?)),
        "max_hold" => Ok(max_hold(&Args::read(verb, tokens, form(&["LIMIT", "DURATION|reset"], &[]))?)),
        "pause" => by_limit(|limit| Call::Pause { limit }),
        "resume" => by_limit(|limit| Call::Resume { limit }),
        "show" => by_limit(|limit| Call::Limit { limit }),
        "acquire" => Ok(acquire(&Args::read(verb, tokens, ACQUIRE)?)),
        "confirm" => by_id(|slot| Call::Confirm { slot }),
        "leave" => by_id(|slot| Call::Leave { slot }),
        "release" => by_id(|slot| Call::Release { slot }),
        "slot" => by_id(|slot| Call::Slot { slot, wait: Given::default() }),
        "end" => Ok(end(&Args::read(verb, tokens, form(&["RUN", "succeeded|failed|cancelled"], &[]))?)),
        "queue" => {
            let limit = Args::read(verb, tokens, form(&["LIMIT"], &[]))?.place(0).to_owned();
            Ok(Command::Queue { limit })
        }
        "admit" => admit(verb, tokens, false),
        "check" => admit(verb, tokens, true),
        "counter" => {
            let (task, key) = task_and_key(verb, tokens)?;
            Ok(Command::Counter { task, key })
        }
        "inflight" => {
            let (task, key) = task_and_key(verb, tokens)?;
            Ok(Command::InFlight { task, key })
        }
        "restart" => Args::read(verb, tokens, Form::default()).map(|_| Command::Restart),
        "advance" => Args::read(verb, tokens, Form::default()).map(|_| Command::Advance),
        unknown => Err(verb.wrong(format!("`{unknown}` is not a verb; allowed: {VERBS}"))),
    }
}

fn declare(args: &Args<'_>) -> Command {
    let (capacity, max_hold) = (args.given("capacity"), args.given("max_hold"));
    Command::Ask(Call::Declare(NamedLimit { name: args.place(0).to_owned(), capacity, max_hold }))
}

/// `NAME:CAPACITY:MAXHOLD`, any number of times.
fn deploy(tokens: &[Token<'_>]) -> Command {
    let named = |token: &Token<'_>| {
        let mut parts = token.text.splitn(3, ':');
        let name = parts.next().unwrap_or_default().to_owned();
        let mut given = || parts.next().map(Given::from).unwrap_or_default();
        NamedLimit { name, capacity: given(), max_hold: given() }
    };
    Command::Ask(Call::Deploy { limits: tokens.iter().map(named).collect() })
}

fn capacity(args: &Args<'_>) -> Command {
    let limit = args.place(0).to_owned();
    Command::Ask(match args.place(1) {
        "reset" => Call::ResetCapacity { limit },
        number => Call::SetCapacity { limit, capacity: number.into() },
    })
}

fn max_hold(args: &Args<'_>) -> Command {
    let limit = args.place(0).to_owned();
    Command::Ask(match args.place(1) {
        "reset" => Call::ResetMaxHold { limit },
        duration => Call::SetMaxHold { limit, max_hold: duration.into() },
    })
}

const ACQUIRE: Form = Form {
    places: &["LIMIT[*WEIGHT][+LIMIT[*WEIGHT]…]"],
    names: &["slot", "run", "timeout", "confirm", "hold", "label", "workflow"],
    flags: &[],
};

fn acquire(args: &Args<'_>) -> Command {
    let (Some(confirm), Some(hold)) = (confirm_mode(args.value("confirm")), hold_mode(args.value("hold")))
    else {
        return Command::Refused(Reason::InvalidArgument);
    };
    let weighted = |text: &str| {
        let (limit, weight) =
            text.split_once('*').map_or((text, None), |(limit, weight)| (limit, Some(weight)));
        WeightedLimit { limit: limit.to_owned(), weight: weight.map(Given::from).unwrap_or_default() }
    };
    Command::Ask(Call::Acquire(AcquireFields {
        slot: Some(args.owned("slot").unwrap_or_default()),
        limits: args.place(0).split('+').map(weighted).collect(),
        run: args.owned("run"),
        workflow: args.owned("workflow"),
        label: args.owned("label"),
        timeout: args.given("timeout"),
        confirm,
        hold,
        ..AcquireFields::default()
    }))
}

fn confirm_mode(text: Option<&str>) -> Option<ConfirmMode> {
    match text {
        None | Some("holder") => Some(ConfirmMode::Holder),
        Some("auto") => Some(ConfirmMode::Auto),
        Some(_) => None,
    }
}

fn hold_mode(text: Option<&str>) -> Option<HoldMode> {
    match text {
        None | Some("released") => Some(HoldMode::Released),
        Some("run") => Some(HoldMode::Run),
        Some(_) => None,
    }
}

fn end(args: &Args<'_>) -> Command {
    let run = args.place(0).to_owned();
    let status = match args.place(1) {
        "succeeded" => RunStatus::Succeeded,
        "failed" => RunStatus::Failed,
        "cancelled" => RunStatus::Cancelled,
        _ => return Command::Refused(Reason::InvalidArgument),
    };
    Command::Ask(Call::EndRun { run, status })
}

fn task_and_key(verb: Token<'_>, tokens: &[Token<'_>]) -> Result<(String, String), Wrong> {
    let args = Args::read(verb, tokens, Form { places: &[], names: &["task", "key"], flags: &[] })?;
    Ok((args.owned("task").unwrap_or_default(), args.owned("key").unwrap_or_default()))
}

/// Task and run stand with the first spec; a `+` of its own separates specs.
fn admit(verb: Token<'_>, tokens: &[Token<'_>], check: bool) -> Result<Command, Wrong> {
    const FIRST: Form = Form {
        places: &[],
        names: &["task", "run", "key", "limit", "window", "cost", "label"],
        flags: &["successes_only"],
    };
    const MORE: Form = Form { names: &["key", "limit", "window", "cost", "label"], ..FIRST };
    let mut fields = AdmitFields { check, enforce: false, ..AdmitFields::default() };
    for (index, group) in tokens.split(|token| token.text == "+").enumerate() {
        let args = Args::read(verb, group, if index == 0 { FIRST } else { MORE })?;
        if index == 0 {
            fields.task = args.owned("task").unwrap_or_default();
            fields.run = args.owned("run");
        }
        fields.specs.push(spec(&args));
    }
    Ok(Command::Ask(Call::Admit(fields)))
}

fn spec(args: &Args<'_>) -> SpecFields {
    SpecFields {
        key: args.owned("key").unwrap_or_default(),
        limit: args.given("limit"),
        window_seconds: args.value("window").map(window_seconds).unwrap_or_default(),
        cost: args.given("cost"),
        count_successes_only: args.flag("successes_only"),
        label: args.owned("label"),
    }
}

/// A duration of whole seconds as a number; anything else as it stands, for the limiter to refuse.
fn window_seconds(text: &str) -> Given {
    match maitred::parse_duration(text) {
        Some(ms) if ms % 1000 == 0 => (ms / 1000).into(),
        Some(ms) => Given((ms as f64 / 1000.0).into()),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests;
