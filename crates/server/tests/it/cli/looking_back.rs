use maitred_api::{Call, ConfirmMode, RunStatus};

use super::stage::{Done, Stage, until};

/// `voice` has room for one: `a` held it for a minute, `b` holds it, `c` waits.
fn told() -> Stage {
    let stage = Stage::still();
    stage.declare("voice", 1, "10m");
    stage.acquire("voice", "a", |fields| {
        fields.run = Some("r-a".to_owned());
        fields.label = Some("order 1".to_owned());
    });
    for slot in ["b", "c"] {
        stage.acquire("voice", slot, |fields| {
            fields.run = Some(format!("r-{slot}"));
            fields.confirm = ConfirmMode::Auto;
            fields.timeout = "30m".into();
        });
    }
    stage.advance("60s");
    let done = stage.run(&["limits", "release", "a", "--yes", "--reason", "worker lost"]);
    assert_eq!(done.status, 0, "{done:?}");
    stage
}

/// Once the history has caught up, which it says.
fn caught_up(stage: &Stage, args: &[&str]) -> Done {
    let mut done = stage.run(args);
    until("the history has caught up", || {
        done = stage.run(args);
        !done.stderr.contains("behind")
    });
    done
}

#[test]
fn what_ended_is_told_with_who_and_why() {
    let stage = told();
    let now = stage.runtime.block_on(stage.node.now());
    let row = format!("{now}\treleased\ta\tr-a\torder 1\tvoice\t0\t60000\t1\tcli:ops\tworker lost\n");
    caught_up(&stage, &["history"]).prints(&row);
    caught_up(&stage, &["history", "voice", "--run", "r-a", "--label", "order 1", "--slot", "a"])
        .prints(&row);
    caught_up(&stage, &["history", "gpu"]).prints("");
    let header = caught_up(&stage, &["history", "--header"]).stdout;
    assert!(header.starts_with("ended_at\tstate\tslot\t"), "{header}");
    let json = caught_up(&stage, &["history", "--json"]).json();
    assert_eq!((json["ends"][0]["slot"].as_str(), json["reach"]["lag"].as_u64()), (Some("a"), Some(0)));
}

#[test]
fn more_than_is_shown_is_said() {
    let stage = told();
    for slot in ["b", "c"] {
        stage.run(&["limits", "release", slot, "--yes"]);
    }
    let some = caught_up(&stage, &["history", "--most", "2"]);
    assert_eq!(some.stdout.lines().count(), 2);
    assert_eq!(some.stderr, "the newest 2 are shown; there may be more: --most 20\n");
    assert_eq!(caught_up(&stage, &["history", "--most", "4"]).stderr, "");
}

#[test]
fn the_audit_has_before_and_after() {
    let stage = told();
    stage.run(&["limits", "capacity", "voice", "3", "--reason", "more lines"]);
    stage.run(&["limits", "capacity", "voice", "4"]);
    caught_up(&stage, &["history"]);
    let now = stage.runtime.block_on(stage.node.now());
    let declared = now - 60_000;
    caught_up(&stage, &["audit", "--limit", "voice"]).prints(&format!(
        "{now}\tcapacity\tvoice\t3\t4\tcli:ops\t\n\
         {now}\tcapacity\tvoice\t\t3\tcli:ops\tmore lines\n\
         {now}\treleased\tvoice\ta\t\tcli:ops\tworker lost\n\
         {declared}\tdeclared\tvoice\t\t1 for 10m\t\t\n"
    ));
    assert_eq!(caught_up(&stage, &["audit", "--json"]).json()["acts"][0]["after"], "4");
    stage.run(&["limits", "release", "b", "--yes"]);
    caught_up(&stage, &["history"]);
    let released = format!("{now}\treleased\tvoice\tb\t\tcli:ops\tby hand\n");
    let all = caught_up(&stage, &["audit", "--act", "released", "--by", "OPS"]).stdout;
    assert!(all.starts_with(&released) && all.lines().count() == 2, "{all}");
    caught_up(&stage, &["audit", "--act", "paused"]).prints("");
}

#[test]
fn explain_says_what_blocks() {
    let stage = told();
    let due = stage.runtime.block_on(stage.node.now()) + 600_000;
    let row = format!("c\tqueued\tvoice\t1\t1\tfull\t1\t1\t1\t{due}\n");
    stage.run(&["explain", "c"]).prints(&row);
    stage.run(&["explain", "r-c"]).prints(&row);
    let json = stage.run(&["explain", "c", "--json"]).json();
    assert!(json["text"].as_str().unwrap().contains("first in line for `voice`"), "{json}");
    stage.run(&["explain", "nobody"]).fails(
        3,
        "error: no slot, run or label `nobody` is known in namespace `default`\n  \
         who holds what: maitred limits slots LIMIT\n  what ended: maitred history\n",
    );
    caught_up(&stage, &["history"]);
    stage.run(&["explain", "a"]).prints("a\treleased\t\t\t\t\t\t\t\t\n");
}

#[test]
fn runs_are_listed_and_shown() {
    let stage = told();
    stage.run(&["runs", "list"]).prints("r-b\t1\t0\t0\t0\trunning\t\nr-c\t0\t1\t0\t0\trunning\t\n");
    stage.run(&["runs", "list", "--only", "waiting"]).prints("r-c\t0\t1\t0\t0\trunning\t\n");
    stage.run(&["runs", "list", "--limit", "voice", "--text", "R-B"]).prints("r-b\t1\t0\t0\t0\trunning\t\n");
    assert_eq!(stage.run(&["runs", "list", "--only", "lazy"]).status, 2);
    let lapses = stage.slot("b").slot.lapses_at.unwrap();
    stage.run(&["runs", "show", "r-b"]).prints(&format!(
        "slot\treserved\tb\tvoice\t{lapses}\nhook\topen\tEsperando hueco · voice\tvoice\t\n"
    ));
    assert_eq!(stage.run(&["runs", "show", "r-c", "--json"]).json()["slots"][0]["slot"], "c");
    stage.run(&["runs", "show", "r-a"]).fails(
        3,
        "error: run `r-a` holds nothing and waits for nothing\n  what it held: maitred history --run r-a\n",
    );
    stage.call(Call::EndRun { run: "r-c".to_owned(), status: RunStatus::Cancelled }).unwrap();
    stage.run(&["runs", "list"]).prints("r-b\t1\t0\t0\t0\trunning\t\n");
    caught_up(&stage, &["history"]);
    let past = stage.run(&["runs", "show", "r-c"]).stdout;
    assert!(past.starts_with("hook\tcancelled\tEsperando hueco · voice\tvoice\t"), "{past}");
}

#[test]
fn what_a_run_holds_is_given_back() {
    let stage = Stage::still();
    stage.declare("l", 3, "10m");
    for slot in ["a", "b", "c"] {
        stage.acquire("l", slot, |fields| {
            fields.run = Some(if slot == "c" { "other" } else { "r" }.to_owned())
        });
    }
    let refused = stage.run(&["runs", "release", "r"]);
    assert_eq!(refused.status, 5, "{refused:?}");
    assert!(refused.stderr.contains("confirm it: --yes"), "{refused:?}");
    stage.run(&["runs", "release", "r", "--yes", "--reason", "gone"]).prints("released 2 slots\n");
    assert_eq!([stage.state("a"), stage.state("b"), stage.state("c")], ["released", "released", "busy"]);
    stage
        .run(&["runs", "release", "r", "--yes"])
        .fails(3, "error: run `r` holds no slots\n  what it held: maitred history --run r\n");
    assert_eq!(stage.run(&["runs", "release", "other", "--yes", "--json"]).json()["released"][0], "c");
}
