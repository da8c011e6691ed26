//! Data folders: verified, backed up, restored.

use std::path::Path;

use maitred::{
    Client,
    local::{Node, NodeOptions},
};
use maitred_api::{AcquireFields, Answer, Call, ConfirmMode, Context, HistoryAnswer, NamedLimit, SlotState};

use super::stage::{Done, command, done};

fn maitred(args: &[&str]) -> Done {
    done(command("http://127.0.0.1:1", args).output().unwrap())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().unwrap()
}

async fn node(folder: &Path) -> Node {
    Node::start(NodeOptions { folder: Some(folder.to_owned()), ..NodeOptions::default() }).await.unwrap()
}

async fn call(node: &Node, call: Call) -> Answer {
    Client::Near(node.clone()).call(&Context::default(), call).await.unwrap()
}

/// The history, once it has taken all that the journal has.
async fn caught_up(node: &Node) -> HistoryAnswer {
    loop {
        let all = Call::History { limit: None, slot: None, run: None, label: None, before: None, most: None };
        match call(node, all).await {
            Answer::History(history) if history.reach.lag == 0 => return history,
            Answer::History(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
            other => panic!("{other:?}"),
        }
    }
}

/// A folder in which `voice` was declared, by a node that has stopped.
fn kept() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let node = node(folder.path()).await;
        let (capacity, max_hold) = (3u64.into(), "10m".into());
        call(&node, Call::Declare(NamedLimit { name: "voice".to_owned(), capacity, max_hold })).await;
        node.stop(std::time::Duration::from_secs(9)).await;
    });
    folder
}

#[test]
fn a_backup_is_whole_and_a_server_starts_on_it() {
    let folder = kept();
    let data = folder.path().to_str().unwrap();
    let verified = maitred(&["verify", data, "--json"]).json();
    assert!(verified["records"].as_u64() >= Some(2), "{verified}");
    assert_eq!(verified["warnings"].as_array().map(Vec::len), Some(0));

    let outside = tempfile::tempdir().unwrap();
    let copy = outside.path().join("monday");
    let to = copy.to_str().unwrap();
    let copied = maitred(&["backup", to, "--data", data, "--json"]).json();
    assert_eq!((&copied["records"], &copied["head"]), (&verified["records"], &verified["head"]));
    assert!(copy.join("history.sqlite").exists() && !copy.join("tokens.json").exists());
    maitred(&["backup", to, "--data", data]).fails(
        5,
        &format!(
            "error: {to} is there already\n  name a folder that is not there yet; nothing is written over\n"
        ),
    );
    runtime().block_on(async {
        let node = node(&copy).await;
        let answer = call(&node, Call::Limit { limit: "voice".to_owned() }).await;
        assert!(matches!(answer, Answer::Limit(limit) if limit.limit.capacity == 3));
        node.stop(std::time::Duration::from_secs(9)).await;
    });
}

#[test]
fn a_folder_in_use_is_refused_and_damage_is_named() {
    let folder = kept();
    let data = folder.path().to_str().unwrap();
    runtime().block_on(async {
        let node = node(folder.path()).await;
        let refused = maitred(&["verify", data]);
        assert_eq!(refused.status, 5, "{refused:?}");
        assert!(refused.stderr.contains("make a backup and verify that"), "{refused:?}");
        node.stop(std::time::Duration::from_secs(9)).await;
    });

    let journal = folder.path().join("journal");
    let segment = std::fs::read_dir(&journal).unwrap().map(|entry| entry.unwrap().path());
    let segment = segment.into_iter().find(|path| path.to_str().unwrap().contains("segment-")).unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    let last = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    let middle = 512 + (last - 512) / 3;
    bytes[middle] ^= 0x40;
    std::fs::write(&segment, bytes).unwrap();
    let damaged = maitred(&["verify", data]);
    assert_eq!((damaged.status, damaged.stdout.as_str()), (1, ""), "{damaged:?}");
    assert!(damaged.stderr.contains("segment-"), "{damaged:?}");
    assert_eq!(maitred(&["verify", "/nonexistent"]).status, 3);

    let to = folder.path().join("copy");
    let copied = maitred(&["backup", to.to_str().unwrap(), "--data", data]);
    assert_eq!((copied.status, to.exists()), (1, false), "{copied:?}");
    assert!(copied.stderr.contains("segment-"), "{copied:?}");
    assert_eq!(maitred(&["backup", to.to_str().unwrap(), "--data", "/nonexistent"]).status, 3);
}

/// A backup of a server that goes on: what was answered before it began is in it, slots and history.
#[test]
fn a_running_server_is_backed_up_and_the_copy_serves() {
    let folder = kept();
    let outside = tempfile::tempdir().unwrap();
    let running = runtime();
    let node = running.block_on(node(folder.path()));
    let writing = running.spawn({
        let node = node.clone();
        async move {
            for number in 0.. {
                let slot = format!("w-{number}");
                let fields = AcquireFields {
                    slot: Some(slot.clone()),
                    limit: Some("voice".to_owned()),
                    ..Default::default()
                };
                call(&node, Call::Acquire(fields)).await;
                call(&node, Call::Release { slot }).await;
            }
        }
    });
    for day in ["monday", "tuesday", "wednesday"] {
        let slot = format!("held-{day}");
        let fields = AcquireFields {
            slot: Some(slot.clone()),
            limit: Some("voice".to_owned()),
            confirm: ConfirmMode::Auto,
            ..Default::default()
        };
        running.block_on(call(&node, Call::Acquire(fields)));
        let copy = outside.path().join(day);
        let backup =
            maitred(&["backup", copy.to_str().unwrap(), "--data", folder.path().to_str().unwrap(), "--json"]);
        assert_eq!(backup.status, 0, "{backup:?}");
        assert_eq!(maitred(&["verify", copy.to_str().unwrap()]).status, 0);
        running.block_on(async {
            let restored = self::node(&copy).await;
            let answer = call(&restored, Call::Slot { slot, wait: Default::default() }).await;
            assert!(
                matches!(&answer, Answer::Slot(found) if found.slot.state != SlotState::Unknown),
                "{answer:?}"
            );
            assert!(!caught_up(&restored).await.ends.is_empty());
            restored.stop(std::time::Duration::from_secs(9)).await;
        });
    }
    writing.abort();
    running.block_on(node.stop(std::time::Duration::from_secs(9)));
}
