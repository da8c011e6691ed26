//! The engine's store, watched: work wakes whoever fetches it, and the end of a run is told at once.
//!
//! The SQLite store has nothing that waits for work, so the engine would ask it again and again, and the time from a
//! grant to the next step of its run would be the sum of these pauses. All work of this process passes through here,
//! so a fetch that finds none waits until some is put in. Timers, and work that other processes put in, are found by
//! looking every [`TURNS_EVERY`] and [`STEPS_EVERY`].

use std::{collections::HashMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use duroxide::{
    AppErrorKind, ErrorDetails, Event, EventKind, SystemStats,
    providers::{
        DispatcherCapabilityFilter, ExecutionMetadata, OrchestrationItem, Provider, ProviderAdmin,
        ScheduledActivityIdentifier, SessionFetchConfig, TagFilter, WorkItem, error::ProviderError,
    },
};
use maitred::api::RunStatus;
use tokio::sync::{Notify, mpsc};

/// How often the next turn of a run is looked for although nobody said that there is one: timers, mostly.
pub const TURNS_EVERY: Duration = Duration::from_millis(100);
/// The same for steps.
pub const STEPS_EVERY: Duration = Duration::from_millis(500);

/// A run and how it ended.
pub type End = (String, RunStatus);

pub struct Watch {
    inner: Arc<dyn Provider>,
    ends: mpsc::UnboundedSender<End>,
    turns: Notify,
    /// Of the program, and of the desk.
    steps: [Notify; 2],
}

impl Watch {
    pub fn new(inner: Arc<dyn Provider>) -> (Watch, mpsc::UnboundedReceiver<End>) {
        let (sender, ends) = mpsc::unbounded_channel();
        let watch =
            Watch { inner, ends: sender, turns: Notify::new(), steps: [Notify::new(), Notify::new()] };
        (watch, ends)
    }

    fn wake_for(&self, item: &WorkItem) {
        match item {
            WorkItem::ActivityExecute { tag, .. } => self.steps[usize::from(tag.is_some())].notify_one(),
            _ => self.turns.notify_one(),
        }
    }
}

/// The end in these events, if there is one. A run that goes on as a new one has none.
fn end_in(events: &[Event]) -> Option<End> {
    events.iter().rev().find_map(|event| {
        let status = match &event.kind {
            EventKind::OrchestrationCompleted { .. } => RunStatus::Succeeded,
            EventKind::OrchestrationFailed { details } => status_of(details),
            _ => return None,
        };
        Some((event.instance_id.clone(), status))
    })
}

pub fn status_of(details: &ErrorDetails) -> RunStatus {
    match details {
        ErrorDetails::Application { kind: AppErrorKind::Cancelled { .. }, .. } => RunStatus::Cancelled,
        _ => RunStatus::Failed,
    }
}

/// Waits for a word, a while at the most. False if none came: the engine asks again by itself.
async fn woken(notify: &Notify, most: Duration) -> bool {
    tokio::time::timeout(most, notify.notified()).await.is_ok()
}

#[async_trait]
impl Provider for Watch {
    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        let found = self.inner.fetch_orchestration_item(lock_timeout, poll_timeout, filter).await?;
        if found.is_some() {
            return Ok(found);
        }
        match woken(&self.turns, TURNS_EVERY).await {
            true => self.inner.fetch_orchestration_item(lock_timeout, poll_timeout, filter).await,
            false => Ok(None),
        }
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tags: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        let found = self.inner.fetch_work_item(lock_timeout, poll_timeout, session, tags).await?;
        if found.is_some() {
            return Ok(found);
        }
        match woken(&self.steps[usize::from(matches!(tags, TagFilter::Tags(_)))], STEPS_EVERY).await {
            true => self.inner.fetch_work_item(lock_timeout, poll_timeout, session, tags).await,
            false => Ok(None),
        }
    }

    async fn ack_orchestration_item(
        &self,
        lock_token: &str,
        execution_id: u64,
        history_delta: Vec<Event>,
        worker_items: Vec<WorkItem>,
        orchestrator_items: Vec<WorkItem>,
        metadata: ExecutionMetadata,
        cancelled: Vec<ScheduledActivityIdentifier>,
    ) -> Result<(), ProviderError> {
        let end = end_in(&history_delta);
        let items: Vec<WorkItem> = worker_items.iter().chain(&orchestrator_items).cloned().collect();
        self.inner
            .ack_orchestration_item(
                lock_token,
                execution_id,
                history_delta,
                worker_items,
                orchestrator_items,
                metadata,
                cancelled,
            )
            .await?;
        items.iter().for_each(|item| self.wake_for(item));
        if let Some(end) = end {
            // Nobody listens any more: the program stops.
            let _ = self.ends.send(end);
        }
        Ok(())
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError> {
        self.inner.ack_work_item(token, completion).await?;
        self.turns.notify_one();
        Ok(())
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        self.inner.enqueue_for_worker(item.clone()).await?;
        self.wake_for(&item);
        Ok(())
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        self.inner.enqueue_for_orchestrator(item, delay).await?;
        self.turns.notify_one();
        Ok(())
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn version(&self) -> &str {
        self.inner.version()
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        self.inner.as_management_capability()
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.inner.abandon_orchestration_item(lock_token, delay, ignore_attempt).await
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.inner.read(instance).await
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.inner.read_with_execution(instance, execution_id).await
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        self.inner.append_with_execution(instance, execution_id, events).await
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        self.inner.renew_work_item_lock(token, extend_for).await
    }

    async fn renew_session_lock(
        &self,
        owners: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        self.inner.renew_session_lock(owners, extend_for, idle_timeout).await
    }

    async fn cleanup_orphaned_sessions(&self, idle_timeout: Duration) -> Result<usize, ProviderError> {
        self.inner.cleanup_orphaned_sessions(idle_timeout).await
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.inner.abandon_work_item(token, delay, ignore_attempt).await
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        self.inner.renew_orchestration_item_lock(token, extend_for).await
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        self.inner.get_custom_status(instance, last_seen_version).await
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Result<Option<String>, ProviderError> {
        self.inner.get_kv_value(instance, key).await
    }

    async fn get_kv_all_values(&self, instance: &str) -> Result<HashMap<String, String>, ProviderError> {
        self.inner.get_kv_all_values(instance).await
    }

    async fn get_instance_stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        self.inner.get_instance_stats(instance).await
    }
}
