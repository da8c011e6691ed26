//! The table of invariants in `ARCHITECTURE.md`: an id, what holds, and places in code spans. The places are files
//! or folders that check it, and whoever mentions an invariant elsewhere mentions one of the table.

use super::{source, tree::Tree};

const DOCUMENT: &str = "ARCHITECTURE.md";
const PREFIX: &str = concat!("INV", "-");

pub fn check(tree: &Tree) -> Vec<String> {
    let text = tree.text(DOCUMENT).unwrap_or_default();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains(PREFIX))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let mut wrong = Vec::new();
    if rows.is_empty() {
        wrong.push(format!("{DOCUMENT}: has no table of invariants"));
    }
    for row in &rows {
        wrong.extend(unchecked(tree, row));
    }
    let known: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    for (path, text) in tree.written(&[".rs", ".md", ".txt"]) {
        for name in mentioned(text).filter(|name| !known.contains(name)) {
            wrong.push(format!("{path}: {name} is not in {DOCUMENT}"));
        }
    }
    wrong
}

fn unchecked(tree: &Tree, row: &[&str]) -> Vec<String> {
    let name = row[0];
    let places: Vec<&str> = row.last().unwrap_or(&"").split('`').skip(1).step_by(2).collect();
    if row.len() != 3 || places.is_empty() {
        return vec![format!("{DOCUMENT}: {name} names no place that checks it")];
    }
    let missing = places.into_iter().filter(|place| !checks_something(tree, place));
    missing.map(|place| format!("{DOCUMENT}: {name}: {place} is not there or checks nothing")).collect()
}

/// It is there, and somewhere in it something is asserted, compared or refused.
fn checks_something(tree: &Tree, place: &str) -> bool {
    let (file, folder) = (format!("{place}.rs"), format!("{}/", place.trim_end_matches('/')));
    let mut texts =
        tree.all().filter(|(path, _)| *path == place || *path == file || path.starts_with(&folder));
    texts.any(|(_, text)| {
        let code = source::code_only(text);
        ["assert", "Err(", "#[test]", "must("].iter().any(|sign| code.contains(sign))
    })
}

fn mentioned(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(PREFIX).filter_map(|(at, _)| {
        let length = text[at..].find(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '-');
        let name = text[at..].get(..length.unwrap_or(text.len() - at))?;
        (name.len() > PREFIX.len()).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    #[test]
    fn an_invariant_that_nobody_checks_is_seen() {
        let table = |places: &str| format!("| id | x | y |\n| {}ONE | holds | {places} |\n", "INV-");
        let wrong = |text: &str, code: &str| {
            check(&Tree::of(&[("ARCHITECTURE.md", text), ("crates/a/src/x.rs", code)])).len()
        };
        assert_eq!(wrong(&table("`crates/a/src/x.rs`"), "assert!(true);"), 0);
        assert_eq!(wrong(&table("`crates/a/src`"), "assert!(true);"), 0);
        assert_eq!(wrong(&table("`crates/a/src/x.rs`"), "// assert!"), 1);
        assert_eq!(wrong(&table("`crates/a/src/y.rs`"), "assert!(true);"), 1);
        assert_eq!(wrong(&table("somewhere"), ""), 1);
        assert_eq!(wrong("", ""), 1);
        assert_eq!(wrong(&table("`crates/a/src/x.rs`"), &format!("assert!(true); // {}TWO", "INV-")), 1);
    }
}
