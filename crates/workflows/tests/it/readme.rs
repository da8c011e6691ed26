//! The tables of the README name tests that exist, and every test of a rule stands in them.

use std::collections::BTreeSet;

const README: &str = include_str!("../../README.md");
const SOURCES: [(&str, &str); 4] = [
    ("kill", include_str!("kill.rs")),
    ("programs", include_str!("programs.rs")),
    ("slots", include_str!("slots.rs")),
    ("trouble", include_str!("trouble.rs")),
];

/// `file::name` of every test. Those that run in several worlds take one; those that need a database, and the
/// processes of `kill`, are none of the tables'.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (file, source) in SOURCES {
        let lines: Vec<&str> = source.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(signature) = line.strip_prefix("async fn ") else { continue };
            let above = |rows: usize| at.checked_sub(rows).map_or("", |row| lines[row]);
            let is_test = above(1).starts_with("#[tokio::test") && !above(2).contains("postgres");
            let (name, takes) = signature.split_once('(').unwrap_or_default();
            if is_test || takes.starts_with("world: World)") {
                names.insert(format!("{file}::{name}"));
            }
        }
    }
    names
}

fn named() -> BTreeSet<String> {
    let rows = README.lines().filter(|line| line.starts_with("| "));
    let spans = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    spans
        .filter(|span| span.split_once("::").is_some_and(|(file, _)| is_source(file)))
        .map(str::to_owned)
        .collect()
}

fn is_source(file: &str) -> bool {
    SOURCES.iter().any(|(known, _)| *known == file)
}

#[test]
fn every_test_is_named_and_every_named_test_exists() {
    let (tests, named) = (tests(), named());
    assert!(tests.len() > 20, "the sources are read: {tests:?}");
    let missing: Vec<_> = named.difference(&tests).collect();
    assert!(missing.is_empty(), "the README names tests that are not there: {missing:?}");
    let left_out: Vec<_> = tests.difference(&named).collect();
    assert!(left_out.is_empty(), "the README leaves out: {left_out:?}");
}
