//! A batch: in order, each item with its own outcome and id.

use serde_json::{Value, json};

use super::support::{Rig, rig};

async fn batch(rig: &Rig, items: Value) -> Vec<(u64, Value)> {
    let answer = rig.post("/v1/batch", &json!({ "items": items }).to_string()).await.ok();
    let results = answer["results"].as_array().unwrap().iter();
    results.map(|result| (result["status"].as_u64().unwrap(), result["body"].clone())).collect()
}

#[tokio::test]
async fn items_are_done_in_order_and_each_has_its_outcome() {
    let rig = rig().await;
    let results = batch(
        &rig,
        json!([
            { "op": "declare", "name": "voice", "capacity": 1, "max_hold": "1m" },
            { "op": "acquire", "slot": "a", "limit": "voice", "confirm": "auto" },
            { "op": "acquire", "slot": "b", "limit": "voice" },
            { "op": "acquire", "slot": "c", "limit": "nobody" },
            { "op": "release", "slot": "a" },
            { "op": "confirm", "slot": "b" },
            { "op": "set_capacity", "limit": "voice", "capacity": 0 },
            { "op": "pause", "limit": "voice" },
        ]),
    )
    .await;
    let statuses: Vec<u64> = results.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [200, 200, 200, 404, 200, 200, 400, 200]);
    assert_eq!(results[0].1["limit"], "voice");
    assert_eq!((&results[1].1["state"], &results[2].1["state"]), (&json!("busy"), &json!("queued")));
    assert_eq!(results[3].1["reason"], "limit_not_found");
    assert_eq!((&results[4].1["released"], &results[5].1["state"]), (&json!(true), &json!("busy")));
    assert_eq!(results[6].1["reason"], "invalid_capacity");
    assert_eq!(results[7].1["paused"], true);
}

#[tokio::test]
async fn a_read_sees_what_stands_before_it_and_nothing_after() {
    let rig = rig().await;
    rig.declare("voice", 1).await;
    let turns = (0..50).flat_map(|n| {
        let slot = format!("s{n}");
        [
            json!({ "op": "acquire", "slot": slot, "limit": "voice", "confirm": "auto" }),
            json!({ "op": "slot", "slot": slot }),
            json!({ "op": "release", "slot": slot }),
            json!({ "op": "slot", "slot": slot }),
        ]
    });
    let results = batch(&rig, turns.collect()).await;
    for turn in results.chunks(4) {
        assert_eq!(
            (&turn[1].1["state"], &turn[3].1["state"]),
            (&json!("busy"), &json!("released")),
            "{turn:?}"
        );
    }
}

#[tokio::test]
async fn an_item_over_its_limit_is_a_429_of_its_own() {
    let rig = rig().await;
    let spec = json!([{ "key": "k", "limit": 1, "windowSeconds": 60, "label": "tries" }]);
    let admit = |id: &str, enforce: bool| json!({ "op": "admit", "id": id, "task": "t", "specs": spec, "enforce": enforce });
    let items = json!([admit("m1", true), admit("m1", true), admit("m2", true), admit("m3", false)]);
    let results = batch(&rig, items).await;
    assert_eq!(results[0].1["results"][0]["used"], 1);
    assert_eq!((results[1].0, &results[1].1["replayed"]), (200, &json!(true)));
    assert_eq!((results[2].0, &results[2].1["reason"]), (429, &json!("rate_limit_exceeded")));
    assert_eq!(results[2].1["details"], json!({ "retryAfterSeconds": 60, "limit": 1, "label": "tries" }));
    assert_eq!((results[3].0, &results[3].1["overLimit"]), (200, &json!(true)));
}

#[tokio::test]
async fn a_batch_has_a_bound_and_may_be_empty() {
    let rig = rig().await;
    assert!(batch(&rig, json!([])).await.is_empty());
    let item = json!({ "op": "release", "slot": "s" });
    assert_eq!(batch(&rig, json!(vec![item.clone(); 1_000])).await.len(), 1_000);
    let heard = rig.post("/v1/batch", &json!({ "items": vec![item; 1_001] }).to_string()).await;
    heard.refused(400, "too_many_items");
}

#[tokio::test]
async fn nothing_in_a_batch_waits() {
    let rig = rig().await;
    rig.declare("voice", 1).await;
    let results = batch(
        &rig,
        json!([{ "op": "acquire", "slot": "a", "limit": "voice", "wait": "1h" }, { "op": "limits" }]),
    )
    .await;
    assert_eq!((results[0].0, results[1].0), (400, 200), "{results:?}");
    assert_eq!(results[0].1["reason"], "invalid_wait");
}

#[tokio::test]
async fn what_was_can_be_asked_for_in_a_batch() {
    let rig = rig().await;
    rig.declare("voice", 1).await;
    let acquire = json!({ "op": "acquire", "slot": "a", "limit": "voice", "confirm": "auto" });
    batch(&rig, json!([acquire, { "op": "release", "slot": "a" }])).await;
    let asked = json!([
        { "op": "history", "slot": "a" },
        { "op": "audit", "limit": "voice" },
        { "op": "explain", "what": "a" },
    ]);
    // The history is filled behind the writer's back.
    let mut heard = batch(&rig, asked.clone()).await;
    for _ in 0..200 {
        if heard[0].1["ends"][0]["state"] == "released" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        heard = batch(&rig, asked.clone()).await;
    }
    assert_eq!((heard[0].0, &heard[0].1["ends"][0]["state"]), (200, &json!("released")), "{heard:?}");
    assert_eq!((heard[1].0, &heard[1].1["acts"][0]["act"]), (200, &json!("declared")), "{heard:?}");
    assert_eq!((heard[2].0, &heard[2].1["ended"][0]["slot"]), (200, &json!("a")), "{heard:?}");
}

/// A revision that does not come is waited for once, however many items would like to see it.
#[tokio::test]
async fn a_batch_waits_once_for_the_revision_it_wants_to_see() {
    let rig = rig().await;
    rig.declare("voice", 1).await;
    let items: Vec<String> = (0..200).map(|n| format!(r#"{{"op":"slot","slot":"s-{n}"}}"#)).collect();
    let body = format!(r#"{{"items":[{}]}}"#, items.join(","));
    let now = rig.get("/v1/limits").await.ok()["revision"].as_u64().unwrap();
    let seen = format!("Maitred-Min-Revision: {now}");
    let told = rig.ask("POST", "/v1/batch", &[&seen], &body).await.ok();
    assert_eq!(told["results"].as_array().map(Vec::len), Some(200));
    let began = std::time::Instant::now();
    let never = rig.ask("POST", "/v1/batch", &["Maitred-Min-Revision: 999999999"], &body).await;
    never.refused(503, "unavailable");
    assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}", began.elapsed());
}
