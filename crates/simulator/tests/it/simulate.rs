//! A few simulated hours with everything going wrong. The long runs are `cargo xtask simulate`; that what is wrong is
//! seen, `cargo xtask see` shows, with this test.

use maitred_simulator::{Runs, Wanted, run, run_many};

/// `MAITRED_HOURS` sets another number. With a planted defect it ends as soon as that is seen.
#[test]
fn worlds_hold() {
    let hours = std::env::var("MAITRED_HOURS").map_or(3.0, |text| text.parse().expect("a number"));
    let runs = Runs { first_seed: 1, hours, hours_each: 0.3, wanted: Wanted::default(), threads: 1 };
    let report = run_many(&runs, |report| assert!(report.failures.is_empty(), "{report}"));
    println!("{report}");
}

/// A seed is a history: played twice it is the same to the last record, and no two seeds have the same.
#[test]
fn a_seed_is_a_history() {
    let any = Wanted::default();
    let traces: Vec<u64> = (1..=12)
        .map(|seed| {
            let (first, second) = (run(seed, 0.2, any), run(seed, 0.2, any));
            assert_eq!((first.trace, first.records), (second.trace, second.records), "seed {seed}");
            first.trace
        })
        .collect();
    let mut different = traces.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), traces.len());
}

/// However many threads there are, the worlds are the same.
#[test]
fn threads_change_nothing() {
    let runs =
        |threads| Runs { first_seed: 5, hours: 0.5, hours_each: 0.1, wanted: Wanted::default(), threads };
    let (one, three) = (run_many(&runs(1), |_| {}), run_many(&runs(3), |_| {}));
    assert_eq!((one.trace, one.worlds, one.records), (three.trace, three.worlds, three.records));
}
