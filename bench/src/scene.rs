//! What every family needs: where the binaries are, where to write, how long to measure.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::TempDir;

use crate::figure::{Trouble, wrong};

pub struct Scene {
    maitred: PathBuf,
    /// Beside the build: a temporary folder of the machine may be in memory, and fdatasync would cost nothing.
    folder: PathBuf,
    pub quick: bool,
}

impl Scene {
    pub fn new(maitred: &Path, quick: bool) -> Result<Scene, Trouble> {
        let maitred = fs::canonicalize(maitred)
            .map_err(|error| Trouble::Wrong(format!("{}: {error}; build it first", maitred.display())))?;
        let built_in = env::current_exe()?.parent().and_then(Path::parent).map(Path::to_owned);
        let folder = built_in.unwrap_or_default().join("bench");
        fs::create_dir_all(&folder).map_err(|error| wrong(&folder.display().to_string())(&error))?;
        raise_open_files();
        Ok(Scene { maitred, folder, quick })
    }

    pub fn maitred(&self) -> &Path {
        &self.maitred
    }

    /// Kept from run to run.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gone when dropped.
    pub fn scratch(&self) -> Result<TempDir, Trouble> {
        Ok(tempfile::tempdir_in(&self.folder)?)
    }

    /// At least 5, as promised; fewer only to see that it runs.
    pub fn repetitions(&self) -> usize {
        if self.quick { 2 } else { 5 }
    }

    /// More of those that take no time.
    pub fn many_repetitions(&self) -> usize {
        if self.quick { 3 } else { 15 }
    }

    /// How long one side of a pair is run.
    pub fn turn(&self) -> Duration {
        if self.quick { Duration::from_millis(300) } else { Duration::from_secs(2) }
    }

    pub fn short_turn(&self) -> Duration {
        if self.quick { Duration::from_millis(100) } else { Duration::from_millis(400) }
    }
}

/// Ten thousand connections are ten thousand files.
fn raise_open_files() {
    let now = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
}
