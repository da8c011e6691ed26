//! What `cargo xtask` is built with has the features that the whole workspace has with its tests. Else everything from
//! there on would be compiled twice by `cargo xtask test`, which has half an hour.

use std::collections::BTreeMap;

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

fn read(lines: &str) -> BTreeMap<&str, &str> {
    lines.lines().filter_map(|line| line.trim_end_matches(" (*)").split_once('|')).collect()
}

fn differences(own: &BTreeMap<&str, &str>, all: &BTreeMap<&str, &str>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (package, features) in own {
        let wanted = all.get(package).unwrap_or(features);
        let missing: Vec<&str> =
            wanted.split(',').filter(|name| !features.split(',').any(|own| own == *name)).collect();
        if !missing.is_empty() {
            let package = package.split(' ').next().unwrap_or_default();
            wrong.push(format!(
                "xtask/Cargo.toml: {package} needs the features {missing:?} that others give it"
            ));
        }
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
        assert_eq!(wrong, ["xtask/Cargo.toml: tokio needs the features [\"test-util\"] that others give it"]);
    }
}
