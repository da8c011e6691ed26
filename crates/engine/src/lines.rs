//! Lines: the waits of callers whose slot is to be busy the moment it is granted (S7a).
//!
//! A slot knows only the line of its newest caller. A hang-up names the line that broke: if it is not the slot's
//! line any more, somebody has asked again since, and nothing happens.

use maitred_planted::{Defect, has};

use crate::{
    command::Line,
    engine::{Cause, Engine},
    event::Event,
    names::{Namespace, SlotId},
    outcome::{End, Outcome, SlotStatus},
    slab::Ref,
    slots::{Slot, Stage},
};

impl Engine {
    /// The newest caller is on this line, or on none.
    pub(crate) fn set_line(&mut self, at: Ref<Slot>, line: Option<Line>) {
        if let Some(before) = std::mem::replace(&mut self.slots[at].line, line) {
            self.lines.remove(&(before.writer, at));
        }
        if let Some(line) = line {
            self.lines.insert((line.writer, at));
        }
    }

    fn find_on_line(&self, namespace: &Namespace, slot: &SlotId, line: Line) -> Option<Ref<Slot>> {
        let at = self.find_slot(namespace.as_str(), slot.as_str())?;
        (self.slots[at].line == Some(line) || has(Defect::AnyLineHangsUp)).then_some(at)
    }

    /// Whoever hangs up has left, and what it was given meanwhile is released.
    pub(crate) fn hang_up(
        &mut self,
        namespace: &Namespace,
        slot: &SlotId,
        line: Line,
        cause: Cause<'_>,
        events: &mut Vec<Event>,
    ) -> Outcome {
        let Some(at) = self.find_on_line(namespace, slot, line) else {
            return Outcome::Slot(self.status_of(namespace, slot));
        };
        let end = match self.slots[at].stage {
            Stage::Queued { .. } | Stage::Reserved(_) => End::Left,
            Stage::Busy(_) => End::Released,
        };
        self.end(at, end, cause, events);
        Outcome::Slot(SlotStatus::Ended(end))
    }

    /// The wait ran out: the slot stays queued and is ordinary until its caller is on the line again.
    pub(crate) fn end_line(&mut self, namespace: &Namespace, slot: &SlotId, line: Line) -> Outcome {
        if let Some(at) = self.find_on_line(namespace, slot, line) {
            self.set_line(at, None);
        }
        Outcome::Slot(self.status_of(namespace, slot))
    }

    /// A server died, and with it the lines it held: what waits on them is ordinary, and what was handed out on them
    /// stays with whoever may have it.
    pub(crate) fn drop_lines(&mut self, writer: u64) {
        if has(Defect::DeadLinesStay) {
            return;
        }
        let held = self.lines.range((writer, Ref::MIN)..=(writer, Ref::MAX));
        let dropped: Vec<Ref<Slot>> = held.map(|(_, at)| *at).collect();
        dropped.into_iter().for_each(|at| self.set_line(at, None));
    }
}
