//! The steps, and how each is run.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    process::{Command, Stdio},
    thread,
};

use maitred_testbed::Postgres;

use super::{
    copied, examples,
    needs::{DENY, NEEDS},
    studio,
    tally::Tally,
};
use crate::{binary, tidy};

pub struct Step {
    pub name: &'static str,
    pub what: &'static str,
    pub run: fn() -> Result<Tally, Failure>,
}

pub struct Failure {
    pub tally: Tally,
    pub why: String,
}

/// In this order: what is quick and often wrong comes first.
pub const STEPS: &[Step] = &[
    Step { name: "needs", what: "what the tests need is there, or is installed", run: needs },
    Step { name: "format", what: "rustfmt has nothing to change", run: format },
    Step { name: "tidy", what: "sizes, arrows, purity, documents", run: tidy },
    Step {
        name: "deny",
        what: "licences and sources of what is depended on, and what is not used",
        run: deny,
    },
    Step { name: "tests", what: "unit tests, scenarios, model, journal, server, command line", run: tests },
    Step {
        name: "judge",
        what: "20,000 random command sequences on engine and model, the whole state checked after each",
        run: judge,
    },
    Step {
        name: "sdk",
        what: "the TypeScript package: types, contract tests against the server, what it packs",
        run: sdk,
    },
    Step {
        name: "workflows",
        what: "programs on Workflow DevKit against the server: waits, timeouts, cancels, kill -9 of both",
        run: workflows,
    },
    Step {
        name: "workflows-postgres",
        what: "calls over kills of app and server, with the DevKit's runs in a PostgreSQL",
        run: workflows_postgres,
    },
    Step {
        name: "studio",
        what: "the web UI: fresh, small, and its stories in a browser against the server",
        run: studio::run,
    },
    Step { name: "doc-tests", what: "examples in the documentation", run: doc_tests },
    Step { name: "examples", what: "the examples do what they say", run: examples::run },
    Step {
        name: "front-page",
        what: "an empty project with the library's front page pasted in runs near, and far with one line changed",
        run: examples::front_page,
    },
    Step { name: "lints", what: "clippy finds nothing", run: lints },
    Step { name: "docs", what: "the documentation builds, every link in it leads somewhere", run: docs },
    Step {
        name: "small-scope",
        what: "all states that two nodes, two limits and three callers can come into, 200,000 of them",
        run: small_scope,
    },
    Step {
        name: "simulate",
        what: "30 simulated hours over three kinds of journal, everything that can go wrong met",
        run: simulate,
    },
    Step {
        name: "fuzz",
        what: "hostile bytes for whatever reads bytes, 3 s each; the fuzzer finds a planted fault",
        run: fuzz,
    },
    Step { name: "see", what: "planted defects, each seen by the test that is for it", run: see },
    Step { name: "demo", what: "the main job, short, over kills of server and workers", run: demo },
    Step { name: "demo-sees", what: "the main job sees calls that are made without a slot", run: demo_sees },
    Step {
        name: "kill",
        what: "kill -9 of the server 40 times under load, nothing acknowledged is lost",
        run: kill,
    },
    Step {
        name: "hosted",
        what: "the server that hosts the example's workflows: runs started, seen, cancelled",
        run: hosted,
    },
    Step {
        name: "runs",
        what: "20 runs, 4 kills of their program and of the server: each dials once, never too many at once",
        run: runs,
    },
    Step {
        name: "runs-postgres",
        what: "waits, cancels, serial workflows, kill -9 of one of two programs, with runs in a PostgreSQL",
        run: runs_postgres,
    },
    Step {
        name: "copied",
        what: "the workflows' example, copied elsewhere by the README's commands, with its limit changed, runs",
        run: copied::run,
    },
    Step { name: "runs-see", what: "the workflow runs see a limit that lets too many in", run: runs_see },
    Step {
        name: "nodes",
        what: "three servers over one PostgreSQL, everything killed and cut, every answer judged, 2 x 30 s",
        run: nodes,
    },
    Step { name: "nodes-see", what: "the judge sees a server with a journal of its own", run: nodes_see },
    Step {
        name: "nodes-nats",
        what: "three servers over three of NATS, everything killed and stopped, every answer judged, 30 s",
        run: nodes_nats,
    },
    Step {
        name: "nodes-nats-see",
        what: "the judge sees a server with a stream of its own",
        run: nodes_nats_see,
    },
    Step {
        name: "upgrade",
        what: "three servers are replaced by a newer version under load: the rules rise when all can follow",
        run: upgrade,
    },
    Step { name: "kill-sees", what: "the kills see a journal that was put back", run: kill_sees },
];

pub fn names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(STEPS.iter().map(|step| step.name))
}

fn needs() -> Result<Tally, Failure> {
    for need in NEEDS {
        let was_installed = need.provide().map_err(failed)?;
        println!("ok   {}{}", need.name, if was_installed { " (installed)" } else { "" });
    }
    Ok(Tally::passed(NEEDS.len()))
}

fn format() -> Result<Tally, Failure> {
    one(binary::cargo().args(["fmt", "--all", "--check"]))
}

fn tidy() -> Result<Tally, Failure> {
    tidy::run().map(Tally::passed).map_err(failed)
}

/// Without the advisories: their list cannot be fetched everywhere. `tidy` knows the floors.
fn deny() -> Result<Tally, Failure> {
    DENY.provide().map_err(failed)?;
    one(binary::cargo().args(["deny", "check", "licenses", "bans", "sources"]))
}

fn tests() -> Result<Tally, Failure> {
    nextest(&["--workspace"])
}

fn judge() -> Result<Tally, Failure> {
    checked_engine("judge::")
}

fn small_scope() -> Result<Tally, Failure> {
    checked_engine("small_scope::")
}

/// The engine looks at its whole state after every command: that is a feature, so this is built for both of them.
fn checked_engine(tests: &str) -> Result<Tally, Failure> {
    nextest(&["--package", "maitred-engine", "--features", "check", "--test", "it", tests])
}

fn simulate() -> Result<Tally, Failure> {
    one(&mut binary::this(&["simulate", "--seed=1", "--hours=30"]))
}

/// The corpus itself is replayed by an ordinary test.
fn fuzz() -> Result<Tally, Failure> {
    one(&mut binary::this(&["fuzz", "--seconds=3"]))
}

fn see() -> Result<Tally, Failure> {
    let (is_success, output) =
        watched(&mut binary::this(&["see"])).map_err(|error| failed(error.to_string()))?;
    let seen = output.lines().find_map(|line| line.strip_suffix(" planted defects, each seen"));
    match seen.and_then(|seen| seen.parse().ok()).filter(|_| is_success) {
        Some(seen) => Ok(Tally::passed(seen)),
        None => Err(failed("not every planted defect was seen".to_owned())),
    }
}

fn sdk() -> Result<Tally, Failure> {
    npm_run(&["build", "check", "lint:package", "test"], &[])
}

fn workflows() -> Result<Tally, Failure> {
    npm_run(&["build", "e2e"], &[])
}

fn workflows_postgres() -> Result<Tally, Failure> {
    let database = Postgres::start().map_err(failed)?;
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", database.port());
    npm_run(&["build", "e2e -- chaos"], &[("WORKFLOW_POSTGRES_URL", &url)])
}

/// Scripts of the TypeScript package. Their tests start the server.
fn npm_run(scripts: &[&str], settings: &[(&str, &str)]) -> Result<Tally, Failure> {
    for script in scripts {
        one(&mut npm_script(script, settings).map_err(failed)?)?;
    }
    Ok(Tally::passed(scripts.len()))
}

/// A script of the TypeScript package, which is installed first unless it was.
pub fn npm_script(script: &str, settings: &[(&str, &str)]) -> Result<Command, String> {
    const FOLDER: &str = "sdk/typescript";
    let server = binary::build()?;
    if !binary::root().join(FOLDER).join("node_modules").exists() {
        one(binary::npm(FOLDER).arg("ci")).map_err(|failure| failure.why)?;
    }
    let mut npm = binary::npm(FOLDER);
    npm.arg("run").args(script.split(' ')).env("MAITRED_BIN", &server).envs(settings.iter().copied());
    Ok(npm)
}

fn doc_tests() -> Result<Tally, Failure> {
    let mut command = binary::cargo();
    command.args(["test", "--doc", "--workspace", "--profile", &binary::profile()]);
    counted(&mut command, Tally::read_doc_tests)
}

/// With the same profile: the macros and build scripts that the tests were built with serve here too.
fn lints() -> Result<Tally, Failure> {
    let mut command = binary::cargo();
    command.args(["clippy", "--workspace", "--all-targets", "--profile", &binary::profile()]);
    one(command.args(["--", "-D", "warnings"]))
}

/// Of the libraries, as the binary has the name of one of them. A link to something private serves whoever reads the
/// source.
fn docs() -> Result<Tally, Failure> {
    let mut command = binary::cargo();
    command.args(["doc", "--workspace", "--lib", "--no-deps", "--profile", &binary::profile()]);
    one(command.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links"))
}

fn demo() -> Result<Tally, Failure> {
    let short =
        ["demo", "--records=2000", "--workers=8", "--at-once=12", "--server-kills=3", "--worker-kills=3"];
    one(&mut binary::this(&short))
}

fn demo_sees() -> Result<Tally, Failure> {
    let planted = [
        "demo",
        "--records=300",
        "--workers=4",
        "--at-once=20",
        "--server-kills=0",
        "--worker-kills=0",
        "--unguarded",
    ];
    must_see(binary::this(&planted), "every call at the partner was made under a slot, one each: NOT so")
}

fn kill() -> Result<Tally, Failure> {
    one(&mut binary::this(&["kill", "--rounds=40"]))
}

fn kill_sees() -> Result<Tally, Failure> {
    must_see(binary::this(&["kill", "--rounds=2", "--lose"]), "lost or changed")
}

/// Beside the task runner, so that only the server is compiled once more, with its feature.
fn hosted() -> Result<Tally, Failure> {
    let server =
        ["--package", "xtask", "--package", "maitred-server", "--features", "maitred-server/workflows"];
    nextest(&[&server[..], &["--test", "hosted"]].concat())
}

fn runs() -> Result<Tally, Failure> {
    one(&mut binary::this(&["workflows", "--runs=20", "--kills=4"]))
}

/// Those tests of the library that its feature adds. Beside the task runner, so that what both need has the same
/// features.
fn runs_postgres() -> Result<Tally, Failure> {
    let library = ["--package", "xtask", "--package", "maitred-workflows"];
    let feature = ["--features", "maitred-workflows/postgres"];
    nextest(&[&library[..], &feature, &["--test", "it", "-E", "test(on_postgres)"]].concat())
}

fn runs_see() -> Result<Tally, Failure> {
    must_see(binary::this(&["workflows", "--runs=20", "--kills=1", "--wide"]), "calls went on at once")
}

fn nodes() -> Result<Tally, Failure> {
    let mut tally = one(&mut binary::this(&["nodes", "--seconds=30"]))?;
    tally.add(one(&mut binary::this(&["nodes", "--seconds=30"]))?);
    Ok(tally)
}

fn nodes_see() -> Result<Tally, Failure> {
    must_see(binary::this(&["nodes", "--seconds=3", "--split"]), "no one limiter could have answered this")
}

fn nodes_nats() -> Result<Tally, Failure> {
    one(&mut binary::this(&["nodes", "--on=nats", "--seconds=30"]))
}

fn nodes_nats_see() -> Result<Tally, Failure> {
    must_see(
        binary::this(&["nodes", "--on=nats", "--seconds=3", "--split"]),
        "no one limiter could have answered this",
    )
}

fn upgrade() -> Result<Tally, Failure> {
    one(&mut binary::this(&["nodes", "--upgrade"]))
}

pub fn failed(why: String) -> Failure {
    Failure { tally: Tally { passed: 0, failed: 1 }, why }
}

/// A command that is one check.
pub fn one(command: &mut Command) -> Result<Tally, Failure> {
    let status = command.status().map_err(|error| failed(format!("{command:?}: {error}")))?;
    match status.success() {
        true => Ok(Tally::passed(1)),
        false => Err(failed(format!("{} ended with {status}", shown(command)))),
    }
}

fn nextest(what: &[&str]) -> Result<Tally, Failure> {
    let mut command = binary::cargo();
    command.args(["nextest", "run", "--config-file", "xtask/nextest.toml"]);
    // All that fails is wanted at once: a run takes long.
    command.args(["--no-fail-fast", "--cargo-profile", &binary::profile()]).args(what);
    counted(&mut command, Tally::read_nextest)
}

/// A test runner: its tests are counted from what it prints.
pub fn counted(command: &mut Command, read: fn(&mut Tally, &str)) -> Result<Tally, Failure> {
    let (is_success, output) = watched(command).map_err(|error| failed(format!("{command:?}: {error}")))?;
    let mut tally = Tally::default();
    output.lines().for_each(|line| read(&mut tally, line));
    match (is_success, tally) {
        (true, Tally { passed: 1.., failed: 0 }) => Ok(tally),
        (true, _) => Err(failed(format!("{} ran no test, or its summary could not be read", shown(command)))),
        (false, Tally { passed, failed }) => {
            let tally = Tally { passed, failed: failed.max(1) };
            Err(Failure { tally, why: format!("{} did not succeed", shown(command)) })
        }
    }
}

/// A harness with a planted fault: it must fail, and for this reason.
fn must_see(mut command: Command, what: &str) -> Result<Tally, Failure> {
    let (is_success, output) = watched(&mut command).map_err(|error| failed(error.to_string()))?;
    match !is_success && output.contains(what) {
        true => {
            println!("the planted fault was seen");
            Ok(Tally::passed(1))
        }
        false => Err(failed(format!("{} did not see the planted fault (\"{what}\")", shown(&command)))),
    }
}

/// Shows what the command prints while it prints it, and answers it.
pub fn watched(command: &mut Command) -> io::Result<(bool, String)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let errors = thread::spawn(move || stderr.map(pass_on));
    let mut output = stdout.map(pass_on).unwrap_or_default();
    output += &errors.join().ok().flatten().unwrap_or_default();
    Ok((child.wait()?.success(), output))
}

fn pass_on(from: impl Read) -> String {
    let mut text = String::new();
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        let _ = writeln!(io::stdout().lock(), "{line}");
        text += &line;
        text.push('\n');
    }
    text
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
