//! A history that cannot be written for a while: somebody holds its file, so every write to it waits, and then fails; or
//! its file cannot be opened at all. The writer does not wait for it, says how far behind it is, and it catches up by
//! itself.

use std::time::{Duration, Instant};

use maitred::{
    Client,
    local::{Node, NodeOptions},
};
use maitred_api::{AcquireFields, Answer, Call, ConfirmMode, Context, HistoryAnswer, NamedLimit};

const SLOTS: usize = 300;
/// A write waits a quarter of a second for a file that somebody else holds; a writer that waited for each of its 600
/// records would take longer than this.
const NOBODY_WAITED: Duration = Duration::from_secs(60);

async fn node(folder: &std::path::Path) -> Node {
    Node::start(NodeOptions { folder: Some(folder.to_owned()), ..NodeOptions::default() }).await.unwrap()
}

async fn ask(node: &Node, call: Call) -> Answer {
    Client::Near(node.clone()).call(&Context::default(), call).await.unwrap()
}

async fn history(node: &Node) -> HistoryAnswer {
    let all =
        Call::History { limit: None, slot: None, run: None, label: None, before: None, most: Some(1_000) };
    match ask(node, all).await {
        Answer::History(history) => history,
        other => panic!("{other:?}"),
    }
}

async fn number(node: &Node, name: &str) -> u64 {
    let text = node.metrics().await.text;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is not in {text}")).parse().unwrap()
}

async fn within(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap_or_else(|_| panic!("not so: {what}"));
}

/// A node with a limit of one place, and a hold on the file of its history.
async fn held(folder: &std::path::Path) -> (Node, rusqlite::Connection) {
    let running = node(folder).await;
    let limit = NamedLimit { name: "a".to_owned(), capacity: 1_u32.into(), max_hold: "1h".into() };
    ask(&running, Call::Declare(limit)).await;
    let held = rusqlite::Connection::open(folder.join("history.sqlite")).unwrap();
    held.execute_batch("BEGIN EXCLUSIVE").unwrap();
    (running, held)
}

async fn use_slots(node: &Node, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let slot = format!("s-{number}");
        let limit = Some("a".to_owned());
        let (slot_id, confirm) = (Some(slot.clone()), ConfirmMode::Auto);
        ask(node, Call::Acquire(AcquireFields { slot: slot_id, limit, confirm, ..Default::default() })).await;
        ask(node, Call::Release { slot }).await;
    }
}

/// Every slot's end once, in order: nothing was lost, nothing written twice.
async fn assert_whole(node: &Node, slots: usize) {
    let ends = history(node).await.ends.into_iter().rev().map(|end| end.slot);
    assert!(ends.eq((0..slots).map(|number| format!("s-{number}"))), "the history is not whole");
}

#[tokio::test]
async fn the_writer_never_waits_for_the_history_and_it_catches_up_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let (running, held) = held(folder.path()).await;
    let began = Instant::now();
    use_slots(&running, 0..SLOTS).await;
    assert!(began.elapsed() < NOBODY_WAITED, "{:?}", began.elapsed());
    within("the trouble is told", async || number(&running, "maitred_history_in_trouble").await == 1).await;
    assert!(number(&running, "maitred_history_lag_records").await > 100);
    let told = history(&running).await.reach;
    assert!(told.trouble.is_some_and(|trouble| trouble.contains("locked")) && told.lag > 100);
    let health = running.health().await;
    assert!(health.ready && health.notes.iter().any(|note| note.contains("tried again")), "{health:?}");

    held.execute_batch("COMMIT").unwrap();
    within("it has caught up", async || history(&running).await.reach.lag == 0).await;
    assert_whole(&running, SLOTS).await;
    let reach = history(&running).await.reach;
    assert_eq!((reach.trouble, reach.since), (None, 0));
    assert_eq!(number(&running, "maitred_history_in_trouble").await, 0);
    assert!(running.health().await.notes.is_empty());
    use_slots(&running, SLOTS..SLOTS + 1).await;
    within("it goes on", async || history(&running).await.reach.lag == 0).await;
    assert_whole(&running, SLOTS + 1).await;
    running.stop(Duration::from_secs(9)).await;
}

#[tokio::test]
async fn what_could_not_be_written_is_written_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let (running, held) = held(folder.path()).await;
    use_slots(&running, 0..20).await;
    running.stop(Duration::from_secs(9)).await;
    held.execute_batch("COMMIT").unwrap();
    let again = node(folder.path()).await;
    within("it has caught up", async || history(&again).await.reach.lag == 0).await;
    assert_whole(&again, 20).await;
    again.stop(Duration::from_secs(9)).await;
}

#[tokio::test]
async fn one_that_cannot_be_opened_is_opened_later() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("history.sqlite");
    std::fs::create_dir_all(file.join("in the way")).unwrap();
    let running = node(folder.path()).await;
    let limit = NamedLimit { name: "a".to_owned(), capacity: 1_u32.into(), max_hold: "1h".into() };
    ask(&running, Call::Declare(limit)).await;
    use_slots(&running, 0..20).await;
    let all = Call::Audit(maitred_api::AuditFields::default());
    let refused = Client::Near(running.clone()).call(&Context::default(), all).await.unwrap_err();
    assert!(refused.message.contains("cannot be opened"), "{refused:?}");
    assert_eq!(number(&running, "maitred_history_in_trouble").await, 1);
    std::fs::remove_dir_all(&file).unwrap();
    within("it is opened", async || number(&running, "maitred_history_lag_records").await == 0).await;
    assert_whole(&running, 20).await;
    assert_eq!(history(&running).await.reach.since, 0);
    running.stop(Duration::from_secs(9)).await;
}
