//! `RESULTS.md`: what came of a run, with command, commit and machine.

use std::{fmt::Write, fs, path::Path};

use crate::{
    figure::Trouble,
    machine::Machine,
    report::{Report, shown},
};

pub fn write(file: &Path, machine: &Machine, report: &Report, quick: bool) -> Result<(), Trouble> {
    fs::write(file, page(machine, report, quick))?;
    eprintln!("{} is written", file.display());
    Ok(())
}

fn page(machine: &Machine, report: &Report, quick: bool) -> String {
    let command =
        if quick { "cargo xtask bench --quick --write-results" } else { "cargo xtask bench --write-results" };
    let mut page =
        format!("# Results\n\nWritten by `{command}`; [README.md](README.md) says what each figure is.\n");
    if quick {
        page += "\n**A quick run: too short to quote.**\n";
    }
    page += "\n| machine | |\n| --- | --- |\n";
    for (name, fact) in &machine.facts {
        let _ = writeln!(page, "| {name} | {fact} |");
    }
    page += "\n| figure | value | unit | target | | from – to | repetitions | ours ÷ theirs |\n| --- | ---: | --- | --- | --- | --- | ---: | --- |\n";
    for line in &report.lines {
        let (figure, spread) = (line.figure, line.spread);
        let sides =
            line.sides.map_or(String::new(), |(ours, theirs)| format!("{} ÷ {}", shown(ours), shown(theirs)));
        let (value, least, most) = (shown(spread.median), shown(spread.least), shown(spread.most));
        let _ = writeln!(
            page,
            "| `{}` | {value} | {} | {} | {} | {least} – {most} | {} | {sides} |",
            figure.name,
            figure.unit,
            figure.target,
            line.verdict(),
            spread.repetitions
        );
    }
    if !report.left_out.is_empty() {
        page += "\nWithout figures:\n\n";
        report.left_out.iter().for_each(|(what, why)| {
            let _ = writeln!(page, "- {what}: {why}");
        });
    }
    page
}
