//! Calls as the provider sees them.

use std::{
    collections::HashSet,
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use serde_json::json;
use tokio::time::sleep;

use super::host::Poster;
use crate::chance::Chance;

pub struct Calls {
    folder: PathBuf,
    poster: Poster,
    seed: u64,
}

/// A call that is over.
pub struct Ended {
    began: SystemTime,
    /// When its end was posted: its slot was held until then at least.
    ended: SystemTime,
    /// How often the step that dials was done.
    pub dials: u64,
}

impl Calls {
    pub fn new(folder: PathBuf, poster: Poster, seed: u64) -> Self {
        Self { folder, poster, seed }
    }

    /// A run that places a call; the call; and the run that hears of its end.
    pub async fn one(&self, number: u64) -> Result<Ended, String> {
        let call = format!("call-{number}");
        self.poster.start("place_call", &call, json!({ "callId": call })).await;
        let began = self.until_dialled(&call).await;
        let mut chance = Chance::new(self.seed, &call);
        sleep(Duration::from_millis(chance.between(50, 400))).await;
        let placed = self.poster.until_ended(&call).await?;
        let slot = placed["slotId"].as_str().ok_or(format!("{call} has no slot: {placed}"))?.to_owned();
        let ended = SystemTime::now();
        let hung_up = format!("{call}-ended");
        self.poster.start("call_ended", &hung_up, json!({ "slotId": slot })).await;
        self.poster.until_ended(&hung_up).await?;
        let lines =
            fs::read_to_string(self.folder.join(&call)).map_err(|error| format!("{call}: {error}"))?;
        if lines.lines().any(|line| line != slot) {
            return Err(format!("{call} was made with two slots: {lines}"));
        }
        Ok(Ended { began, ended, dials: lines.lines().count() as u64 })
    }

    async fn until_dialled(&self, call: &str) -> SystemTime {
        let file = self.folder.join(call);
        loop {
            match fs::metadata(&file) {
                Ok(found) => return found.created().unwrap_or_else(|_| SystemTime::now()),
                Err(_) => sleep(Duration::from_millis(5)).await,
            }
        }
    }

    /// The next call that is none of these, and joins them. Runs that start at once ask in any order, so nobody knows
    /// beforehand which it is.
    pub async fn another(&self, known: &mut HashSet<String>) -> (String, SystemTime) {
        loop {
            let calls = fs::read_dir(&self.folder).into_iter().flatten().flatten();
            let mut names = calls.filter_map(|call| call.file_name().into_string().ok());
            if let Some(call) = names.find(|call| !known.contains(call)) {
                known.insert(call.clone());
                let since = self.until_dialled(&call).await;
                return (call, since);
            }
            sleep(Duration::from_millis(5)).await;
        }
    }
}

/// How many calls went on at the same time.
pub fn most_at_once(calls: &[Ended]) -> usize {
    let began = calls.iter().map(|call| (call.began, 1));
    let mut turns: Vec<(SystemTime, i64)> = began.chain(calls.iter().map(|call| (call.ended, -1))).collect();
    turns.sort();
    let at_once = turns.iter().scan(0, |now, (_, turn)| {
        *now += turn;
        Some(*now)
    });
    at_once.max().unwrap_or(0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_touch_are_not_at_once() {
        let at = |second| SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        let call = |began, ended| Ended { began: at(began), ended: at(ended), dials: 1 };
        assert_eq!(most_at_once(&[]), 0);
        assert_eq!(most_at_once(&[call(1, 3), call(3, 5), call(2, 4)]), 2);
        assert_eq!(most_at_once(&[call(1, 9), call(2, 8), call(3, 4)]), 3);
    }
}
