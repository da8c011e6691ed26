//! What one of a kind takes in memory, counted by the allocator of a program of its own (`maitred-weigh`).

use std::{collections::BTreeMap, env, process::Command};

use super::Family;
use crate::{
    figure::{Figure, Target, Trouble, check, wrong},
    pairs::Spread,
    report::Report,
    scene::Scene,
};

pub const FAMILY: Family = Family {
    name: "memory",
    figures: &[
        Figure {
            name: "bytes_per_waiting",
            unit: "bytes",
            target: Target::AtMost(600.0),
            what: "a waiting slot with a run of its own, in the engine; 930,000 of them, just after its tables have doubled",
        },
        Figure {
            name: "bytes_per_key",
            unit: "bytes",
            target: Target::AtMost(250.0),
            what: "a live rate key of 32 characters, in the same way",
        },
        Figure {
            name: "bytes_per_waiting_acquire",
            unit: "bytes",
            target: Target::AtMost(1_023.0),
            what: "a near acquire that waits: its future and all it takes in the limiter; 10,000 of them",
        },
    ],
    run,
};

fn run(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let mut weighed: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for _ in 0..scene.repetitions() {
        for (name, bytes) in weigh()? {
            weighed.entry(name).or_default().push(bytes);
        }
    }
    for figure in FAMILY.figures {
        let bytes = weighed.remove(figure.name);
        report.put(
            figure.name,
            Spread::of(bytes.ok_or_else(|| format!("maitred-weigh does not tell {}", figure.name))?),
        );
    }
    Ok(())
}

fn weigh() -> Result<Vec<(String, f64)>, Trouble> {
    let program = env::current_exe()?.with_file_name("maitred-weigh");
    let output = Command::new(&program).output().map_err(|error| wrong("maitred-weigh")(&error))?;
    check(output.status.success(), || format!("maitred-weigh: {}", String::from_utf8_lossy(&output.stderr)))?;
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let read = |line: &str| {
        line.split_once(' ').and_then(|(name, bytes)| Some((name.to_owned(), bytes.parse().ok()?)))
    };
    Ok(lines.lines().filter_map(read).collect())
}
