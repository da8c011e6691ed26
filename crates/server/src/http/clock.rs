use axum::{Json, extract::State};
use maitred_api::{ClockAnswer, ClockFields, Given, Problem, Reason};

use super::{App, ask::ReadHeaders, body::Fields, problem::Failure};

/// The server's time. Only with `--clock manual`.
#[utoipa::path(get, path = "/v1/clock", tag = "clock", params(ReadHeaders),
    responses((status = 200, body = ClockAnswer), Failure))]
pub async fn show_clock(State(app): State<App>) -> Json<ClockAnswer> {
    Json(ClockAnswer { now: app.node.now().await })
}

/// Moves the time forward, through everything due on the way. Only with `--clock manual`.
#[utoipa::path(post, path = "/v1/clock", tag = "clock", params(ReadHeaders), request_body = ClockFields,
    responses((status = 200, body = ClockAnswer), Failure))]
pub async fn move_clock(
    State(app): State<App>,
    Fields(fields): Fields<ClockFields>,
) -> Result<Json<ClockAnswer>, Failure> {
    let at_ms = match fields.advance_to {
        Some(at_ms) if fields.advance.is_missing() => at_ms,
        None if !fields.advance.is_missing() => {
            app.node.now().await.saturating_add(duration_ms(&fields.advance)?)
        }
        _ => {
            return Err(bad(
                "give either `advance_to`, in milliseconds since 1970, or `advance`, such as 5m",
            ));
        }
    };
    Ok(Json(ClockAnswer { now: app.node.advance_to(at_ms).await? }))
}

fn duration_ms(given: &Given) -> Result<u64, Failure> {
    let ms = given.0.as_str().map_or_else(|| given.whole_number(), maitred::parse_duration);
    ms.ok_or_else(|| {
        bad(format!("advance is {}; allowed: a duration such as 5m or milliseconds", given.shown()))
    })
}

fn bad(message: impl Into<String>) -> Failure {
    Problem::new(Reason::InvalidArgument, message).into()
}
