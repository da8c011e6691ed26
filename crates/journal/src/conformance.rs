//! What every journal must do, as a suite: `conformance::suite` is run for each of them.
//!
//! The checks panic with what they saw. Each one begins on a fresh store, and opens it through a function that can
//! open the same store again, after the handle before it has been dropped.

use std::time::Duration;

use bytes::Bytes;

use crate::{
    Answer, AppendError, Archive, Journal, JournalError, Position, RECORD_BYTES_MAX, Record, Snapshot,
};

/// Opens one store: again after a drop, and for several handles at once if it is shared.
pub type Open = Box<dyn FnMut() -> Answer<'static, Box<dyn Journal>> + Send>;

/// Whether several handles may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    One,
    Several,
}

/// Runs every check; `fresh` makes an empty store each time.
pub async fn suite(writers: Writers, mut fresh: impl FnMut() -> Open) {
    an_empty_journal(fresh()).await;
    order_and_contents(fresh()).await;
    a_conflict_leaves_nothing(fresh()).await;
    only_durable_records_are_read(fresh()).await;
    sizes(fresh()).await;
    reads_are_bounded(fresh()).await;
    an_archive_on_another_thread(fresh()).await;
    snapshots_newest_of_two(fresh()).await;
    trim_keeps_what_is_needed(fresh()).await;
    reopening(fresh()).await;
    if writers == Writers::Several {
        writers_compete(fresh()).await;
        a_writer_hears_of_others(fresh()).await;
    }
}

async fn an_empty_journal(mut open: Open) {
    let mut journal = open().await;
    assert_eq!(journal.head(), 0, "the head of an empty journal");
    assert_eq!(journal.sync().await.expect("a sync with nothing to do"), 0);
    journal.attest().await.expect("an attestation of nothing");
    let mut archive = journal.archive();
    assert_eq!(archive.read(0, 1000).await.expect("a read of nothing"), []);
    assert_eq!(archive.snapshot().await.expect("no snapshot"), None);
    archive.trim(0).await.expect("a trim of nothing");
}

async fn order_and_contents(mut open: Open) {
    let mut journal = open().await;
    let written = fill(&mut *journal, 0, 300).await;
    assert_eq!(journal.head(), 300);
    assert_eq!(read_all(&mut *journal.archive(), 0).await, written, "what is read is what was appended");
    let behind = read_all(&mut *journal.archive(), 123).await;
    assert_eq!(behind, written[123..], "a read from the middle");
    assert_eq!(journal.archive().read(300, 1000).await.expect("a read at the end"), []);
}

async fn a_conflict_leaves_nothing(mut open: Open) {
    let mut journal = open().await;
    let written = fill(&mut *journal, 0, 3).await;
    for after in [0, 2, 4, 1000] {
        let error = journal.append(after, Bytes::from_static(b"no")).await.expect_err("it is not the head");
        assert!(matches!(error, AppendError::Conflict { expected } if expected == after), "{error}");
    }
    assert_eq!(journal.sync().await.expect("a sync after conflicts"), 3);
    assert_eq!(read_all(&mut *journal.archive(), 0).await, written, "a refused append left something");
    fill(&mut *journal, 3, 1).await;
}

async fn only_durable_records_are_read(mut open: Open) {
    let mut journal = open().await;
    fill(&mut *journal, 0, 2).await;
    let mut archive = journal.archive();
    journal.append(2, Bytes::from_static(b"third")).await.expect("an append at the head");
    assert_eq!(journal.head(), 3, "the head counts what is not yet durable");
    // A store may be durable at once, but nothing may be shown before it is.
    let early = read_all(&mut *archive, 0).await.len();
    assert!(early == 2 || early == 3, "{early} records of 3");
    assert_eq!(journal.sync().await.expect("a sync"), 3);
    assert_eq!(read_all(&mut *archive, 0).await.len(), 3, "what is synced is read");
}

async fn sizes(mut open: Open) {
    let mut journal = open().await;
    for (index, size) in [0, 1, 511, 512, 4096, 70_000, RECORD_BYTES_MAX, 0].into_iter().enumerate() {
        let bytes = Bytes::from(vec![index as u8 + 1; size]);
        journal.append(index as Position, bytes).await.expect("an append of any size");
    }
    journal.sync().await.expect("a sync");
    let records = read_all(&mut *journal.archive(), 0).await;
    let sizes: Vec<_> = records.iter().map(|record| record.bytes.len()).collect();
    assert_eq!(sizes, [0, 1, 511, 512, 4096, 70_000, RECORD_BYTES_MAX, 0]);
    for record in records {
        assert!(
            record.bytes.iter().all(|&byte| u64::from(byte) == record.position),
            "record {}",
            record.position
        );
    }
}

async fn reads_are_bounded(mut open: Open) {
    let mut journal = open().await;
    for after in 0..10 {
        journal.append(after, Bytes::from(vec![7; 100])).await.expect("an append");
    }
    journal.sync().await.expect("a sync");
    let mut archive = journal.archive();
    for (bytes_max, expected) in [(0, 1), (99, 1), (100, 1), (250, 2), (300, 3), (100_000, 10)] {
        let read = archive.read(0, bytes_max).await.expect("a read").len();
        assert_eq!(read, expected, "records of 100 bytes in {bytes_max}");
    }
}

async fn an_archive_on_another_thread(mut open: Open) {
    let mut journal = open().await;
    let mut archive = journal.archive();
    let reader = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let mut seen = Vec::new();
            while seen.len() < 500 {
                seen.extend(
                    archive.read(seen.len() as Position, 5000).await.expect("a read beside the writer"),
                );
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
            seen
        })
    });
    let written = fill(&mut *journal, 0, 500).await;
    // The writer waits without holding up the reader, which has a runtime of its own.
    assert_eq!(reader.join().expect("the reader ends"), written);
}

async fn snapshots_newest_of_two(mut open: Open) {
    let mut journal = open().await;
    fill(&mut *journal, 0, 30).await;
    let mut archive = journal.archive();
    for position in [10, 20, 30] {
        archive.save_snapshot(snapshot_at(position)).await.expect("a snapshot");
        let newest = archive.snapshot().await.expect("the newest").expect("there is one");
        assert_eq!(newest, snapshot_at(position));
    }
    archive.save_snapshot(snapshot_at(30)).await.expect("the same again");
    let other = journal.archive().snapshot().await.expect("through another handle");
    assert_eq!(other, Some(snapshot_at(30)));
}

async fn trim_keeps_what_is_needed(mut open: Open) {
    let mut journal = open().await;
    let mut written = Vec::new();
    let mut archive = journal.archive();
    for round in 0..10 {
        written.extend(fill(&mut *journal, round * 100, 100).await);
        archive.save_snapshot(snapshot_at(round * 100 + 50)).await.expect("a snapshot");
        archive.trim(round * 100 + 50).await.expect("a trim");
    }
    // The older of the two snapshots is of 850.
    assert_eq!(read_all(&mut *archive, 850).await, written[850..], "records that the older snapshot needs");
    match archive.read(0, 1000).await {
        Ok(records) => assert_eq!(records[0], written[0], "a journal may keep what is not needed"),
        Err(JournalError::Trimmed { after: 0, oldest }) => {
            assert!((2..=851).contains(&oldest), "the oldest is {oldest}");
            assert_eq!(archive.read(oldest - 1, 1).await.expect("the oldest record")[0].position, oldest);
        }
        Err(error) => panic!("a read of what was trimmed: {error}"),
    }
}

async fn reopening(mut open: Open) {
    let mut written = Vec::new();
    for round in 0..3 {
        let mut journal = open().await;
        assert_eq!(journal.head(), round * 20, "the head after opening again");
        let mut archive = journal.archive();
        assert_eq!(read_all(&mut *archive, 0).await, written, "what was synced is there again");
        written.extend(fill(&mut *journal, round * 20, 20).await);
        if round == 1 {
            archive.save_snapshot(snapshot_at(33)).await.expect("a snapshot");
            journal.attest().await.expect("an attestation");
        }
    }
    let snapshot = open().await.archive().snapshot().await.expect("the snapshot after opening again");
    assert_eq!(snapshot, Some(snapshot_at(33)));
}

async fn writers_compete(mut open: Open) {
    let (mut one, mut two) = (open().await, open().await);
    one.append(0, Bytes::from_static(b"one")).await.expect("the first");
    one.sync().await.expect("a sync");
    let refused = two.append(0, Bytes::from_static(b"two")).await.expect_err("the place is taken");
    assert!(matches!(refused, AppendError::Conflict { expected: 0 }), "{refused}");
    let seen = read_all(&mut *two.archive(), 0).await;
    assert_eq!(seen.len(), 1, "the loser reads what won");
    two.append(1, Bytes::from_static(b"two")).await.expect("behind what it has read");
    two.sync().await.expect("a sync");
    assert_eq!(read_all(&mut *one.archive(), 0).await.len(), 2);
}

async fn a_writer_hears_of_others(mut open: Open) {
    let (mut one, mut two) = (open().await, open().await);
    let other = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        two.append(0, Bytes::from_static(b"news")).await.expect("an append");
        two.sync().await.expect("a sync");
    };
    let hears = async {
        // It may come early, as a hint.
        while read_all(&mut *one.archive(), 0).await.is_empty() {
            one.changed().await;
        }
    };
    let both = async { tokio::join!(other, hears) };
    tokio::time::timeout(Duration::from_secs(30), both).await.expect("the news within 30 s");
}

/// Appends so many records behind `after` and syncs now and then, at last once more.
async fn fill(journal: &mut dyn Journal, after: Position, count: u64) -> Vec<Record> {
    let mut written = Vec::new();
    for position in after + 1..=after + count {
        let bytes = Bytes::from(format!("record {position} ").repeat((position % 17) as usize));
        let stamp = journal.append(position - 1, bytes.clone()).await.expect("an append at the head");
        assert_eq!(stamp.position, position);
        written.push(Record { position, at: stamp.at, bytes });
        if position.is_multiple_of(7) {
            assert_eq!(journal.sync().await.expect("a sync"), position);
        }
    }
    assert_eq!(journal.sync().await.expect("a sync"), after + count);
    written
}

async fn read_all(archive: &mut dyn Archive, after: Position) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let behind = records.last().map_or(after, |record| record.position);
        let more = archive.read(behind, 2000).await.expect("a read");
        let Some(first) = more.first() else { return records };
        assert_eq!(first.position, behind + 1, "a gap");
        records.extend(more);
    }
}

fn snapshot_at(position: Position) -> Snapshot {
    Snapshot { position, bytes: Bytes::from(format!("state at {position} ").repeat(100)) }
}
