use super::*;

fn one(text: &str) -> Line {
    let mut lines = parse(text).expect(text);
    assert_eq!(lines.len(), 1, "{text}");
    lines.remove(0)
}

fn ask(text: &str) -> Call {
    match one(text).command {
        Command::Ask(call) => call,
        other => panic!("{text}: {other:?}"),
    }
}

fn wrong(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}

#[test]
fn comments_and_blank_lines_are_passed_over() {
    let text = "# a story\n\n0s advance\n  1m slot a#b # what it is => busy\n\t2m\tpause l\t=> ok\n";
    let lines = parse(text).unwrap();
    let seen: Vec<(usize, u64, &str)> =
        lines.iter().map(|line| (line.number, line.at_ms, line.text.as_str())).collect();
    assert_eq!(seen, [(3, 0, "advance"), (4, 60_000, "slot a#b"), (5, 120_000, "pause l")]);
    assert!(lines[1].expected.is_none());
    assert_eq!(lines[2].expected, Some(Expected { words: vec!["ok".to_owned()], pairs: Vec::new() }));
}

#[test]
fn what_is_expected_is_words_then_pairs() {
    let expected = one("0s show l => limit busy=1 paused=no").expected.unwrap();
    assert_eq!(expected.to_string(), "limit busy=1 paused=no");
    assert_eq!((expected.words.len(), expected.pairs.len()), (1, 2));
    assert_eq!(one("0s queue l => a=1,b").expected.unwrap().words, ["a=1,b"]);
}

#[test]
fn an_acquire_names_limits_and_weights() {
    let Call::Acquire(fields) = ask("0s acquire a*3+b slot=k=1 run=r timeout=1m confirm=auto hold=run")
    else {
        panic!("not an acquire");
    };
    assert_eq!(fields.slot.as_deref(), Some("k=1"));
    assert_eq!(fields.limits.len(), 2);
    assert_eq!(fields.limits[0].weight.whole_number(), Some(3));
    assert!(fields.limits[1].weight.is_missing());
    assert_eq!((fields.confirm, fields.hold), (ConfirmMode::Auto, HoldMode::Run));
    assert_eq!(one("0s acquire a slot=x confirm=maybe").command, Command::Refused(Reason::InvalidArgument));
}

#[test]
fn an_admit_has_specs_with_a_plus_between() {
    let text = "0s admit task=t run=r key=a limit=2 window=1m successes_only label=x + key=b limit=1";
    let Call::Admit(fields) = ask(text) else { panic!("not an admit") };
    assert_eq!((fields.task.as_str(), fields.run.as_deref(), fields.check), ("t", Some("r"), false));
    assert_eq!(fields.specs[0].window_seconds.whole_number(), Some(60));
    assert!(fields.specs[0].count_successes_only);
    assert!(fields.specs[1].window_seconds.is_missing());
    assert!(matches!(ask("0s check task=t key=k limit=1"), Call::Admit(AdmitFields { check: true, .. })));
}

#[test]
fn a_window_that_is_no_whole_second_is_left_for_the_limiter_to_refuse() {
    assert_eq!(window_seconds("1500ms").whole_number(), None);
    assert_eq!(window_seconds("soon").whole_number(), None);
    assert_eq!(window_seconds("0s").whole_number(), Some(0));
}

#[test]
fn a_deploy_may_leave_fields_out_or_be_empty() {
    let Call::Deploy { limits } = ask("0s deploy a:2:45m b:1 c") else { panic!("not a deploy") };
    assert_eq!(limits[0].max_hold, "45m".into());
    assert!(limits[1].max_hold.is_missing() && limits[2].capacity.is_missing());
    assert_eq!(ask("0s deploy"), Call::Deploy { limits: Vec::new() });
}

#[test]
fn reset_is_a_word_of_its_own() {
    assert_eq!(ask("0s capacity l reset"), Call::ResetCapacity { limit: "l".to_owned() });
    assert_eq!(ask("0s max_hold l 2h"), Call::SetMaxHold { limit: "l".to_owned(), max_hold: "2h".into() });
}

#[test]
fn what_cannot_be_read_is_named_by_line_and_column_with_what_is_allowed() {
    assert_eq!(
        wrong("\nsoon advance"),
        "2:1: `soon` is not a time; allowed: 0s, 2m10s, 1h1ms, at most 36500d"
    );
    assert!(wrong("0s  fly l").starts_with("1:5: `fly` is not a verb; allowed: declare deploy"));
    assert_eq!(
        wrong("0s acquire l slot=a wieght=2"),
        "1:21: `acquire` does not take `wieght=2`; allowed: LIMIT[*WEIGHT][+LIMIT[*WEIGHT]…] slot= run= timeout= \
         confirm= hold= label= workflow="
    );
    assert_eq!(wrong("0s release => released"), "1:4: `release` needs ID; allowed: ID");
    assert_eq!(wrong("0s advance now"), "1:12: `advance` does not take `now`; allowed: nothing");
    assert!(wrong("0s").starts_with("1:1: after the time comes a verb"));
    assert!(wrong("=> ok").starts_with("1:1: a line starts with a time"));
    assert!(wrong("0s pause l =>").starts_with("1:12: nothing stands behind `=>`"));
    assert!(wrong("0s show l => busy=1 limit").starts_with("1:21: `limit` stands after a pair"));
    assert!(wrong("0s acquire l slot=a slot=b").starts_with("1:21: `slot=` stands twice"));
    assert!(wrong("99999999d advance").contains("at most 36500d"));
}
