use axum::extract::State;
use maitred_api::{
    Call, CapacityFields, DeployFields, DoneAnswer, LimitAnswer, LimitFields, LimitSlotsAnswer, LimitsAnswer,
    MaxHoldFields, NamedLimit,
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    Answered, App,
    ask::{Caller, ChangeHeaders, Condition, Freshness, Page, Path, Query, ReadHeaders},
    body::{Fields, LARGE, NoFields},
    problem::Failure,
};

/// The limits of the namespace, by name.
#[utoipa::path(get, path = "/v1/limits", tag = "limits", params(ReadHeaders, Page),
    responses((status = 200, body = LimitsAnswer), Failure))]
pub async fn list_limits(
    State(app): State<App>,
    Caller(asker): Caller,
    Query(page): Query<Page>,
) -> Answered {
    app.ask(&asker, Call::Limits { after: page.after, most: page.most, prefixes: Vec::new() }).await
}

/// Deploys the whole set: every limit of the namespace that is not in it is retired.
#[utoipa::path(put, path = "/v1/limits", tag = "limits", params(ChangeHeaders), request_body = DeployFields,
    responses((status = 200, body = DoneAnswer), Failure))]
pub async fn deploy_limits(
    State(app): State<App>,
    Caller(asker): Caller,
    Fields(DeployFields { limits }): Fields<DeployFields, LARGE>,
) -> Answered {
    app.ask(&asker, Call::Deploy { limits }).await
}

/// One limit as it is.
#[utoipa::path(get, path = "/v1/limits/{limit}", tag = "limits", params(("limit" = String, Path), ReadHeaders, Freshness),
    responses((status = 200, body = LimitAnswer), Failure))]
pub async fn show_limit(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(limit): Path<String>,
) -> Answered {
    app.ask(&asker, Call::Limit { limit }).await
}

/// Declares this one limit; the others stay as they are.
#[utoipa::path(put, path = "/v1/limits/{limit}", tag = "limits", params(("limit" = String, Path), ChangeHeaders, Condition),
    request_body = LimitFields, responses((status = 200, body = LimitAnswer), Failure))]
pub async fn declare_limit(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(name): Path<String>,
    Fields(LimitFields { capacity, max_hold }): Fields<LimitFields>,
) -> Answered {
    app.ask(&asker, Call::Declare(NamedLimit { name, capacity, max_hold })).await
}

/// Overrides the capacity until it is reset.
#[utoipa::path(put, path = "/v1/limits/{limit}/capacity", tag = "limits",
    params(("limit" = String, Path), ChangeHeaders, Condition), request_body = CapacityFields,
    responses((status = 200, body = LimitAnswer), Failure))]
pub async fn set_capacity(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(limit): Path<String>,
    Fields(CapacityFields { capacity }): Fields<CapacityFields>,
) -> Answered {
    app.ask(&asker, Call::SetCapacity { limit, capacity }).await
}

/// Goes back to the declared capacity.
#[utoipa::path(delete, path = "/v1/limits/{limit}/capacity", tag = "limits",
    params(("limit" = String, Path), ChangeHeaders, Condition), responses((status = 200, body = LimitAnswer), Failure))]
pub async fn reset_capacity(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(limit): Path<String>,
    _: NoFields,
) -> Answered {
    app.ask(&asker, Call::ResetCapacity { limit }).await
}

/// Overrides the max hold of slots granted from now on, until it is reset.
#[utoipa::path(put, path = "/v1/limits/{limit}/max-hold", tag = "limits",
    params(("limit" = String, Path), ChangeHeaders, Condition), request_body = MaxHoldFields,
    responses((status = 200, body = LimitAnswer), Failure))]
pub async fn set_max_hold(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(limit): Path<String>,
    Fields(MaxHoldFields { max_hold }): Fields<MaxHoldFields>,
) -> Answered {
    app.ask(&asker, Call::SetMaxHold { limit, max_hold }).await
}

/// Goes back to the declared max hold.
#[utoipa::path(delete, path = "/v1/limits/{limit}/max-hold", tag = "limits",
    params(("limit" = String, Path), ChangeHeaders, Condition), responses((status = 200, body = LimitAnswer), Failure))]
pub async fn reset_max_hold(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(limit): Path<String>,
    _: NoFields,
) -> Answered {
    app.ask(&asker, Call::ResetMaxHold { limit }).await
}

/// Pauses the limit: no grants until it is resumed.
#[utoipa::path(put, path = "/v1/limits/{limit}/pause", tag = "limits",
    params(("limit" = String, Path), ChangeHeaders, Condition), responses((status = 200, body = LimitAnswer), Failure))]
pub async fn pause_limit(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(limit): Path<String>,
    _: NoFields,
) -> Answered {
    app.ask(&asker, Call::Pause { limit }).await
}

/// Resumes the limit: whoever is first and has room is granted at once.
#[utoipa::path(delete, path = "/v1/limits/{limit}/pause", tag = "limits",
    params(("limit" = String, Path), ChangeHeaders, Condition), responses((status = 200, body = LimitAnswer), Failure))]
pub async fn resume_limit(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(limit): Path<String>,
    _: NoFields,
) -> Answered {
    app.ask(&asker, Call::Resume { limit }).await
}

/// Which part of the slots is wanted, counted over the holders and then the queue.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SlotPart {
    /// How many to leave out at the front.
    skip: Option<u32>,
    /// How many at the most.
    most: Option<u32>,
    /// Wait until at least this revision can be seen.
    #[expect(dead_code, reason = "`Caller` reads it")]
    min_revision: Option<u64>,
}

/// The slots of the limit: busy ones, reserved ones, then the queue in order, all at one revision.
#[utoipa::path(get, path = "/v1/limits/{limit}/slots", tag = "limits",
    params(("limit" = String, Path), ReadHeaders, SlotPart),
    responses((status = 200, body = LimitSlotsAnswer), Failure))]
pub async fn list_limit_slots(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(limit): Path<String>,
    Query(part): Query<SlotPart>,
) -> Answered {
    app.ask(&asker, Call::LimitSlots { limit, skip: part.skip.unwrap_or(0), most: part.most }).await
}
