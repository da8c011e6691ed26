use std::time::Duration;

use maitred_api::{
    AcquireFields, AdmitFields, Answer, BatchItem, Call, Certainty, Context, Given, NamedLimit, Problem,
    Reason, RunStatus, RunsFields, SlotState, SpecFields,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{Far, FarOptions, route::route};

fn short() -> FarOptions {
    FarOptions { deadline: Duration::from_millis(300), ..FarOptions::default() }
}

fn release() -> Call {
    Call::Release { slot: "s".to_owned() }
}

fn read() -> Call {
    Call::Slot { slot: "s".to_owned(), wait: Given::default() }
}

/// Reads one request to the end of its body, and tells it.
async fn request(stream: &mut TcpStream) -> String {
    let mut seen = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let n = stream.read(&mut piece).await.unwrap();
        seen.extend_from_slice(&piece[..n]);
        let text = String::from_utf8_lossy(&seen);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            assert!(n > 0, "the request broke off");
            continue;
        };
        let lower = head.to_ascii_lowercase();
        let length =
            lower.lines().find_map(|line| line.strip_prefix("content-length: ")).map(|n| n.parse().unwrap());
        if body.len() >= length.unwrap_or(0) {
            return text.into_owned();
        }
    }
}

/// A server that answers one request with these bytes and closes; resolves to what it was asked.
async fn server(answer: &'static str) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let asked = request(&mut stream).await;
        stream.write_all(answer.as_bytes()).await.unwrap();
        asked
    });
    (url, served)
}

fn http(status: &str, body: &str) -> &'static str {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nlocation: /login\r\n\r\n{body}", body.len()).leak()
}

async fn problem_of(answer: &'static str, call: Call) -> Problem {
    let (url, _served) = server(answer).await;
    Far::connect(&url, short()).unwrap().call(&Context::default(), call).await.unwrap_err()
}

#[tokio::test]
async fn nothing_happened_where_nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let problem =
        Far::connect(&url, short()).unwrap().call(&Context::default(), release()).await.unwrap_err();
    assert_eq!(problem.reason, Reason::Unavailable);
    assert_eq!(problem.reason.certainty(), Certainty::Refused);
    assert!(problem.message.contains(&url), "{problem}");
}

#[tokio::test]
async fn a_change_whose_answer_is_lost_may_have_happened() {
    assert_eq!(problem_of("", release()).await.reason, Reason::Unknown);
    assert_eq!(problem_of("", read()).await.reason, Reason::Unavailable);
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"released\":";
    assert_eq!(problem_of(cut, release()).await.reason, Reason::Unknown);
}

#[tokio::test]
async fn a_server_that_hangs_is_left_at_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let far = Far::connect(&format!("http://{}", listener.local_addr().unwrap()), short()).unwrap();
    let started = std::time::Instant::now();
    let problem = far.call(&Context::default(), release()).await.unwrap_err();
    assert_eq!(problem.reason, Reason::Unknown);
    assert!(started.elapsed() < Duration::from_secs(3));
    assert_eq!(far.call(&Context::default(), read()).await.unwrap_err().reason, Reason::Unavailable);
}

#[tokio::test]
async fn what_is_not_this_server_is_judged_by_what_it_proves() {
    let html = |status| http(status, "<br>");
    assert_eq!(problem_of(html("302 Found"), release()).await.reason, Reason::Unavailable);
    assert_eq!(problem_of(html("404 Not Found"), release()).await.reason, Reason::Unavailable);
    assert_eq!(problem_of(html("502 Bad Gateway"), release()).await.reason, Reason::Unknown);
    assert_eq!(problem_of(html("502 Bad Gateway"), read()).await.reason, Reason::Unavailable);
    assert_eq!(problem_of(html("200 OK"), release()).await.reason, Reason::Unknown);
    assert_eq!(problem_of(http("200 OK", "{\"ok\":true}"), release()).await.reason, Reason::Unknown);
}

#[tokio::test]
async fn the_servers_own_reasons_come_through_even_new_ones() {
    let known = r#"{"status":"error","reason":"conflict","message":"no","details":{"slot":"s"}}"#;
    let problem = problem_of(http("409 Conflict", known), release()).await;
    assert_eq!((problem.reason, problem.message.as_str()), (Reason::Conflict, "no"));
    assert_eq!(problem.details.unwrap()["slot"], "s");

    let newer = r#"{"status":"error","reason":"on_holiday","message":"not today"}"#;
    let problem = problem_of(http("503 Busy", newer), release()).await;
    assert_eq!((problem.reason, problem.message.as_str()), (Reason::Unavailable, "not today (on_holiday)"));
}

#[tokio::test]
async fn a_call_carries_its_context_in_headers() {
    let done = r#"{"released":true,"slot":"a/b","state":"released","revision":7,"as_of":1000000}"#;
    let (url, served) = server(http("200 OK", done)).await;
    let options = FarOptions { token: Some("secret".to_owned()), ..FarOptions::default() };
    let far = Far::connect(&format!("{url}/behind/"), options).unwrap();
    let context = Context {
        namespace: Some("ns".to_owned()),
        request_id: Some("id-1".to_owned()),
        by: Some("ops".to_owned()),
        reason: Some("se perdió".to_owned()),
        min_revision: Some(6),
        if_match: Some("20.600000.-.-.".to_owned()),
        traceparent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned()),
    };
    let answer = far.call(&context, Call::Release { slot: "a/b".to_owned() }).await.unwrap();
    assert!(
        matches!(answer, Answer::Release(ref r) if r.released && r.state == SlotState::Released),
        "{answer:?}"
    );
    let asked = served.await.unwrap();
    assert!(asked.starts_with("POST /behind/v1/slots/a%2Fb/release HTTP/1.1\r\n"), "{asked}");
    for line in [
        "maitred-agent: ns",
        "idempotency-key: id-1",
        "if-match: 20.600000.-.-.",
        "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "maitred-reason: se perdió",
        "authorization: Bearer secret",
    ] {
        assert!(asked.contains(line), "{line} is missing in {asked}");
    }
    assert!(!format!("{far:?}").contains("secret"));
}

#[tokio::test]
async fn a_name_that_no_path_can_carry_goes_by_batch() {
    let body = r#"{"results":[{"status":404,"body":{"status":"error","reason":"limit_not_found","message":"none"}}]}"#;
    let (url, served) = server(http("200 OK", body)).await;
    let far = Far::connect(&url, short()).unwrap();
    let problem = far.call(&Context::default(), Call::Pause { limit: "..".to_owned() }).await.unwrap_err();
    assert_eq!(problem.reason, Reason::LimitNotFound);
    let asked = served.await.unwrap();
    assert!(asked.starts_with("POST /v1/batch "), "{asked}");
    assert!(asked.ends_with(r#"{"items":[{"limit":"..","op":"pause"}]}"#), "{asked}");
}

#[tokio::test]
async fn a_batch_that_fails_fails_for_every_item() {
    let far = Far::connect("http://127.0.0.1:1", short()).unwrap();
    let items = vec![BatchItem { id: None, call: release() }, BatchItem { id: None, call: read() }];
    let results = far.batch(&Context::default(), items).await;
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|result| result.as_ref().is_err_and(|p| p.reason == Reason::Unavailable)));
}

#[test]
fn urls_and_tokens_that_cannot_be_used_are_refused() {
    for url in ["", "localhost:80", "ftp://x", "https://", "http://"] {
        let problem = Far::connect(url, short()).unwrap_err();
        assert_eq!(problem.reason, Reason::InvalidArgument, "{url}");
        assert!(problem.message.contains("allowed: http://HOST:PORT"), "{problem}");
    }
    for url in [
        "http://ana:secret@h",
        "http://secret@h:1",
        "ana:secret@h",
        "http://ana:secret@h:port",
        "https://ana:secret@",
    ] {
        let problem = Far::connect(url, short()).unwrap_err();
        assert!(problem.message.contains("--token-file") && !problem.message.contains("secret"), "{problem}");
    }
    let options = FarOptions { token: Some("two\nlines".to_owned()), ..short() };
    assert_eq!(Far::connect("http://localhost", options).unwrap_err().reason, Reason::Unauthorized);
}

/// Method, path with query, and body of a call.
fn shown(call: Call) -> String {
    let route = route(&call).expect("the call has a route");
    let url = route.url(&"http://h".parse().unwrap());
    let body = route.body.map(|body| format!(" {body}")).unwrap_or_default();
    format!("{} {}{body}", route.method, &url.as_str()["http://h/v1".len()..])
}

#[test]
fn every_call_has_its_route() {
    let limit = || "voice".to_owned();
    let slot = || "a|b:c%".to_owned();
    let named = NamedLimit { name: limit(), capacity: 2u64.into(), max_hold: "45m".into() };
    let spec = SpecFields { key: "k".to_owned(), limit: 1u64.into(), ..SpecFields::default() };
    let admit =
        AdmitFields { task: "t".to_owned(), specs: vec![spec], enforce: true, ..AdmitFields::default() };
    let acquire =
        AcquireFields { slot: Some("s".to_owned()), limit: Some(limit()), ..AcquireFields::default() };
    let cases = [
        (Call::Declare(named.clone()), r#"PUT /limits/voice {"capacity":2,"max_hold":"45m"}"#),
        (
            Call::Deploy { limits: vec![named] },
            r#"PUT /limits {"limits":[{"capacity":2,"max_hold":"45m","name":"voice"}]}"#,
        ),
        (
            Call::SetCapacity { limit: limit(), capacity: "3".into() },
            r#"PUT /limits/voice/capacity {"capacity":"3"}"#,
        ),
        (Call::ResetCapacity { limit: limit() }, "DELETE /limits/voice/capacity"),
        (
            Call::SetMaxHold { limit: limit(), max_hold: "2h".into() },
            r#"PUT /limits/voice/max-hold {"max_hold":"2h"}"#,
        ),
        (Call::ResetMaxHold { limit: limit() }, "DELETE /limits/voice/max-hold"),
        (Call::Pause { limit: limit() }, "PUT /limits/voice/pause"),
        (Call::Resume { limit: limit() }, "DELETE /limits/voice/pause"),
        (Call::Acquire(acquire), r#"POST /slots {"limit":"voice","slot":"s"}"#),
        (Call::Confirm { slot: slot() }, "POST /slots/a%7Cb%3Ac%25/confirm"),
        (Call::Release { slot: slot() }, "POST /slots/a%7Cb%3Ac%25/release"),
        (Call::Leave { slot: slot() }, "POST /slots/a%7Cb%3Ac%25/leave"),
        (
            Call::EndRun { run: "r/1".to_owned(), status: RunStatus::Failed },
            r#"POST /runs/r%2F1/end {"status":"failed"}"#,
        ),
        (Call::Admit(admit), r#"POST /admit {"enforce":false,"specs":[{"key":"k","limit":1}],"task":"t"}"#),
        (Call::ResetRate { task: "t".to_owned(), key: "a&b".to_owned() }, "DELETE /keys?task=t&key=a%26b"),
        (
            Call::Limits { after: Some(limit()), most: Some(5), prefixes: Vec::new() },
            "GET /limits?after=voice&most=5",
        ),
        (Call::Limit { limit: limit() }, "GET /limits/voice"),
        (Call::LimitSlots { limit: limit(), skip: 3, most: None }, "GET /limits/voice/slots?skip=3"),
        (Call::Slot { slot: slot(), wait: "30s".into() }, "GET /slots/a%7Cb%3Ac%25?wait=30s"),
        (Call::Runs(RunsFields::default()), "GET /runs"),
        (Call::Run { run: "r".to_owned() }, "GET /runs/r"),
        (
            Call::Keys { task: Some("t".to_owned()), key: Some("k".to_owned()), after: None, most: None },
            "GET /keys?task=t&key=k",
        ),
    ];
    for (call, expected) in cases {
        assert_eq!(shown(call), expected);
    }
}

#[test]
fn a_wait_is_added_to_the_deadline() {
    let wait = |given: Given| route(&Call::Slot { slot: "s".to_owned(), wait: given }).unwrap().wait;
    assert_eq!(wait("1m".into()), Duration::from_secs(60));
    assert_eq!(wait(1500u64.into()), Duration::from_millis(1500));
    assert_eq!(wait("soon".into()), Duration::ZERO);
}
