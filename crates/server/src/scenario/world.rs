//! Where a story is played: on a node in this process, or on a server.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use maitred::{
    Client, Far, FarOptions, Memory, SystemClock,
    local::{Node, NodeOptions},
};
use maitred_api::{Context, Problem, Reason};
use tempfile::TempDir;

use super::shared;

const CLOSED_WITHIN: Duration = Duration::from_secs(5);

/// What every file gets a world of its own on.
#[derive(Clone, Debug)]
pub enum Stage {
    /// A journal in memory. A restart loses what it had not made durable, as a crash of the machine does.
    Memory,
    /// A journal in a folder of its own, made in this one and removed afterwards.
    Folder(PathBuf),
    /// A journal in a database or in NATS, under a name of its own, dropped afterwards.
    Shared { url: String },
    /// A server whose clock is moved by hand; each file in a namespace of its own.
    Server { url: String, options: FarOptions },
}

/// The running limiter of one file.
pub struct World {
    client: Client,
    namespace: Option<String>,
    ground: Ground,
}

/// What a world stands on, and comes back on after a restart.
enum Ground {
    Memory(Memory),
    Folder { folder: TempDir, root: PathBuf },
    Shared { url: String, name: String },
    Server { url: String, options: FarOptions },
}

impl World {
    pub async fn open(stage: &Stage) -> Result<World, String> {
        match stage {
            Stage::Memory => Self::in_memory(Memory::local(Arc::new(SystemClock))).await,
            Stage::Folder(root) => Self::in_folder(new_folder(root)?, root).await,
            Stage::Shared { url } => Self::in_shared(url, new_name()).await,
            Stage::Server { url, options } => {
                let namespace = format!("scenario-{}", uuid::Uuid::now_v7().simple());
                let world = Self::on_server(url, options, Some(namespace))?;
                world.client.now().await.map_err(|problem| no_manual_clock(url, &problem))?;
                Ok(world)
            }
        }
    }

    async fn in_memory(memory: Memory) -> Result<World, String> {
        let node = start(NodeOptions { memory: Some(memory.clone()), ..NodeOptions::default() }).await?;
        Ok(World { client: Client::Near(node), namespace: None, ground: Ground::Memory(memory) })
    }

    async fn in_folder(folder: TempDir, root: &Path) -> Result<World, String> {
        let node =
            start(NodeOptions { folder: Some(folder.path().to_owned()), ..NodeOptions::default() }).await?;
        let ground = Ground::Folder { folder, root: root.to_owned() };
        Ok(World { client: Client::Near(node), namespace: None, ground })
    }

    async fn in_shared(url: &str, name: String) -> Result<World, String> {
        let journal = Some(shared::named(url, &name));
        let node = start(NodeOptions { journal, is_alone: true, ..NodeOptions::default() }).await?;
        let ground = Ground::Shared { url: url.to_owned(), name };
        Ok(World { client: Client::Near(node), namespace: None, ground })
    }

    fn on_server(url: &str, options: &FarOptions, namespace: Option<String>) -> Result<World, String> {
        let far = Far::connect(url, options.clone()).map_err(|problem| problem.message)?;
        let ground = Ground::Server { url: url.to_owned(), options: options.clone() };
        Ok(World { client: Client::Far(far), namespace, ground })
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    pub fn context(&self) -> Context {
        Context { namespace: self.namespace.clone(), by: Some("scenario".to_owned()), ..Context::default() }
    }

    /// The world after a restart, beside the one before it, which still holds its lines.
    ///
    /// A node is killed, not stopped: from one in memory the journal is taken away, so that it can write nothing
    /// more, and from one on a database in the same way; the folder of one on a disk is copied while it runs, and the
    /// copy is what a killed process would leave. Over HTTP only the connections are new.
    pub async fn restarted(&self) -> Result<World, String> {
        match &self.ground {
            Ground::Memory(memory) => {
                memory.lose_unsynced();
                Self::in_memory(memory.clone()).await
            }
            Ground::Folder { folder, root } => {
                let copy = new_folder(root)?;
                copy_files(folder.path(), copy.path())
                    .map_err(|error| format!("cannot copy the journal: {error}"))?;
                Self::in_folder(copy, root).await
            }
            Ground::Shared { url, name } => {
                let next = new_name();
                shared::move_journal(&shared::named(url, name), &next).await?;
                Self::in_shared(url, next).await
            }
            Ground::Server { url, options } => Self::on_server(url, options, self.namespace.clone()),
        }
    }

    pub async fn close(self) {
        if let Client::Near(node) = self.client {
            node.stop(CLOSED_WITHIN).await; // its folder goes next, and must not be written to then
        }
        if let Ground::Shared { url, name } = &self.ground {
            let _ = shared::drop_journal(&shared::named(url, name)).await;
        }
    }
}

async fn start(options: NodeOptions) -> Result<Node, String> {
    let options = NodeOptions { manual_clock: true, ..options };
    Node::start(options).await.map_err(|error| error.to_string())
}

fn new_folder(root: &Path) -> Result<TempDir, String> {
    let make = || {
        fs::create_dir_all(root)?;
        tempfile::Builder::new().prefix("maitred-scenario-").tempdir_in(root)
    };
    make().map_err(|error| format!("cannot make a folder in {}: {error}", root.display()))
}

fn new_name() -> String {
    format!("scenario_{}", uuid::Uuid::now_v7().simple())
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
