//! History, audit, explanations and masked keys over HTTP: the wiring only, the rules are tested at the node.

use maitred_api::{
    AuditAnswer, ExplainAnswer, ExplainedKind, HistoryAnswer, KeysAnswer, RunAnswer, RunsAnswer,
};
use serde_json::Value;

use super::support::{Rig, read, rig};

/// `voice` has room for one: `a` of run `r1` held it, `b` waits.
async fn told() -> Rig {
    let rig = rig().await;
    rig.declare("voice", 1).await;
    for slot in ["a", "b", "c"] {
        let fields = format!(
            r#"{{"slot":"{slot}","limit":"voice","run":"r-{slot}","label":"call {slot}","confirm":"auto"}}"#
        );
        rig.post("/v1/slots", &fields).await.ok();
    }
    rig.ask("POST", "/v1/slots/a/release", &["Maitred-By: ana", "Maitred-Reason: done"], "").await.ok();
    rig
}

/// Asks until the history has everything.
async fn filled(rig: &Rig, path: &str) -> HistoryAnswer {
    for _ in 0..400 {
        let answer: HistoryAnswer = read(rig.get(path).await);
        if answer.reach.lag == 0 {
            return answer;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the history does not catch up");
}

#[tokio::test]
async fn what_ended_is_found_by_every_name() {
    let rig = told().await;
    for path in [
        "/v1/history",
        "/v1/history?limit=voice&run=r-a",
        "/v1/history?slot=a",
        "/v1/history?label=call%20a&most=1",
        "/v1/limits/voice/history?most=5",
    ] {
        let answer = filled(&rig, path).await;
        assert_eq!(answer.ends.len(), 1, "{path}");
        let end = &answer.ends[0];
        assert_eq!(
            (end.slot.as_str(), end.by.as_deref(), end.reason.as_deref()),
            ("a", Some("ana"), Some("done"))
        );
    }
    assert_eq!(filled(&rig, "/v1/history?run=nobody").await.ends, []);
    rig.get("/v1/history?before=x").await.refused(400, "invalid_argument");
    rig.get("/v1/history?who=x").await.refused(400, "invalid_argument");
}

#[tokio::test]
async fn acts_are_in_the_audit() {
    let rig = told().await;
    let by = ["Maitred-By: ben", "Maitred-Reason: full"];
    rig.ask("PUT", "/v1/limits/voice/capacity", &by, r#"{"capacity":3}"#).await.ok();
    filled(&rig, "/v1/history").await;
    let audit: AuditAnswer = read(rig.get("/v1/audit?limit=voice&most=1").await);
    let act = &audit.acts[0];
    assert_eq!(
        (act.act.as_str(), act.after.as_deref(), act.by.as_deref()),
        ("capacity", Some("3"), Some("ben"))
    );
    let older = format!("/v1/audit?act=declared&before={}", audit.next.unwrap());
    let rest: AuditAnswer = read(rig.get(&older).await);
    assert_eq!(rest.acts[0].act, "declared");
    let by: AuditAnswer = read(rig.get("/v1/audit?by=AN&since=0&until=99999999999999").await);
    let told: Vec<_> = by.acts.iter().map(|act| (act.act.as_str(), act.before.as_deref())).collect();
    assert_eq!(told, [("released", Some("a"))]);
    let runs: RunsAnswer =
        read(rig.get("/v1/runs?only=holding&limit=voice&text=CALL%20C&min_revision=1").await);
    assert_eq!(runs.runs.iter().map(|run| run.run.as_str()).collect::<Vec<_>>(), ["r-c"]);
    rig.get("/v1/runs?only=lazy").await.refused(400, "invalid_argument");
    rig.get("/v1/audit?since=now").await.refused(400, "invalid_argument");
}

#[tokio::test]
async fn explanations_by_name_and_by_slot() {
    let rig = told().await;
    let run: ExplainAnswer = read(rig.get("/v1/explain?what=r-c").await);
    assert_eq!((run.kind, run.slots[0].waits_for[0].place), (ExplainedKind::Run, 1));
    let slot: ExplainAnswer = read(rig.get("/v1/slots/c/explain").await);
    assert_eq!((slot.kind, slot.slots[0].slot.slot.as_str()), (ExplainedKind::Slot, "c"));
    assert_eq!(
        slot.slots[0].slot.limits[0].limit, "voice",
        "what it names and what it waits for are two things"
    );
    assert!(slot.text.contains("1 of 1"), "{}", slot.text);
    rig.get("/v1/explain").await.refused(400, "invalid_argument");
}

#[tokio::test]
async fn lists_show_the_first_letters_of_a_key_unless_asked_for_more() {
    let rig = rig().await;
    let specs = r#"[{"key":"user=ana@example.com","limit":2,"windowSeconds":60},{"key":"ip=","limit":1},{"key":"ip=","limit":9,"windowSeconds":60}]"#;
    rig.post("/v1/admit", &format!(r#"{{"task":"t","run":"r1","specs":{specs}}}"#)).await.ok();
    let keys = async |path: &str| {
        let answer: KeysAnswer = read(rig.get(path).await);
        let mut keys: Vec<String> = answer.keys.into_iter().map(|info| info.key).collect();
        keys.sort();
        keys
    };
    assert_eq!(keys("/v1/keys").await, ["user…", "…"]);
    assert_eq!(keys("/v1/keys?reveal=true").await, ["ip=", "user=ana@example.com"]);
    assert_eq!(keys("/v1/keys?task=t&key=user%3Dana%40example.com").await, ["user=ana@example.com"]);

    let runs: RunsAnswer = read(rig.get("/v1/runs").await);
    assert_eq!(runs.runs[0].places[0].key, "…");
    let run: RunAnswer = read(rig.get("/v1/runs/r1?reveal=true").await);
    assert_eq!(run.run.places[0].key, "ip=");
    let batch = r#"{"items":[{"op":"keys"},{"op":"keys","task":"t","key":"ip="},{"op":"run","run":"r1"}]}"#;
    let results = rig.post("/v1/batch", batch).await.ok();
    assert!(!results["results"][0].to_string().contains("ana"), "{results}");
    assert_eq!(results["results"][1]["body"]["keys"][0]["key"], Value::from("ip="));
    assert_eq!(results["results"][2]["body"]["places"][0]["key"], Value::from("…"));
}
