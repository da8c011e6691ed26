//! Does the testing see? Every defect of `maitred_planted` is planted, one at a time, and the test that is for it has to
//! fail. The harnesses that run the real binary have planted defects of their own, which take longer (`--all`).
//!
//! ```text
//! defect                   seen by                                        after
//! barging                  small scope: every state of a small world      0.4 s
//! no-sync                  power cuts: what was promised is there         0.2 s
//! ```

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use maitred_planted::Defect;
use serde_json::Value;

use crate::binary;

/// Of a test that has nothing to see, and passes.
const NONE: &str = "(none)";
/// What is not seen by then is not seen.
const WITHIN: Duration = Duration::from_secs(150);

#[derive(clap::Args)]
pub struct Options {
    /// Only this defect; may be given several times [default: all that are quick to see]
    #[arg(long, value_name = "DEFECT", value_parser = names())]
    only: Vec<String>,
    /// Also those of the harnesses that run the real binary, and each test once without a defect
    #[arg(long, conflicts_with = "only")]
    all: bool,
    /// Show what the test that failed has printed
    #[arg(long)]
    verbose: bool,
}

fn names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(Defect::ALL.iter().map(|defect| defect.name()))
}

/// The unit tests of the journal.
const JOURNAL: &str = "journal/maitred_journal";

/// A test that hunts faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Suite {
    Judge,
    SmallScope,
    Codec,
    PowerCuts,
    FailingCalls,
    BitFlips,
    Folder,
    Sharing,
    Worlds,
}

impl Suite {
    const ALL: [Suite; 9] = [
        Suite::Judge,
        Suite::SmallScope,
        Suite::Codec,
        Suite::PowerCuts,
        Suite::FailingCalls,
        Suite::BitFlips,
        Suite::Folder,
        Suite::Sharing,
        Suite::Worlds,
    ];

    /// The folder and name of the test executable, the test in it, and how much of it: enough to see, without a defect
    /// soon over.
    fn test(self) -> (&'static str, &'static str, &'static [(&'static str, &'static str)]) {
        match self {
            Suite::Judge => {
                ("engine/it", "judge::engine_and_model_agree", &[("MAITRED_JUDGE_CASES", "20000")])
            }
            Suite::SmallScope => (
                "engine/it",
                "small_scope::every_state_of_a_small_world_is_sound",
                &[("MAITRED_STATES", "30000")],
            ),
            Suite::Codec => ("engine/it", "codec::unknown_kinds_are_errors", &[]),
            Suite::PowerCuts => (JOURNAL, "local::tests::power_cut::every_cut_leaves_what_was_promised", &[]),
            Suite::FailingCalls => {
                (JOURNAL, "local::tests::failing_calls::no_failing_call_loses_what_was_promised", &[])
            }
            Suite::BitFlips => {
                (JOURNAL, "local::tests::bit_flips::an_attested_journal_loses_nothing_to_a_flipped_bit", &[])
            }
            Suite::Folder => ("journal/it", "conformance::local_on_a_simulated_disk", &[]),
            Suite::Sharing => ("simulator/it", "sharing::a_silent_node_loses_its_lines", &[]),
            Suite::Worlds => ("simulator/it", "simulate::worlds_hold", &[("MAITRED_HOURS", "30")]),
        }
    }

    fn what(self) -> &'static str {
        match self {
            Suite::Judge => "judge: random commands on engine and model",
            Suite::SmallScope => "small scope: every state of a small world",
            Suite::Codec => "codec: commands as bytes",
            Suite::PowerCuts => "power cuts: what was promised is there",
            Suite::FailingCalls => "failing calls: every call of the disk",
            Suite::BitFlips => "bit flips: every bit of a journal",
            Suite::Folder => "conformance: what every journal must do",
            Suite::Sharing => "sharing: nodes that die and stand still",
            Suite::Worlds => "simulation: worlds that go wrong",
        }
    }
}

fn seen_by(defect: Defect) -> Suite {
    use Defect::*;
    match defect {
        DueLate
        | Barging
        | LapseToHead
        | ExpiryMoves
        | ReservationIgnoresHold
        | ReservedTakesNoRoom
        | AnyLineHangsUp
        | DeadLinesStay => Suite::SmallScope,
        LapseForgetsTimeout
        | WindowEndsLate
        | PlaceEndsLate
        | TimeoutsFirst
        | GrantsInThePast
        | WeightsIgnored
        | GrantsToTheDying
        | DiffersByCopy
        | ReleasesByLimit
        | EndForgotten
        | ContentIgnored
        | RequestContentIgnored
        | GivesBackSuccess
        | GivesBackTwice
        | CountsRefused
        | OneMore
        | FenceForgotten => Suite::Judge,
        UnknownSkipped => Suite::Codec,
        NoSync | NoFolderSync | OldBytesTaken => Suite::PowerCuts,
        SyncErrorIgnored | SyncRetried => Suite::FailingCalls,
        NoLookAhead => Suite::BitFlips,
        AppendAnywhere => Suite::Folder,
        // Simulated worlds see it too, after up to some minutes.
        NobodyIsDead => Suite::Sharing,
        AnswersBeforeSync | ConflictIgnored | ChainIgnored | StampsBelieved | StaleReads => Suite::Worlds,
    }
}

/// What the harnesses of the real binary have: a name, and the task that must fail, with what it must say.
const SLOW: [(&str, &[&str], &str); 5] = [
    (
        "calls without a slot",
        &[
            "demo",
            "--records=300",
            "--workers=4",
            "--at-once=20",
            "--server-kills=0",
            "--worker-kills=0",
            "--unguarded",
        ],
        "every call at the partner was made under a slot, one each: NOT so",
    ),
    ("a journal that was put back", &["kill", "--rounds=2", "--lose"], "lost or changed"),
    (
        "a server with a journal of its own",
        &["nodes", "--seconds=3", "--split"],
        "no one limiter could have answered this",
    ),
    (
        "a server with a stream of its own",
        &["nodes", "--on=nats", "--seconds=3", "--split"],
        "no one limiter could have answered this",
    ),
    (
        "a limit that lets too many runs in",
        &["workflows", "--runs=20", "--kills=1", "--wide"],
        "calls went on at once",
    ),
];

pub fn run(options: Options) -> Result<(), String> {
    let tests = build()?;
    println!("{:<36} {:<46} after", "defect", "seen by");
    let mut table = Table::default();
    if options.all {
        for suite in Suite::ALL {
            let ended = tests.run(suite, None)?;
            table.add(NONE, suite.what(), &ended, !ended.failed, options.verbose);
        }
    }
    let is_wanted =
        |defect: &&Defect| options.only.is_empty() || options.only.iter().any(|it| it == defect.name());
    for defect in Defect::ALL.iter().filter(is_wanted) {
        let suite = seen_by(*defect);
        let ended = tests.run(suite, Some(*defect))?;
        table.add(defect.name(), suite.what(), &ended, ended.failed, options.verbose);
    }
    for (defect, task, words) in SLOW.iter().filter(|_| options.all) {
        let ended = wait(binary::this(task), Duration::from_secs(600))?;
        let is_seen = ended.failed && ended.output.contains(words);
        table.add(defect, &format!("cargo xtask {}", task[0]), &ended, is_seen, options.verbose);
    }
    table.judge()
}

#[derive(Default)]
struct Table {
    seen: usize,
    not_seen: Vec<String>,
}

impl Table {
    fn add(&mut self, defect: &str, by: &str, ended: &Ended, is_as_wanted: bool, verbose: bool) {
        let mut line = format!("{defect:<36} {by:<46} {:.1} s", ended.after.as_secs_f64());
        if !is_as_wanted {
            let _ = write!(line, "  NOT SEEN");
        }
        println!("{line}");
        if verbose || !is_as_wanted {
            println!("{}", ended.output.trim_end());
        }
        match is_as_wanted {
            true if defect == NONE => {}
            true => self.seen += 1,
            false => self.not_seen.push(defect.to_owned()),
        }
    }

    fn judge(self) -> Result<(), String> {
        match self.not_seen.is_empty() {
            true => {
                println!("{} planted defects, each seen", self.seen);
                Ok(())
            }
            false => Err(format!("not seen: {}", self.not_seen.join(", "))),
        }
    }
}

/// The test executables by their crate's folder and their name, built so that a defect can be planted, and where each
/// runs.
struct Tests {
    built: BTreeMap<String, (PathBuf, PathBuf)>,
}

fn build() -> Result<Tests, String> {
    let planted = "maitred-planted/planted";
    let engine = format!("{planted},maitred-engine/check");
    let mut built = BTreeMap::new();
    build_tests(&["maitred-engine"], &engine, &["--test", "it"], &mut built)?;
    // Beside the task runner, so that all that cannot have a defect is as it was built for it.
    let others = ["maitred-journal", "maitred-simulator", "xtask"];
    build_tests(&others, planted, &["--lib", "--test", "it"], &mut built)?;
    Ok(Tests { built })
}

fn build_tests(
    packages: &[&str],
    features: &str,
    targets: &[&str],
    built: &mut BTreeMap<String, (PathBuf, PathBuf)>,
) -> Result<(), String> {
    let mut cargo = binary::cargo();
    cargo.args(["test", "--no-run", "--message-format=json-render-diagnostics", "--profile"]);
    cargo.arg(binary::profile()).args(["--package", "maitred-planted", "--features", features]);
    cargo.args(packages.iter().flat_map(|package| ["--package", package]));
    let output = cargo.args(targets).stderr(Stdio::inherit()).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err("the tests could not be built; what cargo says is above".to_owned());
    }
    built.extend(String::from_utf8_lossy(&output.stdout).lines().filter_map(executable));
    Ok(())
}

/// The folder and name of a test target, its executable, and the whole folder of its package.
fn executable(line: &str) -> Option<(String, (PathBuf, PathBuf))> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_test = message["profile"]["test"].as_bool() == Some(true);
    let path = message["executable"].as_str().filter(|_| is_test)?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let name = format!("{}/{}", folder.file_name()?.to_str()?, message["target"]["name"].as_str()?);
    Some((name, (path.into(), folder.to_owned())))
}

struct Ended {
    failed: bool,
    after: Duration,
    output: String,
}

impl Tests {
    fn run(&self, suite: Suite, defect: Option<Defect>) -> Result<Ended, String> {
        let (target, test, variables) = suite.test();
        let (path, folder) = self.built.get(target).ok_or_else(|| format!("no test `{target}` was built"))?;
        let mut command = Command::new(path);
        command.args([test, "--exact"]).current_dir(folder).envs(variables.iter().copied());
        if let Some(defect) = defect {
            command.env("MAITRED_PLANTED", defect.name());
        }
        let ended = wait(command, WITHIN)?;
        match ended.output.contains("running 1 test") {
            true => Ok(ended),
            false => Err(format!("{target} has no test `{test}`:\n{}", ended.output)),
        }
    }
}

/// Runs to the end, or for so long; one that has not ended by then has not failed.
fn wait(mut command: Command, within: Duration) -> Result<Ended, String> {
    let since = Instant::now();
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let reading = [read(child.stdout.take()), read(child.stderr.take())];
    let failed = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break !status.success(),
            None if since.elapsed() > within => {
                end(&mut child);
                break false;
            }
            None => thread::sleep(Duration::from_millis(20)),
        }
    };
    let output = reading.into_iter().filter_map(|thread| thread.join().ok()).collect();
    Ok(Ended { failed, after: since.elapsed(), output })
}

fn read(from: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.map(|mut from| from.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::executable;

    #[test]
    fn only_tests_count() {
        let line = |is_test| {
            format!(
                r#"{{"target":{{"name":"it"}},"profile":{{"test":{is_test}}},"executable":"/t/it-1","manifest_path":"/r/crates/engine/Cargo.toml"}}"#
            )
        };
        let expected = Some(("engine/it".to_owned(), ("/t/it-1".into(), "/r/crates/engine".into())));
        assert_eq!(executable(&line(true)), expected);
        assert_eq!(executable(&line(false)), None);
    }
}
