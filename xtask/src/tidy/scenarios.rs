//! Scenario files are played by tests that read the folder, so a file that lies elsewhere is never played, and one
//! that expects nothing proves nothing.

use super::tree::Tree;

const FOLDER: &str = "scenarios/";
/// The tests that play every file of the folder: on the model, and on the real thing.
const PLAYERS: [&str; 2] = ["crates/model/tests/it/scenarios.rs", "crates/server/tests/it/scenarios.rs"];

pub fn check(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for player in PLAYERS {
        let reads = tree.text(player).is_some_and(|text| text.contains("../../scenarios"));
        if !reads {
            wrong.push(format!("{player}: should play every file of {FOLDER}"));
        }
    }
    let files = tree.all().filter_map(|(path, text)| Some((path, path.strip_prefix(FOLDER)?, text)));
    for (path, name, text) in files {
        if name == "README.md" {
            continue;
        }
        if name.contains('/') || !name.ends_with(".txt") {
            wrong.push(format!("{path}: is never played; scenarios are .txt files in {FOLDER} itself"));
        }
        let expects = text.lines().any(|line| line.split(" #").next().unwrap_or(line).contains(" => "));
        if !expects {
            wrong.push(format!("{path}: expects nothing"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::{PLAYERS, Tree, check};

    #[test]
    fn what_is_never_played_is_seen() {
        let [one, two] = PLAYERS.map(|player| (player, "../../scenarios"));
        let story = "0s acquire a slot=1 => busy\n";
        assert!(check(&Tree::of(&[one, two, ("scenarios/a.txt", story)])).is_empty());
        assert_eq!(check(&Tree::of(&[one, two, ("scenarios/old/a.txt", story)])).len(), 1);
        assert_eq!(check(&Tree::of(&[one, two, ("scenarios/a.txt", "0s advance # => x\n")])).len(), 1);
        assert_eq!(check(&Tree::of(&[one])).len(), 1);
    }
}
