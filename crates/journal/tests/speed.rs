//! How much of the bare disk the local journal leaves: `cargo test --release -- --ignored --nocapture speed`.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    time::{Duration, Instant},
};

use bytes::Bytes;
use maitred_journal::{Journal, Local, Options};

const CELL: Duration = Duration::from_millis(400);
const PAIRS: usize = 15;
const COMMAND_BYTES: usize = 100;
const SEGMENT_BYTES: u64 = 64 << 20;

/// Flushed writes a second into a file that is there already, one behind the other.
fn bare(file: &File, bytes: &[u8]) -> f64 {
    let (begin, mut offset, mut count) = (Instant::now(), 0, 0);
    while begin.elapsed() < CELL {
        file.write_all_at(bytes, offset).expect("a write");
        file.sync_data().expect("a flush");
        offset += bytes.len() as u64;
        if offset + bytes.len() as u64 > SEGMENT_BYTES {
            offset = 0;
        }
        count += 1;
    }
    f64::from(count) / begin.elapsed().as_secs_f64()
}

/// Synced appends a second.
async fn journal(journal: &mut Local, bytes: &Bytes) -> f64 {
    let (begin, mut count) = (Instant::now(), 0);
    while begin.elapsed() < CELL {
        journal.append(journal.head(), bytes.clone()).await.expect("an append");
        journal.sync().await.expect("a sync");
        count += 1;
    }
    f64::from(count) / begin.elapsed().as_secs_f64()
}

fn zeroed(folder: &std::path::Path) -> File {
    let path = folder.join("bare");
    let file = File::create_new(path).expect("a file");
    let zeroes = vec![0; 1 << 20];
    for step in 0..SEGMENT_BYTES >> 20 {
        file.write_all_at(&zeroes, step << 20).expect("a write");
        file.sync_data().expect("a flush");
    }
    file
}

#[tokio::test]
#[ignore = "a measurement"]
async fn speed() {
    // Beside the build, since a temporary folder may be in memory.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary folder");
    let file = zeroed(folder.path());
    let mut local = Local::open(&folder.path().join("journal"), Options::new([1; 16])).expect("a journal");
    for commands in [64, 256] {
        let bytes = Bytes::from(vec![7; commands * COMMAND_BYTES]);
        let mut ratios = Vec::new();
        let mut bare_rates = Vec::new();
        for _ in 0..PAIRS {
            let bare = bare(&file, &bytes);
            ratios.push(journal(&mut local, &bytes).await / bare);
            bare_rates.push(bare);
        }
        ratios.sort_by(f64::total_cmp);
        bare_rates.sort_by(f64::total_cmp);
        println!(
            "{commands} commands a batch: {:.2} of the bare disk ({:.2} to {:.2}), which does {:.0} flushes a second",
            ratios[PAIRS / 2],
            ratios[0],
            ratios[PAIRS - 1],
            bare_rates[PAIRS / 2]
        );
    }
}
