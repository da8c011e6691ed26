use toml::Table;

use super::tree::Tree;

const FORBID: &str = "#![forbid(unsafe_code)]";

/// Once in every library or program that has no library beside it, and once for all targets, tests too, by the
/// workspace's lints.
pub fn check(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in tree.all() {
        let Some(folder) = path.strip_suffix("/Cargo.toml") else { continue };
        let root =
            ["src/lib.rs", "src/main.rs"].iter().find_map(|file| tree.text(&format!("{folder}/{file}")));
        if !root.is_some_and(|root| root.lines().any(|line| line == FORBID)) {
            wrong.push(format!("{folder}: its root does not say {FORBID}"));
        }
        // A project to copy stands alone.
        if !folder.starts_with("examples/") && !has_workspace_lints(text) {
            wrong.push(format!("{path}: [lints] workspace = true is missing"));
        }
    }
    wrong
}

fn has_workspace_lints(manifest: &str) -> bool {
    let manifest = manifest.parse::<Table>().unwrap_or_default();
    let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
    lints.is_some_and(|workspace| workspace.as_bool() == Some(true))
}

#[cfg(test)]
mod tests {
    use super::{FORBID, Tree, check};

    #[test]
    fn both_are_asked_for() {
        let (manifest, lints) = ("crates/a/Cargo.toml", "[lints]\nworkspace = true\n");
        let source = ("crates/a/src/lib.rs", FORBID);
        assert!(check(&Tree::of(&[(manifest, lints), source])).is_empty());
        assert_eq!(check(&Tree::of(&[(manifest, ""), source])).len(), 1);
        assert_eq!(check(&Tree::of(&[(manifest, lints)])).len(), 1);
    }
}
