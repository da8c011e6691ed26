//! Each route does its call and answers the documented shape.

use maitred_api::{
    DoneAnswer, KeysAnswer, LimitAnswer, LimitSlotsAnswer, LimitsAnswer, ReleaseAnswer, RunAnswer,
    RunsAnswer, SlotAnswer, SlotState,
};
use serde_json::Value;

use super::support::{read, rig};

#[tokio::test]
async fn limits() {
    let rig = rig().await;
    let declared: LimitAnswer = read(rig.put("/v1/limits/voice", r#"{"capacity":2,"max_hold":"45m"}"#).await);
    assert_eq!((declared.limit.capacity, declared.limit.max_hold_ms), (2, 2_700_000));
    let deployed = r#"{"limits":[{"name":"a","capacity":1,"max_hold":1000},{"name":"b","capacity":"2","max_hold":"1s"}]}"#;
    let _: DoneAnswer = read(rig.put("/v1/limits", deployed).await);

    let first: LimitsAnswer = read(rig.get("/v1/limits?most=1").await);
    assert_eq!((first.limits[0].limit.as_str(), first.next.as_deref()), ("a", Some("a")));
    let rest: LimitsAnswer = read(rig.get("/v1/limits?after=a").await);
    assert_eq!(rest.limits.iter().map(|limit| limit.limit.as_str()).collect::<Vec<_>>(), ["b"]);

    let set: LimitAnswer = read(rig.put("/v1/limits/b/capacity", r#"{"capacity":7}"#).await);
    assert_eq!((set.limit.capacity, set.limit.declared_capacity), (7, 2));
    let reset: LimitAnswer = read(rig.delete("/v1/limits/b/capacity").await);
    assert_eq!((reset.limit.capacity, reset.limit.capacity_override), (2, None));
    let set: LimitAnswer = read(rig.put("/v1/limits/b/max-hold", r#"{"max_hold":"2h"}"#).await);
    assert_eq!(set.limit.max_hold_override_ms, Some(7_200_000));
    let reset: LimitAnswer = read(rig.delete("/v1/limits/b/max-hold").await);
    assert_eq!(reset.limit.max_hold_ms, 1000);
    let paused: LimitAnswer = read(rig.put("/v1/limits/b/pause", "").await);
    assert!(paused.limit.paused);
    let resumed: LimitAnswer = read(rig.delete("/v1/limits/b/pause").await);
    assert!(!resumed.limit.paused);
    let shown: LimitAnswer = read(rig.get("/v1/limits/b").await);
    assert_eq!(shown.limit, resumed.limit);
    rig.get("/v1/limits/nobody").await.refused(404, "limit_not_found");
}

#[tokio::test]
async fn slots() {
    let rig = rig().await;
    rig.declare("voice", 1).await;
    let asked = r#"{"slot":"call/1","limit":"voice","run":"r1","label":"call 1"}"#;
    let reserved: SlotAnswer = read(rig.post("/v1/slots", asked).await);
    assert_eq!(reserved.slot.state, SlotState::Reserved);
    let busy: SlotAnswer = read(rig.post("/v1/slots/call%2F1/confirm", "").await);
    assert_eq!((busy.slot.slot.as_str(), busy.slot.state), ("call/1", SlotState::Busy));
    let queued: SlotAnswer = read(rig.post("/v1/slots", r#"{"slot":"s2","limit":"voice"}"#).await);
    assert_eq!((queued.slot.state, queued.slot.place), (SlotState::Queued, Some(1)));
    let unnamed: SlotAnswer = read(rig.post("/v1/slots", r#"{"limit":"voice"}"#).await);
    assert_eq!((unnamed.slot.state, unnamed.slot.slot.len()), (SlotState::Queued, 36));

    let all: LimitSlotsAnswer = read(rig.get("/v1/limits/voice/slots").await);
    assert_eq!((all.holders.len(), all.queue.len(), all.limit.busy), (1, 2, 1));
    let part: LimitSlotsAnswer = read(rig.get("/v1/limits/voice/slots?skip=2&most=5").await);
    assert_eq!((part.holders.len(), part.queue.len()), (0, 1));
    assert_eq!(part.queue[0].slot, unnamed.slot.slot);

    let left: SlotAnswer = read(rig.post(&format!("/v1/slots/{}/leave", unnamed.slot.slot), "{}").await);
    assert_eq!(left.slot.state, SlotState::Left);
    let released: ReleaseAnswer = read(rig.post("/v1/slots/call%2F1/release", "").await);
    assert!(released.released);
    let again: ReleaseAnswer = read(rig.post("/v1/slots/call%2F1/release", "").await);
    assert_eq!((again.released, again.state), (false, SlotState::Released));
    let next: SlotAnswer = read(rig.get("/v1/slots/s2?wait=5s").await);
    assert_eq!(next.slot.state, SlotState::Reserved);
    let unknown: SlotAnswer = read(rig.get("/v1/slots/never").await);
    assert_eq!(unknown.slot.state, SlotState::Unknown);
}

#[tokio::test]
async fn runs_and_keys() {
    let rig = rig().await;
    rig.declare("voice", 1).await;
    rig.post("/v1/slots", r#"{"slot":"s1","limit":"voice","run":"r1","confirm":"auto","hold":"run"}"#)
        .await
        .ok();
    let specs = r#"[{"key":"user=1","limit":2,"windowSeconds":60},{"key":"user=1","limit":1}]"#;
    rig.post("/v1/admit", &format!(r#"{{"task":"t","run":"r1","specs":{specs}}}"#)).await.ok();

    let runs: RunsAnswer = read(rig.get("/v1/runs").await);
    assert_eq!(runs.runs.iter().map(|run| run.run.as_str()).collect::<Vec<_>>(), ["r1"]);
    let run: RunAnswer = read(rig.get("/v1/runs/r1").await);
    assert_eq!((run.run.slots.len(), run.run.places.len()), (1, 1));
    let keys: KeysAnswer = read(rig.get("/v1/keys").await);
    assert_eq!((keys.keys.len(), keys.keys[0].in_flight), (1, 1));
    let key: KeysAnswer = read(rig.get("/v1/keys?task=t&key=user%3D1").await);
    assert_eq!(key.keys[0].window.as_ref().map(|window| window.used), Some(1));

    let _: DoneAnswer = read(rig.delete("/v1/keys?task=t&key=user%3D1").await);
    let key: KeysAnswer = read(rig.get("/v1/keys?task=t&key=user%3D1").await);
    assert_eq!((key.keys[0].window.as_ref(), key.keys[0].in_flight), (None, 1));
    let _: DoneAnswer = read(rig.post("/v1/runs/r1/end", r#"{"status":"succeeded"}"#).await);
    let shown: LimitAnswer = read(rig.get("/v1/limits/voice").await);
    assert_eq!(shown.limit.busy, 0);
}

#[tokio::test]
async fn headers_say_where_and_who() {
    let rig = rig().await;
    let there = ["Maitred-Agent: box-2"];
    let body = r#"{"capacity":1,"max_hold":"1m"}"#;
    rig.ask("PUT", "/v1/limits/voice", &there, body).await.ok();
    rig.get("/v1/limits/voice").await.refused(404, "limit_not_found");
    let shown = rig.ask("GET", "/v1/limits/voice", &there, "").await.ok();
    let revision = shown["revision"].as_u64().unwrap();
    rig.ask("GET", &format!("/v1/limits/voice?min_revision={revision}"), &there, "").await.ok();
    rig.ask("GET", "/v1/limits/voice", &[there[0], &format!("Maitred-Min-Revision: {revision}")], "")
        .await
        .ok();

    let keyed = ["Idempotency-Key: m-1", "Maitred-Reason: se perdió", "Maitred-By: ops"];
    let admit =
        |key: &str| format!(r#"{{"task":"t","specs":[{{"key":"{key}","limit":5,"windowSeconds":60}}]}}"#);
    assert_eq!(rig.ask("POST", "/v1/admit", &keyed, &admit("k")).await.ok()["results"][0]["used"], 1);
    let again = rig.ask("POST", "/v1/admit", &keyed, &admit("k")).await.ok();
    assert_eq!((&again["results"][0]["used"], &again["replayed"]), (&Value::from(1), &Value::from(true)));
    rig.ask("POST", "/v1/admit", &keyed, &admit("other")).await.refused(409, "conflict");
}

#[tokio::test]
async fn a_request_has_an_id_in_both_directions() {
    let rig = rig().await;
    let heard = rig.ask("GET", "/v1/limits", &["X-Request-Id: mine-1"], "").await;
    assert_eq!(heard.field("x-request-id"), Some("mine-1"));
    let heard = rig.ask("GET", "/v1/nowhere", &["X-Request-Id: not one of ours"], "").await;
    heard.refused(404, "not_found");
    let again = rig.ask("GET", "/v1/limits", &[], "").await;
    let ids = [&heard, &again].map(|heard| heard.field("x-request-id").unwrap());
    assert!(ids[0] != ids[1] && ids.iter().all(|id| (34..=64).contains(&id.len())), "{ids:?}");
}
