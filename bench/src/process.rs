//! Servers as processes: started, waited for, looked at, and ended whatever happens.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    figure::{Trouble, wrong},
    scene::Scene,
};

const READY_WITHIN: Duration = Duration::from_secs(120);

/// A child process. Killed when dropped.
pub struct Process {
    child: Child,
    words: PathBuf,
}

impl Process {
    /// What it says goes into `words`.
    pub fn start(command: &mut Command, words: PathBuf) -> Result<Process, Trouble> {
        let file = File::create(&words)?;
        let errors = file.try_clone()?;
        let name = command.get_program().to_string_lossy().into_owned();
        let spawned = command.stdin(Stdio::null()).stdout(file).stderr(errors).spawn();
        Ok(Process { child: spawned.map_err(|error| wrong(&name)(&error))?, words })
    }

    /// Waits until `is_ready`.
    pub fn until(&mut self, mut is_ready: impl FnMut() -> bool) -> Result<(), Trouble> {
        let since = Instant::now();
        while !is_ready() {
            let last_words = || fs::read_to_string(&self.words).unwrap_or_default();
            if let Some(status) = self.child.try_wait()? {
                return Err(Trouble::Wrong(format!(
                    "it ended while it started ({status}): {}",
                    last_words()
                )));
            }
            if since.elapsed() > READY_WITHIN {
                return Err(Trouble::Wrong(format!(
                    "it is not ready after {READY_WITHIN:?}: {}",
                    last_words()
                )));
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// How much of it is in memory now.
    pub fn resident_bytes(&self) -> Result<u64, Trouble> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kilobytes.map(|kilobytes| kilobytes * 1024).ok_or_else(|| Trouble::Wrong("no VmRSS".to_owned()))
    }

    /// Asks it to end by itself, and waits until it has.
    pub fn end(mut self) -> Result<(), Trouble> {
        if let Ok(pid) = i32::try_from(self.child.id())
            && let Some(pid) = Pid::from_raw(pid)
        {
            let _ = kill_process(pid, Signal::TERM);
        }
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port nobody listens on. Not one of those that connections which go out are given.
pub fn free_addr() -> Result<SocketAddr, Trouble> {
    let first = std::process::id() % 10_000;
    let mut addrs = (0..1_000)
        .map(|step| SocketAddr::from(([127, 0, 0, 1], 10_000 + ((first + step * 7) % 10_000) as u16)));
    let free = addrs.find(|addr| TcpListener::bind(addr).is_ok());
    free.ok_or_else(|| Trouble::Wrong("no port between 10000 and 19999 is free".to_owned()))
}

pub fn takes_connections(addr: SocketAddr) -> bool {
    TcpStream::connect(addr).is_ok()
}

/// The real server, as it ships.
pub struct Maitred {
    pub process: Process,
    pub addr: SocketAddr,
}

impl Maitred {
    /// On `folder`, with `limits` limits of this capacity.
    pub fn start(scene: &Scene, folder: &Path, limits: u64, capacity: u64) -> Result<Maitred, Trouble> {
        fs::write(folder.join("maitred.toml"), limits_toml(limits, capacity))?;
        Maitred::start_again(scene, folder)
    }

    /// On a folder that has been prepared.
    pub fn start_again(scene: &Scene, folder: &Path) -> Result<Maitred, Trouble> {
        Maitred::start_with(scene, folder, &[])
    }

    /// With its journal elsewhere; the folder, which need not be there, holds the history only.
    pub fn start_on(scene: &Scene, folder: &Path, journal: &str, limits: &str) -> Result<Maitred, Trouble> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("maitred.toml"), limits)?;
        Maitred::start_with(scene, folder, &["--journal", journal])
    }

    fn start_with(scene: &Scene, folder: &Path, more: &[&str]) -> Result<Maitred, Trouble> {
        let addr = free_addr()?;
        let mut command = Command::new(scene.maitred());
        command.current_dir(folder).args([
            "serve",
            "--data",
            "data",
            "--config",
            "maitred.toml",
            "--log",
            "warn",
        ]);
        command.args(["--max-connections", "20000", "--listen", &addr.to_string()]).args(more);
        let mut process = Process::start(&mut command, folder.join("server.log"))?;
        process.until(|| get(addr, "/readyz").is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")))?;
        Ok(Maitred { process, addr })
    }

    /// As servers of a load.
    pub fn addrs(&self) -> &[SocketAddr] {
        std::slice::from_ref(&self.addr)
    }

    /// The sum of a counter over its labels.
    pub fn counter(&self, name: &str) -> Result<f64, Trouble> {
        let text = get(self.addr, "/metrics")?;
        let lines = text.lines().filter(|line| line.starts_with(name));
        Ok(lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }

    /// Until the counter has this value: what others have put into the journal is counted a little later.
    pub fn until_counted(&self, name: &str, value: f64, within: Duration) -> Result<(), Trouble> {
        let since = Instant::now();
        loop {
            let counted = self.counter(name)?;
            if counted == value {
                return Ok(());
            }
            if counted > value || since.elapsed() > within {
                return Err(Trouble::Wrong(format!("{value} were answered, and {name} says {counted}")));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

pub fn limits_toml(limits: u64, capacity: u64) -> String {
    let limit = |number| {
        format!("[limits.{}]\ncapacity = {capacity}\nmax_hold = \"1h\"\n\n", crate::ids::limit(number))
    };
    (0..limits).map(limit).collect()
}

/// The whole answer as text.
pub fn get(addr: SocketAddr, path: &str) -> Result<String, Trouble> {
    let mut tcp = TcpStream::connect(addr)?;
    tcp.set_read_timeout(Some(Duration::from_secs(10)))?;
    tcp.write_all(format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    tcp.read_to_string(&mut answer)?;
    Ok(answer)
}
