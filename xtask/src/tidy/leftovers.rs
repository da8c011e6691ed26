use super::{source, tree::Tree};

/// What one writes for a moment and forgets.
const MACROS: [&str; 3] = ["todo", "unimplemented", "dbg"];
const IGNORE: &str = "#[ignore]";

pub fn check(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in tree.rust() {
        for (number, line) in source::lines(&source::code_only(text)) {
            for name in MACROS.iter().filter(|name| is_called(line, name)) {
                wrong.push(format!("{path}:{number}: {name}!"));
            }
            if line.contains(IGNORE) {
                wrong
                    .push(format!("{path}:{number}: a test that is not run must say why: #[ignore = \"…\"]"));
            }
        }
    }
    wrong
}

fn is_called(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let starts = !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        starts && line[at + name.len()..].starts_with('!')
    })
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    #[test]
    fn leftovers_are_seen() {
        let wrong = |code: &str| check(&Tree::of(&[("a.rs", code)])).len();
        assert_eq!(wrong(concat!("fn f() { tod", "o!() }")), 1);
        assert_eq!(wrong("#[ignore]"), 1);
        assert_eq!(wrong("#[ignore = \"a measurement\"]"), 0);
        assert_eq!(wrong("let todo = todo_list.next(); if dbg != 1 {}"), 0);
    }
}
