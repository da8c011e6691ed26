//! The limits with their health, one over time, and a change before it is made: the wiring; the rules of the verdict are
//! tested where they stand.

use maitred_api::{
    LimitHealth, NamespacesAnswer, NodesAnswer, OverviewAnswer, PreviewAnswer, SeriesAnswer, WhoamiAnswer,
};
use maitred_server::token::{Grant, Role, Tokens, kept};

use super::support::{Rig, eventually, read, rig, rig_with};

async fn names(rig: &Rig, query: &str) -> Vec<String> {
    let page: OverviewAnswer = read(rig.get(&format!("/v1/overview?{query}")).await);
    page.limits.into_iter().map(|row| row.limit.limit).collect()
}

#[tokio::test]
async fn the_list_is_searched_sorted_and_paged_by_the_server() {
    let rig = rig().await;
    for (limit, capacity) in [("a.one", 1), ("a.two", 4), ("b.one", 2)] {
        rig.declare(limit, capacity).await;
    }
    rig.put("/v1/limits/b.one/capacity", r#"{"capacity":7}"#).await.ok();
    for slot in ["s1", "s2", "s3"] {
        rig.post("/v1/slots", &format!(r#"{{"slot":"{slot}","limit":"a.one"}}"#)).await.ok();
    }
    let page: OverviewAnswer = read(rig.get("/v1/overview?most=1&sort=name").await);
    assert_eq!((page.limits.len(), page.total, page.matching), (1, 3, 3));
    assert_eq!(names(&rig, "sort=name&skip=1").await, ["a.two", "b.one"]);
    assert_eq!(names(&rig, "sort=name&reverse=true").await, ["b.one", "a.two", "a.one"]);
    assert_eq!(names(&rig, "sort=capacity").await, ["b.one", "a.two", "a.one"]);
    assert_eq!(names(&rig, "sort=waiting&most=1").await, ["a.one"]);
    assert_eq!(names(&rig, "sort=used&most=1").await, ["a.one"]);
    assert_eq!(names(&rig, "text=two").await, ["a.two"]);
    assert_eq!(names(&rig, "only=overridden").await, ["b.one"]);
    assert_eq!(names(&rig, "only=waiting").await, ["a.one"]);
    assert_eq!(names(&rig, "limit=a.one").await, ["a.one"]);
    assert_eq!(names(&rig, "health=leaking").await, [""; 0]);
    rig.get("/v1/overview?sort=luck").await.refused(400, "invalid_argument");
    rig.get("/v1/overview?most=0").await.refused(400, "invalid_argument");
}

#[tokio::test]
async fn a_limit_over_time_has_what_was_granted_and_ended() {
    let rig = rig().await;
    rig.declare("voice", 2).await;
    rig.post("/v1/slots", r#"{"slot":"s1","limit":"voice","confirm":"auto"}"#).await.ok();
    rig.post("/v1/slots/s1/release", "").await.ok();
    let series = async || -> SeriesAnswer { read(rig.get("/v1/limits/voice/series?range=15m").await) };
    let has_both = async || {
        let told = series().await;
        told.grants.iter().sum::<u64>() == 1 && told.released.iter().sum::<u64>() == 1
    };
    eventually("a grant and a release are told", has_both).await;
    let told = series().await;
    assert_eq!((told.step_ms, told.at.len()), (10_000, told.waiting_max.len()));
    assert_eq!(told.available_min.iter().flatten().min(), Some(&1));
    assert_eq!(told.capacity.iter().flatten().max(), Some(&2));
    assert_eq!(told.wait_p99_ms.iter().flatten().max(), Some(&0));
    let long: SeriesAnswer = read(rig.get("/v1/limits/voice/series?range=24h").await);
    assert_eq!((long.step_ms, long.at.len()), (60_000, 1_441));
    rig.get("/v1/limits/voice/series?range=25h").await.refused(400, "invalid_argument");
    rig.get("/v1/limits/nobody/series").await.refused(404, "limit_not_found");
}

#[tokio::test]
async fn a_change_is_told_before_it_is_made() {
    let rig = rig().await;
    rig.declare("voice", 1).await;
    for slot in ["s1", "s2", "s3"] {
        rig.post("/v1/slots", &format!(r#"{{"slot":"{slot}","limit":"voice"}}"#)).await.ok();
    }
    let more: PreviewAnswer = read(rig.get("/v1/limits/voice/preview?capacity=2").await);
    assert_eq!(
        (more.starts, more.effects.as_slice()),
        (1, &["1 of 2 waiting slots start now.".to_owned()][..])
    );
    let same: PreviewAnswer = read(rig.get("/v1/limits/voice/preview?capacity=reset&max_hold=10m").await);
    assert_eq!((same.capacity, same.effects.as_slice()), (1, &["Nothing changes.".to_owned()][..]));
    rig.get("/v1/limits/voice/preview?capacity=0").await.refused(400, "invalid_capacity");
    rig.get("/v1/limits/voice/preview?max_hold=5x").await.refused(400, "invalid_max_hold");
    rig.get("/v1/limits/nobody/preview").await.refused(404, "limit_not_found");
    let after: PreviewAnswer = read(rig.get("/v1/limits/voice/preview").await);
    assert_eq!((after.capacity, after.starts), (1, 0), "a preview changes nothing");
}

#[tokio::test]
async fn who_asks_and_where_there_is_anything() {
    let rig = rig().await;
    rig.ask("PUT", "/v1/limits/a", &["Maitred-Agent: box-7"], r#"{"capacity":1,"max_hold":"1m"}"#).await.ok();
    let known: NamespacesAnswer = read(rig.get("/v1/namespaces").await);
    assert_eq!(known.namespaces, ["box-7"]);
    let me: WhoamiAnswer = read(rig.get("/v1/whoami").await);
    assert_eq!((me.name, me.role.as_str()), (None, "admin"));
}

#[tokio::test]
async fn a_token_for_some_limits_counts_and_pages_those_only() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str, role, limits: Vec<String>| {
        format!(
            "Authorization: Bearer {}",
            kept::create(folder.path(), name, Grant { role, limits, made_at: 1, ..Grant::anyone() }).unwrap()
        )
    };
    let (admin, bounded) = (of("boss", Role::Admin, vec![]), of("ana", Role::Read, vec!["b".to_owned()]));
    let tokens = Tokens::open(None, Some(folder.path())).unwrap();
    let rig = rig_with(|shared| shared.tokens = Some(tokens)).await;
    for limit in ["a1", "b1", "b2"] {
        let path = format!("/v1/limits/{limit}");
        rig.ask("PUT", &path, &[&admin], r#"{"capacity":1,"max_hold":"1m"}"#).await.ok();
    }
    let page: OverviewAnswer = read(rig.ask("GET", "/v1/overview?sort=name&most=1", &[&bounded], "").await);
    assert_eq!((page.limits[0].limit.limit.as_str(), page.total, page.matching), ("b1", 2, 2));
    assert_eq!(page.health.iter().map(|count| count.limits).sum::<u32>(), 2);
    assert!(page.health.iter().all(|count| count.health != LimitHealth::Leaking));
    let batch = rig.ask("POST", "/v1/batch", &[&bounded], r#"{"items":[{"op":"overview"}]}"#).await.ok();
    assert_eq!(batch["results"][0]["body"]["total"], 2, "{batch}");
    rig.ask("GET", "/v1/limits/a1/series", &[&bounded], "").await.refused(403, "forbidden");
    rig.ask("GET", "/v1/limits/a1/preview", &[&bounded], "").await.refused(403, "forbidden");
}

#[tokio::test]
async fn a_change_is_refused_when_somebody_was_faster() {
    let rig = rig().await;
    rig.declare("voice", 2).await;
    let tag = rig.get("/v1/limits/voice").await.ok()["tag"].as_str().unwrap().to_owned();
    let having = format!("If-Match: \"{tag}\"");
    let set = async |to: u32| {
        let body = format!(r#"{{"capacity":{to}}}"#);
        rig.ask("PUT", "/v1/limits/voice/capacity", &[&having], &body).await
    };
    set(3).await.ok();
    set(4).await.refused(412, "settings_changed");
    rig.ask("DELETE", "/v1/limits/voice/pause", &[&having], "").await.refused(412, "settings_changed");
    rig.ask("POST", "/v1/slots/s/release", &[&having], "").await.refused(400, "invalid_argument");
    assert_eq!(rig.get("/v1/limits/voice").await.ok()["capacity"], 3);
}

#[tokio::test]
async fn a_server_with_a_journal_of_its_own_is_the_only_one() {
    let rig = rig().await;
    let nodes: NodesAnswer = read(rig.get("/v1/nodes").await);
    assert!(!nodes.shared && nodes.nodes.len() == 1, "{nodes:?}");
    let node = &nodes.nodes[0];
    assert!(node.this && node.live && node.version.is_some() && node.supports_rules >= Some(nodes.rules));
}
