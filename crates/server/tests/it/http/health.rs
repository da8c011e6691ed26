//! Probes and numbers.

use std::time::Duration;

use maitred_server::http::Shared;

use super::support::{node, rig, serve};

#[tokio::test]
async fn probes() {
    let rig = rig().await;
    for path in ["/livez", "/healthz"] {
        assert_eq!(rig.get(path).await.ok()["live"], true);
    }
    let ready = rig.get("/readyz").await.ok();
    assert_eq!((&ready["ready"], &ready["draining"]), (&true.into(), &false.into()));
    assert!(
        ready["horizon"].is_u64() && ready["remembered_timed"].is_f64() && ready["remembered_other"].is_f64()
    );
}

#[tokio::test]
async fn who_is_not_ready_says_why() {
    let node = node(false).await;
    let rig = serve(Shared::new(node.clone())).await;
    node.stop(Duration::from_secs(5)).await;
    let heard = rig.get("/readyz").await;
    let told = heard.json();
    assert_eq!((heard.status, &told["ready"]), (503, &false.into()), "{heard:?}");
    assert_eq!(told["notes"][0], "the node has stopped");
}

#[tokio::test]
async fn numbers_have_no_words_of_callers_in_them() {
    let rig = rig().await;
    rig.get("/v1/limits/canary-1").await.refused(404, "limit_not_found");
    rig.get("/canary-2").await.refused(404, "not_found");
    rig.ask("CANARY", "/v1/limits", &["X-Canary: canary"], "").await.refused(405, "method_not_allowed");
    let heard = rig.get("/metrics").await;
    assert!(heard.field("content-type").unwrap().starts_with("application/openmetrics-text"));
    for line in [
        r#"maitred_http_requests_total{route="/v1/limits/{limit}",method="GET",status="404"} 1"#,
        r#"maitred_http_requests_total{route="unmatched",method="GET",status="404"} 1"#,
        r#"maitred_http_requests_total{route="/v1/limits",method="other",status="405"} 1"#,
        r#"maitred_http_request_seconds_count{route="unmatched"} 1"#,
        "maitred_http_open_requests 1",
    ] {
        assert!(heard.body.lines().any(|heard| heard == line), "{line} is missing in\n{}", heard.body);
    }
    assert!(!heard.body.to_lowercase().contains("canary"));
    assert!(heard.body.contains("process_resident_memory_bytes "));
}

/// Every sample belongs to a declared family, and no series stands twice.
#[tokio::test]
async fn the_text_is_well_formed() {
    let rig = rig().await;
    rig.declare("voice", 2).await;
    let text = rig.get("/metrics").await.body;
    assert!(text.ends_with("\n# EOF\n") && text.matches("# EOF").count() == 1);
    let families: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let mut seen = std::collections::HashSet::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (series, number) = line.rsplit_once(' ').unwrap();
        assert!(number.parse::<f64>().is_ok(), "{line}");
        assert!(seen.insert(series), "{series} stands twice");
        let name = series.split('{').next().unwrap();
        let is_declared = families.iter().any(|family| {
            let rest = name.strip_prefix(family);
            rest.is_some_and(|rest| matches!(rest, "" | "_total" | "_bucket" | "_sum" | "_count" | "_info"))
        });
        assert!(is_declared, "{name} is not declared");
    }
}

/// A gauge tells what is in force, and callers cannot make series without end.
#[tokio::test]
async fn gauges_follow_what_is_in_force_and_series_are_bounded() {
    let rig = rig().await;
    rig.declare("a", 2).await;
    let capacity = async || {
        let text = rig.get("/metrics").await.body;
        let line = text
            .lines()
            .find(|line| line.starts_with(r#"maitred_limit_capacity{namespace="default",limit="a"}"#));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
    };
    assert_eq!(capacity().await, Some(2));
    rig.put("/v1/limits/a/capacity", r#"{"capacity":7}"#).await.ok();
    assert_eq!(capacity().await, Some(7));
    rig.delete("/v1/limits/a/capacity").await.ok();
    assert_eq!(capacity().await, Some(2));

    let item = |n: usize| format!(r#"{{"op":"declare","name":"l-{n}","capacity":1,"max_hold":"1m"}}"#);
    let grant = |n: usize| format!(r#"{{"op":"acquire","slot":"s-{n}","limit":"l-{n}"}}"#);
    for items in [(0..600).map(item).collect::<Vec<_>>(), (0..600).map(grant).collect()] {
        rig.post("/v1/batch", &format!(r#"{{"items":[{}]}}"#, items.join(","))).await.ok();
    }
    let text = rig.get("/metrics").await.body;
    let limits = |metric: &str| {
        let samples = text.lines().filter_map(|line| line.strip_prefix(metric)?.split("limit=\"").nth(1));
        samples
            .map(|rest| rest.split('"').next().unwrap().to_owned())
            .collect::<std::collections::HashSet<_>>()
    };
    assert_eq!(limits("maitred_limit_capacity{").len(), 500);
    let granted = limits("maitred_grants_total{");
    assert!(granted.len() == 501 && granted.contains("other"), "{}", granted.len());
}
