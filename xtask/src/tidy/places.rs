//! Nothing in the repository is true on one machine only.

use super::tree::Tree;

/// Beginnings of paths that only one machine has.
const MACHINES: [&str; 5] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("C:", "\\"),
];
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";
const NPM: &str = "https://registry.npmjs.org/";

pub fn check(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in tree.all() {
        for (index, line) in text.lines().enumerate() {
            if let Some(what) = foreign(path, line) {
                wrong.push(format!("{path}:{}: {what}", index + 1));
            }
        }
    }
    wrong
}

fn foreign(path: &str, line: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let quoted = |field: &str| line.trim().strip_prefix(field)?.split('"').nth(1);
    match name {
        "Cargo.lock" => quoted("source = ").filter(|source| *source != CRATES_IO).map(str::to_owned),
        "package-lock.json" => {
            let is_known = |source: &&str| source.starts_with(NPM) || source.starts_with("../");
            quoted("\"resolved\":").filter(|source| !is_known(source)).map(str::to_owned)
        }
        "config.toml" if path.starts_with(".cargo/") && line.contains("[source") => Some(line.to_owned()),
        ".npmrc" if line.contains("registry") => Some(line.to_owned()),
        _ => MACHINES.iter().find(|place| is_there(line, place)).map(|place| format!("{place}…")),
    }
}

/// As the beginning of a path, not in the middle of a longer one.
fn is_there(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|before| {
            !before.is_alphanumeric() && !matches!(before, '.' | '_' | '-' | '}' | ')' | '*')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{MACHINES, Tree, check};

    fn wrong(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn machines_and_mirrors_are_seen() {
        for place in MACHINES {
            assert_eq!(wrong("a.rs", &format!("let x = \"{place}x\";")), 1, "{place}");
        }
        assert_eq!(wrong("a.rs", concat!("crates/wo", "rk/x")), 0);
        let index = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
        assert_eq!(wrong("Cargo.lock", index), 0);
        assert_eq!(wrong("Cargo.lock", "source = \"registry+https://mirror.example/index\""), 1);
        assert_eq!(wrong("sdk/package-lock.json", "  \"resolved\": \"https://mirror.example/a.tgz\","), 1);
        assert_eq!(
            wrong("sdk/package-lock.json", "  \"resolved\": \"https://registry.npmjs.org/a.tgz\","),
            0
        );
        assert_eq!(wrong(".cargo/config.toml", "[source.crates-io]"), 1);
    }
}
