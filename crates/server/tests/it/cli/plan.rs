//! `maitred plan`: the table of the seed, for people and for programs.

use super::stage::{command, done};

const NUMBERS: [&str; 9] =
    ["plan", "--service-time", "40ms", "--overhead", "3ms", "--ceiling", "1000/s", "--timeout", "500ms"];

fn plan(more: &[&str]) -> super::stage::Done {
    let args: Vec<&str> = NUMBERS.iter().chain(more).copied().collect();
    done(command("http://127.0.0.1:9", &args).output().expect("maitred runs"))
}

#[test]
fn the_table_and_the_number_to_choose() {
    plan(&["--tasks", "10000"]).prints(
        "\
permits  goodput  mean latency  timeouts  failed of 10K
      1     25/s         43 ms     0.00%              0
      5    125/s         43 ms     0.00%              0
     10    250/s         43 ms     0.00%              0
     25    625/s         43 ms     0.00%              0
     50   1000/s         53 ms     0.00%              0
    100   1000/s        103 ms     0.00%              0
    200   1000/s        203 ms     0.00%              0
    350   1000/s        353 ms     0.00%              0
    500      0/s        503 ms    100.0%            10K

choose 40: the smallest number that reaches the ceiling (40 calls of 40 ms are 1000/s); 43 ms a call, all done after \
         10.0 s. Each permit above 40 adds 1 ms to every call and nothing else; above 497 every call takes longer than \
         500 ms and all are lost
",
    );
}

#[test]
fn as_json() {
    let json = plan(&["--rows", "50,500", "--json"]).json();
    assert_eq!(json["choose"]["permits"], 40);
    let wanted = serde_json::json!([
        { "permits": 50, "goodput_per_s": 1000.0, "mean_latency_ms": 53.0, "timeouts": 0.0, "failed": 0 },
        { "permits": 500, "goodput_per_s": 0.0, "mean_latency_ms": 503.0, "timeouts": 1.0, "failed": 10_000 },
    ]);
    assert_eq!(json["rows"], wanted);
}

#[test]
fn a_downstream_that_no_number_helps() {
    let args = ["plan", "--service-time", "2s", "--ceiling", "10", "--timeout", "1s", "--rows", "1"];
    let failed = done(command("http://127.0.0.1:9", &args).output().expect("maitred runs"));
    assert_eq!(failed.status, 1);
    assert!(failed.stderr.contains("no number of permits helps"), "{}", failed.stderr);
    assert!(failed.stdout.contains("100.0%"), "{}", failed.stdout);
}
