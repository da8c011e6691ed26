//! The suite that every journal passes, for those of this crate.

use std::sync::Arc;

use maitred_journal::{
    Faulty, Journal, Local, Making, ManualClock, Memory, Options, SimDisk, SystemClock,
    conformance::{Open, Writers, suite},
};

/// Opens what the function makes, anew each time.
fn opens<J: Journal + 'static>(mut make: impl FnMut() -> J + Send + 'static) -> Open {
    Box::new(move || {
        let journal: Box<dyn Journal> = Box::new(make());
        Box::pin(std::future::ready(journal))
    })
}

#[tokio::test]
async fn memory_of_one_writer() {
    suite(Writers::One, || {
        let memory = Memory::local(Arc::new(SystemClock));
        opens(move || memory.journal())
    })
    .await;
}

#[tokio::test]
async fn memory_of_several_writers() {
    suite(Writers::Several, || {
        let memory = Memory::shared(Arc::new(SystemClock));
        opens(move || memory.journal())
    })
    .await;
}

#[tokio::test]
async fn local_on_a_simulated_disk() {
    suite(Writers::One, || {
        let disk = SimDisk::new(1);
        opens(move || {
            let clock = Arc::new(ManualClock::new(5));
            let options = Options {
                segment_bytes: 1 << 20,
                making: Making::InForeground,
                clock,
                ..Options::new([7; 16])
            };
            Local::open_on(Arc::new(disk.clone()), options).expect("a journal that opens")
        })
    })
    .await;
}

#[tokio::test]
async fn local_in_a_folder() {
    suite(Writers::One, || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        opens(move || {
            let options = Options { segment_bytes: 1 << 20, ..Options::new([7; 16]) };
            Local::open(&folder.path().join("journal"), options).expect("a journal that opens")
        })
    })
    .await;
}

#[tokio::test]
async fn faulty_without_a_fault() {
    suite(Writers::Several, || {
        let memory = Memory::shared(Arc::new(SystemClock));
        opens(move || Faulty::scripted(memory.journal(), Vec::new()))
    })
    .await;
}
