//! Every route, and every kind of item of a batch, asked by every kind of caller. What the server answers stands in
//! `docs/src/reference/roles.md`, where a reader checks it by eye: a route without a question here, or an answer that is not
//! the one on the page, fails.

mod asked;

use std::{collections::BTreeSet, fmt::Write, path::Path, sync::Arc};

use maitred_server::{
    hosted::{Asked, Hosted, HostedRun},
    http::Shared,
    token::{Grant, Role, Tokens, kept},
};
use serde_json::Value;
use tokio::io::AsyncReadExt;

use super::{
    roles::Bearer,
    support::{Rig, eventually, node, request, serve},
};
use crate::docs::pages;
use asked::{ITEMS, ROUTES, Route, filled};

const PAGE: &str = "docs/src/reference/roles.md";
const HOW: &str = "<!-- Generated from what a server answered: MAITRED_DOCS=write cargo test -p maitred-server --test it -->\n\n";
const HEAD: &str = "# Who may do what

What a server with [tokens](../how-to/tokens.md) answers to each kind of caller, on every route. *Elsewhere* is a token whose
prefixes do not cover the limit that is asked about, or that the slots and the run belong to; *there* is one whose prefixes do.

- **yes**: it is done.
- **part**: it is answered, without what belongs to limits that the token is not for.
- **401**, **403**: refused, and nothing is done.
- **404**: as if there were nothing: runs that a server hosts itself are not for tokens with prefixes.

A token that is unknown, expired or revoked counts as none. Studio's files under `/studio` are for everybody: they are the same
everywhere and show nothing until a token is given.
";

/// The columns, in the order in which they ask: those who may less come first, so that what they are refused is there still.
const CALLERS: [(&str, Option<Role>, &[&str]); 8] = [
    ("no token", None, &[]),
    ("read elsewhere", Some(Role::Read), &["yak-"]),
    ("operate elsewhere", Some(Role::Operate), &["yak-"]),
    ("admin elsewhere", Some(Role::Admin), &["yak-"]),
    ("read", Some(Role::Read), &[]),
    ("operate", Some(Role::Operate), &[]),
    ("admin there", Some(Role::Admin), &["zebra-"]),
    ("admin", Some(Role::Admin), &[]),
];
const ELSEWHERE: std::ops::Range<usize> = 1..4;
const ADMIN: usize = 7;

/// Hosts nothing, and takes everything.
struct Host;

impl Hosted for Host {
    fn start<'a>(&'a self, _: &'a str, _: &'a str, _: &'a Value) -> Asked<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn cancel<'a>(&'a self, _: &'a str) -> Asked<'a, bool> {
        Box::pin(async { Ok(true) })
    }

    fn run<'a>(&'a self, _: &'a str) -> Asked<'a, Option<HostedRun>> {
        Box::pin(async { Ok(None) })
    }

    fn runs(&self) -> Asked<'_, Vec<String>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// A server, and for each column the headers of those who ask.
struct Stage {
    rig: Rig,
    callers: Vec<Vec<Vec<String>>>,
}

impl Stage {
    async fn start(folder: &Path) -> Stage {
        let callers =
            CALLERS.iter().map(|(name, role, limits)| headers(folder, name, *role, limits)).collect();
        let mut shared = Shared::new(node(true).await);
        shared.tokens = Some(Tokens::open(None, Some(folder)).unwrap());
        shared.manual_clock = true;
        shared.hosted = Some(Arc::new(Host));
        let stage = Stage { rig: serve(shared).await, callers };
        for limit in ["yak-1", "zebra-1"] {
            let body = r#"{"capacity":99999,"max_hold":"10m"}"#;
            stage.prepare("PUT", &format!("/v1/limits/{limit}"), body).await;
        }
        let ended = r#"{"slot":"ended","limit":"zebra-1"}"#;
        stage.prepare("POST", "/v1/slots", ended).await;
        stage.prepare("POST", "/v1/slots/ended/release", "").await;
        eventually("the history has the end", async || {
            let history = stage.prepare("GET", "/v1/history", "").await;
            history["ends"].as_array().is_some_and(|ends| !ends.is_empty())
        })
        .await;
        stage
    }

    async fn prepare(&self, method: &str, path: &str, body: &str) -> Value {
        let admin = &self.callers[ADMIN][0];
        self.rig.ask(method, path, &lines(admin), body).await.ok()
    }

    /// The slot and the run that the question of this number is about, and nothing paused.
    async fn set(&self, number: usize) {
        self.prepare("DELETE", "/v1/limits/zebra-1/pause", "").await;
        let body = filled(r#"{"slot":"{slot}","run":"{run}","limit":"{limit}","confirm":"auto"}"#, number);
        self.prepare("POST", "/v1/slots", &body).await;
    }

    /// What each column gets: a status and a body.
    async fn ask(&self, method: &str, target: &str, body: &str) -> Vec<(u16, String)> {
        let mut columns = Vec::new();
        for callers in &self.callers {
            let mut told = Vec::new();
            for headers in callers {
                told.push(self.told(&request(method, target, &lines(headers), body)).await);
            }
            let statuses: BTreeSet<u16> = told.iter().map(|(status, _)| *status).collect();
            assert_eq!(statuses.len(), 1, "{method} {target} tells them apart: {told:?}");
            columns.extend(told.pop());
        }
        columns
    }

    /// An answer, or the first message of a stream.
    async fn told(&self, request: &str) -> (u16, String) {
        let mut line = self.rig.line().await;
        line.say(request).await;
        if !request.starts_with("GET /v1/events") {
            let heard = line.hear().await.expect("an answer");
            return (heard.status, heard.body);
        }
        let mut told = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&told);
            if text.contains("\n\n\r\n") || text.contains("\"request_id\"") {
                return (text[9..12].parse().unwrap(), text.into_owned());
            }
            assert!(line.0.read_buf(&mut told).await.unwrap() > 0, "it ended early: {request}");
        }
    }
}

/// One caller's for each that the column stands for.
fn headers(folder: &Path, name: &str, role: Option<Role>, limits: &[&str]) -> Vec<Vec<String>> {
    let limits = limits.iter().map(|limit| (*limit).to_owned()).collect();
    let made = |name: &str, grant: Grant| vec![Bearer::with(folder, name, grant).0];
    let Some(role) = role else {
        let over = made("expired", Grant { expires_at: Some(2), made_at: 1, ..Grant::anyone() });
        let gone = made("revoked", Grant { made_at: 1, ..Grant::anyone() });
        kept::revoke(folder, "revoked").unwrap();
        let unknown = gone[0].replace(char::is_numeric, "a");
        return vec![vec![], vec![unknown], vec!["Authorization: Basic YTpi".to_owned()], over, gone];
    };
    vec![made(name, Grant { role, limits, made_at: 1, ..Grant::anyone() })]
}

fn lines(headers: &[String]) -> Vec<&str> {
    headers.iter().map(String::as_str).collect()
}

/// The cells of a row. Panics where somebody is told of a limit that they may not see.
fn cells(what: &str, told: &[(u16, String)]) -> Vec<String> {
    let shows = |body: &str| body.contains("zebra-");
    let cell = |(column, (status, body)): (usize, &(u16, String))| {
        let is_done = (200..300).contains(status);
        if !ELSEWHERE.contains(&column) {
            return if is_done { "yes".to_owned() } else { status.to_string() };
        }
        assert!(!shows(body), "{what}, {}: {body}", CALLERS[column].0);
        match is_done {
            true if shows(&told[ADMIN].1) => "part".to_owned(),
            true => "yes".to_owned(),
            false => status.to_string(),
        }
    };
    told.iter().enumerate().map(cell).collect()
}

fn table(page: &mut String, first: &[&str], rows: &[(Vec<String>, Vec<String>)]) {
    let names = CALLERS.map(|(name, ..)| name);
    let _ = writeln!(page, "\n| {} | {} |", first.join(" | "), names.join(" | "));
    let _ = writeln!(page, "|{}", "---|".repeat(first.len() + names.len()));
    for (name, cells) in rows {
        let _ = writeln!(page, "| {} | {} |", name.join(" | "), cells.join(" | "));
    }
}

/// The routes of the document: method and path.
fn documented(api: &Value) -> BTreeSet<(String, String)> {
    let paths = api["paths"].as_object().unwrap().iter();
    let all = paths.flat_map(|(path, item)| {
        item.as_object().unwrap().keys().map(move |method| (method.to_uppercase(), path.clone()))
    });
    all.collect()
}

/// The kinds of items of the document.
fn kinds(api: &Value) -> Vec<&str> {
    let variants = api["components"]["schemas"]["Call"]["oneOf"].as_array().unwrap();
    variants
        .iter()
        .map(|variant| {
            let own = &variant["properties"]["op"]["enum"][0];
            let parts = variant["allOf"].as_array().into_iter().flatten();
            let inner = parts.filter_map(|part| part["properties"]["op"]["enum"][0].as_str()).next();
            own.as_str().or(inner).expect("each kind has a name")
        })
        .collect()
}

/// The least role that may, where prefixes play no part.
fn least(cells: &[String]) -> &'static str {
    let may = |column: usize| cells[column] == "yes";
    match () {
        () if may(0) => "none",
        () if may(4) => "read",
        () if may(5) => "operate",
        () => "admin",
    }
}

async fn routes(stage: &Stage, api: &Value) -> Vec<(Vec<String>, Vec<String>)> {
    let mut rows = Vec::new();
    for (number, (method, path, query, body)) in ROUTES.iter().enumerate() {
        stage.set(number).await;
        let shown = if query.is_empty() { (*path).to_owned() } else { format!("{path}?{query}") };
        let told = stage.ask(method, &filled(&shown, number), &filled(body, number)).await;
        let cells = cells(&format!("{method} {shown}"), &told);
        assert_eq!(cells[ADMIN], "yes", "{method} {shown}: {:?}", told[ADMIN]);
        if query.is_empty() {
            let said = &api["paths"][path][method.to_lowercase()]["x-role"];
            assert_eq!(said.as_str(), Some(least(&cells)), "{method} {path}: {cells:?}");
        }
        rows.push((vec![(*method).to_owned(), format!("`{shown}`")], cells));
    }
    rows
}

/// All kinds in one batch, so that each is judged beside others.
async fn items(stage: &Stage) -> Vec<(Vec<String>, Vec<String>)> {
    let first = ROUTES.len();
    for number in 0..ITEMS.len() {
        stage.set(first + number).await;
    }
    let item = |(number, (op, fields)): (usize, &(&str, &str))| {
        let comma = if fields.is_empty() { "" } else { "," };
        format!(r#"{{"op":"{op}"{comma}{}}}"#, filled(fields, first + number))
    };
    let all: Vec<String> = ITEMS.iter().enumerate().map(item).collect();
    let body = format!(r#"{{"items":[{}]}}"#, all.join(","));
    let told = stage.ask("POST", "/v1/batch", &body).await;
    let results: Vec<Vec<(u16, String)>> = told[1..].iter().map(|(_, body)| results(body)).collect();
    let row = |(number, (op, _)): (usize, &(&str, &str))| {
        let none = [(told[0].0, String::new())];
        let told: Vec<_> = none.into_iter().chain(results.iter().map(|of| of[number].clone())).collect();
        (vec![format!("`{op}`")], cells(op, &told))
    };
    ITEMS.iter().enumerate().map(row).collect()
}

fn results(body: &str) -> Vec<(u16, String)> {
    let body: Value = serde_json::from_str(body).unwrap();
    let result = |result: &Value| (result["status"].as_u64().unwrap() as u16, result.to_string());
    body["results"].as_array().unwrap_or_else(|| panic!("{body}")).iter().map(result).collect()
}

#[tokio::test]
async fn every_route_and_item_answers_every_caller_as_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::start(folder.path()).await;
    let api: Value = serde_json::from_str(&maitred_server::http::openapi_json()).unwrap();
    let asked = |(method, path, ..): &Route| ((*method).to_owned(), (*path).to_owned());
    assert_eq!(documented(&api), ROUTES.iter().map(asked).collect(), "each route has its question");
    let sorted = |mut kinds: Vec<_>| {
        kinds.sort_unstable();
        kinds
    };
    assert_eq!(sorted(kinds(&api)), sorted(ITEMS.iter().map(|(op, _)| *op).collect()), "so has each kind");

    let mut page = HEAD.replacen('\n', &format!("\n\n{}\n", HOW.trim_end()), 1);
    table(&mut page, &["", "route"], &routes(&stage, &api).await);
    page += "\n## Items of a batch\n\nEach item of `POST /v1/batch` is allowed or refused for itself, whatever stands beside it. Runs of \
             workflows are not started or cancelled in a batch.\n";
    table(&mut page, &["`op`"], &items(&stage).await);
    pages::is_fresh(PAGE, &page);
}
