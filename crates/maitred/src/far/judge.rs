//! What an HTTP answer proves.

use maitred_api::{Answer, BatchItem, Call, Problem, Reason};
use reqwest::Url;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// Why a body is not a done one.
pub enum Verdict {
    /// The server's own words.
    Problem(Problem),
    /// Something else answered, or an answer was changed on the way.
    Foreign { status: u16 },
}

impl Verdict {
    pub fn into_problem(self, base: &Url, changes: bool) -> Problem {
        match self {
            Verdict::Problem(problem) => problem,
            Verdict::Foreign { status } => foreign(status, base, changes),
        }
    }
}

/// The JSON of a 2xx; everything else is a problem.
pub fn body(status: u16, bytes: &[u8]) -> Result<Value, Verdict> {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
        return Err(Verdict::Foreign { status });
    };
    match status {
        200..=299 => Ok(value),
        _ => Err(problem(status, value).map_or(Verdict::Foreign { status }, Verdict::Problem)),
    }
}

/// A problem's shape, with a reason that this version may not know yet.
#[derive(Deserialize)]
struct AnyProblem {
    reason: String,
    message: String,
    details: Option<Value>,
    request_id: Option<String>,
}

fn problem(status: u16, value: Value) -> Option<Problem> {
    let any: AnyProblem = serde_json::from_value(value).ok()?;
    let reason = Reason::from_code(&any.reason).unwrap_or_else(|| nearest_reason(status));
    let message = match Reason::from_code(&any.reason) {
        Some(_) => any.message,
        None => format!("{} ({})", any.message, any.reason),
    };
    Some(Problem { details: any.details, request_id: any.request_id, ..Problem::new(reason, message) })
}

/// For a reason of a newer server: what its status says of it.
fn nearest_reason(status: u16) -> Reason {
    match status {
        401 => Reason::Unauthorized,
        403 => Reason::Forbidden,
        404 => Reason::NotFound,
        409 => Reason::Conflict,
        412 => Reason::SettingsChanged,
        429 => Reason::Overloaded,
        503 => Reason::Unavailable,
        400..=499 => Reason::InvalidArgument,
        _ => Reason::Unknown,
    }
}

/// A redirect or a 4xx was not carried out by anyone. A 5xx of a proxy, or a 2xx that is not ours, may have been.
fn foreign(status: u16, base: &Url, changes: bool) -> Problem {
    let at = format!("what answers at {base}");
    match status {
        300..=399 => Problem::new(
            Reason::Unavailable,
            format!(
                "{at} redirects (status {status}), which is not followed; is the URL that of the server itself?"
            ),
        ),
        400..=499 => Problem::new(
            Reason::Unavailable,
            format!("{at} is not this server, or not this version of it (status {status}, no reason given)"),
        ),
        _ => unproven(changes, format!("{at} gave no answer of this API (status {status})")),
    }
}

/// It may have happened, if there was something to happen.
pub fn unproven(changes: bool, message: String) -> Problem {
    match changes {
        true => Problem::new(
            Reason::Unknown,
            format!("{message}; it may have been done: ask again with the same id"),
        ),
        false => Problem::new(Reason::Unavailable, message),
    }
}

/// The answer that belongs to the call, if the body has its shape.
pub fn answer(call: &Call, body: Value) -> Option<Answer> {
    fn read<T: DeserializeOwned>(body: Value, wrap: fn(T) -> Answer) -> Option<Answer> {
        serde_json::from_value(body).ok().map(wrap)
    }
    match call {
        Call::Acquire(_) | Call::Confirm { .. } | Call::Leave { .. } | Call::Slot { .. } => {
            read(body, Answer::Slot)
        }
        Call::Release { .. } => read(body, Answer::Release),
        Call::Admit(_) => read(body, Answer::Decision),
        Call::Limits { .. } => read(body, Answer::Limits),
        Call::Limit { .. } => read(body, Answer::Limit),
        Call::LimitSlots { .. } => read(body, Answer::LimitSlots),
        Call::Nodes {} => read(body, Answer::Nodes),
        Call::Runs(_) => read(body, Answer::Runs),
        Call::Run { .. } | Call::StartRun { .. } | Call::CancelRun { .. } => read(body, Answer::Run),
        Call::Keys { .. } => read(body, Answer::Keys),
        Call::History { .. } => read(body, Answer::History),
        Call::Audit(_) => read(body, Answer::Audit),
        Call::Explain { .. } => read(body, Answer::Explain),
        Call::Overview(_) => read(body, Answer::Overview),
        Call::Series { .. } => read(body, |series| Answer::Series(Box::new(series))),
        Call::Preview { .. } => read(body, Answer::Preview),
        Call::Namespaces {} => read(body, Answer::Namespaces),
        Call::Deploy { .. } | Call::EndRun { .. } | Call::ResetRate { .. } => read(body, Answer::Done),
        // The limit as it then is; without one if it is gone by then.
        Call::Declare(_)
        | Call::SetCapacity { .. }
        | Call::ResetCapacity { .. }
        | Call::SetMaxHold { .. }
        | Call::ResetMaxHold { .. }
        | Call::Pause { .. }
        | Call::Resume { .. } => read(body.clone(), Answer::Limit).or_else(|| read(body, Answer::Done)),
    }
}

#[derive(Deserialize)]
struct AnyResults {
    results: Vec<AnyResult>,
}

#[derive(Deserialize)]
struct AnyResult {
    status: u16,
    body: Value,
}

/// The outcomes of a batch, one per item.
pub fn results(items: &[BatchItem], body: Value) -> Option<Vec<Result<Answer, Problem>>> {
    let answered: AnyResults = serde_json::from_value(body).ok()?;
    if answered.results.len() != items.len() {
        return None;
    }
    items.iter().zip(answered.results).map(|(item, result)| outcome(&item.call, result)).collect()
}

fn outcome(call: &Call, result: AnyResult) -> Option<Result<Answer, Problem>> {
    match result.status {
        200..=299 => answer(call, result.body).map(Ok),
        status => problem(status, result.body).map(Err),
    }
}

pub fn now(body: &Value) -> Option<u64> {
    body.get("now")?.as_u64()
}
