//! NATS with JetStream, as `cargo xtask test --only needs` fetches it.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{network::Network, ports::free_port};

const READY_WITHIN: Duration = Duration::from_secs(60);
/// What makes it durable.
const FLUSHES: &str = "sync_interval: always";

/// How servers are started.
#[derive(Clone, Debug)]
pub struct NatsOptions {
    /// Settings of JetStream; by default it flushes before it acknowledges.
    pub jetstream: String,
    /// The program, if not the one that was fetched.
    pub program: Option<PathBuf>,
    /// Where they run, if not where everything else does. Line 0 is for whoever holds the handle.
    pub network: Option<Arc<Network>>,
}

impl Default for NatsOptions {
    fn default() -> Self {
        NatsOptions { jetstream: FLUSHES.to_owned(), program: None, network: None }
    }
}

/// A server with data of its own, thrown away when this is dropped.
pub struct Nats {
    options: NatsOptions,
    folder: TempDir,
    port: u16,
    monitor: u16,
    child: Option<Child>,
}

impl Nats {
    /// One that flushes before it acknowledges.
    pub fn start() -> Result<Nats, String> {
        Self::start_with(FLUSHES, "")
    }

    /// The same with its data in this folder.
    pub fn start_in(folder: TempDir) -> Result<Nats, String> {
        Self::new(folder, NatsOptions::default(), "")?.started()
    }

    /// With these settings of JetStream, and these lines at the end of its configuration.
    pub fn start_with(jetstream: &str, more: &str) -> Result<Nats, String> {
        let jetstream = jetstream.to_owned();
        Self::start_as(NatsOptions { jetstream, ..NatsOptions::default() }, more)
    }

    fn start_as(options: NatsOptions, more: &str) -> Result<Nats, String> {
        let folder = tempfile::Builder::new().prefix("maitred-nats-").tempdir();
        let folder = folder.map_err(|error| format!("no temporary folder: {error}"))?;
        Self::new(folder, options, more)?.started()
    }

    fn started(mut self) -> Result<Nats, String> {
        self.start_again()?;
        Ok(self)
    }

    fn new(folder: TempDir, options: NatsOptions, more: &str) -> Result<Nats, String> {
        let (port, monitor) = (free_port()?, free_port()?);
        let server = Nats { options, folder, port, monitor, child: None };
        let host = if server.options.network.is_some() { "0.0.0.0" } else { "127.0.0.1" };
        let configuration = format!(
            "listen: {host}:{port}\nhttp: {host}:{monitor}\njetstream {{ store_dir: {:?}, {} }}\n{more}\n",
            server.data(),
            server.options.jetstream
        );
        fs::write(server.folder.path().join("nats.conf"), configuration).map_err(text)?;
        Ok(server)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A URL for a stream on this server alone, which also says where its monitoring is.
    pub fn url(&self, stream: &str) -> String {
        format!("nats://127.0.0.1:{}/{stream}?monitor={}", self.port, self.monitoring(0))
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    fn monitoring(&self, line: u8) -> String {
        format!("http://{}:{}", self.host(line), self.monitor)
    }

    fn host(&self, line: u8) -> String {
        self.options.network.as_ref().map_or("127.0.0.1".to_owned(), |network| network.there(line))
    }

    /// How many streams there are, as its monitoring says.
    pub fn streams(&self) -> Result<u64, String> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.monitor)).map_err(text)?;
        socket.write_all(b"GET /jsz HTTP/1.0\r\n\r\n").map_err(text)?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).map_err(text)?;
        let after = answer.split("\"streams\":").nth(1).unwrap_or_default();
        let digits: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
        digits.parse().map_err(|_| format!("its monitoring names no number of streams:\n{answer}"))
    }

    /// SIGKILL.
    pub fn kill(&mut self) -> Result<(), String> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.kill().and_then(|()| child.wait()).map_err(|error| format!("nats-server: {error}"))?;
        Ok(())
    }

    /// Stops it where it is, or lets it go on.
    pub fn pause(&self, paused: bool) -> Result<(), String> {
        let Some(child) = &self.child else { return Ok(()) };
        let signal = if paused { Signal::STOP } else { Signal::CONT };
        kill_process(Pid::from_child(child), signal).map_err(|error| format!("nats-server: {error}"))
    }

    /// Starts it on the data and the ports that it had, and waits until it takes connections.
    pub fn start_again(&mut self) -> Result<(), String> {
        self.spawn()?;
        self.wait()
    }

    fn spawn(&mut self) -> Result<(), String> {
        let log = self.folder.path().join("log");
        let log = File::options().create(true).append(true).open(log).map_err(text)?;
        let program = self.options.program.clone().map_or_else(program, Ok)?;
        let mut command = match &self.options.network {
            Some(network) => network.runs(&program, None),
            None => Command::new(program),
        };
        command.arg("-c").arg(self.folder.path().join("nats.conf")).stdin(Stdio::null());
        command.stdout(log.try_clone().map_err(text)?).stderr(log);
        self.child = Some(command.spawn().map_err(|error| format!("nats-server: {error}"))?);
        Ok(())
    }

    fn wait(&mut self) -> Result<(), String> {
        let since = Instant::now();
        while TcpStream::connect((self.host(0), self.port)).is_err() {
            let ended = self.child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)));
            if ended || since.elapsed() > READY_WITHIN {
                let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                return Err(format!("nats-server takes no connections; its log:\n{log}"));
            }
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// What it has stored, for [`Nats::put_back`]. It must not be running.
    pub fn copy_data(&self) -> Result<TempDir, String> {
        let copy = tempfile::tempdir().map_err(text)?;
        copy_folder(&self.data(), copy.path())?;
        Ok(copy)
    }

    /// Puts an older state in the place of what it has, as a careless restore does. It must not be running.
    pub fn put_back(&self, copy: &TempDir) -> Result<(), String> {
        fs::remove_dir_all(self.data()).map_err(text)?;
        copy_folder(copy.path(), &self.data())
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// Where the program is.
fn program() -> Result<PathBuf, String> {
    if let Some(program) = std::env::var_os("MAITRED_NATS_SERVER") {
        return Ok(program.into());
    }
    let own = std::env::current_exe().map_err(text)?;
    let mut programs = own.ancestors().map(|folder| folder.join("nats/bin/nats-server"));
    programs.find(|program| program.is_file()).ok_or_else(|| {
        "nats-server is not there: `cargo xtask test --only needs` fetches it, or MAITRED_NATS_SERVER names it"
            .to_owned()
    })
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to).map_err(text)?;
    for entry in fs::read_dir(from).map_err(text)? {
        let entry = entry.map_err(text)?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target).map_err(text)?;
        }
    }
    Ok(())
}

fn text(error: std::io::Error) -> String {
    error.to_string()
}

/// Three servers that are one cluster, named `server-0` to `server-2`.
pub struct NatsCluster {
    pub servers: Vec<Nats>,
}

impl NatsCluster {
    pub fn start() -> Result<NatsCluster, String> {
        Self::start_as(&NatsOptions::default())
    }

    /// With these settings of JetStream.
    pub fn start_with(jetstream: &str) -> Result<NatsCluster, String> {
        Self::start_as(&NatsOptions { jetstream: jetstream.to_owned(), ..NatsOptions::default() })
    }

    pub fn start_as(options: &NatsOptions) -> Result<NatsCluster, String> {
        let ports = [free_port()?, free_port()?, free_port()?];
        let routes = ports.map(|port| format!("nats-route://127.0.0.1:{port}")).join(", ");
        // Else clients would be told of addresses on lines that are not theirs.
        let apart = options.network.is_some();
        let servers = ports.iter().enumerate().map(|(index, port)| {
            let more = format!(
                "server_name: server-{index}\n\
                 cluster {{ name: three, listen: 127.0.0.1:{port}, routes: [{routes}], no_advertise: {apart} }}"
            );
            Nats::start_as(options.clone(), &more)
        });
        Ok(NatsCluster { servers: servers.collect::<Result<_, _>>()? })
    }

    /// A URL for a stream, which names all three and where their monitoring is.
    pub fn url(&self, stream: &str) -> String {
        self.url_over(0, stream)
    }

    /// The same over a line of their network.
    pub fn url_over(&self, line: u8, stream: &str) -> String {
        let hosts = self.servers.iter().map(|server| format!("{}:{}", server.host(line), server.port));
        let monitors = self.servers.iter().map(|server| server.monitoring(line));
        let (hosts, monitors) = (hosts.collect::<Vec<_>>().join(","), monitors.collect::<Vec<_>>().join(","));
        format!("nats://{hosts}/{stream}?tls=off&monitor={monitors}")
    }
}
