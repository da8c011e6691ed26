//! The server is not made to reach where it should not, and tells its secret to nobody else.

use maitred_api::SlotState;
use maitred_server::callbacks::Network;
use serde_json::json;

use super::app::{App, Reply, Rig, SECRET, eventually, target};

async fn reserved() -> (Rig, App) {
    let (rig, app) = (Rig::start().await, App::start().await);
    app.script().runs = [("wrun_a".to_owned(), "running")].into();
    assert_eq!(rig.acquire("a", "wrun_a").await, SlotState::Reserved);
    (rig, app)
}

/// Of whatever kind, and wherever it leads: to this machine, to its neighbours, or to a cloud's credentials.
#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (mut rig, app) = reserved().await;
    let elsewhere = App::start().await;
    app.script().notices = [
        (301, elsewhere.url()),
        (302, format!("http://2130706433:{}/maitred", elsewhere.addr.port())),
        (307, format!("//{}/maitred", elsewhere.addr)),
        (308, "http://169.254.169.254/latest/meta-data".to_owned()),
    ]
    .map(|(status, to)| Reply::Redirect(status, to))
    .into();
    rig.call_back(&[target(&app.url())]);
    eventually("a notice behind the redirects", async || app.told_of("a").len() == 5).await;
    assert!(elsewhere.script().told.is_empty());
}

#[tokio::test]
async fn the_secret_is_carried() {
    let (mut rig, app) = reserved().await;
    let refused = Reply::Status(401, json!({ "error": "unauthorized" }));
    app.script().notices = [refused].into();
    rig.call_back(&[target(&app.url())]);
    eventually("a second notice", async || app.told_of("a").len() == 2).await;
    assert!(app.script().authorizations.iter().all(|given| *given == format!("Bearer {SECRET}")));
    assert_eq!(rig.slot("a").await, SlotState::Reserved);
}

#[tokio::test]
async fn a_name_is_looked_up_in_the_network_that_was_allowed() {
    let (mut rig, app) = reserved().await;
    let by_name = format!("http://localhost:{}/maitred", app.addr.port());
    let mut private = target(&by_name);
    private.network = Network::Private;
    rig.call_back(&[private]);
    tokio::time::sleep(std::time::Duration::from_millis(600)).await;
    assert!(app.script().told.is_empty(), "localhost is not in the private network");
    rig.call_back(&[target(&by_name)]);
    eventually("by its name", async || !app.told_of("a").is_empty()).await;
}

#[tokio::test]
async fn an_answer_without_end_is_not_read() {
    let (mut rig, app) = reserved().await;
    let long = json!({ "run": "cancelled", "padding": "x".repeat(100_000) });
    app.script().notices = [Reply::Status(410, long)].into();
    rig.call_back(&[target(&app.url())]);
    eventually("a second notice", async || app.told_of("a").len() == 2).await;
    assert_eq!(rig.slot("a").await, SlotState::Reserved);
}
