//! throttlecrab-server, a rate limiter in memory, from the crate registry. Driven by our load generator, as it speaks
//! HTTP and JSON too.

use std::{net::SocketAddr, path::PathBuf, process::Command};

use tempfile::TempDir;

use super::program;
use crate::{
    figure::Trouble,
    process::{Process, free_addr, takes_connections},
    scene::Scene,
};

const VERSION: &str = "0.4.40";

pub struct Throttlecrab {
    _process: Process,
    pub addr: SocketAddr,
    _folder: TempDir,
}

impl Throttlecrab {
    pub fn start(scene: &Scene) -> Result<Throttlecrab, Trouble> {
        let binary = installed(scene)?;
        let (folder, addr) = (scene.scratch()?, free_addr()?);
        let mut command = Command::new(binary);
        command.args(["--http", "--http-host", "127.0.0.1", "--http-port", &addr.port().to_string()]);
        command.args(["--log-level", "error"]);
        let mut process = Process::start(&mut command, folder.path().join("throttlecrab.log"))?;
        process.until(|| takes_connections(addr))?;
        Ok(Throttlecrab { _process: process, addr, _folder: folder })
    }
}

/// Built once, and kept beside the build.
fn installed(scene: &Scene) -> Result<PathBuf, Trouble> {
    let root = scene.folder().join(format!("throttlecrab-{VERSION}"));
    let binary = root.join("bin/throttlecrab-server");
    if binary.is_file() {
        return Ok(binary);
    }
    // Its build asks for the compiler of protocol buffers, and says so only by what is then missing.
    program("protoc", &[], "protobuf-compiler")?;
    eprintln!("throttlecrab-server is missing; building it");
    let mut install = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    install
        .args(["install", "--quiet", "--locked", "throttlecrab-server", "--version", VERSION, "--root"])
        .arg(&root);
    let is_there = install.status().is_ok_and(|status| status.success()) && binary.is_file();
    is_there
        .then_some(binary)
        .ok_or_else(|| Trouble::Absent(format!("throttlecrab-server {VERSION} could not be built")))
}
