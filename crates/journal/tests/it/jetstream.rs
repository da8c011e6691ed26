//! The journal in JetStream, on real servers.
#![cfg(feature = "jetstream")]

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use maitred_journal::{
    AppendError, Journal, JournalError, Peer, Position, Snapshot,
    conformance::{Open, Writers, suite},
    jetstream::{JetStream, Settings, drop_journal, move_journal, with_stream},
};
use maitred_testbed::{Nats, NatsCluster};

fn settings(url: &str) -> Settings {
    Settings { keep_ms: 0, ..Settings::parse(url).expect("a good URL") }
}

async fn open(url: &str) -> JetStream {
    JetStream::open(settings(url)).await.expect("a journal that opens")
}

async fn refused(settings: Settings) -> String {
    match JetStream::open(settings).await {
        Ok(_) => panic!("it was opened"),
        Err(error) => error.to_string(),
    }
}

/// Opens a stream of its own each time.
fn fresh(url: impl Fn(&str) -> String) -> impl FnMut() -> Open {
    let count = AtomicU64::new(0);
    move || {
        let url = url(&format!("s{}", count.fetch_add(1, Ordering::Relaxed)));
        Box::new(move || {
            let url = url.clone();
            Box::pin(async move { Box::new(open(&url).await) as Box<dyn Journal> })
        })
    }
}

fn text(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

async fn fill(journal: &mut JetStream, records: std::ops::RangeInclusive<Position>) {
    for position in records {
        let stamp =
            journal.append(position - 1, text(&format!("record {position}"))).await.expect("an append");
        assert_eq!(stamp.position, position);
    }
}

async fn contents(journal: &JetStream) -> Vec<Bytes> {
    let records = journal.archive().read(0, usize::MAX).await.expect("a read");
    records.into_iter().map(|record| record.bytes).collect()
}

/// The context of a client that does as it likes with the streams.
async fn stranger(server: &Nats) -> async_nats::jetstream::Context {
    let client = async_nats::connect(format!("127.0.0.1:{}", server.port())).await.expect("a connection");
    async_nats::jetstream::new(client)
}

#[tokio::test]
async fn one_server_passes_the_suite() {
    let server = Nats::start().expect("a server");
    suite(Writers::Several, fresh(|stream| server.url(stream))).await;
}

#[tokio::test]
async fn a_cluster_passes_the_suite() {
    let cluster = NatsCluster::start().expect("a cluster");
    suite(Writers::Several, fresh(|stream| cluster.url(stream))).await;
}

#[tokio::test]
async fn a_killed_server_comes_back_with_everything() {
    let mut server = Nats::start().expect("a server");
    let mut journal = open(&server.url("limits")).await;
    fill(&mut journal, 1..=20).await;
    server.kill().expect("it is killed");
    let error = journal.append(20, text("record 21")).await.expect_err("nobody is there");
    assert!(matches!(error, AppendError::Unknown(_)), "{error}");
    server.start_again().expect("it starts again");
    let since = Instant::now();
    // The client sends what it could not send: it may be there or not, but once.
    while let Err(error) = journal.append(20, text("record 21")).await {
        if matches!(error, AppendError::Conflict { .. }) {
            break;
        }
        assert!(matches!(error, AppendError::Unknown(_)), "{error}");
        assert!(since.elapsed() < Duration::from_secs(20), "not back: {error}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let found = contents(&journal).await;
    let expected: Vec<Bytes> = (1..=21).map(|position| text(&format!("record {position}"))).collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn an_acknowledgement_that_is_lost_is_unknown_and_read_back() {
    let server = Nats::start().expect("a server");
    let mut journal = open(&server.url("limits")).await;
    fill(&mut journal, 1..=3).await;
    server.pause(true).expect("it is paused");
    let error = journal.append(3, text("record 4")).await.expect_err("no answer");
    assert!(matches!(error, AppendError::Unknown(_)), "{error}");
    server.pause(false).expect("it goes on");
    let record = async {
        loop {
            match journal.archive().read(3, 100).await {
                Ok(records) if !records.is_empty() => return records[0].bytes.clone(),
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(20), record).await.expect("it is there in the end");
    assert_eq!(found, text("record 4"));
    let error = journal.append(3, text("record 4")).await.expect_err("its place is taken, by itself");
    assert!(matches!(error, AppendError::Conflict { expected: 3 }), "{error}");
}

#[tokio::test]
async fn a_stream_that_lost_its_end_is_not_gone_on_with() {
    let server = Nats::start().expect("a server");
    let mut journal = open(&server.url("limits")).await;
    fill(&mut journal, 1..=9).await;
    let streams = stranger(&server).await;
    let config = streams.get_stream("limits").await.expect("the stream").cached_info().config.clone();
    streams.delete_stream("limits").await.expect("it is deleted");
    tokio::time::sleep(Duration::from_millis(300)).await;
    streams.create_stream(config).await.expect("it is made anew");
    let error = journal.archive().read(9, 100).await.expect_err("another stream");
    assert!(matches!(error, JournalError::Lost { .. }), "{error}");
    assert!(error.to_string().contains("made anew"), "{error}");
}

#[tokio::test]
async fn a_server_put_back_to_an_older_state_is_seen_although_the_numbers_fit() {
    let mut server = Nats::start().expect("a server");
    let url = server.url("limits");
    let mut journal = open(&url).await;
    fill(&mut journal, 1..=5).await;
    server.kill().expect("it is killed");
    let older = server.copy_data().expect("a copy");
    server.start_again().expect("it starts again");
    fill_when_back(&mut journal, 6..=8).await;
    server.kill().expect("it is killed");
    server.put_back(&older).expect("it is put back");
    server.start_again().expect("it starts again");
    // A node that knows nothing of the lost records puts others in their places.
    fill_when_back(&mut open(&url).await, 6..=7).await;
    let mut other = open(&url).await;
    let appended = other.append(7, text("another record 8")).await;
    assert!(appended.is_ok(), "{appended:?}");
    let error = loop {
        match journal.append(8, text("record 9")).await {
            Err(AppendError::Unknown(_)) => tokio::time::sleep(Duration::from_millis(50)).await,
            other => break other.expect_err("the record before is another one"),
        }
    };
    assert!(matches!(error, AppendError::Broken(_)), "{error}");
    assert!(error.to_string().contains("record 8 was there and is another one"), "{error}");
    let read = journal.archive().read(8, 100).await.expect_err("neither is it read on");
    assert!(matches!(read, JournalError::Lost { .. }), "{read}");
}

async fn fill_when_back(journal: &mut JetStream, records: std::ops::RangeInclusive<Position>) {
    for position in records {
        let bytes = text(&format!("record {position}"));
        let since = Instant::now();
        while let Err(error) = journal.append(position - 1, bytes.clone()).await {
            if matches!(error, AppendError::Conflict { .. }) {
                break;
            }
            assert!(since.elapsed() < Duration::from_secs(20), "not back: {error}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[tokio::test]
async fn an_end_that_is_gone_is_named() {
    let mut server = Nats::start().expect("a server");
    let mut journal = open(&server.url("limits")).await;
    fill(&mut journal, 1..=5).await;
    server.kill().expect("it is killed");
    let older = server.copy_data().expect("a copy");
    server.start_again().expect("it starts again");
    fill_when_back(&mut journal, 6..=8).await;
    server.kill().expect("it is killed");
    server.put_back(&older).expect("it is put back");
    server.start_again().expect("it starts again");
    let since = Instant::now();
    let error = loop {
        match journal.archive().read(8, 100).await {
            Err(JournalError::Unreachable { .. }) => tokio::time::sleep(Duration::from_millis(100)).await,
            other => break other.expect_err("the end is gone"),
        }
    };
    assert!(matches!(error, JournalError::Lost { .. }), "{error}");
    assert!(error.to_string().contains("it ends before record 8, which was there"), "{error}");
    assert!(since.elapsed() < Duration::from_secs(20), "named within seconds");
}

#[tokio::test]
async fn a_snapshot_beyond_the_end_is_not_gone_on_from() {
    let mut server = Nats::start().expect("a server");
    let url = server.url("limits");
    let mut journal = open(&url).await;
    fill(&mut journal, 1..=5).await;
    let snapshot = Snapshot { position: 5, bytes: text("state at 5") };
    journal.archive().save_snapshot(snapshot).await.expect("a snapshot");
    let streams = stranger(&server).await;
    let config = streams.get_stream("limits").await.expect("the stream").cached_info().config.clone();
    streams.delete_stream("limits").await.expect("it is deleted");
    server.kill().expect("it is killed");
    server.start_again().expect("it starts again");
    stranger(&server).await.create_stream(config).await.expect("it is made anew");
    let mut journal = open(&url).await;
    fill(&mut journal, 1..=2).await;
    let error = loop {
        match journal.archive().read(5, 100).await {
            Err(JournalError::Unreachable { .. }) => tokio::time::sleep(Duration::from_millis(100)).await,
            other => break other.expect_err("the records end before it"),
        }
    };
    assert!(matches!(error, JournalError::Lost { .. }), "{error}");
}

#[tokio::test]
async fn a_record_that_is_missing_is_a_gap() {
    let server = Nats::start().expect("a server");
    let mut journal = open(&server.url("limits")).await;
    fill(&mut journal, 1..=9).await;
    let streams = stranger(&server).await;
    // It cannot be deleted: the stream does not allow it.
    let stream = streams.get_stream("limits").await.expect("the stream");
    stream.delete_message(5).await.expect_err("single records cannot be deleted");
    // What can be done is to purge everything up to there.
    stream.purge().sequence(6).await.expect("a purge");
    let error = journal.archive().read(2, usize::MAX).await.expect_err("gone");
    assert!(matches!(error, JournalError::Trimmed { after: 2, oldest: 6 }), "{error}");
    let records = journal.archive().read(5, usize::MAX).await.expect("what is kept");
    assert_eq!(records.len(), 4);
}

#[tokio::test]
async fn streams_that_may_lose_something_are_refused_unless_that_is_accepted() {
    use async_nats::jetstream::stream::{Config, StorageType};
    let server = Nats::start().expect("a server");
    let streams = stranger(&server).await;
    type Change = fn(&mut Config);
    let changes: [(&str, Change); 6] = [
        ("kept in memory", |config| config.storage = StorageType::Memory),
        ("max_age", |config| config.max_age = Duration::from_secs(3600)),
        ("max_msgs is set", |config| config.max_messages = 1000),
        ("max_bytes drops", |config| {
            config.max_bytes = 1 << 20;
            config.discard = async_nats::jetstream::stream::DiscardPolicy::Old;
        }),
        ("rollups", |config| config.allow_rollup = true),
        ("deny_delete", |config| config.deny_delete = false),
    ];
    drop(open(&server.url("good")).await);
    let good = streams.get_stream("good").await.expect("the stream").cached_info().config.clone();
    for (index, (what, change)) in changes.into_iter().enumerate() {
        let name = format!("weak{index}");
        let mut config =
            Config { name: name.clone(), subjects: vec![format!("{name}.records")], ..good.clone() };
        change(&mut config);
        streams.create_stream(config).await.expect("a weak stream");
        let error = refused(settings(&server.url(&name))).await;
        assert!(error.contains(what) && error.contains("--accept-weaker-durability"), "{what}: {error}");
        let accepted = Settings { accept_weaker_durability: true, ..settings(&server.url(&name)) };
        let notes = JetStream::open(accepted).await.expect("it is accepted").notes();
        assert!(notes.iter().any(|note| note.contains(what)), "{what}: {notes:?}");
    }
    let notes = open(&server.url("good")).await.notes();
    assert!(notes.is_empty(), "{notes:?}");
}

#[tokio::test]
async fn servers_that_acknowledge_before_they_flush_are_refused() {
    let server = Nats::start_with("", "").expect("a server");
    let error = refused(settings(&server.url("limits"))).await;
    assert!(error.contains("acknowledges before it flushes"), "{error}");
    let silent = format!("nats://127.0.0.1:{}/limits", server.port());
    let error = refused(settings(&silent)).await;
    assert!(error.contains("0 of 1 servers have said that they flush"), "{error}");
    let accepted = Settings { accept_weaker_durability: true, ..settings(&silent) };
    let notes = JetStream::open(accepted).await.expect("it is accepted").notes();
    assert!(notes[0].contains("0 of 1 servers"), "{notes:?}");
}

#[tokio::test]
async fn a_strangers_stream_and_a_newer_one_are_left_alone() {
    use async_nats::jetstream::stream::Config;
    let server = Nats::start().expect("a server");
    let streams = stranger(&server).await;
    let made = |name: &str, description: Option<&str>| Config {
        name: name.to_owned(),
        subjects: vec![format!("{name}.records")],
        description: description.map(str::to_owned),
        ..Config::default()
    };
    streams.create_stream(made("theirs", None)).await.expect("a stream");
    streams.create_stream(made("newer", Some("maitred journal, format 2"))).await.expect("a stream");
    let error = JetStream::open(settings(&server.url("theirs"))).await.map(drop).expect_err("not ours");
    assert!(matches!(error, JournalError::Foreign { .. }), "{error}");
    let error = JetStream::open(settings(&server.url("newer"))).await.map(drop).expect_err("newer");
    assert!(matches!(error, JournalError::Newer { found: 2, known: 1, .. }), "{error}");
}

#[tokio::test]
async fn a_stream_with_a_bound_refuses_and_says_so_before() {
    let server = Nats::start().expect("a server");
    let mut journal = open(&format!("{}&max_bytes=1048576", server.url("limits"))).await;
    let mut position = 0;
    let mut was_reserve = false;
    let error = loop {
        match journal.append(position, Bytes::from(vec![7; 50_000])).await {
            Ok(stamp) => position = stamp.position,
            Err(error) => break error,
        }
        let _ = journal.archive().read(position, 1).await;
        was_reserve |= journal.room() == maitred_journal::Room::Reserve;
    };
    assert!(matches!(error, AppendError::Full { bytes: 50_000 }), "{error}");
    assert!(was_reserve && position > 15, "{position} records of 50,000 bytes in 1 MiB");
    assert_eq!(contents(&journal).await.len(), position as usize, "none was dropped");
}

#[tokio::test]
async fn a_journal_is_moved_and_dropped() {
    let server = Nats::start().expect("a server");
    let url = server.url("limits");
    let mut journal = open(&url).await;
    fill(&mut journal, 1..=5).await;
    move_journal(&url, "moved").await.expect("it is moved");
    let error = journal.append(5, text("record 6")).await.expect_err("it is gone");
    assert!(matches!(error, AppendError::Unknown(_)), "{error}");
    let mut moved = open(&with_stream(&url, "moved")).await;
    assert_eq!(contents(&moved).await.len(), 5);
    fill(&mut moved, 6..=7).await;
    drop_journal(&with_stream(&url, "moved")).await.expect("it is dropped");
    drop_journal(&url).await.expect("what is gone is gone");
    use futures_util::TryStreamExt;
    let left: Vec<String> = stranger(&server).await.stream_names().try_collect().await.expect("the streams");
    assert_eq!(left, [""; 0]);
}

#[tokio::test]
async fn processes_meet() {
    let server = Nats::start().expect("a server");
    let url = server.url("limits");
    let (mut one, mut two) = (open(&url).await, open(&url).await);
    let peer = |process, beat| Peer { process, beat, supports: 1 };
    assert!(one.meet(peer(1, 1)).await.expect("a meeting").peers.is_empty());
    let meeting = two.meet(peer(2, 1)).await.expect("a meeting");
    assert_eq!((meeting.head, meeting.peers), (0, vec![peer(1, 1)]));
    fill(&mut one, 1..=3).await;
    assert_eq!(two.meet(peer(2, 2)).await.expect("a meeting").head, 3);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(one.meet(peer(1, 2)).await.expect("a meeting").peers, [peer(2, 1)]);
    assert_eq!(contents(&one).await.len(), 3, "meeting is no record");
}

#[tokio::test]
async fn the_end_is_proven_by_most_of_a_cluster() {
    let cluster = NatsCluster::start().expect("a cluster");
    let mut journal = open(&cluster.url("limits")).await;
    let me = Peer { process: 1, beat: 1, supports: 1 };
    fill(&mut journal, 1..=5).await;
    assert_eq!(journal.meet(me).await.expect("a meeting").head, 5);
    assert_eq!(contents(&journal).await.len(), 5, "a proof changes nothing");
    let own = journal.server_name();
    let others: Vec<_> =
        cluster.servers.iter().enumerate().filter(|(index, _)| own != format!("server-{index}")).collect();
    assert_eq!(others.len(), 2);
    others.iter().for_each(|(_, server)| server.pause(true).expect("it is paused"));
    for _ in 0..3 {
        let error = journal.meet(me).await.expect_err("one of three proves nothing");
        assert!(matches!(error, JournalError::Unreachable { .. }), "{error}");
        // A leader also refuses what comes behind one that it could not agree on yet.
        let error = journal.append(5, text("record 6")).await.expect_err("nor does it acknowledge");
        assert!(matches!(error, AppendError::Unknown(_) | AppendError::Conflict { .. }), "{error}");
    }
    others.iter().for_each(|(_, server)| server.pause(false).expect("it goes on"));
    let since = Instant::now();
    while journal.meet(me).await.is_err() {
        assert!(since.elapsed() < Duration::from_secs(30), "they do not find together again");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
#[ignore = "a measurement"]
async fn speed() {
    let (server, cluster) = (Nats::start().expect("a server"), NatsCluster::start().expect("a cluster"));
    for (name, url) in [("one server", server.url("limits")), ("three servers", cluster.url("limits"))] {
        let mut journal = open(&url).await;
        let begun = Instant::now();
        let mut took = Vec::new();
        for position in 0..2000 {
            let begun = Instant::now();
            journal.append(position, Bytes::from(vec![7; 1000])).await.expect("an append");
            took.push(begun.elapsed().as_micros());
        }
        took.sort_unstable();
        println!(
            "{name}: {:.0} appends/s, {} us median, {} us p99",
            2000.0 / begun.elapsed().as_secs_f64(),
            took[1000],
            took[1980]
        );
        let begun = Instant::now();
        let read = contents(&journal).await.len();
        println!("{name}: {:.0} records/s read", read as f64 / begun.elapsed().as_secs_f64());
        let mut took = Vec::new();
        for beat in 0..500 {
            let begun = Instant::now();
            journal.meet(Peer { process: 1, beat, supports: 1 }).await.expect("a meeting");
            took.push(begun.elapsed().as_micros());
        }
        took.sort_unstable();
        println!("{name}: meet {} us median, {} us p99", took[250], took[495]);
    }
}
