//! Asks the server for its side of the books.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use maitred::{
    Far,
    api::{
        AcquireFields, Answer, BatchItem, Call, ConfirmMode, Context, Given, HistoryAnswer, LimitInfo,
        Problem, SlotState,
    },
};
use tokio::time::sleep;
use uuid::Uuid;

use super::{
    LIMIT,
    books::{Past, ServerBooks},
};

/// The limit whose slots are taken only to read a fence.
pub const PROBE: &str = "probe";
/// Killed workers' slots come back by themselves: a queue timeout and a max hold later at the latest.
const EMPTY_WITHIN: Duration = Duration::from_secs(75);
/// The history is filled behind the journal, by this much at the most.
const FILLED_WITHIN: Duration = Duration::from_secs(20);
const BATCH: usize = 1_000;

pub struct Audit {
    far: Far,
    first_fence: u64,
}

impl Audit {
    /// Before anything is granted that is to be counted.
    pub async fn begin(far: Far) -> Result<Audit, String> {
        let first_fence = fence(&far).await?;
        Ok(Audit { far, first_fence })
    }

    /// Waits until the limit is empty and reads everything about these slots.
    pub async fn end(&self, slots: impl Iterator<Item = String>) -> Result<ServerBooks, String> {
        let limit = self.until_empty().await?;
        let grants = fence(&self.far).await? - self.first_fence - 1;
        let slots: Vec<String> = slots.collect();
        let mut states = HashMap::new();
        for some in slots.chunks(BATCH) {
            self.read(some, &mut states).await?;
        }
        let mut books = ServerBooks {
            grants,
            states,
            busy: limit.busy,
            reserved: limit.reserved,
            waiting: limit.waiting.into(),
            ..ServerBooks::default()
        };
        self.read_history(&mut books).await?;
        Ok(books)
    }

    /// Page by page, newest first. It is filled behind the journal, so first it has to come up to what is now.
    async fn read_history(&self, books: &mut ServerBooks) -> Result<(), String> {
        let since = Instant::now();
        let mut before = None;
        loop {
            let page = self.history(before).await?;
            if page.reach.lag > 0 {
                if since.elapsed() > FILLED_WITHIN {
                    return Err(format!("the history does not come up to now: {:?}", page.reach));
                }
                sleep(Duration::from_millis(100)).await;
                books.history.clear();
                before = None;
                continue;
            }
            for end in page.ends {
                let was_granted = matches!(end.was.as_str(), "reserved" | "busy");
                let past = Past { state: end.state, was_granted, laps: end.laps };
                if books.history.insert(end.slot.clone(), past).is_some() {
                    books.ended_twice.push(end.slot);
                }
            }
            before = page.next;
            if before.is_none() {
                return Ok(());
            }
        }
    }

    async fn history(&self, before: Option<String>) -> Result<HistoryAnswer, String> {
        let (limit, most) = (Some(LIMIT.to_owned()), Some(BATCH as u32));
        let question = Call::History { limit, slot: None, run: None, label: None, before, most };
        match ask(&self.far, question).await? {
            Answer::History(page) => Ok(page),
            other => Err(format!("not a history: {other:?}")),
        }
    }

    async fn until_empty(&self) -> Result<LimitInfo, String> {
        let since = Instant::now();
        loop {
            let question = Call::Limit { limit: LIMIT.to_owned() };
            let Answer::Limit(answer) = ask(&self.far, question).await? else {
                return Err("not a limit".to_owned());
            };
            let limit = answer.limit;
            let is_empty = limit.busy + limit.reserved + u64::from(limit.waiting) == 0;
            if is_empty || since.elapsed() > EMPTY_WITHIN {
                return Ok(limit); // the books say what is wrong if it isn't empty
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    async fn read(&self, slots: &[String], states: &mut HashMap<String, SlotState>) -> Result<(), String> {
        let question = |slot: &String| Call::Slot { slot: slot.clone(), wait: Given::default() };
        let items = slots.iter().map(|slot| BatchItem { id: None, call: question(slot) }).collect();
        let answers = self.far.batch(&Context::default(), items).await;
        for (slot, answer) in slots.iter().zip(answers) {
            let Answer::Slot(answer) = answer.map_err(|problem| problem.to_string())? else {
                return Err(format!("no answer about slot {slot}"));
            };
            states.insert(slot.clone(), answer.slot.state);
        }
        Ok(())
    }
}

/// The fence of a grant made for this purpose; the next one is one more.
async fn fence(far: &Far) -> Result<u64, String> {
    let slot = Uuid::now_v7().to_string();
    let acquire = AcquireFields {
        slot: Some(slot.clone()),
        limit: Some(PROBE.to_owned()),
        confirm: ConfirmMode::Auto,
        timeout: "0s".into(),
        ..AcquireFields::default()
    };
    let Answer::Slot(answer) = ask(far, Call::Acquire(acquire)).await? else {
        return Err("not a slot".to_owned());
    };
    ask(far, Call::Release { slot }).await?;
    answer.slot.fence.ok_or_else(|| format!("no fence: the slot is {}", answer.slot.state.as_str()))
}

async fn ask(far: &Far, call: Call) -> Result<Answer, String> {
    far.call(&Context::default(), call).await.map_err(|problem: Problem| problem.to_string())
}
