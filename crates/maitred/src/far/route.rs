//! Which request a call is.

use std::time::Duration;

use maitred_api::{AcquireFields, BatchItem, Call, Given, OverviewFields};
use maitred_engine::time::parse_duration;
use reqwest::{Method, Url};
use serde_json::{Value, json};

/// A request, before the server's address and the headers are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    pub method: Method,
    /// Below `/v1`, segments already encoded.
    pub path: String,
    pub query: Vec<(&'static str, String)>,
    pub body: Option<Value>,
    /// How long the server was asked to wait.
    pub wait: Duration,
}

impl Route {
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), query: Vec::new(), body: None, wait: Duration::ZERO }
    }

    pub fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    pub fn query(mut self, name: &'static str, value: Option<String>) -> Self {
        self.query.extend(value.map(|value| (name, value)));
        self
    }

    fn waiting(mut self, wait: &Given) -> Self {
        self.wait = Duration::from_millis(given_ms(wait).unwrap_or(0));
        self
    }

    pub fn url(&self, base: &Url) -> Url {
        let mut url = base.clone();
        url.set_path(&format!("{}/v1/{}", base.path().trim_end_matches('/'), self.path));
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        url
    }
}

/// The request of a call; none if one of its names cannot stand in a path.
pub fn route(call: &Call) -> Option<Route> {
    Some(match call {
        Call::Declare(fields) => {
            let body = json!({ "capacity": fields.capacity, "max_hold": fields.max_hold });
            limit(Method::PUT, &fields.name, "")?.body(body)
        }
        Call::Deploy { limits } => Route::new(Method::PUT, "limits").body(json!({ "limits": limits })),
        Call::SetCapacity { limit: name, capacity } => {
            limit(Method::PUT, name, "/capacity")?.body(json!({ "capacity": capacity }))
        }
        Call::ResetCapacity { limit: name } => limit(Method::DELETE, name, "/capacity")?,
        Call::SetMaxHold { limit: name, max_hold } => {
            limit(Method::PUT, name, "/max-hold")?.body(json!({ "max_hold": max_hold }))
        }
        Call::ResetMaxHold { limit: name } => limit(Method::DELETE, name, "/max-hold")?,
        Call::Pause { limit: name } => limit(Method::PUT, name, "/pause")?,
        Call::Resume { limit: name } => limit(Method::DELETE, name, "/pause")?,
        Call::Acquire(fields) => acquire(fields),
        Call::Confirm { slot: id } => slot(Method::POST, id, "/confirm")?,
        Call::Release { slot: id } => slot(Method::POST, id, "/release")?,
        Call::Leave { slot: id } => slot(Method::POST, id, "/leave")?,
        Call::EndRun { run, status } => {
            Route::new(Method::POST, format!("runs/{}/end", segment(run)?)).body(json!({ "status": status }))
        }
        Call::StartRun { run, workflow, input } => {
            let body = json!({ "workflow": workflow, "input": input });
            Route::new(Method::POST, format!("runs/{}", segment(run)?)).body(body)
        }
        Call::CancelRun { run } => Route::new(Method::POST, format!("runs/{}/cancel", segment(run)?)),
        Call::Admit(_) => Route::new(Method::POST, "admit").body(admit_body(call)),
        Call::ResetRate { task, key } => Route::new(Method::DELETE, "keys")
            .query("task", Some(task.clone()))
            .query("key", Some(key.clone())),
        reads => return read_route(reads),
    })
}

fn read_route(call: &Call) -> Option<Route> {
    let page = |path: String, after: &Option<String>, most: &Option<u32>| {
        Route::new(Method::GET, path)
            .query("after", after.clone())
            .query("most", most.map(|most| most.to_string()))
    };
    Some(match call {
        Call::Limits { after, most, .. } => page("limits".to_owned(), after, most),
        Call::Limit { limit: name } => limit(Method::GET, name, "")?,
        Call::LimitSlots { limit: name, skip, most } => limit(Method::GET, name, "/slots")?
            .query("skip", (*skip > 0).then(|| skip.to_string()))
            .query("most", most.map(|most| most.to_string())),
        Call::Slot { slot: id, wait } => {
            slot(Method::GET, id, "")?.query("wait", given_text(wait)).waiting(wait)
        }
        Call::Runs(fields) => page("runs".to_owned(), &fields.after, &fields.most)
            .query("text", fields.text.clone())
            .query("limit", fields.limit.clone())
            .query("only", fields.only.and_then(|only| word(json!(only)))),
        Call::Run { run } => Route::new(Method::GET, format!("runs/{}", segment(run)?)),
        Call::Keys { task, key, after, most } => {
            page("keys".to_owned(), after, most).query("task", task.clone()).query("key", key.clone())
        }
        Call::History { limit, slot, run, label, before, most } => page("history".to_owned(), &None, most)
            .query("limit", limit.clone())
            .query("slot", slot.clone())
            .query("run", run.clone())
            .query("label", label.clone())
            .query("before", before.clone()),
        Call::Audit(fields) => page("audit".to_owned(), &None, &fields.most)
            .query("limit", fields.limit.clone())
            .query("act", fields.act.clone())
            .query("by", fields.by.clone())
            .query("since", fields.since.map(|at| at.to_string()))
            .query("until", fields.until.map(|at| at.to_string()))
            .query("before", fields.before.clone()),
        Call::Explain { what } => Route::new(Method::GET, "explain").query("what", Some(what.clone())),
        Call::Overview(fields) => overview(fields),
        Call::Series { limit: name, range } => {
            limit(Method::GET, name, "/series")?.query("range", given_text(range))
        }
        Call::Preview { limit: name, capacity, max_hold } => limit(Method::GET, name, "/preview")?
            .query("capacity", given_text(capacity))
            .query("max_hold", given_text(max_hold)),
        Call::Nodes {} => Route::new(Method::GET, "nodes"),
        Call::Namespaces {} => Route::new(Method::GET, "namespaces"),
        _ => return None,
    })
}

fn overview(fields: &OverviewFields) -> Route {
    Route::new(Method::GET, "overview")
        .query("limit", fields.limit.clone())
        .query("text", fields.text.clone())
        .query("health", fields.health.and_then(|health| word(json!(health))))
        .query("only", fields.only.and_then(|only| word(json!(only))))
        .query("sort", word(json!(fields.sort)))
        .query("reverse", fields.reverse.then(|| "true".to_owned()))
        .query("skip", (fields.skip > 0).then(|| fields.skip.to_string()))
        .query("most", fields.most.map(|most| most.to_string()))
}

/// The name of one of several.
fn word(value: Value) -> Option<String> {
    value.as_str().map(ToOwned::to_owned)
}

fn limit(method: Method, name: &str, rest: &str) -> Option<Route> {
    Some(Route::new(method, format!("limits/{}{rest}", segment(name)?)))
}

fn slot(method: Method, id: &str, rest: &str) -> Option<Route> {
    Some(Route::new(method, format!("slots/{}{rest}", segment(id)?)))
}

fn acquire(fields: &AcquireFields) -> Route {
    let body = serde_json::to_value(fields).unwrap_or(Value::Null);
    Route::new(Method::POST, "slots").body(body).waiting(&fields.wait)
}

/// The library answers a decision that is over the limit as a decision, near and far; so it never asks the
/// server to make a 429 of it.
fn admit_body(call: &Call) -> Value {
    let Call::Admit(fields) = call else { return Value::Null };
    let unenforced = maitred_api::AdmitFields { enforce: false, ..fields.clone() };
    serde_json::to_value(unenforced).unwrap_or(Value::Null)
}

pub fn unenforced(mut item: BatchItem) -> BatchItem {
    if let Call::Admit(fields) = &mut item.call {
        fields.enforce = false;
    }
    item
}

/// Nothing waits in a batch.
pub fn without_wait(mut call: Call) -> Call {
    if let Call::Slot { wait, .. } = &mut call {
        *wait = Given::default();
    }
    call
}

/// One path segment, everything but unreserved characters encoded. Nothing, `.` and `..` can't be one: URLs
/// take dots away even if they are encoded.
fn segment(text: &str) -> Option<String> {
    if matches!(text, "" | "." | "..") {
        return None;
    }
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    Some(encoded)
}

fn given_ms(given: &Given) -> Option<u64> {
    given.0.as_str().map_or_else(|| given.whole_number(), parse_duration)
}

fn given_text(given: &Given) -> Option<String> {
    match &given.0 {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
