//! `maitred verify` and `maitred backup`: is a data folder whole, and a checked copy of it.
//!
//! A journal that no process has open does not change, so a backup is: read it all, copy its files, read the copy all,
//! and both must hold the same. A server that was started in between shows in that comparison, or has the lock.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use clap::Args;
use maitred::{JournalError, Verified};
use serde_json::{Value, json};

use crate::cli::{
    exit,
    failure::Failure,
    output::{self, Output, Sheet},
    text,
};

#[derive(Args, Debug)]
#[command(after_help = VERIFY_HELP)]
pub struct VerifyArgs {
    /// A data folder, or the journal in it
    folder: PathBuf,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
#[command(after_help = BACKUP_HELP)]
pub struct BackupArgs {
    /// The folder to make; it must not be there yet
    to: PathBuf,
    /// The data folder of a server that is stopped
    #[arg(long, value_name = "FOLDER", env = "MAITRED_DATA", default_value = "maitred-data")]
    data: PathBuf,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Clone, Copy, Debug)]
pub struct Form {
    /// Print JSON; errors as JSON on stderr
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print the names of columns in a pipe too
    #[arg(long, help_heading = "Output")]
    header: bool,
}

const VERIFY_HELP: &str = "\
Examples:
  maitred verify maitred-data
  maitred verify /backups/monday --json

Every record is read and its place in the chain is checked; nothing is changed. In a pipe,
tab-separated: field and value. Damage is exit status 1 and names file and byte. A folder that a
server has open is refused (exit status 5).";

const BACKUP_HELP: &str = "\
Examples:
  maitred backup /backups/monday --data /var/lib/maitred
  maitred verify /backups/monday
  maitred serve --data /backups/monday    # restored; work on a copy of it

The server must be stopped; while it runs, take a snapshot of the volume instead. The journal and
the history are copied and the copy is read to the end; tokens are not in it. What was granted
after the backup is not known to a server that is restored from it.";

pub fn verify(args: &VerifyArgs) -> Result<u8, Failure> {
    let verified = checked(&args.folder)?;
    print(args.form, &args.folder, &verified);
    Ok(exit::OK)
}

pub fn backup(args: &BackupArgs) -> Result<u8, Failure> {
    let before = checked(&args.data)?;
    if args.to.exists() {
        let failure = Failure::new(exit::REFUSED, format!("{} is there already", args.to.display()));
        return Err(failure.hint("name a folder that is not there yet; nothing is written over"));
    }
    copy(&args.data, &args.to).map_err(|error| not_copied(&args.to, &error.to_string()))?;
    let copied = checked(&args.to).map_err(|failure| not_copied(&args.to, &failure.message))?;
    if !are_same(&copied, &before) || !are_same(&checked(&args.data)?, &before) {
        return Err(not_copied(
            &args.to,
            "the folder changed while it was copied; was a server started on it?",
        ));
    }
    print(args.form, &args.to, &copied);
    Ok(exit::OK)
}

/// Warnings name places, which differ.
fn are_same(one: &Verified, other: &Verified) -> bool {
    Verified { warnings: Vec::new(), ..one.clone() } == Verified { warnings: Vec::new(), ..other.clone() }
}

fn not_copied(to: &Path, why: &str) -> Failure {
    let failure = Failure::new(exit::FAILED, format!("the copy is not good: {why}"));
    failure.hint(format!("take {} away and try again", to.display()))
}

/// The journal in a data folder, or the folder itself.
fn journal(folder: &Path) -> PathBuf {
    let inner = folder.join("journal");
    if inner.is_dir() { inner } else { folder.to_owned() }
}

fn checked(folder: &Path) -> Result<Verified, Failure> {
    maitred::verify(&journal(folder)).map_err(|error| match &error {
        JournalError::Locked { .. } => {
            let failure = Failure::new(exit::REFUSED, error.to_string());
            failure.hint("stop the server first, or look at a snapshot of the volume")
        }
        JournalError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            let failure =
                Failure::new(exit::NOT_FOUND, format!("there is no data folder at {}", folder.display()));
            failure.hint("name the server's data folder")
        }
        _ => Failure::new(exit::FAILED, error.to_string()),
    })
}

/// The journal and the history; every file and its name durable before it is said to be there.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(to)?;
    copy_files(&journal(from), &to.join("journal"), is_journal)?;
    for name in ["history.sqlite", "history.sqlite-wal"] {
        if from.join(name).exists() {
            copy_file(&from.join(name), &to.join(name))?;
        }
    }
    File::open(to)?.sync_all()
}

/// Not the lock, and nothing that waits to be filled.
fn is_journal(name: &str) -> bool {
    name != "lock" && !name.starts_with("spare-") && !name.ends_with(".tmp")
}

fn copy_files(from: &Path, to: &Path, is_wanted: impl Fn(&str) -> bool) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        // Not behind links: only what lies here.
        if entry.file_type()?.is_file() && entry.file_name().to_str().is_some_and(&is_wanted) {
            copy_file(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    File::open(to)?.sync_all()
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    File::open(to)?.sync_all()
}

fn print(form: Form, folder: &Path, verified: &Verified) {
    let out = Output::new(form.json, form.header);
    let fields = [
        ("folder", json!(folder)),
        ("first", json!(verified.first)),
        ("head", json!(verified.head)),
        ("records", json!(verified.records)),
        ("record_bytes", json!(verified.record_bytes)),
        ("segments", json!(verified.segments)),
        ("snapshots", json!(verified.snapshots)),
        ("warnings", json!(verified.warnings)),
    ];
    let people = || {
        let records = text::count(verified.records as usize, "record");
        let told = format!("whole: {records} up to {}, {} bytes", verified.head, verified.record_bytes);
        Sheet { names: vec![""], rows: vec![vec![told]] }
    };
    let pipe = || {
        let mut sheet = Sheet::new(&["field", "value"]);
        let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        sheet.rows = fields.iter().map(|(name, value)| vec![(*name).to_owned(), shown(value)]).collect();
        sheet
    };
    let object: serde_json::Map<String, Value> =
        fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    out.print(&object, people, pipe);
    if out.for_people() {
        verified.warnings.iter().for_each(|warning| output::note(&text::safe(warning)));
    }
}
