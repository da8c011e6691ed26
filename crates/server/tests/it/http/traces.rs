//! The trace of a request, by W3C `traceparent`: from the caller into the log.

use super::{
    process::start_in,
    support::{Line, request},
};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

#[tokio::test]
async fn the_trace_of_a_request_stands_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = start_in(folder.path(), &["dev", "--log", "info,maitred_server=debug"], &[]);
    for (id, header) in [
        ("good", format!("traceparent: 00-{TRACE}-b7ad6b7169203331-01")),
        ("malformed", format!("traceparent: 00-{TRACE}-b7ad-01")),
        ("none", "accept: */*".to_owned()),
    ] {
        let mut line = Line::to(process.addr).await;
        line.say(request("GET", "/v1/limits", &[&header, &format!("X-Request-Id: {id}")], "")).await;
        line.hear().await.expect("an answer").ok();
    }
    process.signal("TERM");
    let (_, said) = process.end();
    let traced = |id: &str| {
        let about =
            |line: &&str| line.contains("answered") && line.contains(&format!("\"request_id\":\"{id}\""));
        said.lines().find(about).unwrap_or_else(|| panic!("{id} is not in {said}")).contains(TRACE)
    };
    assert!(traced("good") && !traced("malformed") && !traced("none"), "{said}");
}
