//! What must be true of an engine whatever it was given.

use maitred_engine::{Engine, command::Command, event::Event, outcome::Outcome, time::Millis};

const LONG_MS: Millis = 400 * 24 * 3_600_000;
/// So many due instants are looked at, each on its own.
const DUE_LOOKED_AT: usize = 8;

/// Its snapshot can be read, is the snapshot of what is read, and goes on as it does itself.
pub(crate) fn look_at(engine: &mut Engine) {
    let bytes = engine.snapshot();
    let mut copy =
        Engine::restore(&bytes).unwrap_or_else(|error| panic!("its own snapshot is refused: {error}"));
    assert_eq!(copy.snapshot(), bytes, "the snapshot of a snapshot");
    assert_eq!((copy.next_due(), copy.stats()), (engine.next_due(), engine.stats()));
    for _ in 0..DUE_LOOKED_AT {
        let Some(due) = engine.next_due() else { break };
        assert!(due > engine.now(), "due at {due}, and it is {}", engine.now());
        both(engine, &mut copy, due);
    }
    let later = engine.now().saturating_add(LONG_MS);
    both(engine, &mut copy, later);
    assert_eq!(engine.state_digest(), copy.state_digest(), "the copy went another way");
}

fn both(engine: &mut Engine, copy: &mut Engine, at: Millis) {
    let (mut events, mut copied) = (Vec::new(), Vec::new());
    let outcomes = [apply(engine, at, &mut events), apply(copy, at, &mut copied)];
    assert_eq!(outcomes, [Outcome::Done, Outcome::Done]);
    assert_eq!(events, copied, "what the two tell");
    assert!(events.is_sorted_by_key(|event| event.at), "events out of the order of time");
}

fn apply(engine: &mut Engine, at: Millis, events: &mut Vec<Event>) -> Outcome {
    engine.apply(at, &Command::Advance, events)
}
