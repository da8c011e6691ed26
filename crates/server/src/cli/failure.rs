//! How a command fails: what was wrong, what is near to it, what to do next.

use std::io::Write;

use clap::builder::styling::{AnsiColor, Style};
use maitred_api::{Problem, Reason};
use serde_json::{Value, json};

use crate::cli::{exit, output, text};

macro_rules! own_reasons {
    ($($name:ident = $code:literal;)*) => {
        /// Reasons that no server gives. `docs/src/reference/errors.md` lists them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Own { $($name,)* }

        impl Own {
            #[cfg(test)]
            pub const ALL: &'static [Own] = &[$(Own::$name),*];

            pub const fn code(self) -> &'static str {
                match self { $(Own::$name => $code,)* }
            }
        }
    };
}

own_reasons! {
    TimedOut = "timed_out";
    StillQueued = "still_queued";
    NotConfirmed = "not_confirmed";
    NotExecutable = "not_executable";
    NoCommand = "no_command";
    Interrupted = "interrupted";
    Failed = "failed";
}

/// The reason of a failure that names none.
fn of_status(status: u8) -> &'static str {
    match status {
        exit::USAGE => Reason::InvalidArgument.code(),
        exit::NOT_FOUND => Reason::NotFound.code(),
        exit::NOT_ALLOWED => Reason::Forbidden.code(),
        exit::REFUSED => Reason::Conflict.code(),
        exit::TIMED_OUT => Own::TimedOut.code(),
        exit::UNREACHABLE => Reason::Unavailable.code(),
        exit::NOT_EXECUTABLE => Own::NotExecutable.code(),
        exit::NO_COMMAND => Own::NoCommand.code(),
        status if status > exit::SIGNAL => Own::Interrupted.code(),
        _ => Own::Failed.code(),
    }
}

#[derive(Clone, Debug)]
pub struct Failure {
    pub exit: u8,
    pub reason: Option<Reason>,
    /// What no server says.
    own: Option<Own>,
    pub message: String,
    /// What to do next, one a line.
    pub hints: Vec<String>,
    pub details: Option<Value>,
    /// Names the answer in the server's log.
    pub request_id: Option<String>,
}

impl Failure {
    pub fn new(exit: u8, message: impl Into<String>) -> Self {
        Self {
            exit,
            reason: None,
            own: None,
            message: message.into(),
            hints: Vec::new(),
            details: None,
            request_id: None,
        }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub fn because(mut self, own: Own) -> Self {
        self.own = Some(own);
        self
    }

    /// For programs: the server's reason, the command's own, or what the exit status says.
    fn code(&self) -> &'static str {
        match (self.reason, self.own) {
            (Some(reason), _) => reason.code(),
            (None, Some(own)) => own.code(),
            (None, None) => of_status(self.exit),
        }
    }

    pub fn print(&self, json: bool) {
        let mut err = anstream::stderr().lock();
        let _ = match json {
            true => writeln!(err, "{}", output::as_json(&self.as_json()).unwrap_or_default()),
            false => write!(err, "{}", self.as_text()),
        };
    }

    fn as_text(&self) -> String {
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let mut lines = text::safe(&self.message).replace("\\n", "\n  ");
        for hint in &self.hints {
            lines.push_str("\n  ");
            lines.push_str(&text::safe(hint));
        }
        if let Some(id) = &self.request_id {
            lines.push_str(&format!("\n  (request {})", text::safe(id)));
        }
        format!("{red}error:{red:#} {lines}\n")
    }

    /// The API's own fields, with what only a command has.
    fn as_json(&self) -> Value {
        let mut value = json!({
            "status": "error",
            "reason": self.code(),
            "message": self.message,
            "exit_code": self.exit,
        });
        if !self.hints.is_empty() {
            value["hints"] = json!(self.hints);
        }
        if let Some(details) = &self.details {
            value["details"] = details.clone();
        }
        if let Some(id) = &self.request_id {
            value["request_id"] = json!(id);
        }
        value
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Failure {
            exit: exit::of(problem.reason),
            reason: Some(problem.reason),
            own: None,
            message: problem.message,
            hints: Vec::new(),
            details: problem.details,
            request_id: problem.request_id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_three_parts_and_the_request_last() {
        let mut problem = Problem::new(Reason::LimitNotFound, "no limit named `voice-cals`");
        problem.request_id = Some("r-1".to_owned());
        let failure =
            Failure::from(problem).hint("did you mean `voice-calls`?").hint("see all: maitred limits list");
        let plain = anstream::adapter::strip_str(&failure.as_text()).to_string();
        let expected = "error: no limit named `voice-cals`\n  did you mean `voice-calls`?\n  see all: maitred limits \
                        list\n  (request r-1)\n";
        assert_eq!(plain, expected);
        let json = failure.as_json();
        assert_eq!((json["reason"].as_str(), json["exit_code"].as_u64()), (Some("limit_not_found"), Some(3)));
        assert_eq!(json["hints"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn every_status_has_a_reason_that_the_reference_lists() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/reference/errors.md");
        let page = std::fs::read_to_string(page).unwrap();
        let is_told = |code: &str| page.lines().any(|line| line.starts_with(&format!("| `{code}` |")));
        for own in Own::ALL {
            assert!(is_told(own.code()), "{own:?}");
        }
        for status in 0..=u8::MAX {
            let code = Failure::new(status, "").code();
            assert!(is_told(code), "{status} {code}");
        }
    }

    #[test]
    fn what_the_server_says_cannot_reach_the_terminal_as_control_characters() {
        let text = Failure::new(1, "a\u{1b}[2Jb\u{202e}c\nd").as_text();
        assert!(
            anstream::adapter::strip_str(&text).to_string().contains("a\\u{1b}[2Jb\\u{202e}c\n  d"),
            "{text:?}"
        );
    }
}
