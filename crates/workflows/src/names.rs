//! What slots of runs, their inboxes and their steps are called.
//!
//! ```text
//! slot    wf/order-7/1/2                          run order-7, its execution 1, its slot 2
//! hook    Esperando hueco · voice-calls           the step that is open while the run waits for it
//! inbox   Esperando hueco · voice-calls · 1.2     where its grant is put
//! ```
//!
//! The id is made in the workflow body, the same on every replay, so a question whose answer was lost is asked again
//! without taking a second slot. It carries the run, so that whoever hears of a grant knows at once whom to tell.

use maitred::api::HOOK;

const MARK: &str = "wf/";
const BETWEEN: &str = " · ";

/// A run's slot, before there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub run: String,
    pub execution: u64,
    /// Counts the slots that the run asked for, from 1.
    pub number: String,
}

impl Ticket {
    pub fn slot(&self) -> String {
        format!("{MARK}{}/{}/{}", self.run, self.execution, self.number)
    }

    /// None for a slot that no workflow asked for.
    pub fn of_slot(slot: &str) -> Option<Ticket> {
        let mut parts = slot.strip_prefix(MARK)?.rsplitn(3, '/');
        let (number, execution, run) = (parts.next()?, parts.next()?, parts.next()?);
        let execution = execution.parse().ok()?;
        (!number.is_empty() && !run.is_empty()).then(|| Ticket {
            run: run.to_owned(),
            execution,
            number: number.to_owned(),
        })
    }

    /// One for each slot, so that what comes late for one is never taken for another.
    pub fn inbox(&self, limit: &str) -> String {
        format!("{}{BETWEEN}{}.{}", hook(limit), self.execution, self.number)
    }
}

/// The step that is open while a run waits for a slot of this limit.
pub fn hook(limit: &str) -> String {
    format!("{HOOK}{limit}")
}

/// The limit that an inbox belongs to; none for an inbox of another kind.
pub fn limit_of_inbox(inbox: &str) -> Option<&str> {
    Some(inbox.strip_prefix(HOOK)?.rsplit_once(BETWEEN)?.0)
}

/// The run as the limiter's record names whoever acts: the engine takes longer and stranger ids than that does.
pub fn actor(run: &str) -> String {
    run.chars().filter(char::is_ascii_graphic).take(200).collect()
}

/// The limit of a serial workflow.
pub fn serial_limit(workflow: &str) -> String {
    format!("serial.{workflow}")
}

#[cfg(test)]
mod tests {
    use super::{Ticket, limit_of_inbox};

    #[test]
    fn a_slot_tells_whose_it_is() {
        for run in ["order-7", "a/b/c", "parent::sub::2"] {
            let ticket = Ticket { run: run.to_owned(), execution: 3, number: "12".to_owned() };
            assert_eq!(Ticket::of_slot(&ticket.slot()), Some(ticket));
        }
        for other in
            ["order-7", "wf/", "wf/a/1", "wf/a/b/1", "wf//1/2", "0190f6a0-0000-7000-8000-000000000000"]
        {
            assert_eq!(Ticket::of_slot(other), None, "{other}");
        }
    }

    #[test]
    fn an_inbox_tells_its_step() {
        let ticket = Ticket { run: "r".to_owned(), execution: 1, number: "2".to_owned() };
        assert_eq!(limit_of_inbox(&ticket.inbox("voice-calls")), Some("voice-calls"));
        assert_eq!(limit_of_inbox("approvals"), None);
    }
}
