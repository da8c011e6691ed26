use std::path::Path;

use super::stage::{Done, Stage, command, done};

fn maitred(config: &Path, args: &[&str]) -> Done {
    let mut command = command("", args);
    command.env_remove("MAITRED_URL").env("XDG_CONFIG_HOME", config);
    done(command.output().unwrap())
}

#[test]
fn agents_stand_in_for_flags_that_are_not_given() {
    let stage = Stage::still();
    stage.declare("l", 1, "10m");
    let config = tempfile::tempdir().unwrap();
    let config = config.path();
    let row = "l\t0\t0\t1\t0\t\t600000\tdeclared\tno\tno\n";

    maitred(config, &["agent", "ls"]).prints("");
    let here = format!("yes\there\t{}\t\t\t\n", stage.url);
    maitred(config, &["agent", "add", "here", "--url", &stage.url]).prints(&here);
    maitred(config, &["limits", "list"]).prints(row);

    let staging = format!("{here}no\tstaging\t{}\tstaging\t\t\n", stage.url);
    let add = ["agent", "add", "staging", "--url", &stage.url, "--namespace", "staging"];
    maitred(config, &add).prints(&staging);
    let used = staging.replace("yes", "x").replace("no\t", "yes\t").replace("x\t", "no\t");
    maitred(config, &["agent", "use", "staging"]).prints(&used);
    maitred(config, &["limits", "list"]).prints("");
    // The flag wins, and so does the environment.
    maitred(config, &["limits", "list", "--agent", "default"]).prints(row);
    let mut environment = command(&stage.url, &["limits", "list"]);
    environment.env("XDG_CONFIG_HOME", config).env("MAITRED_AGENT", "default");
    done(environment.output().unwrap()).prints(row);

    maitred(config, &["agent", "rm", "staging"]).prints(&here.replace("yes", "no"));
    let json = maitred(config, &["agent", "ls", "--json"]).json();
    assert_eq!(
        (json["current"].is_null(), json["agents"]["here"]["url"].as_str()),
        (true, Some(stage.url.as_str()))
    );
}

#[test]
fn what_is_not_there_or_not_readable_is_said() {
    let config = tempfile::tempdir().unwrap();
    let token = config.path().join("token");
    std::fs::write(&token, "0123456789abcdef0123456789abcdef\n").unwrap();
    let token = token.to_str().unwrap();
    let add = ["agent", "add", "prod", "--url", "http://127.0.0.1:1", "--token-file", token];
    assert_eq!(maitred(config.path(), &add).status, 0);
    std::fs::remove_file(token).unwrap();
    maitred(config.path(), &["agent", "use", "prd"]).fails(
        3,
        "error: there is no agent named `prd`\n  did you mean `prod`?\n  see all: maitred agent ls\n",
    );
    let unreadable = maitred(config.path(), &["limits", "list"]);
    assert_eq!(unreadable.status, 4);
    assert!(unreadable.stderr.contains(&format!("the token file {token} cannot be read")), "{unreadable:?}");

    std::fs::write(config.path().join("maitred/agents.toml"), "curent = \"prod\"\n").unwrap();
    let broken = maitred(config.path(), &["limits", "list"]);
    assert_eq!(broken.status, 2);
    assert!(broken.stderr.contains("agents.toml") && broken.stderr.contains("curent"), "{broken:?}");
}
