//! How long a start takes: a million commands to be replayed, each a record of its own, and a start from the snapshot
//! that was made of them. Cold: the system is told to forget the files it has read, and every start has a fresh copy.

use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, Instant},
};

use bytes::Bytes;
use maitred::local::record::{Batch, Body, Entry, hash};
use maitred_engine::{
    RULES_MAX,
    command::{Command, Verb},
};
use maitred_journal::{Journal, Local, Options};
use rustix::fs::{Advice, fadvise};
use tokio::runtime::Runtime;

use super::Family;
use crate::{
    commands::{acquire, admit, declare, numbered_id, plain, release, request_id, with_id},
    figure::{Figure, Target, Trouble, check, wrong},
    ids::{Chance, now_ms},
    pairs::Spread,
    process::Maitred,
    report::Report,
    scene::Scene,
};

pub const FAMILY: Family = Family {
    name: "restart",
    figures: &[
        Figure {
            name: "replay_million_s",
            unit: "s",
            target: Target::AtMost(3.0),
            what: "from the start of the process until it takes calls: a million commands, one a record, no snapshot, cold",
        },
        Figure {
            name: "start_with_snapshot_s",
            unit: "s",
            target: Target::AtMost(1.0),
            what: "the same with a snapshot of those and 49,000 records behind it, cold",
        },
    ],
    run,
};

const LIMITS: u64 = 100;
const KEYS: u64 = 10_000;
/// A snapshot is made every 50,000 records, so more than this never lie behind one.
const BEHIND: u64 = 49_000;
const SNAPSHOT_WITHIN: Duration = Duration::from_secs(60);

fn run(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let commands = if scene.quick { 100_000 } else { 1_000_000 };
    let folder = scene.scratch()?;
    let (written, copy) = (folder.path().join("written"), folder.path().join("copy"));
    Book::begin(&written)?.write(commands)?;
    let replays = starts(scene, &written, &copy, commands)?;
    report.put("replay_million_s", replays);

    with_snapshot(scene, &copy)?;
    fs::remove_dir_all(&written)?;
    fs::rename(&copy, &written)?;
    Book::go_on(&written)?.write(BEHIND)?;
    report.put("start_with_snapshot_s", starts(scene, &written, &copy, commands + BEHIND)?);
    Ok(())
}

/// Starts on fresh copies; the last copy is left as the last start left it.
fn starts(scene: &Scene, written: &Path, copy: &Path, records: u64) -> Result<Spread, Trouble> {
    let mut seconds = Vec::new();
    for _ in 0..scene.repetitions() {
        let _ = fs::remove_dir_all(copy);
        copied(written, copy)?;
        forget(copy)?;
        let begin = Instant::now();
        let maitred = Maitred::start_again(scene, copy)?;
        seconds.push(begin.elapsed().as_secs_f64());
        let revision = maitred.counter("maitred_revision")?;
        check(revision >= records as f64, || {
            format!("{records} records were written, and it stands at {revision}")
        })?;
    }
    Ok(Spread::of(seconds))
}

/// Lets a server run on the folder until it has made a snapshot and filled the history, then stops it.
fn with_snapshot(scene: &Scene, folder: &Path) -> Result<(), Trouble> {
    let maitred = Maitred::start_again(scene, folder)?;
    let since = Instant::now();
    while !has_snapshot(&folder.join("data/journal"))? {
        check(since.elapsed() < SNAPSHOT_WITHIN, || format!("no snapshot within {SNAPSHOT_WITHIN:?}"))?;
        std::thread::sleep(Duration::from_millis(50));
    }
    maitred.process.end()
}

fn has_snapshot(journal: &Path) -> Result<bool, Trouble> {
    let mut names = fs::read_dir(journal)?.flatten().map(|entry| entry.file_name());
    Ok(names.any(|name| name.to_string_lossy().ends_with(".snap")))
}

fn copied(from: &Path, to: &Path) -> Result<(), Trouble> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copied(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}

/// What the system has read of these files is read from the disk again.
fn forget(folder: &Path) -> Result<(), Trouble> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            forget(&path)?;
            continue;
        }
        let file = File::open(path)?;
        file.sync_all()?;
        fadvise(&file, 0, None, Advice::DontNeed).map_err(|error| wrong("fadvise")(&error))?;
    }
    Ok(())
}

/// A journal as the server would have written it for one caller after the other: each command is a record.
struct Book {
    journal: Local,
    runtime: Runtime,
    before: u128,
    chance: Chance,
    slots: u64,
    began_at: u64,
}

impl Book {
    fn open(folder: &Path) -> Result<Book, Trouble> {
        fs::create_dir_all(folder.join("data"))?;
        let journal = Local::open(&folder.join("data/journal"), Options::new([1; 16]));
        Ok(Book {
            journal: journal.map_err(|error| wrong("journal")(&error))?,
            runtime: tokio::runtime::Builder::new_current_thread().build()?,
            before: 0,
            chance: Chance(3),
            slots: 0,
            began_at: now_ms(),
        })
    }

    fn begin(folder: &Path) -> Result<Book, Trouble> {
        let mut book = Book::open(folder)?;
        fs::write(folder.join("maitred.toml"), crate::process::limits_toml(LIMITS, 1_000))?;
        book.record(Body::Birth { key: [1, 2], rules: RULES_MAX })?;
        for limit in 0..LIMITS {
            book.command(plain(declare(limit, 1_000)))?;
        }
        Ok(book)
    }

    /// Behind what is there already.
    fn go_on(folder: &Path) -> Result<Book, Trouble> {
        let mut book = Book::open(folder)?;
        let head = book.journal.head();
        let mut archive = book.journal.archive();
        let last = book.runtime.block_on(archive.read(head - 1, 1)).map_err(|error| wrong("read")(&error))?;
        book.before = hash(&last.last().ok_or_else(|| "the last record is not there".to_owned())?.bytes);
        Ok(book)
    }

    /// Acquire, admit, release, admit, with request ids on half; about fifty slots are held at any time.
    fn write(mut self, commands: u64) -> Result<(), Trouble> {
        for number in 0..commands {
            let (slot, at) = (self.slots, self.began_at);
            let older = numbered_id(slot.saturating_sub(50), at);
            let verb = match number % 4 {
                0 => Verb::Acquire(acquire(&numbered_id(slot, at), self.chance.below(LIMITS))),
                2 => release(&older),
                _ => admit(self.chance.below(KEYS)),
            };
            let id = (number / 4 % 2 == 0).then(|| request_id(number, at));
            self.command(with_id(id, verb))?;
            self.slots += u64::from(number % 4 == 3);
        }
        self.runtime.block_on(self.journal.sync()).map_err(|error| wrong("sync")(&error))?;
        Ok(())
    }

    fn command(&mut self, command: Command) -> Result<(), Trouble> {
        let batch = Batch { estimate: Some(now_ms()), commands: vec![command], ..Batch::default() };
        self.record(Body::Batch(batch))
    }

    fn record(&mut self, body: Body) -> Result<(), Trouble> {
        let bytes: Bytes = Entry { writer: 7, before: self.before, body }.encode();
        self.before = hash(&bytes);
        let head = self.journal.head();
        let appended = self.runtime.block_on(self.journal.append(head, bytes));
        appended.map(drop).map_err(|error| wrong("append")(&error))
    }
}
