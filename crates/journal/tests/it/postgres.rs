//! The journal on a real PostgreSQL that the tests start themselves.
#![cfg(feature = "postgres")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use maitred_journal::{
    AppendError, Journal, JournalError, Peer, Snapshot,
    conformance::{Open, Writers, suite},
    postgres::{self, PostgresJournal, PostgresOptions},
};
use maitred_testbed::Postgres;

async fn open(url: &str) -> PostgresJournal {
    postgres::open(PostgresOptions::new(url)).await.expect("a journal that opens")
}

fn record(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

const ME: Peer = Peer { process: 1, beat: 1, supports: 1 };

#[tokio::test]
async fn conforms() {
    let server = Postgres::start().expect("a server");
    let schemas = AtomicU32::new(0);
    suite(Writers::Several, || {
        let url = server.url(&format!("journal_{}", schemas.fetch_add(1, Ordering::Relaxed)));
        let opens: Open = Box::new(move || {
            let options = PostgresOptions { kept: Duration::ZERO, ..PostgresOptions::new(&url) };
            Box::pin(async move {
                let journal = postgres::open(options).await.expect("a journal that opens");
                Box::new(journal) as Box<dyn Journal>
            })
        });
        opens
    })
    .await;
}

#[tokio::test]
async fn a_server_that_may_forget_is_refused_unless_somebody_says_so() {
    let server = Postgres::start_with(&["synchronous_commit=off"]).expect("a server");
    let options = PostgresOptions::new(server.url("weak"));
    let refused = postgres::open(options.clone()).await.err().expect("a refusal").to_string();
    assert!(
        refused.contains("synchronous_commit is off") && refused.contains("--accept-weaker"),
        "{refused}"
    );
    let journal = postgres::open(PostgresOptions { accept_weaker_durability: true, ..options }).await;
    let notes = journal.expect("accepted").notes();
    assert!(notes[0].contains("synchronous_commit is off"), "{notes:?}");
}

/// Whatever is taken away or put in another's place behind the journal's back has a name.
#[tokio::test]
async fn what_was_lost_is_named() {
    let server = Postgres::start().expect("a server");
    let url = server.url("named");
    let mut journal = open(&url).await;
    for (after, text) in [(0, "one"), (1, "two"), (2, "three"), (3, "four")] {
        journal.append(after, record(text)).await.expect("an append");
    }
    let mut archive = journal.archive();
    assert_eq!(archive.read(0, 1000).await.expect("all of it").len(), 4);

    server.sql("UPDATE named.records SET bytes = 'other' WHERE position = 3").expect("a wound");
    let damaged = archive.read(1, 1000).await.expect_err("damage");
    assert!(matches!(&damaged, JournalError::Damaged { what, .. } if what.contains("record 3")), "{damaged}");

    server.sql("UPDATE named.records SET bytes = 'three' WHERE position = 3").expect("healed");
    server.sql("DELETE FROM named.records WHERE position = 3").expect("a gap");
    let gap = archive.read(2, 1000).await.expect_err("a gap");
    assert!(
        matches!(&gap, JournalError::Damaged { what, .. } if what.contains("record 3 is missing")),
        "{gap}"
    );

    server.sql("DELETE FROM named.records WHERE position >= 3").expect("a lost end");
    for lost in [archive.read(4, 1000).await.expect_err("lost"), journal.meet(ME).await.expect_err("lost")] {
        assert!(matches!(&lost, JournalError::Lost { what, .. } if what.contains("ends at 2")), "{lost}");
    }
    let refused = journal.append(4, record("five")).await.expect_err("nothing goes on top of it");
    assert!(matches!(refused, AppendError::Conflict { expected: 4 }), "{refused}");

    // Another node, which knows nothing of it, goes on: the place is taken, and by another record.
    let mut other = open(&url).await;
    for (after, text) in [(2, "drei"), (3, "vier"), (4, "five")] {
        other.append(after, record(text)).await.expect("an append of somebody who knows nothing");
    }
    let forked = archive.read(4, 1000).await.expect_err("another history");
    assert!(
        matches!(&forked, JournalError::Lost { what, .. } if what.contains("is another one")),
        "{forked}"
    );
    let forked = journal.meet(ME).await.expect_err("another history");
    assert!(
        matches!(&forked, JournalError::Lost { what, .. } if what.contains("is another one")),
        "{forked}"
    );
}

#[tokio::test]
async fn a_journal_that_was_made_anew_is_another_one() {
    let server = Postgres::start().expect("a server");
    let url = server.url("anew");
    let mut journal = open(&url).await;
    journal.append(0, record("one")).await.expect("an append");
    postgres::drop_journal(&url).await.expect("dropped");
    let mut other = open(&url).await;
    other.append(0, record("one")).await.expect("the same record, in another journal");
    let forked = journal.meet(ME).await.expect_err("another beginning");
    assert!(matches!(&forked, JournalError::Lost { .. }), "{forked}");
    server
        .sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'maitred'")
        .expect("cut");
    let mut archive = journal.archive();
    let lost = archive.read(1, 1000).await.expect_err("another journal");
    assert!(matches!(&lost, JournalError::Lost { what, .. } if what.contains("another journal")), "{lost}");
}

#[tokio::test]
async fn foreign_tables_and_newer_ones_are_refused() {
    let server = Postgres::start().expect("a server");
    server.sql("CREATE SCHEMA taken; CREATE TABLE taken.records (id integer)").expect("tables of somebody");
    let foreign = postgres::open(PostgresOptions::new(server.url("taken"))).await.err().expect("a refusal");
    assert!(matches!(foreign, JournalError::Foreign { .. }), "{foreign}");
    open(&server.url("newer")).await;
    server.sql("UPDATE newer.about SET format = 7").expect("from the future");
    let newer = postgres::open(PostgresOptions::new(server.url("newer"))).await.err().expect("a refusal");
    assert!(matches!(newer, JournalError::Newer { found: 7, known: 1, .. }), "{newer}");
}

/// Sessions are ended at every moment of an append: each is told as done, or as not known, and reading tells the rest.
#[tokio::test]
async fn an_append_whose_session_is_ended_is_done_or_not_known() {
    let server = Postgres::start().expect("a server");
    let url = server.url("cut");
    let mut journal = open(&url).await;
    let end =
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'maitred'";
    let (mut after, mut unknown, mut landed) = (0, 0, 0);
    let server = Arc::new(server);
    let over = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let killer = std::thread::spawn({
        let (server, over) = (Arc::clone(&server), Arc::clone(&over));
        move || {
            while !over.load(Ordering::Relaxed) {
                server.sql(end).expect("sessions ended");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    });
    for round in 0..400_u64 {
        let bytes = Bytes::from(format!("record {round}"));
        match journal.append(after, bytes.clone()).await {
            Ok(stamp) => after = stamp.position,
            Err(AppendError::Unknown(_)) => {
                unknown += 1;
                let behind = read_back(&journal, after).await;
                if let [found] = &behind[..] {
                    assert_eq!(found.bytes, bytes);
                    (landed, after) = (landed + 1, found.position);
                }
            }
            Err(other) => panic!("{other}"),
        }
    }
    over.store(true, Ordering::Relaxed);
    killer.join().expect("the killer");
    assert!(unknown > 0, "no session was ended during an append");
    println!("{unknown} appends not known, {landed} of them had landed");
    assert_eq!(open(&url).await.head(), after);
}

/// Until it is reached: the session that reads is ended too.
async fn read_back(journal: &PostgresJournal, after: u64) -> Vec<maitred_journal::Record> {
    let mut archive = journal.archive();
    loop {
        match archive.read(after, 1000).await {
            Ok(records) => return records,
            Err(JournalError::Unreachable { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn a_server_that_is_away_is_unreachable_and_comes_back() {
    let mut server = Postgres::start().expect("a server");
    let mut journal = open(&server.url("away")).await;
    journal.append(0, record("one")).await.expect("an append");
    server.kill().expect("killed");
    let gone = journal.meet(ME).await.expect_err("nobody is there");
    assert!(matches!(gone, JournalError::Unreachable { .. }), "{gone}");
    assert!(matches!(journal.append(1, record("two")).await, Err(AppendError::Unknown(_))));
    server.start_again().expect("back");
    assert_eq!(journal.meet(ME).await.expect("a meeting").head, 1);
    journal.append(1, record("two")).await.expect("an append");
    server.pause(true).expect("stopped where it is");
    let paused = journal.append(2, record("three")).await.expect_err("no answer");
    assert!(matches!(paused, AppendError::Unknown(_)), "{paused}");
    server.pause(false).expect("goes on");
    append_behind_all(&mut journal, 2, record("four")).await;
    let found: Vec<Bytes> = read_back(&journal, 2).await.into_iter().map(|record| record.bytes).collect();
    assert!(found == [record("four")] || found == [record("three"), record("four")], "{found:?}");
}

/// What was not answered may land until something else stands in its place: then it is a conflict, and read again.
async fn append_behind_all(journal: &mut PostgresJournal, known: u64, bytes: Bytes) {
    loop {
        let after = read_back(journal, known).await.last().map_or(known, |record| record.position);
        match journal.append(after, bytes.clone()).await {
            Ok(_) => return,
            Err(AppendError::Conflict { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

/// What a standby has not been sent is lost with its primary: whoever knew it says so.
#[tokio::test]
async fn a_standby_without_the_end_is_noticed() {
    let mut primary = Postgres::start().expect("a server");
    let both = |standby: &Postgres| {
        let (one, two) = (primary.port(), standby.port());
        format!("postgres://postgres@127.0.0.1:{one},127.0.0.1:{two}/postgres?schema=fail")
    };
    let mut first = open(&primary.url("fail")).await;
    first.append(0, record("one")).await.expect("an append");
    let standby = primary.standby().expect("a standby");
    let mut journal = open(&both(&standby)).await;
    standby.stop_following().expect("it lags");
    journal.append(1, record("two")).await.expect("acknowledged by the primary alone");
    primary.kill().expect("killed");
    standby.promote().expect("promoted");
    let lost = journal.meet(ME).await.expect_err("the end is not there");
    assert!(matches!(&lost, JournalError::Unreachable { .. } | JournalError::Lost { .. }), "{lost}");
    let lost = journal.meet(ME).await.expect_err("the end is not there");
    assert!(matches!(&lost, JournalError::Lost { what, .. } if what.contains("ends at 1")), "{lost}");
}

#[tokio::test]
async fn one_process_claims_a_snapshot() {
    let server = Postgres::start().expect("a server");
    let url = server.url("claims");
    let (mut one, two) = (open(&url).await, open(&url).await);
    for after in 0..200 {
        one.append(after, record("x")).await.expect("an append");
    }
    let (mut first, mut second) = (one.archive(), two.archive());
    assert!(first.claim_snapshot(100, 50).await.expect("a claim"));
    assert!(!second.claim_snapshot(103, 50).await.expect("no claim"));
    first.save_snapshot(Snapshot { position: 100, bytes: record("state") }).await.expect("a snapshot");
    assert!(!second.claim_snapshot(140, 50).await.expect("no claim"));
    assert!(second.claim_snapshot(150, 50).await.expect("the next"));
}

#[tokio::test]
async fn processes_meet() {
    let server = Postgres::start().expect("a server");
    let url = server.url("meet");
    let (mut one, mut two) = (open(&url).await, open(&url).await);
    let of = |process: u64, beat: u64| Peer { process, beat, supports: 3 };
    assert_eq!(one.meet(of(u64::MAX, 1)).await.expect("a meeting").peers, []);
    let met = two.meet(of(7, 1)).await.expect("a meeting");
    assert_eq!((met.head, met.peers), (0, vec![of(u64::MAX, 1)]));
    two.append(0, record("one")).await.expect("an append");
    let met = one.meet(of(u64::MAX, 2)).await.expect("a meeting");
    assert_eq!((met.head, met.peers), (1, vec![of(7, 1)]));
}
