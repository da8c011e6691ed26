//! Records of the journal as the library writes them: a birth, or a batch of commands.

use maitred::local::record::{Batch, Body, Entry, effective_at};
use maitred_engine::{Engine, bounds::Bounds, command::Command};

use crate::{
    cast::{STAMP, one_of_each},
    sound,
};

/// Refused with a reason, or read as what is written by exactly these bytes; and then the engine can carry it out.
pub fn run(bytes: &[u8]) {
    match Entry::decode(bytes) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(entry) => {
            assert_eq!(entry.encode(), bytes, "the same record, other bytes: {entry:?}");
            if let Body::Batch(batch) = &entry.body {
                carry_out(batch);
            }
        }
    }
}

fn carry_out(batch: &Batch) {
    let mut engine = Engine::new([1, 2], Bounds::default());
    let (at, _) = effective_at(STAMP, STAMP, batch);
    for command in &batch.commands {
        assert!(command.check_form(), "{command:?}");
        engine.apply(at, command, &mut Vec::new());
    }
    sound::look_at(&mut engine);
}

pub fn seeds() -> Vec<Vec<u8>> {
    let birth = Body::Birth { key: [3, 4], rules: 1 };
    let all = Batch { estimate: Some(STAMP), manual_at: None, digest: Some(7), commands: one_of_each() };
    let timed = Batch { manual_at: Some(STAMP + 1), commands: vec![Command::Advance], ..Batch::default() };
    let singly =
        one_of_each().into_iter().map(|command| Batch { commands: vec![command], ..Batch::default() });
    let bodies = [birth, Body::Batch(all), Body::Batch(timed)].into_iter().chain(singly.map(Body::Batch));
    bodies.map(|body| Entry { writer: 9, before: 5, body }.encode().to_vec()).collect()
}
