use axum::extract::State;
use maitred_api::{AcquireFields, Call, Given, ReleaseAnswer, SlotAnswer};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    Answered, App,
    ask::{Caller, ChangeHeaders, Path, Query, ReadHeaders},
    body::{Fields, NoFields},
    problem::Failure,
};

/// Asks for a slot. With `wait` the call stays open until the slot is granted or ended, or the wait runs out.
///
/// The id of the slot makes the call repeatable: the same id with the same content is the same slot. Who asked
/// with `confirm: auto` and closes the connection while the call is open has left the queue.
#[utoipa::path(post, path = "/v1/slots", tag = "slots", params(ChangeHeaders), request_body = AcquireFields,
    responses((status = 200, body = SlotAnswer), Failure))]
pub async fn acquire_slot(
    State(app): State<App>,
    Caller(asker): Caller,
    Fields(fields): Fields<AcquireFields>,
) -> Answered {
    app.ask(&asker, Call::Acquire(fields)).await
}

/// How to look at a slot.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Look {
    /// Stay open until it is granted or ended, this long at the most: `30s` or milliseconds.
    wait: Option<String>,
    /// Wait until at least this revision can be seen.
    #[expect(dead_code, reason = "`Caller` reads it")]
    min_revision: Option<u64>,
}

/// The slot as it is.
#[utoipa::path(get, path = "/v1/slots/{slot}", tag = "slots", params(("slot" = String, Path), ReadHeaders, Look),
    responses((status = 200, body = SlotAnswer), Failure))]
pub async fn show_slot(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(slot): Path<String>,
    Query(look): Query<Look>,
) -> Answered {
    let wait = look.wait.map(Given::from).unwrap_or_default();
    app.ask(&asker, Call::Slot { slot, wait }).await
}

/// Makes a reserved slot busy. Answers what the slot now is, whatever that may be.
#[utoipa::path(post, path = "/v1/slots/{slot}/confirm", tag = "slots",
    params(("slot" = String, Path), ChangeHeaders), responses((status = 200, body = SlotAnswer), Failure))]
pub async fn confirm_slot(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(slot): Path<String>,
    _: NoFields,
) -> Answered {
    app.ask(&asker, Call::Confirm { slot }).await
}

/// Gives a slot back. Whoever knows the id may; the second time says `released: false` and changes nothing.
#[utoipa::path(post, path = "/v1/slots/{slot}/release", tag = "slots",
    params(("slot" = String, Path), ChangeHeaders), responses((status = 200, body = ReleaseAnswer), Failure))]
pub async fn release_slot(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(slot): Path<String>,
    _: NoFields,
) -> Answered {
    app.ask(&asker, Call::Release { slot }).await
}

/// Gives up a queued or reserved slot; a busy one stays busy.
#[utoipa::path(post, path = "/v1/slots/{slot}/leave", tag = "slots",
    params(("slot" = String, Path), ChangeHeaders), responses((status = 200, body = SlotAnswer), Failure))]
pub async fn leave_slot(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(slot): Path<String>,
    _: NoFields,
) -> Answered {
    app.ask(&asker, Call::Leave { slot }).await
}
