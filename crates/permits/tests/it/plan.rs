//! The table of the worked example, the N to choose, and the edges.

use std::time::Duration;

use maitred_permits::plan::{Bound, Plan, PlanError, ROWS};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn partner() -> Plan {
    Plan::new(ms(40), ms(3), 1000.0, ms(500), 10_000)
}

#[test]
fn the_rows_are_plain_data() {
    let table = partner().table(&ROWS).unwrap();
    let rows: Vec<_> = table
        .rows
        .iter()
        .map(|row| (row.permits, row.goodput_per_s, row.mean_latency_ms, row.timeouts, row.failed))
        .collect();
    assert_eq!(
        rows,
        [
            (1, 25.0, 43.0, 0.0, 0),
            (5, 125.0, 43.0, 0.0, 0),
            (10, 250.0, 43.0, 0.0, 0),
            (25, 625.0, 43.0, 0.0, 0),
            (50, 1000.0, 53.0, 0.0, 0),
            (100, 1000.0, 103.0, 0.0, 0),
            (200, 1000.0, 203.0, 0.0, 0),
            (350, 1000.0, 353.0, 0.0, 0),
            (500, 0.0, 503.0, 1.0, 10_000),
        ]
    );
}

#[test]
fn the_choice_is_the_knee_and_says_why() {
    let choice = partner().choose().unwrap();
    assert_eq!((choice.permits, choice.row.goodput_per_s, choice.all_done_s), (40, 1000.0, 10.0));
    assert_eq!((choice.last_before_timeouts, choice.each_further_adds_ms), (Some(497), 1.0));
    assert_eq!(
        choice.to_string(),
        "choose 40: the smallest number that reaches the ceiling (40 calls of 40 ms are 1000/s); 43 ms a call, all done \
         after 10.0 s. Each permit above 40 adds 1 ms to every call and nothing else; above 497 every call takes longer \
         than 500 ms and all are lost"
    );
}

/// By brute force over many plans: no smaller N reaches the ceiling, and the last before timeouts is the last.
#[test]
fn the_choice_agrees_with_the_table() {
    for service in [1, 7, 29, 40, 333] {
        for overhead in [0, 3, 50] {
            for ceiling in [0.5, 3.0, 17.3, 100.0, 999.9] {
                for timeout in [100, 500, 2_001] {
                    let plan = Plan::new(ms(service), ms(overhead), ceiling, ms(timeout), 1_000_000);
                    let all = plan.table(&(1..=2_500).collect::<Vec<_>>()).unwrap().rows;
                    let last = all.iter().rev().find(|row| row.timeouts == 0.0).map(|row| row.permits);
                    let Ok(choice) = plan.choose() else {
                        assert_eq!(last, None, "{plan:?}");
                        continue;
                    };
                    let best = all.iter().map(|row| row.goodput_per_s).fold(0.0, f64::max);
                    let knee = all.iter().find(|row| row.goodput_per_s == best).map(|row| row.permits);
                    assert_eq!(knee, Some(choice.permits), "{plan:?}");
                    assert_eq!(last, choice.last_before_timeouts, "{plan:?}");
                }
            }
        }
    }
}

#[test]
fn fewer_tasks_than_the_knee_need_no_more_permits_than_tasks() {
    let choice = Plan::new(ms(40), ms(3), 1000.0, ms(500), 8).choose().unwrap();
    assert_eq!((choice.permits, choice.row.goodput_per_s, choice.bound), (8, 200.0, Bound::Tasks));
    assert!(choice.to_string().contains("only 8 tasks"), "{choice}");
}

#[test]
fn a_timeout_between_two_numbers_of_permits_bounds_the_choice() {
    // 40 ms at 302 a second is 12.08, so the ceiling needs 13 permits, but 13 spend 43.05 ms inside.
    let choice = Plan::new(ms(40), ms(0), 302.0, ms(43), 100).choose().unwrap();
    assert_eq!((choice.permits, choice.bound, choice.last_before_timeouts), (12, Bound::Timeout, Some(12)));
    assert!(choice.to_string().contains("the ceiling would need 13"), "{choice}");
}

#[test]
fn a_timeout_shorter_than_an_idle_call_has_a_table_but_no_choice() {
    let plan = Plan::new(ms(40), ms(3), 1000.0, ms(42), 100);
    let table = plan.table(&[1, 40]).unwrap();
    assert!(
        table.rows.iter().all(|row| row.goodput_per_s == 0.0 && row.timeouts == 1.0 && row.failed == 100)
    );
    let refused = plan.choose().unwrap_err();
    assert_eq!(refused, PlanError::TimeoutTooShort { latency: ms(43), timeout: ms(42) });
    assert!(refused.to_string().contains("raise the timeout above 43 ms"), "{refused}");
    assert_eq!(
        Plan::new(ms(40), ms(3), 1000.0, ms(43), 100).choose().unwrap().permits,
        40,
        "exactly enough is enough"
    );
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_give() {
    let plan = |service, ceiling, tasks| Plan::new(ms(service), ms(3), ceiling, ms(500), tasks);
    assert_eq!(plan(0, 1000.0, 1).choose().unwrap_err(), PlanError::NoServiceTime);
    for ceiling in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        assert!(matches!(plan(40, ceiling, 1).table(&ROWS), Err(PlanError::NoCeiling { .. })));
    }
    assert_eq!(plan(40, 1000.0, 0).choose().unwrap_err(), PlanError::NoTasks);
    assert_eq!(plan(40, 1000.0, 1).table(&[1, 0]).unwrap_err(), PlanError::NoPermits);
    assert!(matches!(plan(40, 1e15, 1).choose(), Err(PlanError::TooMany { .. })));
    let endless = Plan::new(ms(1), ms(0), 1.0, Duration::MAX, 1).choose().unwrap();
    assert_eq!((endless.permits, endless.last_before_timeouts), (1, None));
}

#[test]
fn the_table_stays_aligned_and_loses_no_digits() {
    let table = Plan::new(ms(30), ms(0), 99.5, ms(5_000), 1_234).table(&[1, 400, 1_000]).unwrap();
    let expected = "\
permits  goodput  mean latency  timeouts  failed of 1234
      1  33.33/s         30 ms     0.00%               0
    400   99.5/s     4020.1 ms     0.00%               0
   1000      0/s   10050.25 ms    100.0%            1234
";
    assert_eq!(table.to_string(), expected);
}
