//! `maitred-bench`: runs the figures. `cargo xtask bench` builds and calls it.

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use maitred_bench::{
    families::{self, FAMILIES, Family},
    figure::Trouble,
    machine::Machine,
    report::Report,
    results,
    scene::Scene,
};

/// The server's, so that the library near and the engine are measured with what the server runs on.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
struct Line {
    /// One JSON object a line instead of a table
    #[arg(long)]
    json: bool,
    /// Few and short repetitions: to see that it runs, not how fast
    #[arg(long)]
    quick: bool,
    /// Writes what came of it into this file, with command, commit and machine
    #[arg(long, value_name = "FILE")]
    write_results: Option<PathBuf>,
    /// The server to measure
    #[arg(long, value_name = "FILE", default_value = "target/release/maitred")]
    maitred: PathBuf,
    /// Only print what the figures are
    #[arg(long)]
    list: bool,
    /// The figures, or families of figures, to run [default: all]
    names: Vec<String>,
}

fn main() -> ExitCode {
    let line = Line::parse();
    if line.list {
        families::list();
        return ExitCode::SUCCESS;
    }
    ended(measure(&line))
}

fn ended(result: Result<(), Trouble>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            eprintln!("FAILED: {trouble}");
            ExitCode::FAILURE
        }
    }
}

fn measure(line: &Line) -> Result<(), Trouble> {
    let chosen = families::chosen(&line.names)?;
    let scene = Scene::new(&line.maitred, line.quick)?;
    let machine = Machine::look(scene.folder());
    eprintln!("{machine}");
    let mut report = Report::new(line.json, &line.names);
    let failed = chosen.iter().filter(|family| !has_run(family, &scene, &mut report)).count();
    if let Some(file) = &line.write_results {
        results::write(file, &machine, &report, line.quick)?;
    }
    match failed {
        0 => Ok(()),
        failed => {
            Err(Trouble::Wrong(format!("{failed} of {} families; what is above says why", FAMILIES.len())))
        }
    }
}

/// A rival that cannot be had is no failure: it is named, and its figures are missing.
fn has_run(family: &Family, scene: &Scene, report: &mut Report) -> bool {
    eprintln!("… {}", family.name);
    match (family.run)(scene, report) {
        Ok(()) => true,
        Err(Trouble::Absent(what)) => {
            eprintln!("left out: {}: {what}", family.name);
            report.leave_out(family.name, &what);
            true
        }
        Err(Trouble::Wrong(why)) => {
            eprintln!("FAILED: {}: {why}", family.name);
            report.leave_out(family.name, &format!("failed: {why}"));
            false
        }
    }
}
