//! A history whose disk hangs: somebody holds its file, so every write to it waits, and then fails. The writer does not
//! wait for it, and says how far behind it is.

use std::time::{Duration, Instant};

use maitred::{
    Client,
    local::{Node, NodeOptions},
};
use maitred_api::{AcquireFields, Answer, Call, ConfirmMode, Context, HistoryAnswer, NamedLimit};

const SLOTS: usize = 300;
/// SQLite waits 5 s for a file that somebody else holds; a writer that waited for it would take longer than this.
const NOBODY_WAITED: Duration = Duration::from_secs(4);

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

#[tokio::test]
async fn the_writer_never_waits_for_the_history() {
    let folder = tempfile::tempdir().unwrap();
    let running = node(folder.path()).await;
    let limit = NamedLimit { name: "a".to_owned(), capacity: 1_u32.into(), max_hold: "1h".into() };
    ask(&running, Call::Declare(limit)).await;

    let held = rusqlite::Connection::open(folder.path().join("history.sqlite")).unwrap();
    held.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let began = Instant::now();
    for number in 0..SLOTS {
        let slot = format!("s-{number}");
        let limit = Some("a".to_owned());
        let (slot_id, confirm) = (Some(slot.clone()), ConfirmMode::Auto);
        ask(&running, Call::Acquire(AcquireFields { slot: slot_id, limit, confirm, ..Default::default() }))
            .await;
        ask(&running, Call::Release { slot }).await;
    }
    assert!(began.elapsed() < NOBODY_WAITED, "{:?}", began.elapsed());
    assert!(number(&running, "maitred_history_lag_records").await > 100);
    assert!(running.health().await.ready);
    tokio::time::timeout(Duration::from_secs(20), async {
        while number(&running, "maitred_history_in_trouble").await == 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .expect("the trouble is told");
    let told = history(&running).await.reach;
    assert!(told.trouble.is_some_and(|trouble| trouble.contains("locked")) && told.lag > 100);
    running.stop(Duration::from_secs(9)).await;
    held.execute_batch("COMMIT").unwrap();

    // What could not be written is written at the next start.
    let again = node(folder.path()).await;
    tokio::time::timeout(Duration::from_secs(20), async {
        while history(&again).await.ends.len() < SLOTS {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .expect("the history is whole again");
    again.stop(Duration::from_secs(9)).await;
}
