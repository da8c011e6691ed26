//! What a run is called, and the calls that it makes of the limiter.
//!
//! A message `m1` for the task `album`, which executes `upscale` twice, is four names, the same at every delivery, as
//! long as the task does the same things in the same order:
//!
//! ```text
//! album:m1       the root run      album:m1:0      its first call of the limiter
//! album:m1/0     the first child   album:m1/0:0    the child's first call
//! ```
//!
//! So a second delivery asks the same questions under the same names and gets the first answers (rule A5). Without a
//! message every run has a name that nobody had before and nobody can guess.

use uuid::Uuid;

use crate::TaskError;

/// Room for the names of calls and of children, within the 200 characters of an id.
const MESSAGE_MAX: usize = 120;
const RUN_MAX: usize = 189;

#[derive(Clone, Debug)]
pub(crate) struct RunId {
    id: String,
    is_repeatable: bool,
}

impl RunId {
    pub fn new(task: &str, message: Option<&str>) -> Result<RunId, TaskError> {
        let Some(message) = message else { return Ok(RunId::fresh()) };
        let id = format!("{task}:{message}");
        if message.is_empty() || id.len() > MESSAGE_MAX || !id.bytes().all(is_of_a_key) {
            return Err(TaskError::new(
                "invalid_message_id",
                format!(
                    "a message id has 1 to {MESSAGE_MAX} of A-Z a-z 0-9 . _ = @ | / : - with its task's name"
                ),
                400,
            ));
        }
        Ok(RunId { id, is_repeatable: true })
    }

    pub fn fresh() -> RunId {
        RunId { id: Uuid::now_v7().to_string(), is_repeatable: false }
    }

    pub fn as_str(&self) -> &str {
        &self.id
    }

    /// The nth execution that this one starts.
    pub fn child(&self, nth: u32) -> RunId {
        let id = format!("{}/{nth}", self.id);
        match self.is_repeatable && id.len() <= RUN_MAX {
            true => RunId { id, is_repeatable: true },
            false => RunId::fresh(),
        }
    }

    /// The nth call of the limiter, if a second delivery would make the same.
    pub fn call(&self, nth: u32) -> Option<String> {
        self.is_repeatable.then(|| format!("{}:{nth}", self.id))
    }
}

/// The characters of a key (rule R8), of which ids are made too.
pub(crate) fn is_of_a_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._=@|/:-".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_its_runs_and_their_calls() {
        let root = RunId::new("album", Some("m1")).unwrap();
        let child = root.child(1);
        assert_eq!((root.as_str(), child.as_str()), ("album:m1", "album:m1/1"));
        assert_eq!(child.call(0).as_deref(), Some("album:m1/1:0"));
    }

    #[test]
    fn without_a_message_no_two_are_the_same() {
        let (one, other) = (RunId::new("album", None).unwrap(), RunId::new("album", None).unwrap());
        assert_ne!(one.as_str(), other.as_str());
        assert_ne!(one.child(0).as_str(), one.child(0).as_str());
        assert_eq!(one.call(0), None);
    }

    #[test]
    fn a_message_that_makes_no_id_is_refused() {
        for message in ["", "with space", "ü", &"m".repeat(200)] {
            assert_eq!(RunId::new("t", Some(message)).unwrap_err().status(), 400, "{message}");
        }
    }

    #[test]
    fn names_stay_short_enough_however_deep() {
        let mut run = RunId::new("t", Some("m")).unwrap();
        for _ in 0..1_000 {
            run = run.child(4_000_000_000);
            assert!(run.call(4_000_000_000).is_none_or(|call| call.len() <= 200), "{run:?}");
        }
    }
}
