//! A network namespace in which a store runs: each of its clients reaches it over a line of its own, which can be cut.
//!
//! # Worked example
//! Three servers of ours and one database: line 0 for the harness, lines 1 to 3 for the servers. Line 2 is a pair of
//! virtual network cards, `10.x.y.9` here and `10.x.y.10` in the namespace. The database listens on all of them, and the
//! second server is told to find it at `10.x.y.10`.
//!
//! - [`Cut::Both`]: the card in the namespace goes down. What either side sends is gone; nobody is told.
//! - [`Cut::Answers`]: in the namespace there is no way to `10.x.y.9` any more. What the server sends arrives and is done,
//!   a commit too; no answer comes back.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    path::Path,
    process::{Command, Stdio},
};

use crate::account::Account;

/// What does not get through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    Both,
    Answers,
}

/// The namespace, gone with the last handle.
#[derive(Debug)]
pub struct Network {
    name: String,
    /// The lines are subnets of four addresses in 10.a.b.0/24.
    subnet: [u8; 2],
    lines: u8,
}

impl Network {
    /// With so many lines, 60 at the most. None where this process may not make one, or `ip` (Debian: iproute2) is
    /// not there.
    pub fn new(lines: u8) -> Result<Option<Network>, String> {
        assert!(lines <= 60, "{lines} lines do not fit into a subnet");
        if !rustix::process::getuid().is_root() {
            return Ok(None);
        }
        let chance = RandomState::new().build_hasher().finish().to_le_bytes();
        let name = format!("maitred-{:02x}{:02x}{:02x}", chance[0], chance[1], chance[2]);
        if ip(&["netns", "add", &name]).is_err() {
            return Ok(None);
        }
        let network = Network { name, subnet: [100 + chance[3] % 100, chance[4]], lines };
        match network.lay_all() {
            Err(why) if why.contains("not permitted") => Ok(None),
            laid => laid.map(|()| Some(network)),
        }
    }

    fn lay_all(&self) -> Result<(), String> {
        ip(&["-n", &self.name, "link", "set", "lo", "up"])?;
        (0..self.lines).try_for_each(|line| self.lay(line))
    }

    fn lay(&self, line: u8) -> Result<(), String> {
        let (here, there) = (self.card(line, 'h'), self.card(line, 't'));
        ip(&["link", "add", &here, "type", "veth", "peer", "name", &there, "netns", &self.name])?;
        ip(&["addr", "add", &format!("{}/30", self.here(line)), "dev", &here])?;
        ip(&["-n", &self.name, "addr", "add", &format!("{}/30", self.there(line)), "dev", &there])?;
        ip(&["link", "set", &here, "up"])?;
        ip(&["-n", &self.name, "link", "set", &there, "up"])
    }

    /// A name has room for fifteen letters.
    fn card(&self, line: u8, side: char) -> String {
        let own = self.name.rsplit('-').next().unwrap_or_default();
        format!("m{own}{side}{line}")
    }

    fn here(&self, line: u8) -> String {
        let [a, b] = self.subnet;
        format!("10.{a}.{b}.{}", 4 * line + 1)
    }

    /// Where a store in the namespace is found over this line.
    pub fn there(&self, line: u8) -> String {
        let [a, b] = self.subnet;
        format!("10.{a}.{b}.{}", 4 * line + 2)
    }

    pub fn cut(&self, line: u8, what: Cut) -> Result<(), String> {
        match what {
            Cut::Both => ip(&["-n", &self.name, "link", "set", &self.card(line, 't'), "down"]),
            Cut::Answers => ip(&["-n", &self.name, "route", "add", "blackhole", &self.here(line)]),
        }
    }

    /// Takes back a cut.
    pub fn mend(&self, line: u8, what: Cut) -> Result<(), String> {
        match what {
            Cut::Both => ip(&["-n", &self.name, "link", "set", &self.card(line, 't'), "up"]),
            Cut::Answers => ip(&["-n", &self.name, "route", "del", "blackhole", &self.here(line)]),
        }
    }

    /// A command that runs this program in the namespace. The process keeps its number.
    pub(crate) fn runs(&self, program: &Path, account: Option<Account>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]);
        if let Some(account) = account {
            // The namespace is entered as root.
            command.args(account.steps_down());
        }
        command.arg(program);
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // Its cards go with it.
        let _ = ip(&["netns", "del", &self.name]);
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("ip: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            Err(format!("ip {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{io::ErrorKind, net::TcpStream, thread::sleep, time::Duration};

    use super::{Cut, Network};
    use crate::Postgres;

    fn reaches(server: &Postgres, line: u8) -> bool {
        let address = format!("{}:{}", server.host(line), server.port()).parse().expect("an address");
        match TcpStream::connect_timeout(&address, Duration::from_millis(500)) {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::TimedOut, "nobody says no: {error}");
                false
            }
        }
    }

    #[test]
    fn one_line_is_cut_and_the_other_is_not() {
        let Some(network) = Network::new(3).expect("a network") else {
            return println!("no right to make network namespaces here");
        };
        let server = Postgres::start_in(network.into()).expect("a server");
        let network = server.network().expect("its network");
        for cut in [Cut::Both, Cut::Answers] {
            assert!(reaches(&server, 1) && reaches(&server, 2));
            network.cut(1, cut).expect("cut");
            assert!(!reaches(&server, 1) && reaches(&server, 2), "{cut:?}");
            network.mend(1, cut).expect("mended");
            sleep(Duration::from_millis(50));
        }
        assert!(reaches(&server, 1));
        assert_eq!(server.sql("SELECT 1").as_deref(), Ok("1"));
    }
}
