//! What the released binary is made of: every crate with version, licence, source and checksum, as a CycloneDX document.
//!
//! The tool writes one for every program of a workspace beside its manifest. So it is given a copy of the last commit, and
//! the one for `maitred` is taken from there.

use std::{fs, path::PathBuf, process::Command};

use serde_json::Value;

use crate::{binary, test::SBOM};

const FILE: &str = "maitred.cdx.json";

#[derive(clap::Args)]
pub struct Options {
    /// Where to write it
    #[arg(long, default_value = FILE, value_name = "FILE")]
    to: PathBuf,
}

pub fn run(options: Options) -> Result<(), String> {
    SBOM.provide()?;
    let copy = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut archive = Command::new("sh");
    archive.args(["-c", "git archive HEAD | tar -x -C \"$0\""]).arg(copy.path());
    done(archive.current_dir(binary::root()))?;
    let mut cyclonedx = binary::cargo();
    cyclonedx.args(["cyclonedx", "--format=json", "--spec-version=1.5", "--describe=binaries"]);
    done(cyclonedx.current_dir(copy.path()))?;
    let made = copy.path().join("crates/server/maitred_bin.cdx.json");
    let text = fs::read_to_string(&made).map_err(|error| format!("{}: {error}", made.display()))?;
    let components = components(&text)?;
    fs::write(&options.to, &text).map_err(|error| format!("{}: {error}", options.to.display()))?;
    println!("{}: {components} components of the last commit", options.to.display());
    Ok(())
}

fn components(text: &str) -> Result<usize, String> {
    let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let components = document["components"].as_array().map_or(0, Vec::len);
    match components {
        0 => Err("the document lists no component".to_owned()),
        components => Ok(components),
    }
}

fn done(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{command:?} ended with {status}")),
    }
}
