//! What maitred is compared with. What is missing is installed where that can be done; what cannot be had is named on
//! standard error, and its figures are left out.

pub mod postgres;
pub mod redis;
pub mod throttlecrab;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::figure::{Trouble, check};

/// A program of a Debian package, which is installed if it is not there.
fn program(name: &str, more_folders: &[&str], package: &str) -> Result<PathBuf, Trouble> {
    let look = || {
        let path = std::env::var("PATH").unwrap_or_default();
        let folders = path.split(':').chain(more_folders.iter().copied());
        folders.map(|folder| Path::new(folder).join(name)).find(|file| file.is_file())
    };
    if let Some(found) = look() {
        return Ok(found);
    }
    eprintln!("{name} is missing; installing the Debian package {package}");
    // Without starting what is installed: the harness runs its own.
    let mut install = Command::new("apt-get");
    install
        .args(["install", "-y", "--no-install-recommends", package])
        .env("DEBIAN_FRONTEND", "noninteractive");
    let _ = install.env("RUNLEVEL", "1").stdin(Stdio::null()).stdout(Stdio::null()).status();
    look().ok_or_else(|| Trouble::Absent(format!("{name}; install the package {package}")))
}

/// What a command says, if it succeeds.
fn said(command: &mut Command) -> Result<String, Trouble> {
    let output = command.stdin(Stdio::null()).output()?;
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    check(output.status.success(), || {
        format!("{command:?}: {out}{}", String::from_utf8_lossy(&output.stderr))
    })?;
    Ok(out)
}

/// The id and group of a user of this machine.
fn user(name: &str) -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let mut fields =
        users.lines().map(|line| line.split(':')).find(|fields| fields.clone().next() == Some(name))?;
    let (id, group) = (fields.nth(2)?, fields.next()?);
    Some((id.parse().ok()?, group.parse().ok()?))
}
