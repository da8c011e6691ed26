use axum::{Json, extract::State};
use maitred_api::{Call, DoneAnswer, EndRunFields, RunAnswer, RunsAnswer};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    Answered, App,
    ask::{Caller, ChangeHeaders, Freshness, Page, Path, Query, ReadHeaders},
    body::Fields,
    keys::{masked, may_reveal},
    problem::Failure,
};

/// Whether keys are shown whole.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Reveal {
    /// Show the whole keys of places. Without it their first letters are shown: a key can name a person. Needs the
    /// role admin.
    #[serde(default)]
    reveal: bool,
}

/// The runs that hold or wait for something.
#[utoipa::path(get, path = "/v1/runs", tag = "runs", params(ReadHeaders, Page, Reveal),
    responses((status = 200, body = RunsAnswer), Failure))]
pub async fn list_runs(
    State(app): State<App>,
    Caller(asker): Caller,
    Query(page): Query<Page>,
    Query(Reveal { reveal }): Query<Reveal>,
) -> Answered {
    may_reveal(&asker, reveal)?;
    let Json(answer) = app.ask(&asker, Call::Runs { after: page.after, most: page.most }).await?;
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
    let Json(answer) = app.ask(&asker, Call::Run { run }).await?;
    Ok(Json(if reveal { answer } else { masked(answer) }))
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
