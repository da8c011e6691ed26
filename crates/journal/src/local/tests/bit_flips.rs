//! Every single bit of every file of a small journal is flipped.
//!
//! The answer is a refusal, or the same content, or, if no later entry attests the last group of records, the
//! content without that group. It is never another content.

use super::run::{Run, Truth, now, number};
use crate::{Journal, JournalError, Position, SimDisk, chance::Chance};

#[derive(Debug, Default)]
struct Counts {
    refused: u64,
    same: u64,
    tail_lost: u64,
}

type Files = Vec<(String, Vec<u8>)>;

/// A small journal with two snapshots and several segments, its truth, and what an attestation covers.
fn small_journal(attested: bool) -> (Files, Truth, Position) {
    let seed = number("MAITRED_SEED", 3);
    let (disk, run) = (SimDisk::new(seed), Run::of_segments(4096));
    run.play(&disk, &mut Chance::new(seed), 30).expect("nothing fails here");
    let mut journal = run.open(&disk).expect("a journal that opens");
    run.truth().go_on_from(journal.head());
    let (before, mut covered) = (journal.head(), journal.head());
    // A mark numbers this opening, so all before is attested; the record behind it is not.
    now(journal.append(before, run.truth().push_text("the last one"))).expect("an append");
    now(journal.sync()).expect("a sync");
    if attested {
        now(journal.attest()).expect("an attestation");
        covered = journal.head();
    }
    let mut truth = run.truth().clone();
    truth.promised = journal.head();
    (disk.files(), truth, covered)
}

fn disk_of(files: &Files) -> SimDisk {
    let disk = SimDisk::new(1);
    files.iter().for_each(|(name, bytes)| disk.put(name, bytes));
    disk
}

/// Opens the journal with one bit flipped and says what became of it.
fn flip(files: &Files, truth: &Truth, covered: Position, counts: &mut Counts) -> Result<(), String> {
    let mut truth = truth.clone();
    let whole = truth.promised;
    // Reading must not lose anything that was attested; what else is wrong, `judge` tells.
    truth.promised = covered;
    let disk = disk_of(files);
    match truth.open(&disk) {
        Err(JournalError::Io { place, source }) => return Err(format!("{place}: {source}")),
        Err(_) => counts.refused += 1,
        Ok(journal) => match truth.judge(&mut *journal.archive()) {
            Ok(head) if head == whole => counts.same += 1,
            Ok(_) => counts.tail_lost += 1,
            // The damage is met when the records are read: that is a refusal too.
            Err(error) if error.starts_with("behind") => counts.refused += 1,
            Err(error) => return Err(error),
        },
    }
    Ok(())
}

fn flip_every_bit(attested: bool) -> Result<Counts, String> {
    let (mut files, truth, covered) = small_journal(attested);
    let mut counts = Counts::default();
    for file in 0..files.len() {
        // The other files have nothing that an attestation changes.
        if attested && !files[file].0.starts_with("segment") {
            continue;
        }
        for bit in 0..files[file].1.len() * 8 {
            files[file].1[bit / 8] ^= 1 << (bit % 8);
            flip(&files, &truth, covered, &mut counts)
                .map_err(|error| format!("{}, byte {}, bit {}: {error}", files[file].0, bit / 8, bit % 8))?;
            files[file].1[bit / 8] ^= 1 << (bit % 8);
        }
    }
    Ok(counts)
}

#[test]
fn no_flipped_bit_makes_another_content() {
    let counts = flip_every_bit(false).unwrap_or_else(|violation| panic!("{violation}"));
    println!("the last record not attested: {counts:?}");
    assert!(counts.refused > 1000 && counts.tail_lost > 100, "the flips met hardly anything: {counts:?}");
}

#[test]
fn an_attested_journal_loses_nothing_to_a_flipped_bit() {
    let counts = flip_every_bit(true).unwrap_or_else(|violation| panic!("{violation}"));
    println!("the last record attested: {counts:?}");
    assert!(counts.refused > 1000 && counts.tail_lost == 0, "{counts:?}");
}
