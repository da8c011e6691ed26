//! `maitred verify` and `maitred backup`: is a data folder whole, and a checked copy of it.
//!
//! A backup is taken of a folder whether a server runs on it or not: what was answered before it began is in it. The
//! copy is read to its end before it is said to be there.

use std::{
    fmt::Display,
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
    /// The data folder of a server, running or stopped
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
server has open is refused (exit status 5): make a backup and verify that.";

const BACKUP_HELP: &str = "\
Examples:
  maitred backup /backups/monday --data /var/lib/maitred
  maitred verify /backups/monday
  maitred serve --data /backups/monday    # restored; work on a copy of it

The server may run and goes on meanwhile: what it answered before the backup began is in it. The
journal and the history are copied and the copy is read to the end; tokens are not in it. What
was granted after the backup is not known to a server that is restored from it.";

pub fn verify(args: &VerifyArgs) -> Result<u8, Failure> {
    let verified = checked(&args.folder)?;
    print(args.form, &args.folder, &verified);
    Ok(exit::OK)
}

/// The history first: one that is ahead of its journal would be begun anew.
pub fn backup(args: &BackupArgs) -> Result<u8, Failure> {
    let (from, to) = (&args.data, &args.to);
    if to.exists() {
        let failure = Failure::new(exit::REFUSED, format!("{} is there already", to.display()));
        return Err(failure.hint("name a folder that is not there yet; nothing is written over"));
    }
    if !journal(from).is_dir() {
        return Err(no_folder(from));
    }
    let not_copied = |why: &dyn Display| {
        let _ = fs::remove_dir_all(to);
        Failure::new(exit::FAILED, format!("there is no backup: {why}"))
    };
    DirBuilder::new().mode(0o700).create(to).map_err(|error| not_copied(&error))?;
    let history = "history.sqlite";
    let copied = maitred::copy_history(&from.join(history), &to.join(history));
    copied.map_err(|error| not_copied(&error))?;
    let verified = maitred::copy_journal(&journal(from), &to.join("journal"));
    let verified = verified.map_err(|error| not_copied(&error))?;
    File::open(to).and_then(|folder| folder.sync_all()).map_err(|error| not_copied(&error))?;
    print(args.form, to, &verified);
    Ok(exit::OK)
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
            failure
                .hint("a running server's folder changes: make a backup and verify that, or stop the server")
        }
        JournalError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => no_folder(folder),
        _ => Failure::new(exit::FAILED, error.to_string()),
    })
}

fn no_folder(folder: &Path) -> Failure {
    let failure = Failure::new(exit::NOT_FOUND, format!("there is no data folder at {}", folder.display()));
    failure.hint("name the server's data folder")
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
        verified.warnings.iter().for_each(|warning| output::note(warning));
    }
}
