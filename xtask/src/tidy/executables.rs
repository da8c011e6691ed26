//! Every executable of tests is linked with everything below it, which takes most of the time of a build. So the tests
//! beside the sources of a crate are one, and a target without tests is not built as one.
//!
//! Both could lose tests that nobody would miss: in a file that no `mod` names, or in a target that is not tested.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::{source, tree::Tree};

/// Executables of their own, because they must be alone in a process, or have a feature that takes long to build.
const ALONE: [&str; 2] = ["crates/engine/tests/memory/main.rs", "crates/server/tests/hosted.rs"];

pub fn check(tree: &Tree) -> Vec<String> {
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (path, text) in tree.rust() {
        if let Some((folder, file)) = beside_sources(path) {
            crates.entry(folder).or_default().push((file, text));
        }
    }
    let wrong = crates.iter().flat_map(|(folder, files)| wrong_in(folder, files));
    wrong.chain(tree.all().flat_map(|(path, text)| untested(tree, path, text))).collect()
}

/// The folder of the crate, and the file in its folder of tests.
fn beside_sources(path: &str) -> Option<(&str, &str)> {
    path.split_once("/tests/").filter(|(folder, _)| !folder.contains("/src"))
}

fn wrong_in(folder: &str, files: &[(&str, &str)]) -> Vec<String> {
    let path = |file: &str| format!("{folder}/tests/{file}");
    let (roots, others): (Vec<_>, Vec<_>) =
        files.iter().map(|(file, _)| *file).partition(|file| is_root(file));
    let together = roots.into_iter().filter(|root| !ALONE.contains(&path(root).as_str()));
    let second = together.skip(1).map(|root| format!("{}: a second executable of tests", path(root)));
    let code: String = files.iter().map(|(_, text)| source::code_only(text)).collect();
    let is_named = |file: &&str| code.contains(&format!("mod {};", name(file)));
    let lost = others.into_iter().filter(|file| !is_named(file));
    second.chain(lost.map(|file| format!("{}: no `mod` names it, so it is in no test", path(file)))).collect()
}

/// What cargo makes an executable of.
fn is_root(file: &str) -> bool {
    file.split_once('/').is_none_or(|(_, below)| below == "main.rs")
}

fn name(file: &str) -> &str {
    let file = file.trim_end_matches(".rs").trim_end_matches("/mod");
    file.rsplit_once('/').map_or(file, |(_, name)| name)
}

/// Tests in a library or program whose manifest says that it has none.
fn untested(tree: &Tree, path: &str, text: &str) -> Vec<String> {
    let manifest =
        path.strip_suffix("Cargo.toml").and_then(|folder| Some((folder, text.parse::<Table>().ok()?)));
    let Some((folder, manifest)) = manifest else { return Vec::new() };
    let programs = manifest.get("bin").and_then(Value::as_array).into_iter().flatten();
    let targets = manifest.get("lib").into_iter().chain(programs);
    let places = targets.filter(|target| target.get("test").and_then(Value::as_bool) == Some(false));
    let places = places.map(|target| target.get("path").and_then(Value::as_str).unwrap_or("src/"));
    let places: Vec<String> = places.map(|place| format!("{folder}{place}")).collect();
    let sources = tree.rust().filter(|(file, _)| places.iter().any(|place| file.starts_with(place)));
    let tested = sources.filter(|(_, text)| source::code_only(text).contains("#[cfg(test)]"));
    tested.map(|(file, _)| format!("{file}: {path} says `test = false`, so its tests never run")).collect()
}

#[cfg(test)]
mod tests {
    use super::{ALONE, Tree, check};

    fn wrong(files: &[(&str, &str)]) -> usize {
        check(&Tree::of(files)).len()
    }

    #[test]
    fn a_second_executable_and_a_lost_file_are_seen() {
        let main = ("crates/a/tests/it/main.rs", "mod one;");
        let one = ("crates/a/tests/it/one.rs", "mod two;");
        assert_eq!(wrong(&[main, one, ("crates/a/tests/it/one/two.rs", "")]), 0);
        assert_eq!(wrong(&[main, ("crates/b/tests/it/main.rs", ""), ("crates/a/src/tests/two.rs", "")]), 0);
        assert_eq!(wrong(&[("crates/engine/tests/it/main.rs", ""), (ALONE[0], "")]), 0);
        assert_eq!(wrong(&[main, ("crates/a/tests/two.rs", "")]), 1);
        assert_eq!(wrong(&[main, ("crates/a/tests/it/two.rs", "")]), 1);
        assert_eq!(wrong(&[main, ("crates/a/tests/it/two.rs", "// mod two;")]), 1);
    }

    #[test]
    fn tests_where_none_are_run_are_seen() {
        let (lib, bin) = ("[lib]\ntest = false", "[[bin]]\npath = \"src/main.rs\"\ntest = false");
        let tested = "#[cfg(test)]\nmod tests {}";
        assert_eq!(wrong(&[("a/Cargo.toml", "[lib]\n"), ("a/src/x.rs", tested)]), 0);
        assert_eq!(wrong(&[("a/Cargo.toml", bin), ("a/src/x.rs", tested)]), 0);
        assert_eq!(wrong(&[("a/Cargo.toml", lib), ("b/src/x.rs", tested)]), 0);
        assert_eq!(wrong(&[("a/Cargo.toml", lib), ("a/src/x.rs", tested)]), 1);
        assert_eq!(wrong(&[("a/Cargo.toml", bin), ("a/src/main.rs", tested)]), 1);
    }
}
