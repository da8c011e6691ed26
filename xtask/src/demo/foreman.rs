//! The parent's loop: hands out records, writes results, kills, and puts back what a killed worker had in hand.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use maitred::{
    Far,
    api::{BatchItem, Call, Context},
};
use tokio::{
    sync::mpsc,
    time::{MissedTickBehavior, interval, sleep, timeout},
};

use super::{
    catalog::{Enriched, Product},
    chaos::{Chaos, Kill},
    fleet::{Fleet, Heard, Worker},
    keeper::Keeper,
    ledger::{Ledger, Life},
    progress::Progress,
    results::Results,
    talk::{Job, Said},
};

/// Longer than this nothing may stand still: queue timeouts, max holds and restarts are all shorter.
const STANDSTILL: Duration = Duration::from_secs(90);

pub struct Foreman {
    pub products: Vec<Product>,
    pub at_once: usize,
    pub results: Results,
    pub ledger: Ledger,
    pub chaos: Chaos,
    pub fleet: Fleet,
    pub heard: mpsc::UnboundedReceiver<(Life, Heard)>,
    pub keeper: Keeper,
    pub far: Far,
    pub progress: Progress,
    /// Records that nobody has in hand.
    pub todo: VecDeque<usize>,
    pub in_hand: HashMap<usize, Life>,
    pub done: Vec<bool>,
    /// One per seat; a killed worker's seat is taken by another.
    pub workers: Vec<Worker>,
    pub lives: u64,
}

impl Foreman {
    /// Until every record is done and every worker has gone home.
    pub async fn work(&mut self, seats: usize) -> Result<(), String> {
        for _ in 0..seats {
            let worker = self.new_worker()?;
            self.workers.push(worker);
            self.hand_out(self.workers.len() - 1);
        }
        let mut tick = interval(Duration::from_millis(50));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last_done = (0, Instant::now());
        while self.progress.done < self.products.len() {
            tokio::select! {
                Some((life, heard)) = self.heard.recv() => self.hear(life, heard)?,
                _ = tick.tick() => self.progress.show(self.in_hand.len()),
            }
            self.kill_what_is_due()?;
            self.keeper.take_back(false).await?;
            self.progress.server_kills = self.keeper.kills;
            if last_done.0 < self.progress.done {
                last_done = (self.progress.done, Instant::now());
            }
            if last_done.1.elapsed() > STANDSTILL {
                return Err(format!("nothing got done for {} s", STANDSTILL.as_secs()));
            }
        }
        self.go_home().await
    }

    fn new_worker(&mut self) -> Result<Worker, String> {
        self.lives += 1;
        self.fleet.start(Life(self.lives))
    }

    /// Fills a worker's hands.
    fn hand_out(&mut self, seat: usize) {
        let life = self.workers[seat].life;
        let mut has = self.in_hand.values().filter(|holder| **holder == life).count();
        while has < self.at_once
            && let Some(record) = self.todo.pop_front()
        {
            self.in_hand.insert(record, life);
            let job = Job { record, product: self.products[record].clone() };
            let _ = self.workers[seat].jobs.send(job); // a dead worker's records come back when it is buried
            has += 1;
        }
    }

    fn hear(&mut self, life: Life, heard: Heard) -> Result<(), String> {
        match heard {
            Heard::Said(said) => {
                self.ledger.note(life, &said);
                if let Said::Done { record, enriched } = said {
                    self.write_down(life, record, &enriched)?;
                }
                Ok(())
            }
            Heard::Killed => self.bury(life),
            Heard::WentHome => Ok(()),
            Heard::Failed(why) => Err(why),
        }
    }

    fn write_down(&mut self, life: Life, record: usize, enriched: &Enriched) -> Result<(), String> {
        if self.in_hand.get(&record) != Some(&life) || self.done[record] {
            return Err(format!("record {record} came back from a worker that did not have it"));
        }
        self.results.append(enriched).map_err(|error| format!("the result file: {error}"))?;
        self.in_hand.remove(&record);
        self.done[record] = true;
        self.progress.done += 1;
        if let Some(seat) = self.workers.iter().position(|worker| worker.life == life) {
            self.hand_out(seat);
        }
        Ok(())
    }

    /// A worker was killed: what it had in hand is done by others, what it waited for is given up in its place. Its
    /// busy slots are not touched: the partner may still be at those calls, and they expire by themselves.
    fn bury(&mut self, life: Life) -> Result<(), String> {
        let records: Vec<usize> =
            self.in_hand.iter().filter(|(_, holder)| **holder == life).map(|(record, _)| *record).collect();
        for record in records {
            self.in_hand.remove(&record);
            self.todo.push_front(record);
        }
        tokio::spawn(give_up(self.far.clone(), self.ledger.killed(life)));
        self.progress.worker_kills += 1;
        if let Some(seat) = self.workers.iter().position(|worker| worker.life == life) {
            self.workers[seat] = self.new_worker()?;
            self.hand_out(seat);
        }
        Ok(())
    }

    fn kill_what_is_due(&mut self) -> Result<(), String> {
        while let Some(kill) = self.chaos.next(self.progress.done) {
            match kill {
                Kill::Server if self.keeper.is_at_it() => {
                    self.chaos.put_back(kill); // it must be up to be killed
                    return Ok(());
                }
                Kill::Server => self.keeper.kill_and_start_again(),
                Kill::Worker(seat) if self.workers[seat].is_being_killed() => {
                    self.chaos.put_back(kill);
                    return Ok(());
                }
                Kill::Worker(seat) => self.workers[seat].kill(),
            }
        }
        Ok(())
    }

    /// No more records: the workers end by themselves when their last slots are given back.
    async fn go_home(&mut self) -> Result<(), String> {
        let mut left = self.workers.len();
        self.workers.clear();
        while left > 0 {
            let heard = timeout(STANDSTILL, self.heard.recv()).await;
            let Ok(Some((life, heard))) = heard else { return Err("a worker does not end".to_owned()) };
            left -= usize::from(!matches!(heard, Heard::Said(_)));
            self.hear(life, heard)?;
            self.keeper.take_back(false).await?;
        }
        self.progress.show_last();
        self.keeper.take_back(true).await
    }
}

/// Gives up what a dead worker waited for. It never heard of a grant, so nothing is done under these slots, and one
/// that was granted meanwhile can be given back at once. Both in one batch, so that no grant comes between. The server
/// may be down just then.
async fn give_up(far: Far, slots: Vec<String>) {
    let context = Context { by: Some("demo".to_owned()), ..Context::default() };
    for slot in slots {
        let calls = [Call::Release { slot: slot.clone() }, Call::Leave { slot }];
        let items: Vec<BatchItem> = calls.into_iter().map(|call| BatchItem { id: None, call }).collect();
        while far.batch(&context, items.clone()).await.iter().any(Result::is_err) {
            sleep(Duration::from_millis(100)).await;
        }
    }
}
