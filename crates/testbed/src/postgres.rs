//! PostgreSQL, as the machine has it installed.

use std::{
    fs::{self, File, Permissions},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{account::Account, network::Network, ports::free_port};

const READY_WITHIN: Duration = Duration::from_secs(60);
/// What makes a server small and reachable by tests only. Everything that makes it durable stays as it comes.
const SETTINGS: [&str; 6] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "shared_buffers=32MB",
    "max_connections=200",
    "wal_level=replica",
    "autovacuum_naptime=10s",
];

/// A server with data of its own, thrown away when this is dropped.
pub struct Postgres {
    programs: PathBuf,
    account: Option<Account>,
    folder: TempDir,
    port: u16,
    settings: Vec<String>,
    /// Where it runs, if not where everything else does.
    network: Option<Arc<Network>>,
    child: Option<Child>,
}

/// A server that follows another until it is promoted.
pub type Standby = Postgres;

impl Postgres {
    pub fn start() -> Result<Postgres, String> {
        Self::start_with(&[])
    }

    /// With more settings, each as `name=value`.
    pub fn start_with(settings: &[&str]) -> Result<Postgres, String> {
        Self::new(programs()?, settings)?.begun()
    }

    /// One that speaks TLS too, with the certificate in `server.pem` and the key in `server.key` of this folder.
    pub fn start_encrypted(files: &Path) -> Result<Postgres, String> {
        let settings = ["ssl=on", "ssl_cert_file=../server.pem", "ssl_key_file=../server.key"];
        let server = Self::new(programs()?, &settings)?;
        for name in ["server.pem", "server.key"] {
            let own = server.folder.path().join(name);
            let text = |error: std::io::Error| format!("{}: {error}", own.display());
            fs::copy(files.join(name), &own).map_err(text)?;
            fs::set_permissions(&own, Permissions::from_mode(0o600)).map_err(text)?;
            server.account.map_or(Ok(()), |account| account.owns(&own))?;
        }
        server.begun()
    }

    /// In a network of its own. Line 0 is for whoever holds this handle.
    pub fn start_in(network: Arc<Network>) -> Result<Postgres, String> {
        let mut server = Self::new(programs()?, &["listen_addresses=*"])?;
        server.network = Some(network);
        server.begun()
    }

    fn begun(self) -> Result<Postgres, String> {
        let mut server = self;
        let data = server.data();
        let make = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"];
        server.finish(server.program("initdb").args(make).arg("--pgdata").arg(&data))?;
        let more = "host replication all 127.0.0.1/32 trust\nhost all all 10.0.0.0/8 trust\n";
        append(&data.join("pg_hba.conf"), more)?;
        server.start_again()?;
        Ok(server)
    }

    fn new(programs: PathBuf, settings: &[&str]) -> Result<Postgres, String> {
        let folder = tempfile::Builder::new().prefix("maitred-postgres-").tempdir();
        let folder = folder.map_err(|error| format!("no temporary folder: {error}"))?;
        let account = Account::other_than_root()?;
        if let Some(account) = account {
            account.owns(folder.path())?;
        }
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        Ok(Postgres { programs, account, folder, port: free_port()?, settings, network: None, child: None })
    }

    /// An asynchronous standby, caught up with what there is now.
    pub fn standby(&self) -> Result<Standby, String> {
        let mut standby = Self::new(self.programs.clone(), &["hot_standby=on"])?;
        let mut copy = standby.program("pg_basebackup");
        copy.args(["--host=127.0.0.1", "--username=postgres", "--checkpoint=fast", "--write-recovery-conf"]);
        copy.arg(format!("--port={}", self.port)).arg("--pgdata").arg(standby.data());
        standby.finish(&mut copy)?;
        standby.start_again()?;
        Ok(standby)
    }

    /// A URL for one of its databases; `postgres` is always there.
    pub fn url(&self, schema: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres?schema={schema}", self.port)
    }

    /// The same over a line of its network.
    pub fn url_over(&self, line: u8, schema: &str) -> String {
        format!(
            "postgres://postgres@{}:{}/postgres?sslmode=disable&schema={schema}",
            self.host(line),
            self.port
        )
    }

    /// Where it is found: over this line, if it has a network of its own.
    pub fn host(&self, line: u8) -> String {
        self.network.as_ref().map_or("127.0.0.1".to_owned(), |network| network.there(line))
    }

    pub fn network(&self) -> Option<&Network> {
        self.network.as_deref()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Runs SQL by `psql` and answers what it prints, a line for each row.
    pub fn sql(&self, sql: &str) -> Result<String, String> {
        let mut psql = self.program("psql");
        psql.arg(format!("--host={}", self.host(0)));
        psql.args(["--username=postgres", "--no-psqlrc", "--quiet", "--tuples-only"]);
        psql.args(["--no-align", "--set=ON_ERROR_STOP=1", "--dbname=postgres", "--command", sql]);
        psql.arg(format!("--port={}", self.port));
        let output = psql.output().map_err(|error| format!("psql: {error}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }

    /// SIGKILL of the server. Its sessions end by themselves.
    pub fn kill(&mut self) -> Result<(), String> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.kill().and_then(|()| child.wait()).map_err(|error| format!("PostgreSQL: {error}"))?;
        Ok(())
    }

    /// Stops every process of the server where it is, or lets all of them go on.
    pub fn pause(&self, paused: bool) -> Result<(), String> {
        let Some(child) = &self.child else { return Ok(()) };
        let signal = if paused { Signal::STOP } else { Signal::CONT };
        for pid in family(child.id()) {
            let pid = Pid::from_raw(pid as i32).ok_or("no process")?;
            // A session may have ended meanwhile.
            let _ = kill_process(pid, signal);
        }
        Ok(())
    }

    /// From here on a standby receives nothing more.
    pub fn stop_following(&self) -> Result<(), String> {
        self.sql("ALTER SYSTEM SET primary_conninfo = ''")?;
        self.sql("SELECT pg_reload_conf()")?;
        while self.sql("SELECT count(*) FROM pg_stat_wal_receiver")? != "0" {
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Makes a standby a server of its own.
    pub fn promote(&self) -> Result<(), String> {
        self.finish(
            self.program("pg_ctl").args(["promote", "--wait", "--silent", "--pgdata"]).arg(self.data()),
        )
    }

    /// Starts it on the data it left and waits until it answers.
    pub fn start_again(&mut self) -> Result<(), String> {
        let since = Instant::now();
        loop {
            match self.try_start(since) {
                // After a SIGKILL its sessions need a moment to see that they are orphans.
                Err(why) if since.elapsed() < READY_WITHIN && why.contains("is still") => {
                    sleep(Duration::from_millis(100));
                }
                ended => return ended,
            }
        }
    }

    fn try_start(&mut self, since: Instant) -> Result<(), String> {
        let log = File::create(self.log()).map_err(|error| format!("{}: {error}", self.log().display()))?;
        let mut command = match &self.network {
            Some(network) => network.runs(&self.programs.join("postgres"), self.account),
            None => self.program("postgres"),
        };
        command.current_dir(self.folder.path());
        command.arg("-D").arg(self.data()).arg("-p").arg(self.port.to_string());
        for setting in SETTINGS.iter().copied().chain(self.settings.iter().map(String::as_str)) {
            command.arg("-c").arg(setting);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let mut child = command.spawn().map_err(|error| format!("PostgreSQL does not start: {error}"))?;
        while !self.answers() {
            if child.try_wait().ok().flatten().is_some() {
                let said = fs::read_to_string(self.log()).unwrap_or_default();
                let orphans = said.contains("shared memory block") || said.contains("lock file");
                let why = if orphans { "another is still there" } else { "it ended" };
                return Err(format!("PostgreSQL did not start, {why}:\n{said}"));
            }
            if since.elapsed() > READY_WITHIN {
                let _ = child.kill();
                return Err(format!("PostgreSQL does not answer within {} s", READY_WITHIN.as_secs()));
            }
            sleep(Duration::from_millis(50));
        }
        self.child = Some(child);
        Ok(())
    }

    fn answers(&self) -> bool {
        let address = format!("{}:{}", self.host(0), self.port).parse();
        address.is_ok_and(|address| TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok())
            && self.sql("SELECT 1").is_ok()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(self.folder.path()).env_remove("PGOPTIONS").stdin(Stdio::null());
        if let Some(account) = self.account {
            account.runs(&mut command);
        }
        command
    }

    fn finish(&self, command: &mut Command) -> Result<(), String> {
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = self.pause(false);
        let _ = self.kill();
    }
}

/// Where the programs are: as `pg_config` says, else where Debian puts them.
fn programs() -> Result<PathBuf, String> {
    let said =
        Command::new("pg_config").arg("--bindir").output().ok().filter(|output| output.status.success());
    let said = said.map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut places: Vec<PathBuf> = debian.map(|version| version.path().join("bin")).collect();
    places.sort();
    let places = said.into_iter().chain(places.into_iter().rev());
    let found =
        places.into_iter().find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists());
    found.ok_or_else(|| "PostgreSQL is not installed here (Debian: apt-get install postgresql)".to_owned())
}

fn append(file: &Path, line: &str) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    fs::write(file, text + line).map_err(|error| format!("{}: {error}", file.display()))
}

/// The process and its children.
fn family(parent: u32) -> Vec<u32> {
    let is_child = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name in parentheses may hold anything; behind it come state and parent.
        let parent_of = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        parent_of == Some(parent)
    };
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    std::iter::once(parent).chain(pids.filter(is_child)).collect()
}
