use super::stage::Stage;

/// `voice` is full, with one reserved nowhere and two waiting; `gpu` was cut below what it holds; `off` is paused.
fn busy_stage() -> Stage {
    let stage = Stage::still();
    stage.declare("voice", 2, "45m");
    stage.declare("gpu", 8, "1h");
    stage.declare("off", 1, "1m");
    stage.acquire("voice", "v1", |fields| {
        fields.run = Some("run-1".to_owned());
        fields.label = Some("call\u{202e}77".to_owned());
    });
    stage.acquire("gpu", "g1", |fields| fields.weight = 6u64.into());
    stage.run(&["limits", "capacity", "gpu", "4"]).json_or_rows();
    stage.run(&["limits", "pause", "off"]).json_or_rows();
    stage.advance("4m");
    stage.acquire("voice", "v2", |fields| fields.confirm = maitred_api::ConfirmMode::Holder);
    stage.acquire("voice", "v3", |_| ());
    stage.advance("70s");
    stage.acquire("voice", "v4", |fields| fields.timeout = "30m".into());
    stage
}

impl super::stage::Done {
    fn json_or_rows(&self) {
        assert_eq!(self.status, 0, "{self:?}");
    }
}

#[test]
fn a_list_in_a_pipe_is_raw_and_tab_separated() {
    let stage = busy_stage();
    let rows = "gpu\t6\t0\t4\t0\t\t3600000\toverride\tno\tno\n\
                off\t0\t0\t1\t0\t\t60000\tdeclared\tyes\tno\n\
                voice\t1\t1\t2\t2\t70000\t2700000\tdeclared\tno\tno\n";
    stage.run(&["limits", "list"]).prints(rows);
    let header =
        "name\tbusy\treserved\tcapacity\twaiting\toldest_wait_ms\tmax_hold_ms\tsource\tpaused\tretired\n";
    stage.run(&["limits", "list", "--header"]).prints(&format!("{header}{rows}"));
}

#[test]
fn json_has_the_fields_of_the_api() {
    let stage = busy_stage();
    let list = stage.run(&["limits", "list", "--json"]).json();
    let gpu = &list["limits"][0];
    assert_eq!((gpu["limit"].as_str(), gpu["busy"].as_u64()), (Some("gpu"), Some(6)));
    assert_eq!((gpu["capacity_override"].as_u64(), gpu["declared_capacity"].as_u64()), (Some(4), Some(8)));
    assert!(list["revision"].as_u64() > Some(0) && list["as_of"].is_u64());

    let slots = stage.run(&["limits", "slots", "voice", "--json"]).json();
    assert_eq!(slots["holders"][0]["slot"], "v1");
    assert_eq!(slots["holders"][1]["state"], "reserved");
    assert_eq!(slots["queue"][1]["place"], 2);

    let shown = stage.run(&["limits", "show", "off", "--json"]).json();
    assert_eq!((shown["limit"].as_str(), shown["paused"].as_bool()), (Some("off"), Some(true)));
}

#[test]
fn slots_are_busy_then_reserved_then_the_queue() {
    let stage = busy_stage();
    let now = stage.runtime.block_on(stage.node.now());
    let at = |ms_ago: u64| now - ms_ago;
    let expected = format!(
        "busy\t\tv1\trun-1\tcall\\u{{202e}}77\t1\t1\t{}\t{}\t{}\n\
         reserved\t\tv2\t\t\t1\t3\t{}\t{}\t{}\n\
         queued\t1\tv3\t\t\t1\t\t{}\t\t{}\n\
         queued\t2\tv4\t\t\t1\t\t{}\t\t{}\n",
        at(310_000),
        at(310_000),
        at(310_000) + 2_700_000,
        at(70_000),
        at(70_000),
        at(70_000) + 120_000,
        at(70_000),
        at(70_000) + 86_400_000,
        at(0),
        at(0) + 1_800_000
    );
    stage.run(&["limits", "slots", "voice"]).prints(&expected);
    let first = stage.run(&["limits", "slots", "voice", "--most", "1"]);
    assert_eq!(first.stdout, expected.lines().next().unwrap().to_owned() + "\n");
    assert_eq!(first.stderr, "1 of 4 slots shown; more with --most 4\n");
}

#[test]
fn one_limit_is_told_field_by_field() {
    let stage = busy_stage();
    let shown = stage.run(&["limits", "show", "gpu"]);
    assert_eq!((shown.status, shown.stderr.as_str()), (0, ""));
    for line in [
        "limit\tgpu",
        "capacity\t4",
        "declared_capacity\t8",
        "capacity_override\t4",
        "busy\t6",
        "paused\tfalse",
    ] {
        assert!(shown.stdout.lines().any(|shown| shown == line), "{line} is missing in {}", shown.stdout);
    }
}

#[test]
fn acts_act_at_once_and_show_what_is_then_in_force() {
    let stage = Stage::still();
    stage.declare("l", 1, "10m");
    stage.run(&["limits", "capacity", "l", "3"]).prints("l\t0\t0\t3\t0\t\t600000\toverride\tno\tno\n");
    stage.run(&["limits", "max-hold", "l", "1h30m"]).prints("l\t0\t0\t3\t0\t\t5400000\toverride\tno\tno\n");
    stage.run(&["limits", "capacity", "l", "reset"]).prints("l\t0\t0\t1\t0\t\t5400000\toverride\tno\tno\n");
    stage.run(&["limits", "max-hold", "l", "reset"]).prints("l\t0\t0\t1\t0\t\t600000\tdeclared\tno\tno\n");
    stage.run(&["limits", "pause", "l"]).prints("l\t0\t0\t1\t0\t\t600000\tdeclared\tyes\tno\n");
    stage.run(&["limits", "resume", "l"]).prints("l\t0\t0\t1\t0\t\t600000\tdeclared\tno\tno\n");
}

#[test]
fn a_change_is_told_and_not_made() {
    let stage = Stage::still();
    stage.declare("l", 1, "10m");
    for slot in ["a", "b", "c"] {
        stage.acquire("l", slot, |_| ());
    }
    stage.run(&["limits", "capacity", "l", "2", "--dry-run"]).prints("l\t2\t600000\t1\t0\t0\n");
    stage.run(&["limits", "max-hold", "l", "1h", "--dry-run"]).prints("l\t1\t3600000\t0\t0\t0\n");
    let json = stage.run(&["limits", "capacity", "l", "reset", "--dry-run", "--json"]).json();
    assert_eq!(json["effects"][0], "Nothing changes.");
    assert_eq!(stage.run(&["limits", "capacity", "l", "0", "--dry-run"]).status, 2);
    assert_eq!(stage.run(&["limits", "capacity", "nowhere", "2", "--dry-run"]).status, 3);
    assert_eq!(stage.run(&["limits", "list"]).stdout, "l\t1\t0\t1\t2\t0\t600000\tdeclared\tno\tno\n");
}

#[test]
fn a_value_that_is_not_allowed_says_what_is() {
    let stage = Stage::still();
    stage.declare("l", 1, "10m");
    stage
        .run(&["limits", "capacity", "l", "0"])
        .fails(2, "error: limit `l`: capacity is \"0\"; allowed: a whole number from 1 to 100000\n");
    let max_hold = stage.run(&["limits", "max-hold", "l", "31d"]);
    assert_eq!((max_hold.status, max_hold.stdout.as_str()), (2, ""));
    assert!(max_hold.stderr.contains("max hold is \"31d\"; allowed: a duration"), "{max_hold:?}");
    assert_eq!(stage.run(&["limits", "list"]).stdout, "l\t0\t0\t1\t0\t\t600000\tdeclared\tno\tno\n");
}

#[test]
fn a_name_that_is_nearly_right_is_guessed() {
    let stage = Stage::still();
    stage.declare("voice-calls", 1, "10m");
    let guess = "error: no limit named `voice-cals` in namespace `default`\n  did you mean `voice-calls`?\n  \
                 see all: maitred limits list\n";
    for args in [
        ["limits", "show", "voice-cals"].as_slice(),
        &["limits", "slots", "voice-cals"],
        &["limits", "capacity", "voice-cals", "3"],
        &["limits", "max-hold", "voice-cals", "reset"],
        &["limits", "pause", "voice-cals"],
        &["acquire", "voice-cals"],
        &["run", "--limit", "voice-cals", "--", "true"],
    ] {
        stage.run(args).fails(3, guess);
    }
    let far = "error: no limit named `gpu` in namespace `default`\n  see all: maitred limits list\n";
    stage.run(&["limits", "show", "gpu"]).fails(3, far);

    let json = stage.run(&["limits", "show", "voice-cals", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&json.stderr).unwrap();
    assert_eq!((json.status, json.stdout.as_str()), (3, ""));
    assert_eq!(told["reason"], "limit_not_found");
    assert_eq!(told["hints"][0], "did you mean `voice-calls`?");
    assert_eq!(told["exit_code"], 3);
    assert!(told["request_id"].is_string());
}

#[test]
fn namespaces_are_apart() {
    let stage = Stage::still();
    stage.declare("l", 1, "10m");
    stage.run(&["limits", "list", "--agent", "staging"]).prints("");
    stage
        .run(&["limits", "--agent", "staging", "show", "l"])
        .fails(3, "error: no limit named `l` in namespace `staging`\n  see all: maitred limits list\n");
    let mut by_environment = stage.command(&["limits", "list"]);
    by_environment.env("MAITRED_AGENT", "staging");
    super::stage::done(by_environment.output().unwrap()).prints("");
}

#[test]
fn an_operator_releases_only_when_it_is_confirmed() {
    let stage = Stage::still();
    stage.declare("l", 1, "10m");
    stage.acquire("l", "a", |_| ());
    stage.acquire("l", "b", |fields| fields.confirm = maitred_api::ConfirmMode::Holder);
    stage.run(&["limits", "release", "a"]).fails(
        5,
        "error: releasing slot `a` is not confirmed, and there is no terminal to ask on\n  confirm it: --yes\n",
    );
    assert_eq!(stage.state("a"), "busy");
    stage.run(&["limits", "release", "a", "--yes", "--reason", "lost"]).prints("a\tyes\treleased\n");
    assert_eq!((stage.state("a"), stage.state("b")), ("released", "reserved"));
    stage.run(&["limits", "release", "a", "--yes"]).prints("a\tno\treleased\n");
    let unknown = "error: no slot `nobody` is known in namespace `default`\n  it may have ended more than a day ago\n  \
                   who holds what: maitred limits slots LIMIT\n";
    stage.run(&["limits", "release", "nobody", "--yes"]).fails(3, unknown);
    let json = stage.run(&["limits", "release", "b", "--yes", "--json"]).json();
    assert_eq!((json["released"].as_bool(), json["state"].as_str()), (Some(true), Some("released")));
}
