//! PostgreSQL with a table of limits and a table of slots, as one would write it: lock the limit's row, count its
//! slots, insert one more if there is room, commit; later delete it. Driven by `pgbench`, with its default settings
//! but for a connection more: every commit is flushed. It also keeps our own journals, where that is what is measured.

use std::{
    fs,
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use tempfile::TempDir;

use super::{program, said, user};
use crate::{
    figure::{Trouble, check},
    process::{Process, free_addr, takes_connections},
    scene::Scene,
};

const BINARIES: &str = "/usr/lib/postgresql/15/bin";
const PACKAGE: &str = "postgresql-15";
/// Who runs it where the harness is run by root, as PostgreSQL refuses to.
const USER: &str = "postgres";

pub struct Postgres {
    _process: Process,
    port: u16,
    folder: TempDir,
    as_user: Option<(u32, u32)>,
}

impl Postgres {
    pub fn start(scene: &Scene) -> Result<Postgres, Trouble> {
        let server = program("postgres", &[BINARIES], PACKAGE)?;
        let init = program("initdb", &[BINARIES], PACKAGE)?;
        let (folder, addr) = (scene.scratch()?, free_addr()?);
        let as_user = match rustix::process::geteuid().is_root() {
            true => Some(
                user(USER).ok_or_else(|| Trouble::Absent(format!("the user {USER} to run PostgreSQL as")))?,
            ),
            false => None,
        };
        if let Some((id, group)) = as_user {
            chown(folder.path(), Some(id), Some(group))?;
        }
        let data = folder.path().join("data");
        said(
            as_whom(Command::new(init), as_user).args(["--username=bench", "--auth=trust", "-D"]).arg(&data),
        )?;
        let mut command = as_whom(Command::new(server), as_user);
        command.arg("-D").arg(&data).args([
            "-p",
            &addr.port().to_string(),
            "-c",
            "listen_addresses=127.0.0.1",
        ]);
        command.arg("-c").arg(format!("unix_socket_directories={}", folder.path().display()));
        let mut process = Process::start(&mut command, folder.path().join("postgres.log"))?;
        process.until(|| takes_connections(addr))?;
        let postgres = Postgres { _process: process, port: addr.port(), folder, as_user };
        postgres.until_answers()?;
        Ok(postgres)
    }

    /// It takes connections a little before it answers them.
    fn until_answers(&self) -> Result<(), Trouble> {
        for _ in 0..200 {
            if self.say("SELECT 1").is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.say("SELECT 1").map(drop)
    }

    /// What a statement answers, without decoration.
    pub fn say(&self, sql: &str) -> Result<String, Trouble> {
        let mut command = self.client("psql")?;
        command.args([
            "--no-psqlrc",
            "--quiet",
            "--tuples-only",
            "--no-align",
            "-v",
            "ON_ERROR_STOP=1",
            "-c",
            sql,
        ]);
        Ok(said(&mut command)?.trim().to_owned())
    }

    /// Over its socket, which is what a program on the same machine would use.
    fn client(&self, name: &str) -> Result<Command, Trouble> {
        let mut command = as_whom(Command::new(program(name, &[BINARIES], PACKAGE)?), self.as_user);
        command.current_dir("/").args(["-h", &self.folder.path().display().to_string()]);
        command.args(["-p", &self.port.to_string(), "-U", "bench", "-d", "postgres"]);
        Ok(command)
    }

    /// The URL of a journal of ours on this server.
    pub fn journal(&self, name: &str) -> String {
        format!("postgres://bench@127.0.0.1:{}/postgres?schema={name}", self.port)
    }

    /// So many limits of a hundred.
    pub fn row_locks(&self, limits: u64) -> Result<RowLocks<'_>, Trouble> {
        self.say(&format!(
            "CREATE TABLE IF NOT EXISTS limits (name text PRIMARY KEY, capacity int NOT NULL);
             CREATE TABLE IF NOT EXISTS slots
                 (id text PRIMARY KEY, name text NOT NULL REFERENCES limits, expires timestamptz NOT NULL);
             CREATE INDEX IF NOT EXISTS slots_by_limit ON slots (name);
             INSERT INTO limits SELECT 'limit-' || n, 100 FROM generate_series(1, {limits}) n ON CONFLICT DO NOTHING"
        ))?;
        let script = self.folder.path().join(format!("row-locks-{limits}.sql"));
        fs::write(&script, row_lock_script(limits))?;
        Ok(RowLocks { postgres: self, script })
    }
}

/// One pair. A slot that is not granted is written down, and nothing is measured then.
fn row_lock_script(limits: u64) -> String {
    format!(
        "\\set n random(1, 1000000000000)
\\set l random(1, {limits})
BEGIN;
SELECT capacity FROM limits WHERE name = 'limit-' || :l FOR UPDATE;
INSERT INTO slots SELECT '0190c5e2-7a3b-7c11-9d2e-' || lpad((:n)::text, 12, '0'), 'limit-' || :l, now() + interval '1 hour'
  WHERE (SELECT count(*) FROM slots WHERE name = 'limit-' || :l AND expires > now()) < 100;
COMMIT;
DELETE FROM slots WHERE id = '0190c5e2-7a3b-7c11-9d2e-' || lpad((:n)::text, 12, '0');
"
    )
}

fn as_whom(mut command: Command, as_user: Option<(u32, u32)>) -> Command {
    if let Some((id, group)) = as_user {
        command.uid(id).gid(group);
    }
    command
}

pub struct RowLocks<'a> {
    postgres: &'a Postgres,
    script: PathBuf,
}

impl RowLocks<'_> {
    /// Pairs a second.
    pub fn turn(&self, connections: usize, time: Duration) -> Result<f64, Trouble> {
        let (inserted_before, deleted_before) = self.written()?;
        let out = self.run(connections, time)?;
        let (inserted, deleted) = self.written()?;
        let done = field(&out, "number of transactions actually processed:");
        let (inserted, deleted) = (inserted - inserted_before, deleted - deleted_before);
        check(done.is_some_and(|done| done as u64 == inserted && inserted == deleted), || {
            format!("{inserted} slots were taken and {deleted} given back; pgbench says {out}")
        })?;
        field(&out, "tps =").ok_or_else(|| Trouble::Wrong(format!("pgbench says {out}")))
    }

    fn run(&self, connections: usize, time: Duration) -> Result<String, Trouble> {
        let mut command = self.postgres.client("pgbench")?;
        // Part of it goes by until all are connected.
        let seconds = time.as_secs().max(3).to_string();
        command.args([
            "--no-vacuum",
            "--protocol=prepared",
            "-j",
            "1",
            "-c",
            &connections.to_string(),
            "-T",
            &seconds,
        ]);
        said(command.arg("-f").arg(Path::new(&self.script)))
    }

    /// Rows inserted and deleted so far. What ended connections did is counted before they are gone.
    fn written(&self) -> Result<(u64, u64), Trouble> {
        let text = self
            .postgres
            .say("SELECT n_tup_ins || ' ' || n_tup_del FROM pg_stat_user_tables WHERE relname = 'slots'")?;
        let counts = text.split_once(' ').and_then(|(ins, del)| Some((ins.parse().ok()?, del.parse().ok()?)));
        counts.ok_or_else(|| Trouble::Wrong(format!("PostgreSQL counts {text:?}")))
    }
}

/// The number behind a name in what pgbench says.
fn field(out: &str, name: &str) -> Option<f64> {
    let rest = out.lines().find_map(|line| line.trim().strip_prefix(name))?;
    rest.trim().split([' ', '/']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn pgbench_is_read() {
        let out = "number of transactions actually processed: 123\nnumber of failed transactions: 0 (0.000%)\n\
            tps = 3345.5 (without initial connection time)\n";
        assert_eq!(field(out, "tps ="), Some(3_345.5));
        assert_eq!(field(out, "number of transactions actually processed:"), Some(123.0));
        assert_eq!(field("", "tps ="), None);
    }
}
