//! Versions of dependencies below which a fault is known, and crates that are not used at all. For machines that cannot
//! fetch the list of advisories, which `cargo deny check advisories` asks.

use toml::Table;

use super::tree::Tree;

/// The first version without the faults that were known when this was written. What is not in the tree is here too:
/// it may come.
const FLOORS: &[(&str, &str)] = &[
    ("async-nats", "0.29.0"),
    ("bytes", "1.11.1"),
    ("h2", "0.4.16"),
    ("lru", "0.18.2"),
    ("postgres-protocol", "0.6.12"),
    ("rustls", "0.23.18"),
    ("rustls-webpki", "0.103.13"),
    ("sqlx", "0.8.1"),
    ("sqlx-core", "0.8.1"),
    ("sqlx-postgres", "0.8.1"),
    ("sqlx-sqlite", "0.8.1"),
    ("time", "0.3.47"),
    ("tokio", "1.44.2"),
    ("tokio-postgres", "0.7.18"),
    ("tracing-subscriber", "0.3.20"),
];

type Version = [u64; 3];

pub fn check(tree: &Tree) -> Vec<String> {
    let lock = tree.text("Cargo.lock").unwrap_or_default();
    let Ok(lock) = lock.parse::<Table>() else { return vec!["Cargo.lock: cannot be read".to_owned()] };
    let packages = lock.get("package").and_then(|packages| packages.as_array()).cloned().unwrap_or_default();
    let field = |package: &toml::Value, name| package.get(name)?.as_str().map(str::to_owned);
    let named =
        packages.iter().filter_map(|package| Some((field(package, "name")?, field(package, "version")?)));
    named.filter_map(|(name, version)| too_old(&name, &version)).collect()
}

fn too_old(name: &str, found: &str) -> Option<String> {
    let (_, floor) = FLOORS.iter().find(|(known, _)| *known == name)?;
    let is_old = version(found)? < version(floor)?;
    is_old.then(|| {
        format!("Cargo.lock: {name} {found} has known faults; at least {floor}: cargo update -p {name}")
    })
}

/// Three numbers; what is behind them (`-rc.1`) is not asked.
fn version(text: &str) -> Option<Version> {
    let numbers = text.split(['-', '+']).next()?.split('.').map(|number| number.parse().ok());
    numbers.collect::<Option<Vec<u64>>>()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::{FLOORS, Tree, check, version};

    fn wrong(name: &str, version: &str) -> usize {
        let lock = format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n");
        check(&Tree::of(&[("Cargo.lock", &lock)])).len()
    }

    #[test]
    fn a_version_below_its_floor_is_seen() {
        for (name, floor) in FLOORS {
            assert!(version(floor).is_some(), "{name} {floor}");
            assert_eq!(wrong(name, floor), 0);
            assert_eq!(wrong(name, "0.0.1"), 1);
        }
        assert_eq!(wrong("rustls", "0.23.9"), 1);
        assert_eq!(wrong("rustls", "0.103.0-rc.1"), 0);
        assert_eq!(wrong("other", "0.0.1"), 0);
        assert_eq!(check(&Tree::of(&[("Cargo.lock", "[")])).len(), 1);
    }
}
