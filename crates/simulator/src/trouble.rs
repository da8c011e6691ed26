//! Trouble that comes on its own, and goes.

use maitred_engine::time::{DAY_MS, HOUR_MS, MINUTE_MS, Millis, SECOND_MS};

use crate::{
    faults::Fault,
    pace::DRIFT_MAX_PER_MILLE,
    world::{Checked, Event, World},
};

const TROUBLE_EVERY_MS: Millis = 2 * MINUTE_MS;
const YEAR_MS: Millis = 365 * DAY_MS;

impl World {
    pub(crate) fn plan_trouble(&mut self) {
        let ms = 1 + self.chance.below(2 * TROUBLE_EVERY_MS);
        self.after(ms, Event::Trouble);
    }

    pub(crate) fn trouble(&mut self) -> Checked {
        if self.plan.healed {
            return Ok(());
        }
        self.plan_trouble();
        let Some(fault) = self.plan.next_event(&mut self.chance) else { return Ok(()) };
        self.note(&fault);
        self.make_trouble(fault)
    }

    fn make_trouble(&mut self, fault: Fault) -> Checked {
        let node = self.chance.below(self.nodes.len() as u64) as usize;
        let is_up = self.nodes[node].process.is_some();
        match fault {
            Fault::Kill
            | Fault::PowerCut
            | Fault::OrderlyStop
            | Fault::DiskError
            | Fault::DiskFull
            | Fault::StandStill
                if !is_up =>
            {
                return Ok(());
            }
            Fault::OrderlyStop if self.nodes[node].still_until > self.now => return Ok(()),
            Fault::Kill => self.dies(node, None)?,
            Fault::PowerCut => {
                let seed = self.chance.next();
                self.dies(node, Some(seed))?;
            }
            Fault::OrderlyStop => self.stops_orderly(node)?,
            Fault::Outage => self.outage()?,
            Fault::StoreLeapsAhead => {
                self.store_ahead_ms += self.leap_ms() as i64;
            }
            Fault::StoreStepsBack => {
                self.store_ahead_ms -= self.leap_ms().min(YEAR_MS) as i64;
            }
            Fault::Drift => {
                let most = DRIFT_MAX_PER_MILLE;
                let per_mille = self.chance.below(2 * most + 1) as i64 - most as i64;
                self.nodes[node].boot.run(self.now, per_mille);
                self.witness.pace.drifts_since.get_or_insert(self.now);
            }
            Fault::BootLeapsAhead => {
                let by_ms = self.chance.below(10 * MINUTE_MS);
                self.nodes[node].boot.leap(self.now, by_ms);
                self.witness.pace.leapt_ms += by_ms;
            }
            Fault::SlowSync => self.for_a_while(fault, |world, until| world.slow_until = until),
            // Counted when a call really fails.
            Fault::DiskError => return self.disk_error(),
            Fault::DiskFull => {
                self.fill_up(true);
                let ms = 1 + self.chance.below(12 * MINUTE_MS);
                if self.chance.percent(40) {
                    self.full_until = self.now + ms;
                }
                self.after(ms, Event::Over { fault });
            }
            Fault::JournalOutage => self.for_a_while(fault, |world, until| world.store_down_until = until),
            Fault::StandStill => {
                self.for_a_while(fault, |world, until| world.nodes[node].still_until = until);
            }
            Fault::CutOff => self.for_a_while(fault, |world, until| world.nodes[node].cut_off_until = until),
            Fault::SlowNotice => {
                self.for_a_while(fault, |world, until| world.nodes[node].hard_of_hearing_until = until);
            }
            Fault::Storm => self.storm(),
            _ => unreachable!("{fault:?} meets single calls"),
        }
        self.counts.met(fault);
        Ok(())
    }

    /// From a second to ten years, small leaps as likely as large ones.
    fn leap_ms(&mut self) -> Millis {
        let most =
            self.chance.pick(&[2 * SECOND_MS, 50 * SECOND_MS, 3 * MINUTE_MS, HOUR_MS, DAY_MS, 10 * YEAR_MS]);
        1 + self.chance.below(most)
    }

    fn for_a_while(&mut self, fault: Fault, change: impl FnOnce(&mut World, Millis)) {
        let most = self.chance.pick(&[3 * SECOND_MS, 30 * SECOND_MS, 5 * MINUTE_MS]);
        let ms = 1 + self.chance.below(most);
        change(self, self.now + ms);
        self.after(ms, Event::Over { fault });
    }

    pub(crate) fn over(&mut self, fault: Fault) -> Checked {
        if fault == Fault::DiskFull {
            self.fill_up(false);
            // In life a thread notices within a second.
            for node in 0..self.nodes.len() {
                if self.nodes[node].still_until <= self.now {
                    self.pump(node)?;
                }
            }
        }
        Ok(())
    }

    fn fill_up(&mut self, full: bool) {
        if let Some(local) = self.store.local() {
            local.fill_up(full);
        }
    }

    fn disk_error(&mut self) -> Checked {
        let calls = self.chance.below(6);
        if let Some(local) = self.store.local() {
            local.fail_soon(calls);
        }
        Ok(())
    }

    /// Nobody is there, for seconds or for days.
    fn outage(&mut self) -> Checked {
        let most = self.chance.pick(&[10 * SECOND_MS, 10 * MINUTE_MS, 5 * HOUR_MS, 3 * DAY_MS]);
        let ms = 3 * SECOND_MS + self.chance.below(most);
        self.outage_until = self.now + ms;
        self.outages_ms += ms;
        self.stop_all_processes(None)
    }

    fn storm(&mut self) {
        for client in 0..self.clients.len() {
            let ms = self.chance.below(10);
            self.wake_after(client, ms);
        }
    }

    /// All faults end, and whatever they have left is lifted.
    pub(crate) fn heals(&mut self) -> Checked {
        self.plan.healed = true;
        self.well_since = Some(self.now);
        self.outages_ms -= self.outage_until.saturating_sub(self.now);
        (self.slow_until, self.full_until) = (0, 0);
        (self.store_down_until, self.outage_until) = (0, 0);
        self.fill_up(false);
        for node in 0..self.nodes.len() {
            self.nodes[node].boot.run(self.now, 0);
            self.nodes[node].cut_off_until = 0;
            self.nodes[node].still_until = 0;
            self.nodes[node].hard_of_hearing_until = 0;
            // One that was to start after an outage starts now.
            self.after(SECOND_MS, Event::Starts { node });
        }
        if let Some(local) = self.store.local() {
            let met = local.faults_met();
            (0..met).for_each(|_| self.counts.met(Fault::DiskError));
        }
        for client in 0..self.clients.len() {
            self.clients[client].heal();
            self.wake_after(client, 2 * SECOND_MS);
        }
        Ok(())
    }
}
