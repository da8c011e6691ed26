//! A clock that may have leapt while nobody was there.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use maitred::{
    Client, Maitred,
    local::{Node, NodeOptions, StartError},
};

use crate::common::MINUTE;

const A_DAY_AND_AN_HOUR_MS: u64 = 25 * 3_600_000;

async fn start(folder: &Path, options: NodeOptions) -> Result<Node, StartError> {
    Node::start(NodeOptions { folder: Some(folder.to_owned()), ..options }).await
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

#[tokio::test]
async fn a_server_of_which_nobody_asked_anything_for_a_day_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let long_ago = start(folder.path(), NodeOptions { manual_clock: true, ..NodeOptions::default() });
    let node = long_ago.await.unwrap();
    node.advance_to(now_ms() - A_DAY_AND_AN_HOUR_MS).await.unwrap();
    let maitred = Maitred::new(Client::Near(node.clone())).unwrap();
    maitred.declare("calls", 1, MINUTE).await.unwrap();
    node.stop(Duration::from_secs(5)).await;

    let refused = start(folder.path(), NodeOptions::default()).await.err().expect("a day may be a leap");
    assert!(refused.to_string().contains("after a server was last there"), "{refused}");
    // What a server that was there all day has written down.
    let file = folder.path().join("awake-until");
    fs::write(&file, format!("{}\n", now_ms() - 1_000)).unwrap();
    let node = start(folder.path(), NodeOptions::default()).await.expect("it was there a second ago");
    let begun = now_ms();
    node.stop(Duration::from_secs(5)).await;
    let until: u64 = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    assert!(until + 1_000 >= begun, "its end at {until} is written down, it began at {begun}");
}
