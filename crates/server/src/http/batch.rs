use axum::{Json, extract::State};
use maitred_api::{
    Answer, BatchAnswer, BatchBody, BatchFields, BatchItem, BatchResult, Call, Context, Problem, Reason,
};

use super::{
    App,
    admit::is_refusable,
    allowed::{bounded, shown},
    ask::{Asker, Caller, ChangeHeaders},
    body::{Fields, LARGE},
    keys::masked,
    problem::Failure,
};

const ITEMS_MOST: usize = 1_000;

/// Carries out up to 1,000 calls in order, each with its own outcome and its own id. Not atomic; nothing waits.
#[utoipa::path(post, path = "/v1/batch", tag = "batch", params(ChangeHeaders), request_body = BatchFields,
    responses((status = 200, body = BatchAnswer), Failure))]
pub async fn batch(
    State(app): State<App>,
    Caller(asker): Caller,
    Fields(BatchFields { items }): Fields<BatchFields, LARGE>,
) -> Result<Json<BatchAnswer>, Failure> {
    if items.len() > ITEMS_MOST {
        let message = format!("{} items are given; a batch takes at most {ITEMS_MOST}", items.len());
        return Err(Failure::new(Reason::TooManyItems, message));
    }
    let asker = once_seen(&app, asker).await?;
    let manners: Vec<Manner> = items.iter().map(|item| Manner::of(&item.call)).collect();
    let outcomes = carried_out(&app, &asker, items).await;
    let results = outcomes.into_iter().zip(manners).map(|(outcome, manner)| result(outcome, manner));
    Ok(Json(BatchAnswer { results: results.collect() }))
}

/// A revision that the caller wants to see is waited for once, and not by each item: a thousand would take hours.
async fn once_seen(app: &App, asker: Asker) -> Result<Asker, Failure> {
    if asker.context.min_revision.is_some() {
        let Json(_seen) = app.ask(&asker, Call::Namespaces {}).await?;
    }
    Ok(Asker { context: Context { min_revision: None, ..asker.context }, ..asker })
}

/// Each item is allowed or refused for itself; those that are allowed are done in order.
async fn carried_out(app: &App, asker: &Asker, items: Vec<BatchItem>) -> Vec<Result<Answer, Problem>> {
    let mut refused = Vec::with_capacity(items.len());
    let mut allowed = Vec::with_capacity(items.len());
    for mut item in items {
        item.call = bounded(&asker.grant, item.call);
        let verdict = app.allow(asker, &item.call).await;
        if verdict.is_ok() {
            allowed.push(item);
        }
        refused.push(verdict.err());
    }
    let mut done = app.node.batch(&asker.context, allowed).await.into_iter();
    let outcome = |refused: Option<Problem>| match refused {
        Some(problem) => Some(Err(problem)),
        None => done.next().map(|outcome| outcome.map(|answer| shown(&asker.grant, answer))),
    };
    refused.into_iter().filter_map(outcome).collect()
}

/// How the answer to a call is given.
#[derive(Clone, Copy)]
struct Manner {
    /// Being over the limit is an error.
    refusable: bool,
    /// The caller knows the key.
    names_key: bool,
}

impl Manner {
    fn of(call: &Call) -> Manner {
        Manner {
            refusable: matches!(call, Call::Admit(fields) if is_refusable(fields)),
            names_key: matches!(call, Call::Keys { key: Some(_), .. }),
        }
    }
}

/// What the single call would have been answered with.
fn result(outcome: Result<Answer, Problem>, manner: Manner) -> BatchResult {
    let refusal = match &outcome {
        Ok(Answer::Decision(decision)) if manner.refusable => decision.refusal(),
        _ => None,
    };
    match refusal.map_or(outcome, Err) {
        Ok(answer) => {
            let shown = if manner.names_key { answer } else { masked(answer) };
            BatchResult { status: 200, body: BatchBody::Answer(Box::new(shown)) }
        }
        Err(problem) => {
            BatchResult { status: problem.reason.http_status(), body: BatchBody::Problem(problem) }
        }
    }
}
