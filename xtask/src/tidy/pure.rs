//! The engine has no clock, no input or output, no chance, no floats and no set or map whose order is chance (T5).

use super::{source, tree::Tree};

/// Words that may not stand in the engine's code, and why.
const WORDS: [(&str, &str); 15] = [
    ("SystemTime", "time comes with every command"),
    ("Instant", "time comes with every command"),
    ("HashMap", "its order is chance; `Index` has none"),
    ("HashSet", "its order is chance; `Index` has none"),
    ("RandomState", "the hasher's key is fixed at the journal's birth"),
    ("f32", "floats differ between machines"),
    ("f64", "floats differ between machines"),
    ("rand", "chance is an input"),
    ("fs", "no input or output"),
    ("net", "no input or output"),
    ("env", "no input or output"),
    ("process", "no input or output"),
    ("println", "no input or output"),
    ("thread", "one thread owns the engine"),
    ("async", "nothing in the engine waits"),
];

pub fn check(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in tree.rust().filter(|(path, _)| path.starts_with("crates/engine/src/")) {
        for (number, line) in source::lines(&source::code_only(text)) {
            for (word, why) in WORDS {
                if source::words(line).any(|found| found == word) {
                    wrong.push(format!("{path}:{number}: {word}: {why}"));
                }
            }
            if has_float(line) {
                wrong.push(format!("{path}:{number}: floats differ between machines"));
            }
        }
    }
    wrong
}

/// `1.5`, but not the `0.1` of a tuple's `pair.0.1` and not the range `0..1`.
fn has_float(line: &str) -> bool {
    let bytes = line.as_bytes();
    bytes.windows(3).enumerate().any(|(at, window)| {
        let is_like = window[0].is_ascii_digit() && window[1] == b'.' && window[2].is_ascii_digit();
        let before = bytes[..at].iter().rev().find(|byte| !byte.is_ascii_digit() && **byte != b'_');
        is_like && before.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'.')
    })
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    fn wrong(code: &str) -> usize {
        check(&Tree::of(&[("crates/engine/src/a.rs", code), ("crates/api/src/a.rs", code)])).len()
    }

    #[test]
    fn what_is_not_pure_is_seen() {
        for code in [
            "use std::time::Instant;",
            "x as f64",
            "let x = 10.5;",
            "use std::collections::{HashMap};",
            "std::fs::read",
        ] {
            assert_eq!(wrong(code), 1, "{code}");
        }
        for code in ["// SystemTime", "pair.0.1", "0..10", "let instant = \"f64\";", "offset"] {
            assert_eq!(wrong(code), 0, "{code}");
        }
    }
}
