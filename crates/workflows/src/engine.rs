//! duroxide behind [`RunHost`].

use std::{collections::HashSet, path::Path, sync::Arc, time::Duration};

use duroxide::{
    Client, Event, EventKind, OrchestrationStatus,
    providers::{Provider, sqlite::SqliteProvider},
};
use maitred::{
    Maitred, SlotId,
    api::{AcquireFields, RunStatus},
};
use tokio::sync::mpsc;

use crate::{
    acquire::COUNTER,
    desk::{ACQUIRE, PREFIX},
    error::StartError,
    host::{Delivery, Notice, RunHost},
    watch::{End, status_of},
};

/// Where runs are kept: made by [`sqlite`], or any store of the engine.
pub type Store = Arc<dyn Provider>;

/// Runs in a SQLite file, which is made if it is not there. Keep it apart from the limiter's folder.
///
/// A killed process loses nothing; a power loss may lose the last moments, so that a step is done again.
///
/// # Errors
/// The file cannot be used.
pub async fn sqlite(file: impl AsRef<Path>) -> Result<Store, StartError> {
    let file = file.as_ref().display().to_string();
    let trouble = |message: String| StartError::Store { store: format!("in {file}"), message };
    if file.contains(['?', '#', '%']) {
        return Err(trouble("its name has one of ? # %, which the engine takes for options".to_owned()));
    }
    let url = format!("sqlite:{file}?mode=rwc");
    let mut tries = 0;
    loop {
        match SqliteProvider::new(&url, None).await {
            Ok(provider) => return Ok(Arc::new(provider)),
            // Another program may be making the same file just now.
            Err(_) if tries < 5 => tries += 1,
            Err(error) => return Err(trouble(error.to_string())),
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Runs in PostgreSQL, in tables of their own in this schema, for several programs that share the work.
///
/// # Errors
/// The database cannot be reached or used.
#[cfg(feature = "postgres")]
pub async fn postgres(url: &str, schema: &str) -> Result<Store, StartError> {
    let provider = duroxide_pg::PostgresProvider::new_with_schema(url, Some(schema)).await;
    let trouble = |error: &dyn std::fmt::Display| StartError::Store {
        store: format!("in PostgreSQL, schema {schema}"),
        message: error.to_string(),
    };
    Ok(Arc::new(provider.map_err(|error| trouble(&error))?))
}

/// The engine as the limiter's side sees it.
pub struct Engine(pub Client);

impl RunHost for Engine {
    async fn deliver(&self, notice: &Notice) -> Delivery {
        match self.status(&notice.run).await {
            Some(Status::Runs) => {}
            Some(Status::Ended(status)) => return Delivery::RunEnded(status),
            Some(Status::NotHere) => return Delivery::NotHere,
            None => return Delivery::TryLater,
        }
        match self.0.enqueue_event(&notice.run, &notice.inbox, &notice.slot).await {
            Ok(()) => Delivery::Accepted,
            Err(error) => {
                tracing::warn!(run = notice.run, %error, "a notice is not taken yet");
                Delivery::TryLater
            }
        }
    }

    async fn ended(&self, runs: Vec<String>) -> Vec<(String, RunStatus)> {
        // One look for all that go on, which is most of them.
        let Ok(running) = self.0.list_instances_by_status("Running").await else { return Vec::new() };
        let running: HashSet<String> = running.into_iter().collect();
        let mut ended = Vec::new();
        for run in runs.into_iter().filter(|run| !running.contains(run)) {
            if let Some(Status::Ended(status)) = self.status(&run).await {
                ended.push((run, status));
            }
        }
        ended
    }
}

enum Status {
    Runs,
    Ended(RunStatus),
    NotHere,
}

impl Engine {
    /// None if it cannot be told now.
    async fn status(&self, run: &str) -> Option<Status> {
        match self.0.get_instance_info(run).await {
            Ok(info) if info.status == "Running" => return Some(Status::Runs),
            Ok(_) => {}
            // The engine has no word of its own for a run that is not there.
            Err(_) => {}
        }
        Some(match self.0.get_orchestration_status(run).await.ok()? {
            OrchestrationStatus::Running { .. } => Status::Runs,
            OrchestrationStatus::Completed { .. } => Status::Ended(RunStatus::Succeeded),
            OrchestrationStatus::Failed { details, .. } => Status::Ended(status_of(&details)),
            OrchestrationStatus::NotFound => Status::NotHere,
        })
    }
}

/// Tells the limiter of every run that ends, if it ever asked for a slot.
pub async fn tell_ends(mut ends: mpsc::UnboundedReceiver<End>, store: Store, maitred: Maitred) {
    while let Some((run, status)) = ends.recv().await {
        match store.get_kv_value(&run, COUNTER).await {
            Ok(None) => continue,
            Ok(Some(_)) => {}
            Err(error) => tracing::warn!(run, %error, "whether the run asked for slots is not known"),
        }
        maitred.end_run_in_background(&run, status);
        let history = store.read(&run).await.unwrap_or_default();
        for slot in unheard(&history) {
            maitred.give_up_in_background(&slot);
        }
    }
}

/// The slots that the run asked, confirmed, left or released without hearing the answer: it ended meanwhile. It never
/// knew that it has them, or it did not want them any more.
fn unheard(history: &[Event]) -> Vec<SlotId> {
    let heard: HashSet<u64> = history
        .iter()
        .filter(|event| matches!(event.kind, EventKind::ActivityCompleted { .. }))
        .filter_map(|event| event.source_event_id)
        .collect();
    let asked = history.iter().filter(|event| !heard.contains(&event.event_id));
    asked
        .filter_map(|event| match &event.kind {
            EventKind::ActivityScheduled { name, input, .. } if name == ACQUIRE => {
                serde_json::from_str::<AcquireFields>(input).ok()?.slot
            }
            EventKind::ActivityScheduled { name, input, .. } if name.starts_with(PREFIX) => {
                serde_json::from_str::<String>(input).ok()
            }
            _ => None,
        })
        .filter_map(|slot| SlotId::parse(&slot).ok())
        .collect()
}
