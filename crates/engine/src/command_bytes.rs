//! A command as bytes, as it stands in the journal, for ever.
//!
//! Every kind has a number. Numbers are never reused and never change their meaning: a new meaning is a new
//! number, and one that is not known here is an error, never skipped (D5). What is read is checked as strictly
//! as what comes from the wire: names by their types, numbers by [`Command::check_form`].

use maitred_planted::{Defect, has};

use crate::{
    bytes::{DecodeError, Reader, Writer},
    command::{
        Acquire, Admit, Ask, Command, Confirm, Declaration, Hold, Line, Request, RunStatus, Spec, SpecKind,
        Verb,
    },
};

mod kind {
    pub const ADVANCE: u64 = 1;
    pub const SET_RULES: u64 = 2;
    pub const DROP_LINES: u64 = 3;
    pub const IN: u64 = 4;
}

mod verb {
    pub const DECLARE: u64 = 1;
    pub const DEPLOY: u64 = 2;
    pub const SET_CAPACITY: u64 = 3;
    pub const SET_MAX_HOLD: u64 = 4;
    pub const PAUSE: u64 = 5;
    pub const RESUME: u64 = 6;
    pub const ACQUIRE: u64 = 7;
    pub const CONFIRM: u64 = 8;
    pub const RELEASE: u64 = 9;
    pub const LEAVE: u64 = 10;
    pub const HANG_UP: u64 = 11;
    pub const END_LINE: u64 = 12;
    pub const END_RUN: u64 = 13;
    pub const ADMIT: u64 = 14;
    pub const RESET_RATE: u64 = 15;
}

impl Command {
    pub fn encode(&self, w: &mut Writer) {
        match self {
            Command::Advance => w.number(kind::ADVANCE),
            Command::SetRules { version } => {
                w.number(kind::SET_RULES);
                w.number(u64::from(*version));
            }
            Command::DropLines { writer } => {
                w.number(kind::DROP_LINES);
                w.fixed(*writer);
            }
            Command::In(request) => {
                w.number(kind::IN);
                request.encode(w);
            }
        }
    }

    /// Reads one command and checks its form.
    pub fn decode(r: &mut Reader<'_>) -> Result<Command, DecodeError> {
        let command = match r.number()? {
            kind::ADVANCE => Command::Advance,
            kind::SET_RULES => Command::SetRules { version: r.number_u32()? },
            kind::DROP_LINES => Command::DropLines { writer: r.fixed()? },
            kind::IN => Command::In(Box::new(Request::decode(r)?)),
            _ if has(Defect::UnknownSkipped) => Command::Advance,
            kind => return Err(DecodeError::UnknownKind { what: "command", kind }),
        };
        if command.check_form() {
            Ok(command)
        } else {
            Err(DecodeError::Invalid { what: "a value in a command" })
        }
    }
}

impl Request {
    fn encode(&self, w: &mut Writer) {
        let Request { namespace, request, by, reason, verb } = self;
        w.text(namespace.as_str());
        w.option(request.as_ref(), |w, id| w.text(id.as_str()));
        w.option(by.as_ref(), |w, label| w.text(label.as_str()));
        w.option(reason.as_ref(), |w, label| w.text(label.as_str()));
        verb.encode(w);
    }

    fn decode(r: &mut Reader<'_>) -> Result<Request, DecodeError> {
        Ok(Request {
            namespace: r.name("namespace")?,
            request: r.option(|r| r.name("request id"))?,
            by: r.option(|r| r.name("by"))?,
            reason: r.option(|r| r.name("reason"))?,
            verb: Verb::decode(r)?,
        })
    }
}

impl Verb {
    pub(crate) fn encode(&self, w: &mut Writer) {
        w.number(self.kind());
        match self {
            Verb::Declare(declaration) => declaration.encode(w),
            Verb::Deploy(declarations) => {
                w.count(declarations.len());
                declarations.iter().for_each(|declaration| declaration.encode(w));
            }
            Verb::SetCapacity { limit, capacity } => {
                w.text(limit.as_str());
                w.option(*capacity, |w, capacity| w.number(u64::from(capacity)));
            }
            Verb::SetMaxHold { limit, max_hold_ms } => {
                w.text(limit.as_str());
                w.option(*max_hold_ms, Writer::number);
            }
            Verb::Pause { limit } | Verb::Resume { limit } => w.text(limit.as_str()),
            Verb::Acquire(acquire) => acquire.encode(w),
            Verb::Confirm { slot } | Verb::Release { slot } | Verb::Leave { slot } => w.text(slot.as_str()),
            Verb::HangUp { slot, line } | Verb::EndLine { slot, line } => {
                w.text(slot.as_str());
                line.encode(w);
            }
            Verb::EndRun { run, status } => {
                w.text(run.as_str());
                status.encode(w);
            }
            Verb::Admit(admit) => admit.encode(w),
            Verb::ResetRate { task, key } => {
                w.text(task.as_str());
                w.text(key.as_str());
            }
        }
    }

    /// The number of the verb, as it stands in journals.
    fn kind(&self) -> u64 {
        match self {
            Verb::Declare(_) => verb::DECLARE,
            Verb::Deploy(_) => verb::DEPLOY,
            Verb::SetCapacity { .. } => verb::SET_CAPACITY,
            Verb::SetMaxHold { .. } => verb::SET_MAX_HOLD,
            Verb::Pause { .. } => verb::PAUSE,
            Verb::Resume { .. } => verb::RESUME,
            Verb::Acquire(_) => verb::ACQUIRE,
            Verb::Confirm { .. } => verb::CONFIRM,
            Verb::Release { .. } => verb::RELEASE,
            Verb::Leave { .. } => verb::LEAVE,
            Verb::HangUp { .. } => verb::HANG_UP,
            Verb::EndLine { .. } => verb::END_LINE,
            Verb::EndRun { .. } => verb::END_RUN,
            Verb::Admit(_) => verb::ADMIT,
            Verb::ResetRate { .. } => verb::RESET_RATE,
        }
    }

    fn decode(r: &mut Reader<'_>) -> Result<Verb, DecodeError> {
        Ok(match r.number()? {
            verb::DECLARE => Verb::Declare(Declaration::decode(r)?),
            verb::DEPLOY => {
                let count = r.count(4)?;
                Verb::Deploy((0..count).map(|_| Declaration::decode(r)).collect::<Result<_, _>>()?)
            }
            verb::SET_CAPACITY => {
                Verb::SetCapacity { limit: r.name("limit")?, capacity: r.option(Reader::number_u32)? }
            }
            verb::SET_MAX_HOLD => {
                Verb::SetMaxHold { limit: r.name("limit")?, max_hold_ms: r.option(Reader::number)? }
            }
            verb::PAUSE => Verb::Pause { limit: r.name("limit")? },
            verb::RESUME => Verb::Resume { limit: r.name("limit")? },
            verb::ACQUIRE => Verb::Acquire(Acquire::decode(r)?),
            verb::CONFIRM => Verb::Confirm { slot: r.name("slot")? },
            verb::RELEASE => Verb::Release { slot: r.name("slot")? },
            verb::LEAVE => Verb::Leave { slot: r.name("slot")? },
            verb::HANG_UP => Verb::HangUp { slot: r.name("slot")?, line: Line::decode(r)? },
            verb::END_LINE => Verb::EndLine { slot: r.name("slot")?, line: Line::decode(r)? },
            verb::END_RUN => Verb::EndRun { run: r.name("run")?, status: RunStatus::decode(r)? },
            verb::ADMIT => Verb::Admit(Admit::decode(r)?),
            verb::RESET_RATE => Verb::ResetRate { task: r.name("task")?, key: r.name("key")? },
            kind => return Err(DecodeError::UnknownKind { what: "verb", kind }),
        })
    }
}

impl Declaration {
    fn encode(&self, w: &mut Writer) {
        let Declaration { limit, capacity, max_hold_ms } = self;
        w.text(limit.as_str());
        w.number(u64::from(*capacity));
        w.number(*max_hold_ms);
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { limit: r.name("limit")?, capacity: r.number_u32()?, max_hold_ms: r.number()? })
    }
}

impl Acquire {
    fn encode(&self, w: &mut Writer) {
        let Acquire { slot, asks, run, workflow, label, timeout_ms, confirm, hold, line } = self;
        w.text(slot.as_str());
        w.count(asks.len());
        for Ask { limit, weight } in asks {
            w.text(limit.as_str());
            w.number(u64::from(*weight));
        }
        w.option(run.as_ref(), |w, run| w.text(run.as_str()));
        w.option(workflow.as_ref(), |w, workflow| w.text(workflow.as_str()));
        w.option(label.as_ref(), |w, label| w.text(label.as_str()));
        w.number(*timeout_ms);
        confirm.encode(w);
        hold.encode(w);
        w.option(*line, |w, line| line.encode(w));
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let slot = r.name("slot")?;
        let count = r.count(3)?;
        let ask = |r: &mut Reader<'_>| Ok(Ask { limit: r.name("limit")?, weight: r.number_u32()? });
        Ok(Self {
            slot,
            asks: (0..count).map(|_| ask(r)).collect::<Result<_, _>>()?,
            run: r.option(|r| r.name("run"))?,
            workflow: r.option(|r| r.name("workflow"))?,
            label: r.option(|r| r.name("label"))?,
            timeout_ms: r.number()?,
            confirm: Confirm::decode(r)?,
            hold: Hold::decode(r)?,
            line: r.option(Line::decode)?,
        })
    }
}

impl Line {
    pub(crate) fn encode(&self, w: &mut Writer) {
        w.fixed(self.writer);
        w.number(self.number);
    }

    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { writer: r.fixed()?, number: r.number()? })
    }
}

impl Admit {
    fn encode(&self, w: &mut Writer) {
        let Admit { task, run, specs } = self;
        w.text(task.as_str());
        w.option(run.as_ref(), |w, run| w.text(run.as_str()));
        w.count(specs.len());
        specs.iter().for_each(|spec| spec.encode(w));
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let task = r.name("task")?;
        let run = r.option(|r| r.name("run"))?;
        let count = r.count(4)?;
        Ok(Self { task, run, specs: (0..count).map(|_| Spec::decode(r)).collect::<Result<_, _>>()? })
    }
}

impl Spec {
    fn encode(&self, w: &mut Writer) {
        let Spec { key, limit, kind } = self;
        w.text(key.as_str());
        w.number(*limit);
        match *kind {
            SpecKind::Place => w.number(0),
            SpecKind::Rate { window_ms, cost, successes_only } => {
                w.number(1);
                w.number(window_ms);
                w.number(cost);
                w.flag(successes_only);
            }
        }
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let key = r.name("key")?;
        let limit = r.number()?;
        let kind = match r.number()? {
            0 => SpecKind::Place,
            1 => SpecKind::Rate { window_ms: r.number()?, cost: r.number()?, successes_only: r.flag()? },
            kind => return Err(DecodeError::UnknownKind { what: "spec", kind }),
        };
        Ok(Self { key, limit, kind })
    }
}

/// Small closed sets, each value with its number.
macro_rules! numbered {
    ($type:ident, $what:literal, $($variant:ident = $number:literal),+) => {
        impl $type {
            pub(crate) fn encode(self, w: &mut Writer) {
                w.number(match self { $($type::$variant => $number),+ });
            }

            pub(crate) fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                match r.number()? {
                    $($number => Ok($type::$variant),)+
                    kind => Err(DecodeError::UnknownKind { what: $what, kind }),
                }
            }
        }
    };
}

numbered!(Confirm, "confirm", Holder = 0, Auto = 1);
numbered!(Hold, "hold", Released = 0, Run = 1);
numbered!(RunStatus, "run status", Succeeded = 0, Failed = 1, Cancelled = 2);
