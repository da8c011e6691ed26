//! The workflows' example as a newcomer has it: copied elsewhere by the commands of its README, its limit changed, run
//! by one command; then the calls of the README, of which the second waits.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::{
    examples::{between, built, profiles, read, said, write},
    step::{Failure, failed},
    tally::Tally,
};
use crate::binary;

const README: &str = "examples/workflows/README.md";
/// Where it listens if nobody says otherwise, as the README has it.
const ADDR: &str = "localhost:8080";
const WITHIN: Duration = Duration::from_secs(60);

pub fn run() -> Result<Tally, Failure> {
    let home = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
    copied(home.path()).map_err(failed)?;
    Ok(Tally::passed(1))
}

fn copied(home: &Path) -> Result<(), String> {
    let readme = read(&binary::root().join(README))?;
    let blocks: Vec<&str> =
        readme.split("```sh\n").skip(1).filter_map(|rest| between(rest, "", "```")).collect();
    let [begin, calls] = blocks[..] else { return Err(format!("{README} has no two blocks of commands")) };
    let project = home.join("calls");
    let run = begin.trim_end().lines().last().unwrap_or_default();
    said(shell(home, begin.trim_end().trim_end_matches(run)).current_dir(binary::root()))?;
    change_limit(&project.join("src/programs.rs"))?;
    as_here(&project)?;
    // One process after the other in the same place, so that the last is the one to be killed.
    let run = format!("exec {run} --profile {}", binary::profile());
    let program = Program::start(shell(home, &run).current_dir(&project))?;
    for line in calls.trim_end().lines() {
        let (command, expected) = line.split_once(" # ").unwrap_or((line, ""));
        program.answers(home, command.trim_end(), expected.split(';').next().unwrap_or_default())?;
        println!("ok   {command}");
    }
    Ok(())
}

fn shell(home: &Path, line: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-ec", line]).env("HOME", home);
    // They lie in the home folder, unless they are named.
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let own = std::env::var_os("HOME").map(|own| Path::new(&own).join(folder));
        if let (None, Some(own)) = (std::env::var_os(name), own) {
            shell.env(name, own);
        }
    }
    shell
}

fn change_limit(file: &Path) -> Result<(), String> {
    let text = read(file)?;
    let changed = text.replace(r#"("voice-calls", 20, "#, r#"("voice-calls", 1, "#);
    match changed == text {
        true => Err(format!("{} has no limit as the README shows it", file.display())),
        false => write(file, &changed),
    }
}

/// The versions and the profiles are the workspace's, so that only what differs is compiled again.
fn as_here(project: &Path) -> Result<(), String> {
    let manifest = read(&project.join("Cargo.toml"))?;
    write(&project.join("Cargo.toml"), &format!("{manifest}\n{}", profiles()?))?;
    write(&project.join("Cargo.lock"), &read(&binary::root().join("Cargo.lock"))?)
}

/// The copy, run by the README's command, where it listens on a free port.
struct Program {
    child: Child,
    addr: String,
}

impl Program {
    fn start(run: &mut Command) -> Result<Program, String> {
        let target = built().map_err(|failure| failure.why)?;
        let target = target.parent().ok_or("the target folder has no parent")?;
        run.env("CARGO_TARGET_DIR", target).env("LISTEN", "127.0.0.1:0").stdout(Stdio::piped());
        let mut child = run.spawn().map_err(|error| format!("{run:?}: {error}"))?;
        let lines = child.stdout.take().map(|stdout| BufReader::new(stdout).lines());
        let mut lines = lines.into_iter().flatten().map_while(Result::ok);
        let addr = lines.find_map(|line| Some(line.split_once("listens on http://")?.1.to_owned()));
        let mut program = Program { child, addr: addr.clone().unwrap_or_default() };
        match addr {
            Some(_) => Ok(program),
            None => Err(format!("{run:?} ended with {:?}", program.child.wait())),
        }
    }

    /// A command of the README, again until its answer is what stands behind it.
    fn answers(&self, home: &Path, command: &str, expected: &str) -> Result<(), String> {
        let command = command.replace(ADDR, &self.addr).replace("curl", "curl --silent --show-error --fail");
        let since = Instant::now();
        loop {
            let answer = said(&mut shell(home, &command))?;
            match answer.contains(expected.trim()) {
                true => return Ok(()),
                false if since.elapsed() > WITHIN => {
                    return Err(format!("{command}: no \"{expected}\" in {answer}"));
                }
                false => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
