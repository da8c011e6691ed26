//! What `cargo xtask` is built with has the features that the whole workspace has with its tests. Else everything from
//! there on would be compiled twice by `cargo xtask test`, which has half an hour.
//!
//! A package may be there twice, for programs and for what runs while they are built, each time with features of its own.
//! A macro that is built anew makes all that use it be built anew.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::Tree;
use crate::binary;

pub fn check(_: &Tree) -> Vec<String> {
    match (packages(&["--package", "xtask", "--edges", "no-dev"]), packages(&["--workspace"])) {
        (Ok(own), Ok(all)) => differences(&read(&own), &read(&all)),
        (Err(why), _) | (_, Err(why)) => vec![format!("cargo tree: {why}")],
    }
}

/// A line for each package: name, version, features.
fn packages(of: &[&str]) -> Result<String, String> {
    let mut command = binary::cargo();
    command.args(["tree", "--prefix", "none", "--format", "{p}|{f}"]).args(of);
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// Packages, and with which features each is there.
type Packages<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

fn read(lines: &str) -> Packages<'_> {
    let mut packages = Packages::new();
    for (package, features) in lines.lines().filter_map(|line| line.trim_end_matches(" (*)").split_once('|'))
    {
        packages.entry(package).or_default().insert(features);
    }
    packages
}

fn differences(own: &Packages, all: &Packages) -> Vec<String> {
    let mut wrong = Vec::new();
    for (package, features) in own {
        let wanted = all.get(package).unwrap_or(features);
        let package = package.split(' ').next().unwrap_or_default();
        wrong.extend(features.difference(wanted).map(|features| {
            format!(
                "xtask/Cargo.toml: {package} has the features {features:?}, and with all others {wanted:?}"
            )
        }));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::{differences, read};

    #[test]
    fn a_feature_that_only_others_ask_for_is_named() {
        let own = read("tokio v1.0.0|net,rt\nserde v1.0.0|std (*)\nxtask v0.1.0|");
        assert!(differences(&own, &read("tokio v1.0.0|net,rt\nserde v1.0.0|std\nother v1|x")).is_empty());
        let wrong = differences(&own, &read("tokio v1.0.0|net,rt,test-util (*)"));
        let tokio = r#"tokio has the features "net,rt", and with all others {"net,rt,test-util"}"#;
        assert_eq!(wrong, [format!("xtask/Cargo.toml: {tokio}")]);
    }

    #[test]
    fn what_runs_while_others_are_built_counts_too() {
        let own = read("memchr v2.0.0|default,std\nmemchr v2.0.0|std");
        assert!(differences(&own, &own).is_empty());
        assert_eq!(differences(&own, &read("memchr v2.0.0|default,std")).len(), 1);
    }
}
