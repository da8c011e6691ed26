//! Every file of the corpus, through the same functions that the fuzzer calls: what was found once stays fixed.
//!
//! `MAITRED_CORPUS=write` writes what the fuzzer begins with (`seed-…`). Whatever else lies there was found: a crash, or
//! an input that leads to code that no other leads to.

use std::{
    fs,
    panic::catch_unwind,
    path::{Path, PathBuf},
};

use maitred_fuzz::{TARGETS, Target, planted};

/// Small enough to be looked through, and to be replayed by every run of the tests.
const BYTES_MOST: u64 = 64 * 1024;

fn folder(target: &Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name)
}

fn files(target: &Target) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder(target)).unwrap_or_else(|error| panic!("{}: {error}", target.name));
    let mut files: Vec<PathBuf> = listed.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

#[test]
fn nothing_that_was_found_is_found_again() {
    let mut failed = Vec::new();
    for target in TARGETS {
        for file in files(target) {
            let bytes = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            if catch_unwind(|| (target.run)(&bytes)).is_err() {
                failed.push(file.display().to_string());
            }
        }
    }
    assert!(failed.is_empty(), "these fail again; what each said is above:\n{}", failed.join("\n"));
}

#[test]
fn the_corpus_has_the_seeds_and_is_small() {
    let writes = std::env::var("MAITRED_CORPUS").is_ok_and(|value| value == "write");
    for target in TARGETS {
        for (index, bytes) in (target.seeds)().iter().enumerate() {
            let file = folder(target).join(format!("seed-{:02}", index + 1));
            if writes {
                fs::create_dir_all(folder(target)).expect("a folder");
                fs::write(&file, bytes).expect("a file");
            }
            let written = fs::read(&file).unwrap_or_default();
            assert!(
                written == *bytes,
                "{}: not as it would be written; MAITRED_CORPUS=write",
                file.display()
            );
        }
        let size: u64 =
            files(target).iter().map(|file| fs::metadata(file).map_or(0, |about| about.len())).sum();
        assert!(size <= BYTES_MOST, "{}: {size} bytes; at most {BYTES_MOST}", target.name);
    }
}

/// What the fuzzer must find on its own.
#[test]
fn the_planted_fault_is_one() {
    planted::run(b"barging?");
    assert!(catch_unwind(|| planted::run(b"barging!")).is_err());
}
