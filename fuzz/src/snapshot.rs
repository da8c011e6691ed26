//! Snapshots of the engine.

use maitred_engine::{Engine, bounds::Bounds};

use crate::{cast::furnished, sound};

/// Refused with a reason, or the snapshot of exactly the engine that is made of it: which can be read from every side, and
/// goes on.
pub fn run(bytes: &[u8]) {
    match Engine::restore(bytes) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(mut engine) => {
            assert_eq!(engine.snapshot(), bytes, "another snapshot");
            look_around(&engine);
            sound::look_at(&mut engine);
        }
    }
}

/// What is listed is what is counted.
fn look_around(engine: &Engine) {
    let (mut limits, mut runs, now) = (0, 0, engine.now());
    for namespace in engine.namespaces() {
        let ns = namespace.as_str();
        for limit in engine.limits(ns, None, usize::MAX) {
            let name = limit.limit.as_str();
            assert_eq!(engine.queue(ns, name, 0, usize::MAX).len(), limit.waiting as usize);
            let held = limit.busy_slots + limit.reserved_slots;
            assert_eq!(engine.holders(ns, name, 0, usize::MAX).len(), held as usize);
            limits += 1;
        }
        runs += engine.runs(ns, 0, usize::MAX).0.len();
        engine.keys(now, ns, 0, usize::MAX);
    }
    let stats = engine.stats();
    // Limits that are gone and runs that hold nothing more are not listed.
    assert!(limits <= stats.limits && runs <= stats.runs as usize, "more is listed than there is");
}

pub fn seeds() -> Vec<Vec<u8>> {
    let mut engine = furnished();
    let begun = engine.snapshot();
    engine.apply(engine.now() + 120_000, &maitred_engine::command::Command::Advance, &mut Vec::new());
    vec![Engine::new([1, 2], Bounds::default()).snapshot(), begun, engine.snapshot()]
}
