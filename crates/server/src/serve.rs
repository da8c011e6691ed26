//! `maitred serve` and `maitred dev`: from options to a running server, and to its end.

mod banner;
mod browser;
mod files;
mod supervisor;

use std::{fmt, io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use maitred::{
    Client,
    local::{Node, NodeOptions, StartError},
};
use maitred_api::Problem;
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
};

use crate::{
    callbacks::{self, Callbacks},
    config::{ConfigError, LimitsFile},
    hosted::Hosted,
    http::{Limits, Server, Shared},
    logging,
    tls::{Certificates, TlsError},
    token::{TokenError, Tokens},
};

pub use files::{Limiting, reload};

/// A graceful stop takes no longer than this.
const STOP_WITHIN: Duration = Duration::from_secs(9);

/// The options of `serve` and `dev`.
#[derive(clap::Args, Clone, Debug)]
pub struct ServeOptions {
    /// The address to listen on. Any but a loopback address needs tokens.
    #[arg(long, value_name = "ADDR", env = "MAITRED_LISTEN", default_value = "127.0.0.1:7654")]
    pub listen: SocketAddr,
    /// The folder that keeps everything; beside a shared journal, the history and the tokens
    /// [serve: ./maitred-data, or none with --journal; dev: nothing is kept]
    #[arg(long, value_name = "FOLDER", env = "MAITRED_DATA")]
    pub data: Option<PathBuf>,
    /// A journal that several servers share, in place of one in the folder: postgres://USER@HOST/DATABASE or
    /// nats://HOST,HOST,HOST/STREAM. Servers are added by starting them with the same URL; each answers every call
    #[arg(long, value_name = "URL", env = "MAITRED_JOURNAL", hide_env_values = true)]
    pub journal: Option<JournalUrl>,
    /// Take a shared journal although its store is set up so that it may lose what it acknowledged; readiness says so
    #[arg(long, requires = "journal")]
    pub accept_weaker_durability: bool,
    /// Go on with what a shared journal has, although this server's folder tells that it had more: once, after `A lost
    /// end` in the operator's pages was read
    #[arg(long, requires = "journal", requires = "data")]
    pub accept_lost_end: bool,
    /// The limits to deploy, at the start and on SIGHUP [default: ./maitred.toml, if it is there]
    #[arg(long, value_name = "FILE", env = "MAITRED_CONFIG")]
    pub config: Option<PathBuf>,
    /// A file of mode 600 with the tokens that callers must carry, one a line
    #[arg(long, value_name = "FILE", env = "MAITRED_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
    /// A PEM file with the certificate to speak TLS with, and those between it and the root
    #[arg(long, value_name = "FILE", env = "MAITRED_TLS_CERT", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// A PEM file with its key
    #[arg(long, value_name = "FILE", env = "MAITRED_TLS_KEY", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Another name that callers may know this server by (Host header); may be given several times
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    pub allowed_host: Vec<String>,
    /// Whose time counts: this machine's, or one that stands still until `POST /v1/clock` moves it
    #[arg(long, value_enum, default_value_t = Clock::System)]
    pub clock: Clock,
    /// Take this machine's clock even if it is behind the journal, or days ahead of it
    #[arg(long)]
    pub accept_clock: bool,
    /// A namespace whose rates and places are answered when written, before they are synced: a killed process
    /// forgets none, power loss may forget the last moments; slots are always synced. May be given several times
    #[arg(long, value_name = "NAMESPACE")]
    pub rates_when_written: Vec<String>,
    /// How many connections there may be at once
    #[arg(long, value_name = "N", default_value_t = 10_240, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_connections: u32,
    /// How many of them one address may have [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_connections_per_peer: Option<u32>,
    /// What to log: error, warn, info, debug, trace, or a filter such as info,maitred=debug
    #[arg(long, value_name = "FILTER", env = "MAITRED_LOG", default_value = "info")]
    pub log: String,
}

/// The URL of a shared journal. It may hold a password, so it is never shown.
#[derive(Clone)]
pub struct JournalUrl(String);

impl From<String> for JournalUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

impl fmt::Debug for JournalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(not shown)")
    }
}

/// The options of `dev`.
#[derive(clap::Args, Clone, Debug)]
pub struct DevOptions {
    #[command(flatten)]
    pub serve: ServeOptions,
    /// Programs to host beside: `workflows` has runs that take slots, wait and give them back; the binary has to be
    /// built with the feature of this name
    #[arg(long, value_enum, value_name = "NAME")]
    pub example: Option<Example>,
    /// Open Studio in a browser
    #[arg(long)]
    pub open: bool,
}

/// What `dev` can host.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Example {
    Workflows,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    System,
    Manual,
}

/// Why a server did not start, or stopped by itself.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "{0} can be reached by others, so callers must carry a token: make one (maitred token create NAME --role ROLE), \
         give --token-file FILE, or listen on 127.0.0.1"
    )]
    OpenToAll(SocketAddr),
    #[error(
        "{addr} cannot be listened on: {error}; is a server running there already? Choose another with --listen"
    )]
    Listen { addr: SocketAddr, error: io::Error },
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Node(#[from] StartError),
    #[error("the limits of {path} could not be deployed: {problem}")]
    Deploy { path: String, problem: Problem },
    #[error(
        "--log {0:?} is not a filter; allowed: error, warn, info, debug, trace, or such as info,maitred=debug"
    )]
    Log(String),
    #[error("apps cannot be called back: {0}")]
    Callbacks(#[from] reqwest::Error),
    #[error(
        "this binary hosts no workflows; build one that does: \
         cargo install --path crates/server --features workflows"
    )]
    NoExample,
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The node ended by itself; nothing goes on on top of what failed.
    #[error("the server stopped: {0}")]
    Failed(String),
}

/// `maitred serve`: runs until a signal ends it. Blocks; must not be called inside an async runtime.
pub fn serve(mut options: ServeOptions) -> Result<(), ServeError> {
    if options.journal.is_none() {
        options.data.get_or_insert_with(|| PathBuf::from("maitred-data"));
    }
    run(options, Limiting::File, Beside::default())
}

/// `maitred dev`: the same with throw-away data, and limits to play with where no file has any.
pub fn dev(options: DevOptions) -> Result<(), ServeError> {
    if options.example.is_some() && !cfg!(feature = "workflows") {
        return Err(ServeError::NoExample);
    }
    run(options.serve, Limiting::FileOrDemo, Beside { open: options.open, example: options.example })
}

/// What `dev` does besides serving.
#[derive(Clone, Copy, Default)]
struct Beside {
    open: bool,
    example: Option<Example>,
}

fn run(options: ServeOptions, limiting: Limiting, beside: Beside) -> Result<(), ServeError> {
    logging::start(&options.log).map_err(|_| ServeError::Log(options.log.clone()))?;
    files::raise_open_files();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(live(&options, limiting, beside));
    runtime.shutdown_timeout(Duration::from_millis(500));
    logging::flush();
    ended
}

async fn live(options: &ServeOptions, limiting: Limiting, beside: Beside) -> Result<(), ServeError> {
    let mut signals = Signals::listen()?;
    let mut running = tokio::select! {
        running = start_hosting(options, limiting, beside.example) => running?,
        name = signals.end.next() => {
            tracing::info!(signal = name, "stopped before it had started");
            return Ok(());
        }
    };
    banner::print(options, running.server.addr, running.has_tokens);
    supervisor::ready(&banner::url(options, running.server.addr));
    if beside.open {
        browser::open(&banner::studio(options, running.server.addr));
    }
    let failed = attend(&mut running, &mut signals).await;
    supervisor::stopping();
    tokio::select! {
        () = running.server.stop(STOP_WITHIN) => {}
        name = signals.end.next() => {
            tracing::warn!(signal = name, "stopping at once");
            logging::flush();
            std::process::exit(1);
        }
    }
    match failed {
        Some(reason) => Err(ServeError::Failed(reason)),
        None => Ok(()),
    }
}

/// Until the server is to end: the reason, if it has failed.
async fn attend(running: &mut Running, signals: &mut Signals) -> Option<String> {
    loop {
        tokio::select! {
            reason = running.node.failed() => {
                tracing::error!(reason, "the server stops: its journal or its rules failed");
                return Some(reason);
            }
            () = supervisor::keep_alive(&running.node) => {}
            _ = signals.hang_up.recv() => {
                running.server.reload_files();
                reload(&running.node, running.config.as_deref()).await;
                running.reload_callbacks().await;
            }
            name = signals.end.next() => {
                tracing::info!(signal = name, "stopping");
                return None;
            }
        }
    }
}

/// A server with everything around it.
pub struct Running {
    pub server: Server,
    pub node: Node,
    callbacks: Callbacks,
    config: Option<PathBuf>,
    has_tokens: bool,
}

/// Binds, opens the journal, deploys the file's limits, and takes calls. In that order: a taken port is told
/// before a journal is opened, and the first caller finds the limits.
pub async fn start(options: &ServeOptions, limiting: Limiting) -> Result<Running, ServeError> {
    start_hosting(options, limiting, None).await
}

/// The same, with programs beside.
pub async fn start_hosting(
    options: &ServeOptions,
    limiting: Limiting,
    example: Option<Example>,
) -> Result<Running, ServeError> {
    let tokens = Tokens::open(options.token_file.as_deref(), options.data.as_deref())?;
    if !tokens.are_there() && !options.listen.ip().is_loopback() {
        return Err(ServeError::OpenToAll(options.listen));
    }
    let tls = certificates(options)?;
    let config = files::config(options);
    let file = files::limits(config.as_deref(), limiting).await?;
    let targets = callbacks::targets(&file.callbacks, &file.path)?;
    let listener = TcpListener::bind(options.listen).await;
    let listener = listener.map_err(|error| ServeError::Listen { addr: options.listen, error })?;
    let node = Node::start(node_options(options)).await?;
    files::deploy(&Client::Near(node.clone()), &file).await?;
    let has_tokens = tokens.are_wanted();
    let hosted = hosted(&node, example).await?;
    let shared = Shared { hosted, ..shared(options, node.clone(), tokens, tls) };
    let server = Server::start(listener, Arc::new(shared))?;
    let callbacks = Callbacks::start(&node, targets, server.callback_numbers())?;
    Ok(Running { server, node, callbacks, config, has_tokens })
}

impl Running {
    /// Reads the targets of the file again. A bad file changes nothing, and is logged.
    async fn reload_callbacks(&mut self) {
        let Some(path) = self.config.as_deref() else { return };
        let read = LimitsFile::read(path).and_then(|file| callbacks::targets(&file.callbacks, &file.path));
        let numbers = self.server.callback_numbers();
        let started = read
            .map_err(ServeError::from)
            .and_then(|targets| Ok(Callbacks::start(&self.node, targets, numbers)?));
        match started {
            Ok(callbacks) => self.callbacks = callbacks,
            Err(error) => tracing::error!(%error, "the callbacks stay as they are"),
        }
    }
}

#[cfg(feature = "workflows")]
async fn hosted(node: &Node, example: Option<Example>) -> Result<Option<Arc<dyn Hosted>>, StartError> {
    match example {
        Some(Example::Workflows) => crate::example::start(node).await.map(Some),
        None => Ok(None),
    }
}

#[cfg(not(feature = "workflows"))]
async fn hosted(_: &Node, _: Option<Example>) -> Result<Option<Arc<dyn Hosted>>, StartError> {
    Ok(None)
}

fn node_options(options: &ServeOptions) -> NodeOptions {
    NodeOptions {
        folder: options.data.clone(),
        journal: options.journal.as_ref().map(|url| url.0.clone()),
        accept_weaker_durability: options.accept_weaker_durability,
        accept_lost_end: options.accept_lost_end,
        manual_clock: options.clock == Clock::Manual,
        accept_clock: options.accept_clock,
        rates_when_written: options.rates_when_written.clone(),
        ..NodeOptions::default()
    }
}

fn shared(options: &ServeOptions, node: Node, tokens: Tokens, tls: Option<Certificates>) -> Shared {
    Shared {
        tokens: Some(tokens),
        tls,
        allowed_hosts: options.allowed_host.clone(),
        limits: Limits {
            connections: files::connections(options.max_connections),
            connections_per_peer: options.max_connections_per_peer.map(|most| most as usize),
            ..Limits::default()
        },
        manual_clock: options.clock == Clock::Manual,
        ..Shared::new(node)
    }
}

fn certificates(options: &ServeOptions) -> Result<Option<Certificates>, TlsError> {
    match (&options.tls_cert, &options.tls_key) {
        (Some(cert), Some(key)) => Certificates::open(cert, key).map(Some),
        _ => Ok(None),
    }
}

/// A host's name as it stands in a `Host` header, without scheme and port.
fn host_name(text: &str) -> Result<String, String> {
    let fits =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'[' | b']');
    let has_port = !text.starts_with('[') && text.contains(':');
    match !text.is_empty() && text.bytes().all(fits) && !has_port {
        true => Ok(text.to_ascii_lowercase()),
        false => {
            Err("allowed: a name or an address without scheme and port, such as limits.example or [fd00::7]"
                .into())
        }
    }
}

struct Signals {
    hang_up: Signal,
    end: EndSignals,
}

/// The signals that ask for the end.
struct EndSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        let end = EndSignals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        };
        Ok(Self { hang_up: signal(SignalKind::hangup())?, end })
    }
}

impl EndSignals {
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
