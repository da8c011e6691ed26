//! The table of the README names tests that exist, and every test of the specification stands in it.

use std::collections::BTreeSet;

const README: &str = include_str!("../../README.md");
const SOURCES: [(&str, &str); 9] = [
    ("rates", include_str!("rates.rs")),
    ("successes", include_str!("successes.rs")),
    ("concurrency", include_str!("concurrency.rs")),
    ("enforce", include_str!("enforce.rs")),
    ("options", include_str!("options.rs")),
    ("quotes", include_str!("quotes.rs")),
    ("sub_tasks", include_str!("sub_tasks.rs")),
    ("http", include_str!("http.rs")),
    ("degraded", include_str!("degraded.rs")),
];
const THINGS: (&str, &str) = ("things_to_know", include_str!("things_to_know.rs"));

/// `module::name` of every test.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (module, source) in SOURCES.into_iter().chain([THINGS]) {
        let mut lines = source.lines().map(str::trim);
        while let Some(line) = lines.next() {
            if line != "#[tokio::test]" && line != "#[test]" {
                continue;
            }
            let signature = lines.next().unwrap_or_default();
            let name = signature.trim_start_matches("async ").trim_start_matches("fn ");
            names.insert(format!("{module}::{}", name.split('(').next().unwrap_or_default()));
        }
    }
    names
}

/// What the table's second column names.
fn named() -> BTreeSet<String> {
    let rows = README.lines().filter(|line| line.starts_with("| ") && line.contains("::"));
    rows.filter_map(|row| row.split('|').nth(2))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_named_test_exists() {
    let (tests, named) = (tests(), named());
    assert!(named.len() > 60, "the table is read: {}", named.len());
    let missing: Vec<_> = named.difference(&tests).collect();
    assert!(missing.is_empty(), "the README names tests that are not there: {missing:?}");
}

#[test]
fn every_test_is_named() {
    let (tests, named) = (tests(), named());
    let left_out: Vec<_> = tests.difference(&named).collect();
    assert!(left_out.is_empty(), "the README leaves out: {left_out:?}");
}
