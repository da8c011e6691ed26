//! The arrows between crates, read from their manifests.

use toml::Table;

use super::tree::Tree;

struct Crate {
    folder: &'static str,
    /// Whom it may know.
    may_know: &'static [&'static str],
    /// Whom its tests may know besides.
    tests_know: &'static [&'static str],
}

const API: &str = "maitred-api";
const ENGINE: &str = "maitred-engine";
const JOURNAL: &str = "maitred-journal";
const PERMITS: &str = "maitred-permits";
const PLANTED: &str = "maitred-planted";
const LIBRARY: &str = "maitred";
const MODEL: &str = "maitred-model";
const SERVER: &str = "maitred-server";
const SIMULATOR: &str = "maitred-simulator";
const TESTBED: &str = "maitred-testbed";
const TASKS: &str = "maitred-tasks";
const WORKFLOWS: &str = "maitred-workflows";
const EVERYBODY: &[&str] =
    &[API, ENGINE, JOURNAL, PERMITS, PLANTED, LIBRARY, MODEL, SERVER, SIMULATOR, TASKS, TESTBED, WORKFLOWS];

const CRATES: &[Crate] = &[
    Crate { folder: "crates/api", may_know: &[], tests_know: &[] },
    // Nothing at all in a build without planted defects.
    Crate { folder: "crates/planted", may_know: &[], tests_know: &[] },
    Crate { folder: "crates/engine", may_know: &[PLANTED], tests_know: &[MODEL] },
    Crate { folder: "crates/journal", may_know: &[PLANTED], tests_know: &[TESTBED] },
    Crate { folder: "crates/permits", may_know: &[], tests_know: &[] },
    Crate { folder: "crates/model", may_know: &[], tests_know: &[] },
    Crate {
        folder: "crates/maitred",
        may_know: &[API, ENGINE, JOURNAL, PERMITS, PLANTED],
        tests_know: &[SERVER, TESTBED],
    },
    Crate { folder: "crates/tasks", may_know: &[LIBRARY], tests_know: &[SERVER] },
    Crate { folder: "crates/workflows", may_know: &[LIBRARY], tests_know: &[SERVER, TESTBED] },
    Crate { folder: "crates/server", may_know: &[LIBRARY, API, TASKS, WORKFLOWS], tests_know: &[TESTBED] },
    // A project to copy.
    Crate { folder: "examples/workflows", may_know: &[LIBRARY, WORKFLOWS], tests_know: &[] },
    // Tools.
    Crate { folder: "crates/testbed", may_know: &[], tests_know: &[] },
    Crate { folder: "crates/simulator", may_know: EVERYBODY, tests_know: &[] },
    Crate { folder: "xtask", may_know: EVERYBODY, tests_know: &[] },
    Crate { folder: "bench", may_know: EVERYBODY, tests_know: &[] },
    Crate { folder: "fuzz", may_know: EVERYBODY, tests_know: &[] },
];

/// What the engine may use of others: small, pure, and nothing else.
const ENGINE_USES: [&str; 3] = ["hashbrown", "siphasher", "smallvec"];

pub fn check(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in tree.all() {
        let Some(folder) = path.strip_suffix("/Cargo.toml") else { continue };
        let Ok(manifest) = text.parse::<Table>() else {
            wrong.push(format!("{path}: no manifest that can be read"));
            continue;
        };
        if text.lines().any(switches_defects_on) {
            wrong.push(format!("{path}: switches planted defects on; only `cargo xtask see` may"));
        }
        match CRATES.iter().find(|known| known.folder == folder) {
            Some(known) => wrong.extend(check_crate(known, path, &manifest)),
            None => {
                wrong.push(format!("{path}: a crate that has no arrows yet; give it some in tidy/arrows.rs"))
            }
        }
    }
    wrong
}

/// A feature of another crate that comes with one of its own, or a dependency with features.
fn switches_defects_on(line: &str) -> bool {
    line.contains("maitred-planted/") || line.starts_with("maitred-planted") && line.contains("features")
}

fn check_crate(known: &Crate, path: &str, manifest: &Table) -> Vec<String> {
    let mut wrong = Vec::new();
    let own = manifest.get("package").and_then(|package| package.get("name")).and_then(|name| name.as_str());
    for dependency in names(manifest, &["dependencies", "build-dependencies"]) {
        if EVERYBODY.contains(&dependency) && !known.may_know.contains(&dependency) {
            wrong.push(format!("{path}: must not know {dependency}; may know {:?}", known.may_know));
        }
        let is_foreign = !EVERYBODY.contains(&dependency) && !ENGINE_USES.contains(&dependency);
        if known.folder == "crates/engine" && is_foreign {
            wrong.push(format!("{path}: must not use {dependency}; may use {ENGINE_USES:?}"));
        }
    }
    for dependency in names(manifest, &["dev-dependencies"]) {
        let may = known.may_know.contains(&dependency) || known.tests_know.contains(&dependency);
        if EVERYBODY.contains(&dependency) && !may && own != Some(dependency) {
            wrong.push(format!("{path}: tests must not know {dependency}"));
        }
    }
    wrong
}

fn names<'a>(manifest: &'a Table, sections: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let tables = sections.iter().filter_map(|section| manifest.get(*section)?.as_table());
    tables.flat_map(Table::keys).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    fn wrong(path: &str, manifest: &str) -> Vec<String> {
        check(&Tree::of(&[(path, manifest)]))
    }

    #[test]
    fn arrows_point_down_only() {
        let of = |name: &str| format!("[dependencies]\n{name}.workspace = true\n");
        assert!(wrong("crates/server/Cargo.toml", &of("maitred")).is_empty());
        assert_eq!(wrong("crates/engine/Cargo.toml", &of("maitred-api")).len(), 1);
        assert_eq!(wrong("crates/engine/Cargo.toml", &of("tokio")).len(), 1);
        assert_eq!(
            wrong("crates/api/Cargo.toml", "[dev-dependencies]\nmaitred = { path = \"x\" }\n").len(),
            1
        );
        assert_eq!(wrong("crates/new/Cargo.toml", "").len(), 1);
        let planted = "[features]\nfast = [\"maitred-planted/planted\"]\n";
        assert_eq!(wrong("crates/engine/Cargo.toml", planted).len(), 1);
        let planted = "[dependencies]\nmaitred-planted = { workspace = true, features = [\"planted\"] }\n";
        assert_eq!(wrong("crates/engine/Cargo.toml", planted).len(), 1);
        assert_eq!(wrong("crates/api/Cargo.toml", "[").len(), 1);
    }
}
