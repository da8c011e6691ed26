//! Where a story is played: on a node in this process, or on a server.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use maitred::{
    Client, Far, FarOptions,
    local::{Node, NodeOptions},
};
use maitred_api::{Context, Problem, Reason};
use tempfile::TempDir;

/// What every file gets a world of its own on.
#[derive(Clone, Debug)]
pub enum Stage {
    /// A journal in a folder of its own, made in this one and removed afterwards.
    Folder(PathBuf),
    /// A journal in memory. It does not outlive its node, so `restart` cannot be played.
    Memory,
    /// A server whose clock is moved by hand; each file in a namespace of its own.
    Server { url: String, options: FarOptions },
}

/// The running limiter of one file.
pub enum World {
    Node { node: Node, folder: Option<TempDir>, root: Option<PathBuf> },
    Server { far: Far, url: String, options: FarOptions, namespace: String },
}

impl World {
    pub async fn open(stage: &Stage) -> Result<World, String> {
        match stage {
            Stage::Folder(root) => {
                let folder = new_folder(root)?;
                let node = start(Some(folder.path())).await?;
                Ok(World::Node { node, folder: Some(folder), root: Some(root.clone()) })
            }
            Stage::Memory => Ok(World::Node { node: start(None).await?, folder: None, root: None }),
            Stage::Server { url, options } => {
                let far = Far::connect(url, options.clone()).map_err(|problem| problem.message)?;
                far.now().await.map_err(|problem| no_manual_clock(url, &problem))?;
                let namespace = format!("scenario-{}", uuid::Uuid::now_v7().simple());
                Ok(World::Server { far, url: url.clone(), options: options.clone(), namespace })
            }
        }
    }

    pub fn client(&self) -> Client {
        match self {
            World::Node { node, .. } => Client::Near(node.clone()),
            World::Server { far, .. } => Client::Far(far.clone()),
        }
    }

    pub fn context(&self) -> Context {
        let namespace = match self {
            World::Node { .. } => None,
            World::Server { namespace, .. } => Some(namespace.clone()),
        };
        Context { namespace, by: Some("scenario".to_owned()), ..Context::default() }
    }

    /// The world after a restart, beside the one before it, which still holds its lines.
    ///
    /// A node is not stopped first: its folder is copied while it runs. The copy is what a killed process would
    /// leave, since everything answered is on disk and nothing was closed. Over HTTP only the connections are new.
    pub async fn restarted(&self) -> Result<World, String> {
        match self {
            World::Node { folder: Some(folder), root: Some(root), .. } => {
                let copy = new_folder(root)?;
                copy_files(folder.path(), copy.path())
                    .map_err(|error| format!("cannot copy the journal: {error}"))?;
                let node = start(Some(copy.path())).await?;
                Ok(World::Node { node, folder: Some(copy), root: Some(root.clone()) })
            }
            World::Node { .. } => {
                Err("a journal in memory does not survive a restart; leave --journal out".to_owned())
            }
            World::Server { url, options, namespace, .. } => {
                let far = Far::connect(url, options.clone()).map_err(|problem| problem.message)?;
                let (url, options, namespace) = (url.clone(), options.clone(), namespace.clone());
                Ok(World::Server { far, url, options, namespace })
            }
        }
    }

    pub async fn close(self) {
        if let World::Node { node, .. } = self {
            node.stop(Duration::ZERO).await;
        }
    }
}

fn new_folder(root: &Path) -> Result<TempDir, String> {
    let make = || {
        fs::create_dir_all(root)?;
        tempfile::Builder::new().prefix("maitred-scenario-").tempdir_in(root)
    };
    make().map_err(|error| format!("cannot make a folder in {}: {error}", root.display()))
}

async fn start(folder: Option<&Path>) -> Result<Node, String> {
    let folder = folder.map(Path::to_owned);
    let options = NodeOptions { folder, manual_clock: true, ..NodeOptions::default() };
    Node::start(options).await.map_err(|error| error.to_string())
}

fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy_files(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn no_manual_clock(url: &str, problem: &Problem) -> String {
    match problem.reason {
        Reason::NotFound | Reason::MethodNotAllowed => {
            format!("the server at {url} has no manual clock; start one with `maitred serve --clock manual`")
        }
        _ => problem.message.clone(),
    }
}
