//! The binary, serving on a free port.

use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
};

pub struct Server {
    child: Child,
    pub url: String,
}

impl Server {
    /// Starts what the line says, as a shell in this folder would.
    pub fn start(folder: &Path, line: &str) -> Server {
        let mut child = shell(folder)
            .args(["-c", &format!("exec {line}")])
            .env("MAITRED_LISTEN", "127.0.0.1:0")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        match first.trim().split_once(" listens on ") {
            Some((_, url)) => Server { url: url.to_owned(), child },
            None => panic!("`{line}` does not serve: {first}{}", said(&mut child)),
        }
    }
}

fn said(child: &mut Child) -> String {
    let _ = child.kill();
    let mut text = String::new();
    let _ = child.stderr.take().unwrap().read_to_string(&mut text);
    text
}

impl Server {
    /// Asks it to end, and waits until it has.
    pub fn stop(mut self) {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(asked.success() && self.child.wait().unwrap().success(), "an orderly end");
    }
}

/// As rough as `kill -9`.
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A shell that finds the binary that is tested, and nothing of the caller's settings.
pub fn shell(folder: &Path) -> Command {
    let mut shell = Command::new("bash");
    shell.current_dir(folder).stdin(Stdio::null()).env("HOME", folder).env_remove("XDG_CONFIG_HOME");
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("MAITRED_")) {
        shell.env_remove(name);
    }
    let binary = Path::new(env!("CARGO_BIN_EXE_maitred")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    shell.env("PATH", format!("{}:{path}", binary.display())).env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8");
    shell
}
