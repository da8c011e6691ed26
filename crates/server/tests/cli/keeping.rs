//! Data folders: verified, backed up, restored.

use std::path::Path;

use maitred::{
    Client,
    local::{Node, NodeOptions},
};
use maitred_api::{Answer, Call, Context, NamedLimit};

use crate::stage::{Done, command, done};

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
    let outside = tempfile::tempdir().unwrap();
    let to = outside.path().join("copy");
    runtime().block_on(async {
        let node = node(folder.path()).await;
        let backup = maitred(&["backup", to.to_str().unwrap(), "--data", data]);
        assert_eq!(backup.status, 5, "{backup:?}");
        assert!(backup.stderr.contains("stop the server first") && !to.exists(), "{backup:?}");
        assert_eq!(maitred(&["verify", data]).status, 5);
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
}
