//! The limits file of a server: where it is, what is in it, and what happens when it changes.

use std::path::{Path, PathBuf};

use maitred::{Client, local::Node};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{ServeError, ServeOptions};
use crate::{
    config::{ConfigError, LimitsFile},
    deploy,
};

const FILE: &str = "maitred.toml";
/// Who deployed, in the record.
const BY: &str = "maitred.toml";
const DEMO: &str = "[limits.demo]\ncapacity = 3\nmax_hold = \"10m\"\n\
    [limits.\"voice-calls\"]\ncapacity = 20\nmax_hold = \"45m\"\n\
    [limits.\"partner-api\"]\ncapacity = 5\nmax_hold = \"10m\"\n";

/// Where a server gets its limits from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiting {
    /// From its file, if it has limits.
    File,
    /// From its file, and where there is none, some to play with.
    FileOrDemo,
}

/// The file that was named, or the one that lies here.
pub fn config(options: &ServeOptions) -> Option<PathBuf> {
    options.config.clone().or_else(|| Path::new(FILE).exists().then(|| PathBuf::from(FILE)))
}

/// What is to be deployed, known to be good.
pub async fn limits(config: Option<&Path>, limiting: Limiting) -> Result<LimitsFile, ConfigError> {
    let file = match (config, limiting) {
        (Some(path), _) => LimitsFile::read(path)?,
        (None, Limiting::FileOrDemo) => LimitsFile::parse(DEMO, "the demo limits")?,
        (None, Limiting::File) => LimitsFile::default(),
    };
    if !file.sets.is_empty() {
        file.rehearse().await?;
    }
    Ok(file)
}

pub async fn deploy(client: &Client, file: &LimitsFile) -> Result<(), ServeError> {
    match deploy::deploy(client, file, BY).await {
        Ok(deployed) => {
            for namespace in deployed {
                tracing::info!(file = file.path, "limits deployed; {namespace}");
            }
            Ok(())
        }
        Err(problem) => Err(ServeError::Deploy { path: file.path.clone(), problem }),
    }
}

/// Deploys the file again. A bad file changes nothing and is logged. True if it was deployed.
pub async fn reload(node: &Node, config: Option<&Path>) -> bool {
    let Some(path) = config else {
        tracing::warn!("nothing to load again: the server was started without a limits file");
        return false;
    };
    let reloaded = async {
        let file = limits(Some(path), Limiting::File).await?;
        if file.sets.is_empty() {
            tracing::warn!(
                file = file.path,
                "the file has no limits, so nothing is deployed and all stay as they are"
            );
            return Ok(false);
        }
        deploy(&Client::Near(node.clone()), &file).await.map(|()| true)
    };
    reloaded.await.unwrap_or_else(|error: ServeError| {
        tracing::error!(%error, "the limits stay as they are");
        false
    })
}

/// A connection is an open file, and the usual soft limit is far below the cap on connections.
pub fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).is_err() {
        tracing::debug!("the number of open files stays as it is");
    }
}

/// Open files that callers may not use up: a journal that cannot open its next segment ends the server.
const FILES_KEPT: u64 = 256;

/// As many connections as are wanted and as this process may open files for.
pub fn connections(wanted: u32) -> usize {
    let wanted = wanted as usize;
    let Some(files) = getrlimit(Resource::Nofile).current else { return wanted };
    let most = usize::try_from(files - FILES_KEPT.min(files / 2)).unwrap_or(usize::MAX);
    if most < wanted {
        tracing::warn!(
            wanted,
            most,
            files,
            "fewer connections are taken than wanted: raise the limit on open files"
        );
    }
    wanted.min(most)
}
