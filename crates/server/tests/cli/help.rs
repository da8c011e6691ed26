use crate::stage::{Done, command, done};

fn run(args: &[&str]) -> Done {
    done(command("http://127.0.0.1:1", args).output().unwrap())
}

#[test]
fn every_command_has_a_page_with_examples() {
    let pages: [&[&str]; 44] = [
        &[],
        &["serve"],
        &["dev"],
        &["limits", "list"],
        &["limits", "show"],
        &["limits", "slots"],
        &["limits", "release"],
        &["limits", "capacity"],
        &["limits", "max-hold"],
        &["limits", "pause"],
        &["limits", "resume"],
        &["acquire"],
        &["release"],
        &["run"],
        &["apply"],
        &["explain"],
        &["history"],
        &["audit"],
        &["rates"],
        &["rates", "list"],
        &["rates", "show"],
        &["rates", "reset"],
        &["rates", "preview"],
        &["runs"],
        &["runs", "list"],
        &["runs", "show"],
        &["limits", "watch"],
        &["doctor"],
        &["verify"],
        &["backup"],
        &["agent"],
        &["agent", "add"],
        &["agent", "use"],
        &["agent", "ls"],
        &["agent", "rm"],
        &["completions"],
        &["man"],
        &["token"],
        &["token", "create"],
        &["token", "ls"],
        &["token", "revoke"],
        &["scenario"],
        &["exit-codes"],
        &["limits"],
    ];
    for page in pages {
        let shown = run(&[page, &["--help"]].concat());
        assert_eq!((shown.status, shown.stderr.as_str()), (0, ""), "{page:?}");
        assert!(shown.stdout.contains("Usage: maitred"), "{page:?}: {}", shown.stdout);
        if page != ["exit-codes"] {
            let (_, examples) =
                shown.stdout.split_once("Examples:\n").unwrap_or_else(|| panic!("{page:?} has none"));
            let count = examples.lines().take_while(|line| !line.is_empty()).count();
            assert!((2..=4).contains(&count), "{page:?} has {count} examples");
        }
    }
}

#[test]
fn exit_statuses_are_documented() {
    for args in [["help", "exit-codes"].as_slice(), &["exit-codes"]] {
        let shown = run(args);
        assert_eq!(shown.status, 0);
        for line in [
            "  0    done",
            "  6    timed out",
            "  7    the server could not be reached",
            "  130  interrupted",
        ] {
            assert!(shown.stdout.contains(line), "{line} is missing in {}", shown.stdout);
        }
    }
}

#[test]
fn a_command_line_that_is_not_valid_is_status_2() {
    for args in [
        ["limts"].as_slice(),
        &["limits", "lst"],
        &["limits", "capacity", "l"],
        &["run", "--limit", "l"],
        &["run", "--", "true"],
        &["acquire", "l", "--no-wait", "--timeout", "1m"],
        &["scenario"],
        &["scenario", "--server", "http://127.0.0.1:1", "x.txt"],
        &["limits", "list", "--url", "nonsense"],
    ] {
        let refused = run(args);
        assert_eq!((refused.status, refused.stdout.as_str()), (2, ""), "{args:?}");
        assert!(refused.stderr.starts_with("error: "), "{args:?}: {}", refused.stderr);
    }
    assert!(run(&["limits", "lst"]).stderr.contains("'list'"), "no guess");
}

#[test]
fn the_openapi_document_is_printed() {
    let document = run(&["openapi"]).json();
    assert!(document["paths"]["/v1/slots"]["post"].is_object());
}

#[test]
fn scenario_files_are_played_and_what_differs_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("story.txt");
    let file = path.to_str().unwrap();
    std::fs::write(&path, "0s declare l capacity=1 max_hold=1m => ok\n0s acquire l slot=a => reserved\n")
        .unwrap();
    run(&["scenario", file]).prints("1 file, 2 lines: all as expected\n");

    std::fs::write(&path, "0s declare l capacity=1 max_hold=1m => ok\n0s acquire l slot=a => busy\n")
        .unwrap();
    let differs = run(&["scenario", file]);
    let told = format!(
        "{file}:2: acquire l slot=a\n    expected  busy\n    came      reserved\n1 file, 2 lines: 1 file failed, 1 line \
         differ\n"
    );
    assert_eq!((differs.status, differs.stdout.as_str(), differs.stderr.as_str()), (1, told.as_str(), ""));
    let json = run(&["scenario", file, "--json"]);
    assert_eq!(json.status, 1);
    assert_eq!(json.json()["files"][0]["differ"][0]["came"], "reserved");

    std::fs::write(&path, "0s sing\n").unwrap();
    let wrong = run(&["scenario", file, "no-such-file.txt"]);
    assert_eq!(wrong.status, 1);
    assert!(
        wrong.stdout.starts_with(&format!("{file}:1:4: `sing` is not a verb; allowed: declare")),
        "{wrong:?}"
    );
    assert!(wrong.stdout.contains("no-such-file.txt: No such file"), "{wrong:?}");
    assert_eq!(run(&["scenario", "--journal", "mysql://x", file]).status, 2);
}

#[test]
fn completions_and_pages_are_made_from_the_command_line() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]);
        assert_eq!((script.status, script.stderr.as_str()), (0, ""), "{shell}");
        assert!(script.stdout.contains("MAITRED_COMPLETE"), "{shell}");
    }
    assert_eq!(run(&["completions", "nosuch"]).status, 2);
    assert!(run(&["man"]).stdout.contains(".TH maitred 1"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    run(&["man", path]).prints("");
    let page = std::fs::read_to_string(folder.path().join("maitred-limits-watch.1")).unwrap();
    assert!(page.contains("lost connection"), "{page}");
    assert_eq!(run(&["man", "/nonexistent/folder"]).status, 1);
}
