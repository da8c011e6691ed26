//! The journal that fails on purpose, and the store in memory under it.

use std::sync::Arc;

use bytes::Bytes;
use maitred_journal::{
    AppendError, Faulty, Journal, ManualClock, Memory, MemoryJournal, Record, Room, Snapshot, Trouble,
};

fn shared() -> Memory {
    Memory::shared(Arc::new(ManualClock::new(42)))
}

fn text(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

async fn contents(memory: &Memory) -> Vec<Bytes> {
    let records = memory.journal().archive().read(0, usize::MAX).await.expect("a read");
    records.into_iter().map(|record| record.bytes).collect()
}

fn scripted(memory: &Memory, call: u64, trouble: Trouble) -> Faulty<MemoryJournal> {
    Faulty::scripted(memory.journal(), vec![(call, trouble)])
}

#[tokio::test]
async fn definite_refusals_write_nothing() {
    for trouble in [Trouble::Conflict, Trouble::Full] {
        let memory = shared();
        let mut journal = scripted(&memory, 1, trouble);
        let error = journal.append(0, text("a")).await.expect_err("trouble");
        assert!(
            matches!(error, AppendError::Conflict { expected: 0 } | AppendError::Full { bytes: 1 }),
            "{error}"
        );
        assert_eq!(contents(&memory).await, [""; 0]);
        journal.append(0, text("a")).await.expect("no more trouble");
        assert_eq!((contents(&memory).await, journal.troubles_met()), (vec![text("a")], 1));
    }
}

#[tokio::test]
async fn unknown_may_be_written_or_not() {
    for (trouble, there) in [(Trouble::UnknownWritten, 1), (Trouble::UnknownLost, 0)] {
        let memory = shared();
        let mut journal = scripted(&memory, 1, trouble);
        let error = journal.append(0, text("a")).await.expect_err("trouble");
        assert!(matches!(error, AppendError::Unknown(_)), "{error}");
        assert_eq!(contents(&memory).await.len(), there, "{trouble:?}");
    }
}

#[tokio::test]
async fn a_late_record_lands_before_the_next_one() {
    let memory = shared();
    let mut journal = scripted(&memory, 1, Trouble::UnknownLate { calls: 1 });
    journal.append(0, text("late")).await.expect_err("trouble");
    assert_eq!(contents(&memory).await, [""; 0], "read back too early");
    let error = journal.append(0, text("next")).await.expect_err("its place is taken");
    assert!(matches!(error, AppendError::Conflict { expected: 0 }), "{error}");
    assert_eq!(contents(&memory).await, [text("late")]);
}

#[tokio::test]
async fn a_late_record_finds_its_place_taken() {
    let memory = shared();
    let mut journal = scripted(&memory, 1, Trouble::UnknownLate { calls: 2 });
    journal.append(0, text("late")).await.expect_err("trouble");
    journal.append(0, text("next")).await.expect("the place is free");
    journal.sync().await.expect("a sync");
    assert_eq!(contents(&memory).await, [text("next")]);
}

#[tokio::test]
async fn a_crash_loses_what_was_not_synced() {
    let memory = Memory::local(Arc::new(ManualClock::new(42)));
    let store = memory.clone();
    let mut journal = scripted(&memory, 4, Trouble::Crash).on_crash(move || store.lose_unsynced());
    journal.append(0, text("kept")).await.expect("an append");
    journal.sync().await.expect("a sync");
    journal.append(1, text("lost")).await.expect("an append");
    journal.sync().await.expect_err("the crash");
    assert!(matches!(journal.append(2, text("more")).await, Err(AppendError::Broken(_))), "broken for ever");
    let mut again = memory.journal();
    assert_eq!((again.head(), contents(&memory).await), (1, vec![text("kept")]));
    again.append(1, text("new")).await.expect("an append after the restart");
}

#[tokio::test]
async fn the_same_seed_is_the_same_trouble() {
    let run = async |seed| {
        let memory = shared();
        let harmless = [Trouble::Conflict, Trouble::UnknownWritten, Trouble::UnknownLate { calls: 2 }];
        let mut journal = Faulty::seeded(memory.journal(), seed, 30, &harmless);
        for _ in 0..100 {
            let head = memory.journal().head();
            let _ = journal.append(head, Bytes::from(format!("behind {head}"))).await;
        }
        (journal.troubles_met(), contents(&memory).await)
    };
    let (met, found) = run(7).await;
    assert!((10..60).contains(&met) && found.len() > 50, "{met} troubles, {} records", found.len());
    assert_eq!(run(7).await, (met, found.clone()));
    assert_ne!(run(8).await.1, found);
}

#[tokio::test]
async fn memory_outlives_its_handles_and_tells_the_time_of_its_clock() {
    let clock = ManualClock::new(5);
    let memory = Memory::shared(Arc::new(clock.clone()));
    memory.journal().append(0, text("a")).await.expect("an append");
    clock.set(3);
    memory.journal().append(1, text("b")).await.expect("behind what another handle wrote");
    let records = memory.journal().archive().read(0, 100).await.expect("a read");
    let expected =
        [(1, 5, text("a")), (2, 3, text("b"))].map(|(position, at, bytes)| Record { position, at, bytes });
    assert_eq!(records, expected);
}

#[tokio::test]
async fn memory_can_be_full() {
    let memory = shared();
    memory.set_room(1000);
    let mut journal = memory.journal();
    let mut archive = journal.archive();
    for after in 0..9 {
        assert_eq!(journal.room(), Room::Ample);
        journal.append(after, Bytes::from(vec![1; 101])).await.expect("there is room");
    }
    assert_eq!(journal.room(), Room::Reserve);
    journal.append(9, text("a release")).await.expect("the reserve");
    let full = journal.append(10, Bytes::from(vec![1; 101])).await.expect_err("full");
    assert!(matches!(full, AppendError::Full { bytes: 101 }), "{full}");
    for position in [9, 10] {
        archive.save_snapshot(Snapshot { position, bytes: Bytes::new() }).await.expect("a snapshot");
    }
    archive.trim(10).await.expect("a trim");
    assert_eq!(journal.room(), Room::Ample);
    journal.append(10, Bytes::from(vec![1; 101])).await.expect("room again");
}
