//! The 429 of an enforced call, to the letter.

use serde_json::{Value, json};

use super::support::{Heard, Rig, rig};

async fn admit(rig: &Rig, specs: Value, more: Value) -> Heard {
    let mut body = json!({ "task": "t", "run": "r", "specs": specs });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    rig.post("/v1/admit", &body.to_string()).await
}

fn details(heard: &Heard) -> Value {
    let json = heard.json();
    let names: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(names, ["details", "message", "reason", "status"], "{heard:?}");
    json["details"].clone()
}

#[tokio::test]
async fn a_rate_that_is_over() {
    let rig = rig().await;
    let specs =
        json!([{ "key": "free:user=7", "limit": 1, "windowSeconds": 2592000, "label": "free_tries" }]);
    admit(&rig, specs.clone(), json!({})).await.ok();
    let over = admit(&rig, specs.clone(), json!({})).await;
    over.refused(429, "rate_limit_exceeded");
    assert_eq!(details(&over), json!({ "retryAfterSeconds": 2592000, "limit": 1, "label": "free_tries" }));
    assert_eq!(over.field("retry-after"), Some("2592000"));
    assert_eq!(over.field("ratelimit-policy"), Some("\"free_tries\";q=1;w=2592000"));
    assert_eq!(over.field("ratelimit"), Some("\"free_tries\";r=0;t=2592000"));
    assert!(!over.body.contains("user=7") && !over.head.contains("user=7"));

    let told = admit(&rig, specs.clone(), json!({ "enforce": false })).await.ok();
    assert_eq!(
        (&told["overLimit"], &told["type"], &told["retryAfterSeconds"]),
        (&json!(true), &json!("rate"), &json!(2592000))
    );
    let checked = admit(&rig, specs, json!({ "check": true })).await.ok();
    assert_eq!(checked["overLimit"], true);
}

#[tokio::test]
async fn a_limit_without_a_label_is_not_named() {
    let rig = rig().await;
    let specs = json!([{ "key": "k", "limit": 0, "windowSeconds": 60 }]);
    let over = admit(&rig, specs, json!({})).await;
    assert_eq!(details(&over), json!({ "retryAfterSeconds": 60, "limit": 0 }));
    assert_eq!(over.field("retry-after"), Some("60"));
    assert_eq!((over.field("ratelimit"), over.field("ratelimit-policy")), (None, None));
}

#[tokio::test]
async fn a_place_that_is_taken_promises_no_time() {
    let rig = rig().await;
    let specs = json!([{ "key": "k", "limit": 1, "label": "one_at_a_time" }]);
    admit(&rig, specs.clone(), json!({})).await.ok();
    let over = admit(&rig, specs, json!({ "run": "other" })).await;
    over.refused(429, "concurrency_limit_exceeded");
    assert_eq!(details(&over), json!({ "retryAfterSeconds": null, "limit": 1, "label": "one_at_a_time" }));
    assert_eq!(over.field("retry-after"), None);
    assert_eq!(over.field("ratelimit-policy"), Some("\"one_at_a_time\";q=1;qu=\"concurrent-requests\""));
    assert_eq!(over.field("ratelimit"), Some("\"one_at_a_time\";r=0"));
}
