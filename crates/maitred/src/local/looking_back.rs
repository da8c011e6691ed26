//! The node's answers about what was: history and audit, and the story behind an explanation.

use maitred_api::{
    Answer, AuditAnswer, AuditFields, Call, Context, ExplainedKind, HistoryAnswer, LimitsAnswer, LiveEvent,
    LiveSnapshot, Problem, Reason,
};

use super::{
    Node, check,
    history::{AuditQuery, EndsQuery, HistoryError, Reader},
    live, reading, steps,
    stream::{Listener, TooFarBehind},
};

/// How many waits that are over are told of a run.
const PAST_WAITS: usize = 100;

impl Node {
    pub(super) async fn look_back(&self, context: &Context, call: Call) -> Result<Answer, Problem> {
        let namespace = check::namespace(context)?.to_string();
        let (history, reader) = (self.history.clone(), self.history.reader().ok_or_else(no_history)?);
        let head = self.head().await;
        blocking(move || match call {
            Call::History { limit, slot, run, label, before, most } => {
                let (before, most) = (row(before.as_deref())?, reading::page(most)?);
                let query = EndsQuery { namespace, limit, slot, run, label, before, most };
                let (ends, next) = reader.ends(&query).map_err(trouble)?;
                let reach = history.reach(&reader, head).map_err(trouble)?;
                Ok(Answer::History(HistoryAnswer { ends, next: next.map(|row| row.to_string()), reach }))
            }
            Call::Audit(AuditFields { limit, act, by, since, until, before, most }) => {
                let (before, most) = (row(before.as_deref())?, reading::page(most)?);
                let query = AuditQuery { namespace, target: limit, act, by, since, until, before, most };
                let (acts, next) = reader.audit(&query).map_err(trouble)?;
                let reach = history.reach(&reader, head).map_err(trouble)?;
                Ok(Answer::Audit(AuditAnswer { acts, next: next.map(|row| row.to_string()), reach }))
            }
            _ => Err(Problem::new(Reason::Internal, "this call does not look back")),
        })
        .await
    }

    /// What is alive explains itself; what has ended comes from the history.
    pub(super) async fn explain(&self, context: &Context, what: String) -> Result<Answer, Problem> {
        let answer = self.read(context, Call::Explain { what: what.clone() }).await?;
        let (Answer::Explain(mut explained), Some(reader)) = (answer.clone(), self.history.reader()) else {
            return Ok(answer);
        };
        let namespace = check::namespace(context)?.to_string();
        let ended = blocking(move || ended(&reader, namespace, &what)).await?;
        if let (ExplainedKind::Unknown, Some((kind, last))) = (explained.kind, ended.as_ref()) {
            let by = last[0].by.as_ref().map(|by| format!(" by `{by}`")).unwrap_or_default();
            explained.kind = *kind;
            explained.text = format!("Slot `{}` ended: {}{by}.", last[0].slot, last[0].state.as_str());
        }
        explained.ended = ended.map(|(_, last)| last).unwrap_or_default();
        Ok(Answer::Explain(explained))
    }

    async fn head(&self) -> u64 {
        self.health().await.revision
    }

    /// A run with the waits that are over, as far as the history reaches.
    pub(super) async fn run_with_its_past(&self, context: &Context, call: Call) -> Result<Answer, Problem> {
        let answer = self.read(context, call).await?;
        let (Answer::Run(mut answer), Some(reader)) = (answer.clone(), self.history.reader()) else {
            return Ok(answer);
        };
        let query = EndsQuery {
            namespace: check::namespace(context)?.to_string(),
            run: Some(answer.run.run.clone()),
            most: PAST_WAITS,
            ..EndsQuery::default()
        };
        // What cannot be looked up is left out: the run itself is there.
        let (ends, _) = blocking(move || reader.ends(&query).map_err(trouble)).await.unwrap_or_default();
        let live: Vec<String> = answer.run.slots.iter().map(|slot| slot.slot.clone()).collect();
        let over = ends.iter().filter(|end| !live.contains(&end.slot));
        answer.run.steps.extend(over.filter_map(steps::of_ended));
        answer.run.steps.sort_by_key(|step| step.started_at);
        if answer.run.workflow.is_none() && !answer.run.steps.is_empty() {
            answer.run.workflow = ends.into_iter().find_map(|end| end.workflow);
        }
        Ok(Answer::Run(answer))
    }

    /// What is true now, and everything that happens after it.
    ///
    /// With `after`, what happened behind that revision instead, as long as it is kept.
    pub async fn listen(
        &self,
        context: &Context,
        scope: Scope,
        after: Option<u64>,
    ) -> Result<(Option<LiveSnapshot>, LiveEvents), Problem> {
        let namespace = check::namespace(context)?.to_string();
        let limit = scope.limit.clone();
        let events = |listener, behind| LiveEvents { listener, namespace, limit, behind };
        if let Some(after) = after
            && let Ok(listener) = self.stream.listen(Some(after))
        {
            return Ok((None, events(listener, after)));
        }
        let listener = self.stream.listen(None).map_err(|TooFarBehind| no_history())?;
        let (snapshot, revision) = self.snapshot(context, scope).await?;
        Ok((Some(snapshot), events(listener, revision)))
    }

    async fn snapshot(&self, context: &Context, scope: Scope) -> Result<(LiveSnapshot, u64), Problem> {
        let call = match scope {
            Scope { limit: Some(limit), .. } => Call::LimitSlots { limit, skip: 0, most: None },
            Scope { prefixes, .. } => Call::Limits { after: None, most: Some(1_000), prefixes },
        };
        match self.read(context, call).await? {
            Answer::LimitSlots(slots) => {
                let revision = slots.revision;
                Ok((LiveSnapshot::Limit(Box::new(slots)), revision))
            }
            Answer::Limits(limits @ LimitsAnswer { revision, .. }) => {
                Ok((LiveSnapshot::Limits(limits), revision))
            }
            _ => Err(Problem::new(Reason::Internal, "a look at the limits gave something else")),
        }
    }

    /// Open event streams.
    pub fn listeners(&self) -> usize {
        self.stream.listeners()
    }
}

/// What somebody listens to: one limit, or the whole namespace.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    pub limit: Option<String>,
    /// Of the whole namespace, the snapshot has the limits whose names begin with one of these; all, if there are none.
    pub prefixes: Vec<String>,
}

/// What happens, as it becomes durable.
pub struct LiveEvents {
    listener: Listener,
    namespace: String,
    limit: Option<String>,
    /// Records up to this one are known to the listener.
    behind: u64,
}

impl LiveEvents {
    /// The events of the next record that has any, with its revision; none when the node has stopped.
    /// Cancel safe.
    pub async fn next(&mut self) -> Result<Option<(u64, Vec<LiveEvent>)>, TooFarBehind> {
        while let Some(published) = self.listener.next().await? {
            let events = live::events(&published, &self.namespace, self.limit.as_deref());
            if published.position > self.behind && !events.is_empty() {
                return Ok(Some((published.position, events)));
            }
        }
        Ok(None)
    }
}

type Ended = (ExplainedKind, Vec<maitred_api::EndedSlot>);

/// The last ends of a slot, else of a run, else of a label.
fn ended(reader: &Reader, namespace: String, what: &str) -> Result<Option<Ended>, Problem> {
    let all = EndsQuery { namespace, most: 10, ..EndsQuery::default() };
    let name = || Some(what.to_owned());
    let queries = [
        (ExplainedKind::Slot, EndsQuery { slot: name(), ..all.clone() }),
        (ExplainedKind::Run, EndsQuery { run: name(), ..all.clone() }),
        (ExplainedKind::Label, EndsQuery { label: name(), ..all }),
    ];
    for (kind, query) in queries {
        let (ends, _) = reader.ends(&query).map_err(trouble)?;
        if !ends.is_empty() {
            return Ok(Some((kind, ends)));
        }
    }
    Ok(None)
}

fn row(before: Option<&str>) -> Result<Option<i64>, Problem> {
    let wrong = || {
        let message = "before is not a cursor; give the `next` of the page before, unchanged";
        Problem::new(Reason::InvalidArgument, message)
    };
    before.map(|text| text.parse().map_err(|_| wrong())).transpose()
}

fn no_history() -> Problem {
    Problem::new(
        Reason::Unavailable,
        "the history of this server cannot be opened; it is tried again, see /readyz for why",
    )
}

fn trouble(error: HistoryError) -> Problem {
    Problem::new(Reason::Unavailable, error.to_string())
}

/// SQLite may wait for a disk; the callers' threads must not.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let gone = |_| Err(Problem::new(Reason::Internal, "the look into the history did not end"));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(gone)
}
