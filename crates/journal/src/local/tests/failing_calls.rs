//! Every call to the disk fails once, in every way, and for ever.

use super::run::{Run, SEGMENT_BYTES, number};
use crate::{Fault, SimDisk, Survivors, chance::Chance};

const KINDS: [(Fault, bool); 7] = [
    (Fault::Io, false),
    (Fault::Io, true),
    (Fault::Full, false),
    (Fault::Full, true),
    (Fault::Short, false),
    (Fault::Short, true),
    // For ever would be for ever: an interrupted call is tried again.
    (Fault::Interrupted, false),
];

#[derive(Debug, Default)]
struct Met {
    calls: u64,
    runs: u64,
    faults: u64,
    ended: u64,
}

/// Plays the run with a fault at call `k`; what it leaves must be right, after a kill and after a loss of power.
fn play(
    seed: u64,
    records: u64,
    k: u64,
    (fault, sticky): (Fault, bool),
    met: &mut Met,
) -> Result<(), String> {
    let disk = SimDisk::new(seed);
    disk.fail(k, fault, sticky);
    let run = Run::of_segments(SEGMENT_BYTES);
    let ended = run.play(&disk, &mut Chance::new(seed), records);
    met.runs += 1;
    met.faults += disk.faults_met();
    met.ended += u64::from(ended.is_err());
    let harmless = matches!(fault, Fault::Short | Fault::Interrupted);
    if let (true, Err(error)) = (harmless, &ended) {
        return Err(format!("a short or interrupted call ended the run: {error}"));
    }
    let truth = run.truth().clone();
    truth.judge_disk(&disk.kill()).map_err(|error| format!("after a kill: {error}"))?;
    go_on(&run, &disk.kill(), k).map_err(|error| format!("after a kill and a cut: {error}"))?;
    for survivors in [Survivors::None, Survivors::All, Survivors::Some(k), Survivors::Some(k + 1_000_000)] {
        truth.judge_disk(&disk.cut(survivors)).map_err(|error| format!("after {survivors:?}: {error}"))?;
    }
    Ok(())
}

/// Another process goes on with what the kernel still has; then the power fails too.
fn go_on(run: &Run, disk: &SimDisk, seed: u64) -> Result<(), String> {
    let next = run.fork();
    next.play(disk, &mut Chance::new(seed), 3).map_err(|error| format!("refused: {error}"))?;
    let truth = next.truth();
    for survivors in [Survivors::None, Survivors::Some(seed)] {
        truth.judge_disk(&disk.cut(survivors))?;
    }
    Ok(())
}

/// Plays the run of this seed with every kind of fault at every call.
fn fail_every_call(seed: u64, records: u64, met: &mut Met) -> Result<(), String> {
    let whole = SimDisk::new(seed);
    Run::of_segments(SEGMENT_BYTES)
        .play(&whole, &mut Chance::new(seed), records)
        .expect("nothing fails here");
    met.calls += whole.calls();
    for kind in KINDS {
        for k in 1..=whole.calls() {
            play(seed, records, k, kind, met)
                .map_err(|error| format!("MAITRED_SEED={seed}: {kind:?} at call {k}: {error}"))?;
        }
    }
    Ok(())
}

#[test]
fn no_failing_call_loses_what_was_promised() {
    let (first_seed, seeds) = (number("MAITRED_SEED", 1), number("MAITRED_SEEDS", 2));
    let mut met = Met::default();
    for seed in first_seed..first_seed + seeds {
        fail_every_call(seed, 100, &mut met).unwrap_or_else(|violation| panic!("{violation}"));
    }
    println!("{met:?}");
    assert!(met.faults > met.runs / 2 && met.ended > met.runs / 10, "the faults met hardly anything");
}
