//! Every state that two nodes, two limits and three callers can bring the engine into, up to so many.
//!
//! # Worked example
//! ```text
//! cast `two limits`: x wants a and b, y wants a, z wants b and waits on a line
//! state 0      a and b declared, nobody there
//! state 1 ...  from state 0 by each move that there is: x acquires, y acquires, z acquires on node 1's line, on node
//!              2's, a's capacity becomes 2, time goes on to what is due, node 1 crashes, ...
//! ```
//! Breadth first: from each state every move is made on a copy of the real engine, and the model of the rules, given the
//! same moves, must say and show the same. The engine looks at its whole state after every move (feature `check`). If the
//! shape of what comes of it (`Engine::shape`) was not met before, it is a new state: a snapshot must come back as the same
//! state, and what is promised must hold. The first thing that is wrong is reached by as few moves as there can be;
//! they are printed.
//!
//! # Why two nodes need no journal here
//! A record takes effect only behind the one it names, so what two nodes write is one order of commands. All that a
//! second node adds are commands in any order, lines of its own, and its death: they are moves. That the chain holds
//! is for `maitred-simulator` to show.
//!
//! `MAITRED_STATES` sets how many states are visited in all.

mod cast;
mod explore;

use self::{cast::CASTS, explore::explore};

const STATES: usize = 200_000;

fn wanted() -> usize {
    std::env::var("MAITRED_STATES").map_or(STATES, |text| text.parse().expect("a number"))
}

#[test]
fn every_state_of_a_small_world_is_sound() {
    let each = wanted().div_ceil(CASTS.len());
    let visited = std::thread::scope(|threads| {
        let begun: Vec<_> = CASTS.iter().map(|cast| threads.spawn(move || explore(cast, each))).collect();
        begun.into_iter().map(|thread| thread.join().expect("it says what is wrong")).collect::<Vec<_>>()
    });
    let mut sum = 0;
    for (cast, visited) in CASTS.iter().zip(visited) {
        let visited = visited.unwrap_or_else(|wrong| panic!("cast {}: {wrong}", cast.name));
        println!("cast {}: {visited:?}", cast.name);
        assert!(visited.states >= each, "{}: fewer states than there were; what was lost?", cast.name);
        assert!(visited.met_enough(), "{}: {visited:?}", cast.name);
        sum += visited.states;
    }
    println!("{sum} states, all sound");
}
