//! The one door for people and CI: `cargo xtask TASK`.
#![forbid(unsafe_code)]

mod bench;
mod binary;
mod chance;
mod demo;
mod fuzz;
mod kill;
mod nodes;
mod sbom;
mod see;
mod server;
mod simulate;
mod soak;
mod test;
mod tidy;
mod workflows;

use std::process::ExitCode;

use clap::Parser;

/// Everything that is done with this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Line {
    #[command(subcommand)]
    task: Task,
}

#[derive(clap::Subcommand)]
enum Task {
    /// The main job: records through a partner that holds 50 connections, over kills of server and workers
    Demo(demo::Options),
    #[command(hide = true)]
    DemoWorker(demo::worker::Options),
    /// Everything CI runs: tests, lints, and the short forms of all harnesses
    Test(test::Options),
    /// Measures how fast and how big; figures only on standard output
    Bench(bench::Options),
    /// Kills the server under load again and again, and looks whether everything that was answered is there
    Kill(kill::Options),
    /// Kills a program with waiting workflow runs, and its limiter: every run dials once, never too many at once
    Workflows(workflows::Options),
    /// Several servers over one PostgreSQL, everything killed and cut under load, every answer judged
    Nodes(nodes::Options),
    /// The real engine and sequencer in simulated worlds that go wrong on purpose, far faster than life
    Simulate(simulate::Options),
    /// Hostile bytes for whatever reads bytes, chosen by what code they lead to
    Fuzz(fuzz::Options),
    /// Plants one defect after the other and looks whether the test that is for it fails
    See(see::Options),
    /// What the released binary is made of, as a CycloneDX document
    Sbom(sbom::Options),
    /// The long forms of everything that hunts faults, and a report of what they met
    Soak(soak::Options),
    /// Sizes, crate arrows, purity, documents: what can be checked without running anything
    Tidy,
}

fn main() -> ExitCode {
    let ended = match Line::parse().task {
        Task::Demo(options) => demo::run(options),
        Task::DemoWorker(options) => demo::worker::run(options),
        Task::Test(options) => test::run(options),
        Task::Bench(options) => bench::run(options),
        Task::Kill(options) => kill::run(options),
        Task::Workflows(options) => workflows::run(options),
        Task::Nodes(options) => nodes::run(options),
        Task::Simulate(options) => simulate::run(options),
        Task::Fuzz(options) => fuzz::run(options),
        Task::See(options) => see::run(options),
        Task::Sbom(options) => sbom::run(options),
        Task::Soak(options) => soak::run(options),
        Task::Tidy => tidy::run().map(|_| ()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("FAILED: {why}");
            ExitCode::FAILURE
        }
    }
}
