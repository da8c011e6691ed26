//! The state up to what makes no difference, so that whoever visits all states of a small world knows one again.
//!
//! # Worked example
//! ```text
//! now 10:00:00   limit a: x busy, fence 7, expires 10:01:00; y queued, arrival 12, gives up 10:03:00
//! now 18:30:00   limit a: x busy, fence 31, expires 18:31:00; y queued, arrival 80, gives up 18:33:00
//! ```
//! Both have one shape: whatever is asked of the second gets the answer that the first would give, 8 h 30 min later and
//! with other numbers in it.
//!
//! # Why that is right
//! The rules compare times with one another and with `now`, and numbers (arrivals, fences) with one another; none with
//! a fixed time or number. So times may be told from now, and numbers by their order. What is only told and never
//! decides is left out: when a slot was asked for, how often it lapsed, its labels. So is what is remembered of
//! ended slots, which is right for whoever lets less than a day go by and never asks for an ended slot as a new one.
//!
//! Each struct is taken apart field by field: a new field does not compile until it is decided whether it counts.

use siphasher::sip128::SipHasher13;

use crate::{
    bytes::Writer,
    command::{Confirm, Hold},
    engine::Engine,
    limits::Limit,
    names::SlotId,
    slots::{Grant, Slot, Stage},
};

impl Engine {
    /// A hash of the shape. `role` names a slot: two slots of one role are taken for one another. Rates and places are
    /// not part of it.
    pub fn shape(&self, role: impl Fn(&SlotId) -> u64) -> u128 {
        let mut out = Writer::new();
        let mut limits: Vec<&Limit> = self.limits.scan(0).map(|(_, limit)| limit).collect();
        limits.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        limits.into_iter().for_each(|limit| shape_limit(&mut out, limit));
        let mut slots: Vec<&Slot> = self.slots.scan(0).map(|(_, slot)| slot).collect();
        slots.sort_unstable_by_key(|slot| role(&slot.id));
        for slot in &slots {
            out.number(role(&slot.id));
            let earlier = |other: &&&Slot| other.arrival < slot.arrival;
            out.number(slots.iter().filter(earlier).count() as u64);
            self.shape_slot(&mut out, slot, &slots);
        }
        SipHasher13::new().hash(out.as_bytes()).into()
    }

    fn shape_slot(&self, out: &mut Writer, slot: &Slot, all: &[&Slot]) {
        let Slot {
            hash: _,
            space: _,
            id: _,
            content: _,
            share: _,
            after_id: _,
            asks,
            run,
            workflow: _,
            label: _,
            confirm,
            hold,
            line,
            arrival: _,
            asked_at: _,
            queued_at: _,
            gives_up_at,
            laps: _,
            stage,
        } = slot;
        for ask in asks {
            out.text(self.limits[ask.limit].name.as_str());
            out.number(u64::from(ask.weight));
        }
        out.option(*run, |out, run| out.text(self.runs.id(run).as_str()));
        out.flag(*confirm == Confirm::Auto);
        out.flag(*hold == Hold::Run);
        // Its number is only compared with the one that a hang-up names: with itself, or with an older one.
        out.option(*line, |out, line| out.number(line.writer));
        match stage {
            // The lapsed grant is only told, in the story of the slot.
            Stage::Queued { firsts: _, lapsed: _ } => out.numbers([0, gives_up_at - self.now]),
            Stage::Reserved(grant) => {
                self.shape_grant(out, 1, grant, all);
                // A wait that is over by then ends with the lapse; it makes no difference since when.
                out.numbers([grant.lapses_at - self.now, gives_up_at.saturating_sub(self.now)]);
            }
            // Neither its reservation nor its wait decides anything any more.
            Stage::Busy(grant) => self.shape_grant(out, 2, grant, all),
        }
    }

    fn shape_grant(&self, out: &mut Writer, stage: u64, grant: &Grant, all: &[&Slot]) {
        let Grant { fence, granted_at: _, lapses_at: _, expires_at } = grant;
        let earlier = |other: &&&Slot| other.fence().is_some_and(|other| other < *fence);
        let rank = all.iter().filter(earlier).count() as u64;
        out.numbers([stage, rank, expires_at - self.now]);
    }
}

fn shape_limit(out: &mut Writer, limit: &Limit) {
    let Limit {
        hash: _,
        space: _,
        name,
        presence,
        declared_capacity,
        declared_max_hold_ms,
        capacity_override,
        max_hold_override_ms,
        paused,
        // Made by the slots.
        holders: _,
        queue: _,
    } = limit;
    out.text(name.as_str());
    out.number(*presence as u64);
    out.number(u64::from(*declared_capacity));
    out.number(*declared_max_hold_ms);
    out.option(*capacity_override, |out, capacity| out.number(u64::from(capacity)));
    out.option(*max_hold_override_ms, |out, ms| out.number(ms));
    out.flag(*paused);
}
