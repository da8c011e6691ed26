//! Redis with scripts in Lua, driven by `redis-benchmark`: a semaphore with leases, and a fixed window.
//!
//! `redis-benchmark` and not our load generator: it speaks Redis's protocol with next to no cost of its own, so this is
//! the comparison that is better for Redis.

use std::{net::SocketAddr, path::PathBuf, process::Command, time::Duration};

use tempfile::TempDir;

use super::{program, said};
use crate::{
    figure::{Trouble, check},
    process::{Process, free_addr, takes_connections},
    scene::Scene,
};

/// Gives back when held, else takes if there is room: half of the calls do one, half the other. What has expired is
/// removed first, as a semaphore that outlives its holders must.
const SEMAPHORE: &str = r"
if redis.call('ZREM', KEYS[1], ARGV[1]) == 1 then return 2 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return redis.error_reply('full') end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
return 1";

/// Counts one against a key; the window begins with the first.
const WINDOW: &str = r"
local used = redis.call('INCR', KEYS[1])
if used == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if used > tonumber(ARGV[1]) then return redis.error_reply('over') end
return used";

const WARM_UP_CALLS: u64 = 20_000;
/// Redis-benchmark puts a number of twelve digits for each of these.
const NUMBER: &str = "__rand_int__";
const DAY_MS: &str = "86400000";

#[derive(Clone, Copy)]
pub enum Fsync {
    Always,
    EverySecond,
}

pub struct Redis {
    _process: Process,
    addr: SocketAddr,
    benchmark: PathBuf,
    cli: PathBuf,
    _folder: TempDir,
}

impl Redis {
    pub fn start(scene: &Scene, fsync: Fsync) -> Result<Redis, Trouble> {
        let server = program("redis-server", &[], "redis-server")?;
        let (benchmark, cli) =
            (program("redis-benchmark", &[], "redis-tools")?, program("redis-cli", &[], "redis-tools")?);
        let (folder, addr) = (scene.scratch()?, free_addr()?);
        let level = match fsync {
            Fsync::Always => "always",
            Fsync::EverySecond => "everysec",
        };
        let mut command = Command::new(server);
        command.args(["--bind", "127.0.0.1", "--port", &addr.port().to_string(), "--save", ""]);
        command.args(["--appendonly", "yes", "--appendfsync", level, "--dir"]).arg(folder.path());
        let mut process = Process::start(&mut command, folder.path().join("redis.log"))?;
        process.until(|| takes_connections(addr))?;
        Ok(Redis { _process: process, addr, benchmark, cli, _folder: folder })
    }

    /// A hundred semaphores, ids of 36 characters. At most a hundred ids each, so that none is ever full.
    pub fn semaphores(&self) -> Result<Script<'_>, Trouble> {
        let id = format!("0190c5e2-7a3b-7c11-9d2e-{NUMBER}");
        self.script(SEMAPHORE, [format!("limit-{NUMBER}"), id, "100".into(), DAY_MS.into()], 100)
    }

    /// Ten thousand keys of 32 characters, far from their limits.
    pub fn windows(&self) -> Result<Script<'_>, Trouble> {
        self.script(
            WINDOW,
            [format!("user=0123456789-0123{NUMBER}"), "1000000000".into(), DAY_MS.into(), "0".into()],
            10_000,
        )
    }

    fn script(&self, text: &str, arguments: [String; 4], numbers: u64) -> Result<Script<'_>, Trouble> {
        let sha = self.say(&["SCRIPT", "LOAD", text])?.trim().to_owned();
        Ok(Script { redis: self, sha, arguments, numbers })
    }

    fn say(&self, words: &[&str]) -> Result<String, Trouble> {
        said(
            Command::new(&self.cli)
                .args(["-h", "127.0.0.1", "-p", &self.addr.port().to_string()])
                .args(words),
        )
    }

    /// How many script calls were made, and how many of them failed or were refused.
    fn calls(&self) -> Result<(u64, u64), Trouble> {
        let stats = self.say(&["INFO", "commandstats"])?;
        let line = stats.lines().find(|line| line.starts_with("cmdstat_evalsha:")).unwrap_or_default();
        let field = |name: &str| {
            let text = line.split([':', ',']).find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
            text.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        Ok((field("calls"), field("failed_calls") + field("rejected_calls")))
    }
}

pub struct Script<'a> {
    redis: &'a Redis,
    sha: String,
    arguments: [String; 4],
    numbers: u64,
}

impl Script<'_> {
    /// Calls a second, over about this time.
    pub fn turn(&self, connections: usize, pipeline: usize, time: Duration) -> Result<f64, Trouble> {
        let at_first = self.run(connections, pipeline, WARM_UP_CALLS)?;
        self.run(connections, pipeline, ((at_first * time.as_secs_f64()) as u64).max(WARM_UP_CALLS))
    }

    fn run(&self, connections: usize, pipeline: usize, calls: u64) -> Result<f64, Trouble> {
        let (calls_before, failed_before) = self.redis.calls()?;
        let mut command = Command::new(&self.redis.benchmark);
        command.args(["--csv", "-h", "127.0.0.1", "-p", &self.redis.addr.port().to_string()]);
        command.args(["-c", &connections.to_string(), "-P", &pipeline.to_string(), "-n", &calls.to_string()]);
        command.args(["-r", &self.numbers.to_string(), "EVALSHA", &self.sha, "1"]).args(&self.arguments);
        let out = said(&mut command)?;
        let (calls_after, failed_after) = self.redis.calls()?;
        let done = calls_after - calls_before;
        // It goes on until all pipelines are answered, so a few more may have been made.
        let is_done = done >= calls && done <= calls + (connections * pipeline) as u64;
        check(is_done && failed_after == failed_before, || {
            format!("{calls} calls were to be made, {done} were, {} failed", failed_after - failed_before)
        })?;
        rate(&out).ok_or_else(|| Trouble::Wrong(format!("redis-benchmark says {out}")))
    }
}

/// The second field of the last line: `"EVALSHA …","46883.43","0.5",…`. The name may have commas, quotes have not.
fn rate(csv: &str) -> Option<f64> {
    csv.lines().last()?.split("\",\"").nth(1)?.trim_matches('"').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::rate;

    #[test]
    fn rates_are_read() {
        let csv = "\"test\",\"rps\",\"avg\"\n\"EVALSHA a 1, b\",\"46883.43\",\"0.517\"\n";
        assert_eq!(rate(csv), Some(46_883.43));
        assert_eq!(rate("\"test\",\"rps\"\n"), None);
        assert_eq!(rate(""), None);
    }
}
