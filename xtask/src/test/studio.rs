//! Studio: what is committed is what its sources make, it stays small, and its stories come true in a real browser
//! against the real server.

use std::{collections::BTreeMap, fs, io, path::Path};

use super::{
    step::{Failure, counted, failed, one},
    tally::Tally,
};
use crate::binary;

const SOURCES: &str = "studio";
const COMMITTED: &str = "crates/server/studio-dist";
const TYPES: &str = "src/api/generated.ts";

pub fn run() -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    tally.add(npm(&["ci", "--no-audit", "--no-fund"])?);
    tally.add(npm(&["run", "check"])?);
    is_fresh()?;
    tally.add(Tally::passed(2));
    tally.add(npm(&["run", "size"])?);
    let server = binary::build().map_err(failed)?;
    let mut stories = binary::npm(SOURCES);
    stories.args(["run", "stories"]).env("MAITRED_BIN", server);
    tally.add(counted(&mut stories, Tally::read_stories)?);
    Ok(tally)
}

fn npm(arguments: &[&str]) -> Result<Tally, Failure> {
    one(binary::npm(SOURCES).args(arguments))
}

/// Builds beside what is committed, so that nothing that contains it is compiled again.
fn is_fresh() -> Result<(), Failure> {
    let folder = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
    let (dist, types) = (folder.path().join("dist"), folder.path().join("types.ts"));
    let (to_dist, to_types) = (dist.display().to_string(), types.display().to_string());
    npm(&["exec", "vite", "--", "build", "--outDir", &to_dist, "--emptyOutDir"])?;
    npm(&["exec", "openapi-typescript", "--", "../openapi/v1.json", "--output", &to_types])?;
    let root = binary::root();
    let same = || -> io::Result<[bool; 2]> {
        let committed = root.join(SOURCES).join(TYPES);
        Ok([files(&dist)? == files(&root.join(COMMITTED))?, fs::read(&types)? == fs::read(committed)?])
    };
    match same().map_err(|error| failed(error.to_string()))? {
        [true, true] => Ok(()),
        [false, _] => Err(failed(format!("{COMMITTED} is not what {SOURCES}/ makes: npm run build there"))),
        _ => Err(failed(format!("{SOURCES}/{TYPES} is not of openapi/v1.json: npm run types there"))),
    }
}

/// What is in a folder, by path.
fn files(folder: &Path) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            let below = files(&entry.path())?;
            all.extend(below.into_iter().map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
        } else {
            all.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(all)
}
