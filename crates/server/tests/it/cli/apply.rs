use super::stage::{Stage, write};

const FILE: &str = "[limits.more]\ncapacity = 2\nmax_hold = \"10m\"\n\
                    [limits.same]\ncapacity = 1\nmax_hold = \"10m\"\n\
                    [limits.\"new.one\"]\ncapacity = 3\nmax_hold = \"1h\"\n";

#[test]
fn a_file_is_rehearsed_and_then_applied() {
    let stage = Stage::still();
    for name in ["gone", "more", "same"] {
        stage.declare(name, 1, "10m");
    }
    stage.run(&["limits", "capacity", "same", "9"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.toml");
    write(&path, FILE);
    let file = path.to_str().unwrap();
    let told = "default\tnew.one\tadded\ndefault\tmore\tchanged\ndefault\tsame\tunchanged\ndefault\tgone\tretired\n\
                default\tsame\toverridden\n";
    let before = stage.run(&["limits", "list"]).stdout;

    stage.run(&["apply", "-f", file, "--dry-run"]).prints(told);
    assert_eq!(stage.run(&["limits", "list"]).stdout, before);
    stage.run(&["apply", "-f", file]).prints(told);
    let list = "more\t0\t0\t2\t0\t\t600000\tdeclared\tno\tno\n\
                new.one\t0\t0\t3\t0\t\t3600000\tdeclared\tno\tno\n\
                same\t0\t0\t9\t0\t\t600000\toverride\tno\tno\n";
    stage.run(&["limits", "list"]).prints(list);
    let json = stage.run(&["apply", "-f", file, "--json"]).json();
    assert_eq!(json["namespaces"][0]["unchanged"], serde_json::json!(["more", "new.one", "same"]));
    assert_eq!(json["dry_run"], false);
}

#[test]
fn the_limits_go_to_the_namespace_that_is_named() {
    let stage = Stage::still();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.toml");
    write(
        &path,
        "[limits.a]\ncapacity = 1\nmax_hold = \"1m\"\n[namespace.other.limits.b]\ncapacity = 1\nmax_hold = 5000\n",
    );
    let file = path.to_str().unwrap();
    stage.run(&["apply", "-f", file, "--agent", "staging"]).prints("other\tb\tadded\nstaging\ta\tadded\n");
    stage.run(&["limits", "list"]).prints("");
    let twice = format!(
        "error: {file}: the limits of namespace `other` stand there twice\n  --agent sends [limits] to that namespace\n"
    );
    stage.run(&["apply", "-f", file, "--agent", "other"]).fails(2, &twice);
}

#[test]
fn a_bad_file_changes_nothing_and_names_limit_and_field() {
    let stage = Stage::still();
    stage.declare("a", 1, "1m");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.toml");
    let file = path.to_str().unwrap();
    let cases = [
        (
            "[limits.b]\ncapacity = 0\nmax_hold = \"1m\"\n",
            "limit `b`: capacity is 0; allowed: a whole number",
        ),
        ("[limits.b]\ncapacity = 1\n", "limit `b`: max hold is missing; allowed: a duration"),
        ("[limits.b]\ncapcity = 1\n", "limit `b`: unknown field `capcity`"),
        ("# nothing\n", "no limits are declared there\n  declare one: [limits."),
    ];
    for (text, told) in cases {
        write(&path, text);
        let refused = stage.run(&["apply", "-f", file]);
        assert_eq!((refused.status, refused.stdout.as_str()), (2, ""), "{refused:?}");
        assert!(
            refused.stderr.starts_with(&format!("error: {file}: ")) && refused.stderr.contains(told),
            "{refused:?}"
        );
    }
    let missing = stage.run(&["apply", "-f", "no-such-file.toml"]);
    assert_eq!(missing.status, 2);
    assert_eq!(stage.run(&["limits", "list"]).stdout, "a\t0\t0\t1\t0\t\t60000\tdeclared\tno\tno\n");
}
