use axum::{Json, extract::State};
use maitred_api::{
    Answer, Call, DoneAnswer, EndRunFields, RunAnswer, RunInfo, RunsAnswer, RunsFields, StartRunFields,
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    Answered, App,
    ask::{Asker, Caller, ChangeHeaders, Freshness, Path, Query, ReadHeaders},
    body::Fields,
    keys::{masked, may_reveal},
    problem::Failure,
};
use crate::{
    config::DEFAULT_NAMESPACE,
    hosted::{Hosted, nothing_hosted},
};

/// Of the runs that this server hosts, so many are listed.
const HOSTED_MOST: usize = 1_000;

/// Whether keys are shown whole.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Reveal {
    /// Show the whole keys of places. Without it their first letters are shown: a key can name a person. Needs the
    /// role admin.
    #[serde(default)]
    reveal: bool,
}

/// The runs that hold or wait for something, all or those that are wanted.
#[utoipa::path(get, path = "/v1/runs", tag = "runs", params(ReadHeaders, RunsFields, Freshness, Reveal),
    responses((status = 200, body = RunsAnswer), Failure))]
pub async fn list_runs(
    State(app): State<App>,
    Caller(asker): Caller,
    Query(fields): Query<RunsFields>,
    Query(Reveal { reveal }): Query<Reveal>,
) -> Answered {
    may_reveal(&asker, reveal)?;
    let is_first = fields.after.is_none();
    let Json(mut answer) = app.ask(&asker, Call::Runs(fields.clone())).await?;
    if let (Some(hosted), Answer::Runs(answer)) = (hosted(&app, &asker), &mut answer) {
        add_hosted(hosted, &mut answer.runs, is_first).await?;
        answer.runs.retain(|run| fields.fits(run));
    }
    Ok(Json(if reveal { answer } else { masked(answer) }))
}

/// What a run holds and waits for.
#[utoipa::path(get, path = "/v1/runs/{run}", tag = "runs", 
    params(("run" = String, Path), ReadHeaders, Freshness, Reveal),
    responses((status = 200, body = RunAnswer), Failure))]
pub async fn show_run(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(run): Path<String>,
    Query(Reveal { reveal }): Query<Reveal>,
) -> Answered {
    may_reveal(&asker, reveal)?;
    let answer = told(&app, &asker, run).await?;
    Ok(if reveal { answer } else { Json(masked(answer.0)) })
}

/// Ends a run: it leaves every queue, its places are free, and hits that count successes only are given back
/// unless it succeeded. Its busy slots stay busy unless they were taken with `hold: run`.
#[utoipa::path(post, path = "/v1/runs/{run}/end", tag = "runs", params(("run" = String, Path), ChangeHeaders),
    request_body = EndRunFields, responses((status = 200, body = DoneAnswer), Failure))]
pub async fn end_run(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(run): Path<String>,
    Fields(EndRunFields { status }): Fields<EndRunFields>,
) -> Answered {
    app.ask(&asker, Call::EndRun { run, status }).await
}

/// The engine of this process, for those whose namespace it is and who may see all of it.
fn hosted<'a>(app: &'a App, asker: &Asker) -> Option<&'a dyn Hosted> {
    let namespace = asker.context.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
    let is_theirs = namespace == DEFAULT_NAMESPACE && !asker.grant.is_bounded();
    app.hosted.as_deref().filter(|_| is_theirs)
}

/// Its runs, on the first page also those that neither hold nor wait.
async fn add_hosted(hosted: &dyn Hosted, runs: &mut Vec<RunInfo>, is_first: bool) -> Result<(), Failure> {
    if is_first {
        let all = hosted.runs().await?.into_iter().take(HOSTED_MOST);
        let others: Vec<String> = all.filter(|id| runs.iter().all(|run| run.run != *id)).collect();
        runs.extend(others.iter().map(|id| RunInfo::nothing(id)));
    }
    for run in runs {
        if let Some(known) = hosted.run(&run.run).await? {
            known.onto(run);
        }
    }
    Ok(())
}

/// Starts a run of a workflow that this server hosts. A run of this id that there is already stays as it is.
#[utoipa::path(post, path = "/v1/runs/{run}", tag = "runs", params(("run" = String, Path), ChangeHeaders),
    request_body = StartRunFields, responses((status = 200, body = RunAnswer), Failure))]
pub async fn start_run(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(run): Path<String>,
    Fields(StartRunFields { workflow, input }): Fields<StartRunFields>,
) -> Answered {
    let hosted = hosted(&app, &asker).ok_or_else(nothing_hosted)?;
    hosted.start(&workflow, &run, &input).await?;
    let Json(answer) = told(&app, &asker, run).await?;
    Ok(Json(masked(answer)))
}

/// Cancels a run that this server hosts: it runs no more code and leaves every queue. A run that has ended stays as it is.
#[utoipa::path(post, path = "/v1/runs/{run}/cancel", tag = "runs", params(("run" = String, Path), ChangeHeaders),
    responses((status = 200, body = RunAnswer), Failure))]
pub async fn cancel_run(State(app): State<App>, Caller(asker): Caller, Path(run): Path<String>) -> Answered {
    hosted(&app, &asker).ok_or_else(nothing_hosted)?.cancel(&run).await?;
    let Json(answer) = told(&app, &asker, run).await?;
    Ok(Json(masked(answer)))
}

/// How the run stands.
async fn told(app: &App, asker: &Asker, run: String) -> Answered {
    let Json(mut answer) = app.ask(asker, Call::Run { run }).await?;
    if let (Some(hosted), Answer::Run(answer)) = (hosted(app, asker), &mut answer)
        && let Some(run) = hosted.run(&answer.run.run).await?
    {
        run.onto(&mut answer.run);
    }
    Ok(Json(answer))
}
