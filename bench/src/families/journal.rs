//! The journal against the bare disk: an append behind the last one into a file that is there already, and one
//! `fdatasync`, of the same bytes. Nothing that promises durability on that disk can be faster with one flush a batch.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::Path,
    time::{Duration, Instant},
};

use bytes::Bytes;
use maitred_journal::{Journal, Local, Options};
use tokio::runtime::Runtime;

use super::Family;
use crate::{
    figure::{Figure, Target, Trouble, check, wrong},
    pairs::{Pairs, in_turn, quantile},
    report::Report,
    scene::Scene,
};

pub const FAMILY: Family = Family {
    name: "journal",
    figures: &[
        Figure {
            name: "journal_vs_raw_64",
            unit: "ratio",
            target: Target::AtLeast(0.8),
            what: "synced batches of 64 commands a second, against a bare append + fdatasync of the same bytes",
        },
        Figure {
            name: "journal_vs_raw_256",
            unit: "ratio",
            target: Target::AtLeast(0.8),
            what: "the same with batches of 256",
        },
        Figure {
            name: "journal_p99_vs_raw_256",
            unit: "times",
            target: Target::AtMost(3.0),
            what: "99th percentile of those, against that of the bare disk",
        },
        Figure {
            name: "journal_p50_vs_fdatasync",
            unit: "times",
            target: Target::AtMost(2.0),
            what: "one client, one command a record: median append + sync, against a 4 KiB write + fdatasync",
        },
    ],
    run,
};

/// What a command takes with an id of 36 characters, a name and a label.
const COMMAND_BYTES: usize = 100;
const SEGMENT_BYTES: u64 = 64 << 20;

fn run(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let folder = scene.scratch()?;
    let mut raw = RawDisk::on(folder.path())?;
    let mut journal = Synced::on(&folder.path().join("journal"))?;
    for (name, commands) in [("journal_vs_raw_64", 64), ("journal_vs_raw_256", 256)] {
        let bytes = Bytes::from(vec![7; commands * COMMAND_BYTES]);
        let turn = scene.short_turn();
        let (ours, theirs) =
            in_turn(scene.many_repetitions(), || journal.turn(&bytes, turn), || raw.turn(&bytes, turn))?;
        let rates = |turns: &[Turn]| turns.iter().map(|turn| turn.per_s).collect();
        report.put_pairs(name, &Pairs::of(rates(&ours), rates(&theirs)));
        if commands == 256 {
            let p99s = |turns: &[Turn]| turns.iter().map(|turn| turn.p99_us).collect();
            report.put_pairs("journal_p99_vs_raw_256", &Pairs::of(p99s(&ours), p99s(&theirs)));
        }
    }
    let (one, page) = (Bytes::from(vec![7; COMMAND_BYTES]), [7; 4096]);
    let turn = scene.short_turn();
    let (ours, theirs) =
        in_turn(scene.many_repetitions(), || journal.turn(&one, turn), || raw.turn(&page, turn))?;
    let p50s = |turns: &[Turn]| turns.iter().map(|turn| turn.p50_us).collect();
    report.put_pairs("journal_p50_vs_fdatasync", &Pairs::of(p50s(&ours), p50s(&theirs)));
    Ok(())
}

/// What one side did in its turn.
pub struct Turn {
    pub per_s: f64,
    pub p50_us: f64,
    pub p99_us: f64,
}

fn timed(time: Duration, mut once: impl FnMut() -> Result<(), Trouble>) -> Result<Turn, Trouble> {
    let (begin, mut took) = (Instant::now(), Vec::new());
    while begin.elapsed() < time {
        let since = Instant::now();
        once()?;
        took.push(since.elapsed().as_secs_f64() * 1e6);
    }
    let per_s = took.len() as f64 / begin.elapsed().as_secs_f64();
    took.sort_by(f64::total_cmp);
    Ok(Turn { per_s, p50_us: quantile(&took, 0.5), p99_us: quantile(&took, 0.99) })
}

/// The yardstick: a file whose blocks are there and flushed, written front to back and over again.
pub struct RawDisk {
    file: File,
    offset: u64,
}

impl RawDisk {
    pub fn on(folder: &Path) -> Result<RawDisk, Trouble> {
        let file = File::create_new(folder.join("raw"))?;
        let zeroes = vec![0; 1 << 20];
        for step in 0..SEGMENT_BYTES >> 20 {
            file.write_all_at(&zeroes, step << 20)?;
        }
        file.sync_all()?;
        Ok(RawDisk { file, offset: 0 })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        if self.offset + bytes.len() as u64 > SEGMENT_BYTES {
            self.offset = 0;
        }
        self.file.write_all_at(bytes, self.offset)?;
        self.offset += bytes.len() as u64;
        Ok(self.file.sync_data()?)
    }

    pub fn turn(&mut self, bytes: &[u8], time: Duration) -> Result<Turn, Trouble> {
        timed(time, || self.append(bytes))
    }
}

/// The local journal, every append synced.
pub struct Synced {
    journal: Local,
    runtime: Runtime,
}

impl Synced {
    pub fn on(folder: &Path) -> Result<Synced, Trouble> {
        let journal = Local::open(folder, Options::new([1; 16])).map_err(|error| wrong("journal")(&error))?;
        Ok(Synced { journal, runtime: tokio::runtime::Builder::new_current_thread().build()? })
    }

    pub fn turn(&mut self, bytes: &Bytes, time: Duration) -> Result<Turn, Trouble> {
        let before = self.journal.durable();
        let mut appended = 0;
        let turn = timed(time, || {
            appended += 1;
            self.append(bytes)
        })?;
        let durable = self.journal.durable() - before;
        check(durable == appended, || format!("{appended} records were appended and {durable} are durable"))?;
        Ok(turn)
    }

    fn append(&mut self, bytes: &Bytes) -> Result<(), Trouble> {
        let head = self.journal.head();
        let journal = &mut self.journal;
        self.runtime.block_on(async {
            journal.append(head, bytes.clone()).await.map_err(|error| wrong("append")(&error))?;
            journal.sync().await.map_err(|error| wrong("sync")(&error))?;
            Ok(())
        })
    }
}
