//! Every scenario file of the repository, on a node in this process, on a journal on a disk, and over HTTP on the
//! real binary.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use maitred::FarOptions;
use maitred_server::scenario::{Report, Stage, play_file, play_text};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    assert!(files.len() > 100, "only {} scenario files were found", files.len());
    files
}

async fn play(files: &[PathBuf], stage: &Stage) {
    let mut failed = Vec::new();
    for file in files {
        let report = play_file(file, stage).await;
        let lines = fs::read_to_string(file).unwrap();
        let commands =
            lines.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).count();
        if !report.passed() || report.lines != commands {
            failed.push(report);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[tokio::test]
async fn every_file_in_memory() {
    play(&files(), &Stage::Memory).await;
}

/// Those whose process is killed on the way, on a journal whose files a kill leaves behind.
#[tokio::test]
async fn every_restart_on_a_disk() {
    let restarts =
        |file: &PathBuf| fs::read_to_string(file).unwrap().lines().any(|line| line.contains(" restart"));
    let files: Vec<PathBuf> = files().into_iter().filter(restarts).collect();
    assert!(!files.is_empty());
    let folder = tempfile::tempdir().unwrap();
    play(&files, &Stage::Folder(folder.path().to_owned())).await;
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a journal was left behind");
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn every_file_on_postgres() {
    let server = maitred_testbed::Postgres::start().unwrap();
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port());
    play(&files(), &Stage::Shared { url }).await;
    let left =
        server.sql("SELECT count(*) FROM information_schema.schemata WHERE schema_name LIKE 'scenario%'");
    assert_eq!(left.unwrap(), "0", "a journal was left behind");
}

#[cfg(feature = "jetstream")]
#[tokio::test]
async fn every_file_on_nats() {
    let server = maitred_testbed::Nats::start().unwrap();
    play(&files(), &Stage::Shared { url: server.url("limits") }).await;
    assert_eq!(server.streams().unwrap(), 0, "a journal was left behind");
}

#[tokio::test]
async fn every_file_over_http() {
    let server = Server::start();
    play(&files(), &Stage::Server { url: server.url.clone(), options: FarOptions::default() }).await;
}

/// The real binary, killed when dropped. What it keeps is no matter here, so it keeps nothing.
struct Server {
    child: Child,
    url: String,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Server {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_maitred"))
            .args(["dev", "--clock", "manual", "--listen", "127.0.0.1:0", "--log", "error"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let url = first.split_whitespace().find(|word| word.starts_with("http://"));
        Server {
            url: url.unwrap_or_else(|| panic!("no address in {first:?}")).to_owned(),
            child,
            _folder: folder,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn report(text: &str) -> Report {
    play_text("story.txt", text, &Stage::Memory).await
}

#[tokio::test]
async fn a_line_that_differs_is_named_with_what_came() {
    let text = "0s declare l capacity=1 max_hold=1m => ok\n\n0s acquire l slot=a => busy\n1s show l => limit busy=1\n";
    let report = report(text).await;
    assert!(!report.passed());
    let told: Vec<(usize, &str, &str, &str)> = report
        .differ
        .iter()
        .map(|d| {
            (d.line, d.command.as_str(), d.expected.as_str(), d.came.split(" overridden").next().unwrap())
        })
        .collect();
    assert_eq!(
        told,
        [
            (3, "acquire l slot=a", "busy", "reserved"),
            (4, "show l", "limit busy=1", "limit capacity=1 max_hold=1m busy=0 reserved=1 waiting=0"),
        ]
    );
    assert_eq!(report.lines, 3);
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_not_played() {
    let report = report("0s declare l capacity=1 max_hold=1m\n1s sing l\n").await;
    assert_eq!(report.lines, 0);
    assert!(report.trouble.unwrap().starts_with("story.txt:2:4: `sing` is not a verb; allowed: declare"));
}

/// The line of an older question must not end the wait of a newer one, and a slot asked for twice is one slot.
#[tokio::test]
async fn an_auto_slot_asked_for_again_stays_on_the_line() {
    let text = "0s declare l capacity=1 max_hold=10m => ok\n\
                0s acquire l slot=a confirm=auto => busy\n\
                0s acquire l slot=b confirm=auto => queued 1\n\
                1s acquire l slot=b confirm=auto => queued 1\n\
                1s acquire l slot=b => error conflict\n\
                2s restart => ok\n\
                2s acquire l slot=b confirm=auto => queued 1\n\
                3s release a => released\n\
                3s slot b => busy\n\
                3s show l => limit busy=1 waiting=0\n";
    let report = report(text).await;
    assert!(report.passed(), "{report:#?}");
}

/// The player is no limiter of its own: what is only in the process is gone after a restart.
#[tokio::test]
async fn time_goes_on_where_it_was_after_a_restart() {
    let text = "0s declare l capacity=1 max_hold=1m => ok\n\
                0s acquire l slot=a confirm=auto => busy\n\
                59s999ms restart => ok\n\
                59s999ms slot a => busy\n\
                1m slot a => expired\n";
    let report = report(text).await;
    assert!(report.passed(), "{report:#?}");
}
