//! What can be checked about the repository without running it. One file per check.

mod arrows;
mod commands;
mod executables;
mod features;
mod floors;
mod functions;
mod invariants;
mod leftovers;
mod links;
mod places;
mod pure;
mod scenarios;
mod sizes;
mod source;
mod tree;
mod unsafe_code;

use self::tree::Tree;
use crate::binary;

/// A check answers a line per thing that is wrong, which begins with the file.
struct Check {
    name: &'static str,
    run: fn(&Tree) -> Vec<String>,
}

const CHECKS: &[Check] = &[
    Check { name: "no source file is longer than 500 lines", run: sizes::check },
    Check { name: "no function is longer than 70 lines", run: functions::check },
    Check { name: "crates know only whom they may know", run: arrows::check },
    Check { name: "the engine is pure", run: pure::check },
    Check { name: "every crate forbids unsafe code", run: unsafe_code::check },
    Check { name: "nothing names a machine or a registry of its own", run: places::check },
    Check { name: "nothing is left over from writing", run: leftovers::check },
    Check { name: "links and paths in documents lead somewhere", run: links::check },
    Check { name: "commands and settings in documents exist", run: commands::check },
    Check { name: "no dependency is older than its known faults", run: floors::check },
    Check { name: "nothing is compiled twice for a feature", run: features::check },
    Check { name: "a crate has one executable of tests, and no test is in none", run: executables::check },
    Check { name: "every scenario is played and expects something", run: scenarios::check },
    Check { name: "every invariant names a check that exists", run: invariants::check },
];

/// How many checks passed. An error if any did not.
pub fn run() -> Result<usize, String> {
    let tree = Tree::read(binary::root()).map_err(|error| error.to_string())?;
    let mut failed = 0;
    for check in CHECKS {
        let wrong = (check.run)(&tree);
        println!("{}  {}", if wrong.is_empty() { "ok " } else { "OFF" }, check.name);
        wrong.iter().for_each(|line| println!("       {line}"));
        failed += usize::from(!wrong.is_empty());
    }
    match failed {
        0 => Ok(CHECKS.len()),
        failed => Err(format!("{failed} of {} tidy checks are off", CHECKS.len())),
    }
}
