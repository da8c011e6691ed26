//! Any sequence of commands: engine and model answer alike and look alike after each of them, as in the engine's own judge,
//! whose eyes these are. There chance draws the commands; here the fuzzer does, who looks for those that lead to new code.

#[path = "../../crates/engine/tests/it/judge"]
#[allow(dead_code, reason = "the engine's own tests use more of it")]
mod judge {
    pub mod commanded;
    pub mod commands;
    pub mod compare;
}

use maitred_model::{Step, shrink};

use self::judge::compare::{Defect, play};
use crate::{chance, steps::steps};

/// For the engine's hashes, and for when it goes through a snapshot.
const SEED: u64 = 7;

pub fn run(bytes: &[u8]) {
    let steps = steps(bytes);
    if play(SEED, &steps, Defect::None).is_err() {
        panic!("{}", report(steps));
    }
}

fn report(steps: Vec<Step>) -> String {
    let shortest = shrink(steps, |steps| play(SEED, steps, Defect::None).is_err());
    let lines: Vec<String> = shortest.iter().map(Step::to_string).collect();
    let difference = play(SEED, &shortest, Defect::None).err().unwrap_or_default();
    format!("as short as it gets:\n{}\n{difference}", lines.join("\n"))
}

pub fn seeds() -> Vec<Vec<u8>> {
    (1..=6).map(|seed| chance::bytes(seed, 240)).collect()
}
