//! What things cost in memory, measured as the memory of the process: nothing else may grow in it meanwhile, so these are
//! not among the tests of `it`. Nor have they the feature `check`, which looks at everything after each command.
#![cfg(all(target_os = "linux", not(feature = "check")))]

mod budget;
mod full;
#[path = "../it/support.rs"]
#[allow(dead_code, reason = "the tests of the rules use more of it")]
mod support;

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux says how much memory is used");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line with it");
    let kilobytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    kilobytes.expect("in kilobytes") * 1024
}
