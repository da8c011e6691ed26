//! The tables of reasons and of bounds, against the code.

use std::collections::BTreeMap;

use maitred::format_duration;
use maitred_api::{Certainty, Problem, Reason};

use super::pages;

/// Rows of a page's tables, as cells without their edges.
fn rows(page: &str) -> Vec<Vec<String>> {
    let text = pages::read(page);
    let lines = text.lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    lines.map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

fn code(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

#[test]
fn every_reason_is_told_with_its_status() {
    let page = "docs/src/reference/errors.md";
    let told: Vec<Vec<String>> =
        rows(page).into_iter().filter(|row| row.len() == 6 && code(&row[0]).is_some()).collect();
    let codes: Vec<&str> = told.iter().filter_map(|row| code(&row[0])).collect();
    let expected: Vec<&str> = Reason::ALL.iter().map(|reason| reason.code()).collect();
    assert_eq!(codes, expected, "{page}: every reason once, in the order of the code");
    for (row, reason) in told.iter().zip(Reason::ALL) {
        let [_, status, happened, again, means, next] = &row[..] else {
            panic!("{page}: {row:?} has not six cells");
        };
        let certainty = if reason.certainty() == Certainty::Refused { "no" } else { "perhaps" };
        let retryable = if reason.retryable() { "yes" } else { "no" };
        let facts = [reason.http_status().to_string(), certainty.to_owned(), retryable.to_owned()];
        assert_eq!([status, happened, again], facts.each_ref(), "{page}: {}", reason.code());
        assert!(means.ends_with('.') && next.ends_with('.'), "{page}: {row:?}");
    }
}

#[test]
fn the_shape_of_a_problem_is_as_shown() {
    let shown = pages::read("docs/src/reference/errors.md");
    let shown: Vec<_> = pages::blocks(&shown).into_iter().filter(|block| block.words == ["json"]).collect();
    assert!(!shown.is_empty());
    for block in shown {
        let problem: Problem = serde_json::from_str(&block.text).unwrap_or_else(|error| panic!("{error}"));
        let again = serde_json::to_value(&problem).unwrap();
        assert_eq!(again, serde_json::from_str::<serde_json::Value>(&block.text).unwrap());
    }
}

#[test]
fn every_bound_is_told_as_it_is() {
    let page = "docs/src/reference/bounds.md";
    let told: BTreeMap<String, String> = rows(page)
        .into_iter()
        .filter_map(|row| Some((code(row.last()?)?.to_owned(), row[1].clone())))
        .collect();
    let bounds = in_code(&pages::read("crates/engine/src/bounds.rs"));
    assert!(bounds.len() > 20, "{bounds:?}");
    for (name, number) in &bounds {
        let is = if name.ends_with("_MS") { format_duration(*number) } else { with_commas(*number) };
        let row = told.get(name).unwrap_or_else(|| panic!("{page}: {name} is missing"));
        assert_eq!(row, &is, "{page}: {name}");
    }
    let unknown: Vec<&String> = told.keys().filter(|name| !bounds.contains_key(*name)).collect();
    assert!(unknown.is_empty(), "{page}: the code has no {unknown:?}");
}

#[test]
fn the_bound_of_written_is_the_one_of_the_code() {
    let code = pages::read("crates/maitred/src/local/sequencer/mod.rs");
    let line = code.lines().find_map(|line| line.strip_prefix("const WRITTEN_SYNC_MS: Millis = "));
    let most = number(line.unwrap().trim_end_matches(';')).unwrap();
    let told = format!("flushed **{most} ms later**");
    assert!(pages::read("docs/src/explanation/durability.md").contains(&told), "{told}");
}

/// `pub const NAME: Kind = 30 * DAY_MS;` and `name: 10_000,` with their numbers.
fn in_code(text: &str) -> BTreeMap<String, u64> {
    let constant = |line: &str| {
        let (name, value) = line.strip_prefix("pub const ")?.strip_suffix(';')?.split_once(" = ")?;
        Some((name.split_once(':')?.0.to_owned(), number(value)?))
    };
    let field = |line: &str| {
        let (name, value) = line.strip_suffix(',')?.split_once(": ")?;
        Some((name.to_owned(), number(value)?))
    };
    text.lines().map(str::trim).filter_map(|line| constant(line).or_else(|| field(line))).collect()
}

fn number(text: &str) -> Option<u64> {
    if text == "(1 << 53) - 1" {
        return Some((1 << 53) - 1);
    }
    let factor = |word: &str| match word {
        "SECOND_MS" => Some(1_000),
        "MINUTE_MS" => Some(60_000),
        "DAY_MS" => Some(86_400_000),
        _ => word.replace('_', "").parse().ok(),
    };
    text.split(" * ").map(factor).try_fold(1, |product, factor| Some(product * factor?))
}

fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
