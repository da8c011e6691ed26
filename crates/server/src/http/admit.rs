use axum::{Json, extract::State, http::HeaderName};
use maitred_api::{AdmitFields, Answer, Call, Decision, Dialect};

use super::{
    Answered, App,
    ask::{Caller, ChangeHeaders},
    body::Fields,
    problem::Failure,
};

/// Counts and takes all of the specs for a task, or none; with `check` only says what would come of it.
///
/// Over the limit, an enforced call gets a 429 that names the limit that blocks by its label. A check is never
/// refused, and neither is a call with `enforce: false`.
#[utoipa::path(post, path = "/v1/admit", tag = "admission", params(ChangeHeaders), request_body = AdmitFields,
    responses((status = 200, body = Decision), Failure))]
pub async fn admit(
    State(app): State<App>,
    Caller(asker): Caller,
    Fields(fields): Fields<AdmitFields>,
) -> Answered {
    let refusable = is_refusable(&fields);
    let Json(answer) = app.ask(&asker, Call::Admit(fields)).await?;
    match &answer {
        Answer::Decision(decision) if refusable => match refusal(decision) {
            Some(failure) => Err(failure),
            None => Ok(Json(answer)),
        },
        _ => Ok(Json(answer)),
    }
}

/// Whether being over the limit is an error for this call.
pub fn is_refusable(fields: &AdmitFields) -> bool {
    fields.enforce && !fields.check
}

fn refusal(decision: &Decision) -> Option<Failure> {
    let fields = decision.rate_fields(Dialect::default()).into_iter();
    let fields =
        fields.filter_map(|(name, value)| Some((HeaderName::from_static(name), value.parse().ok()?)));
    Some(Failure { problem: decision.refusal()?, fields: fields.collect() })
}
