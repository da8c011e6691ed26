use super::stage::{Stage, command, done, until};

#[test]
fn a_server_that_is_well_is_told_to_be() {
    let stage = Stage::ticking();
    stage.declare("l", 1, "10m");
    let well = stage.run(&["doctor"]);
    assert_eq!((well.status, well.stderr.as_str()), (0, ""), "{well:?}");
    let checks: Vec<&str> = well.stdout.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
    assert_eq!(checks, ["asked", "server", "token", "clocks", "history", "limits"]);
    assert!(well.stdout.lines().all(|line| line.starts_with("ok\t")), "{well:?}");
}

#[test]
fn leaks_and_stuck_limits_are_found_with_what_to_do() {
    let stage = Stage::still();
    stage.declare("leaky", 1, "1m");
    stage.declare("off", 1, "10m");
    for slot in ["a", "b", "c"] {
        stage.acquire("leaky", slot, |_| ());
        stage.advance("61s");
    }
    stage.acquire("off", "o1", |_| ());
    stage.acquire("off", "o2", |_| ());
    stage.run(&["limits", "pause", "off"]);
    let mut report = serde_json::Value::Null;
    until("the history has the ends", || {
        let told = stage.run(&["doctor", "--json"]);
        report = told.json();
        told.status == 1
    });
    let finding = |check: &str| {
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["check"] == check).cloned().unwrap_or_default()
    };
    assert_eq!(finding("limit leaky")["verdict"], "fail");
    let found = finding("limit leaky")["found"].to_string();
    assert!(
        found.contains("leaking: 3 of 3 slots in the last hour were taken back at their max hold"),
        "{found}"
    );
    let fix = finding("limit off")["fix"].to_string();
    assert!(fix.contains("maitred limits resume off"), "{fix}");
    // This server's clock stands far from this machine's.
    assert_eq!(finding("clocks")["verdict"], "warn");
    assert_eq!((&report["failed"], &report["warned"]), (&1.into(), &2.into()));
}

#[test]
fn a_server_that_is_not_there_is_all_that_is_found() {
    let nobody = done(command("http://127.0.0.1:1", &["doctor"]).output().unwrap());
    assert_eq!((nobody.status, nobody.stdout.lines().count()), (1, 2), "{nobody:?}");
    assert!(nobody.stdout.contains("\nfail\tserver\tno server could be reached"), "{nobody:?}");
    assert!(nobody.stdout.contains("maitred serve"), "{nobody:?}");
}

#[test]
fn it_says_which_server_is_asked_and_why_that_one() {
    let stage = Stage::ticking();
    let asked = |args: &[&str]| {
        let told = stage.run(&[&["doctor", "--ready"], args].concat());
        assert_eq!((told.status, told.stdout.lines().count()), (0, 2), "{told:?}");
        told.stdout.lines().next().unwrap().split('\t').nth(2).unwrap().to_owned()
    };
    let url = &stage.url;
    assert_eq!(asked(&[]), format!("{url} (by MAITRED_URL), namespace default (by default)"));
    let also = format!("{url}/");
    assert_eq!(
        asked(&["--url", &also, "--agent", "eu"]),
        format!("{also} (by --url), namespace eu (by --agent)")
    );
}
