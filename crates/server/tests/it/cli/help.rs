use super::stage::{Done, command, done};

fn run(args: &[&str]) -> Done {
    done(command("http://127.0.0.1:1", args).output().unwrap())
}

/// Every command, as the help pages themselves list them.
fn pages() -> Vec<Vec<String>> {
    let mut pages: Vec<Vec<String>> = vec![Vec::new()];
    let mut at = 0;
    while let Some(page) = pages.get(at).cloned() {
        let shown = help(&page);
        let commands = shown.split_once("\nCommands:\n").map_or("", |(_, commands)| commands);
        let names =
            commands.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("    "));
        let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
        pages.extend(names.map(|name| page.iter().cloned().chain([name.to_owned()]).collect()));
        at += 1;
    }
    pages
}

fn help(page: &[String]) -> String {
    let args: Vec<&str> = page.iter().map(String::as_str).chain(["--help"]).collect();
    let shown = run(&args);
    assert_eq!((shown.status, shown.stderr.as_str()), (0, ""), "{page:?}");
    shown.stdout
}

#[test]
fn every_command_has_a_page_with_examples() {
    let pages = pages();
    assert!(pages.len() >= 49, "only {} pages were found", pages.len());
    for page in pages {
        let shown = help(&page);
        assert!(shown.contains("Usage: maitred"), "{page:?}: {shown}");
        if page == ["exit-codes"] {
            continue;
        }
        let (_, examples) = shown.split_once("\nExamples").unwrap_or_else(|| panic!("{page:?} has none"));
        let (_, examples) = examples.split_once('\n').expect("a heading is a line");
        let count = examples.lines().take_while(|line| !line.is_empty()).count();
        assert!((1..=4).contains(&count), "{page:?} has {count} examples");
        assert_is_wrapped_once(&page, examples);
    }
}

/// A line that was wrapped by hand and then again leaves a short one in the midst of its paragraph.
fn assert_is_wrapped_once(page: &[String], text: &str) {
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.is_empty()).collect();
    for (line, next) in lines.iter().zip(lines.iter().skip(1)) {
        let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
        let ends = line.ends_with(['.', ':']);
        let breaks_off = is_prose(line) && is_prose(next) && line.len() < 60 && !ends;
        assert!(!breaks_off, "{page:?} breaks off after `{line}`");
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
    assert_eq!(run(&["man", "/dev/null/folder"]).status, 1);
}
