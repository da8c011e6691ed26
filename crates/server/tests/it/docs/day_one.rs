//! The list of what a newcomer looks for: every point is there, and what is named to show it exists. So does what is
//! named to show each kind of fault.

use super::pages;

const PAGE: &str = "docs/src/reference/day-one.md";
const FAULTS: &str = "docs/src/explanation/faults.md";

/// The number of each point, and everything in code marks behind it.
fn points(text: &str) -> Vec<(usize, Vec<String>)> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix('|')?.split('|').collect();
        let named = cells.get(2)?.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        Some((cells[0].trim().parse().ok()?, named))
    };
    text.lines().filter_map(row).collect()
}

/// Everything that looks like the name of a test, of a file with tests, or of a scenario.
fn named(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|named| is_file(named))
}

fn is_file(named: &str) -> bool {
    let file = named.split("::").next().unwrap_or_default();
    file.ends_with(".rs") || file.ends_with(".ts") || file.starts_with("scenarios/")
}

/// Whether this file, or this test in it, is there.
fn exists(named: &str) -> bool {
    let (file, test) = named.split_once("::").map_or((named, None), |(file, test)| (file, Some(test)));
    let is_rust = file.ends_with(".rs");
    let root = if is_rust { pages::root().join("crates") } else { pages::root().to_path_buf() };
    let is_there = |text: &str, test| if is_rust { is_a_test(text, test) } else { is_titled(text, test) };
    let text = std::fs::read_to_string(root.join(file));
    text.is_ok_and(|text| test.is_none_or(|test| is_there(&text, test)))
}

/// Whether a test in TypeScript has this title.
fn is_titled(text: &str, title: &str) -> bool {
    [format!("test(\"{title}\","), format!("it('{title}',")].iter().any(|begin| text.contains(begin))
}

fn is_a_test(text: &str, name: &str) -> bool {
    let line = format!("fn {name}(");
    let mut before = "";
    for line_now in text.lines() {
        if line_now.contains(&line) {
            return before.starts_with("#[test]") || before.starts_with("#[tokio::test");
        }
        before = line_now.trim();
    }
    false
}

#[test]
fn every_point_names_what_shows_it() {
    let text = pages::read(PAGE);
    let points = points(&text);
    let numbers: Vec<usize> = points.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=47).collect::<Vec<_>>(), "{PAGE}");
    named(&text).for_each(|named| assert!(exists(named), "{PAGE}: there is no {named}"));
    let shown = points.iter().filter(|(_, named)| named.iter().any(|named| is_file(named))).count();
    assert!(shown >= 46, "only {shown} points are shown by a test");
}

#[test]
fn every_kind_of_fault_names_a_test() {
    let text = pages::read(FAULTS);
    let is_row =
        |line: &&str| line.starts_with("| ") && !line.starts_with("| kind") && !line.starts_with("| -");
    let rows: Vec<&str> = text.lines().filter(is_row).collect();
    assert!(rows.len() >= 100, "{FAULTS}: {} kinds", rows.len());
    for row in rows {
        assert!(named(row).next().is_some(), "{FAULTS}: no test is named: {row}");
        named(row).for_each(|named| assert!(exists(named), "{FAULTS}: there is no {named}"));
    }
}

#[test]
fn a_test_that_is_not_there_is_missed() {
    assert!(exists("server/tests/it/docs/day_one.rs::a_test_that_is_not_there_is_missed"));
    assert!(!exists("server/tests/it/docs/day_one.rs::no_such_test"));
    assert!(!exists("server/tests/it/docs/day_one.rs::points"), "no test, only a function");
    assert!(!exists("server/tests/it/docs/no_such_file.rs"));
    assert!(exists("studio/stories/leak.story.ts::by keyboard alone"));
    assert!(!exists("studio/stories/leak.story.ts::by telepathy"));
    assert!(exists("scenarios/paused-limit.txt") && !exists("scenarios/no-such.txt"));
    assert_eq!(
        named("`a/b.rs::c` and `d` in `e/f.story.ts::g h`").collect::<Vec<_>>(),
        ["a/b.rs::c", "e/f.story.ts::g h"]
    );
}
