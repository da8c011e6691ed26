//! What a soak writes down. Parts that were not run this time keep what was written of them before, with its commit.

use std::{fmt, fs, time::Duration};

use super::parts::{Ended, Part};
use crate::binary;

const FILE: &str = "docs/src/reference/soak.md";

const HEAD: &str = "# Long runs\n\n\
    What the long forms of everything that hunts faults met, as `cargo xtask soak --write-report` wrote it down. Each part\n\
    says when, from which commit, and on what it was run, and for how long; some ran side by side. How to read it: [What is tested](../explanation/reliability.md).\n";

pub struct Row {
    pub name: &'static str,
    what: &'static str,
    ended: Ended,
    took: Duration,
}

impl Row {
    pub fn new(part: &Part, ended: Ended, took: Duration) -> Row {
        Row { name: part.name, what: part.what, ended, took }
    }

    pub fn has_failed(&self) -> bool {
        matches!(self.ended, Ended::Failed(_))
    }

    fn section(&self, origin: &str) -> String {
        let (verdict, text) = match &self.ended {
            Ended::Passed(lines) => ("passed", lines.join("\n")),
            Ended::Failed(why) => ("FAILED", why.clone()),
            Ended::LeftOut(why) => ("left out", why.clone()),
        };
        let took = self.took.as_secs();
        format!(
            "\n## {}\n\n{}: {verdict} after {took} s. {origin}\n\n```text\n{text}\n```\n",
            self.name, self.what
        )
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.ended {
            Ended::Passed(_) => "passed",
            Ended::Failed(_) => "FAILED",
            Ended::LeftOut(_) => "left out",
        };
        write!(f, "{}: {verdict} after {} s", self.name, self.took.as_secs())
    }
}

pub fn write(rows: &[Row], percent: u64) -> Result<(), String> {
    let file = binary::root().join(FILE);
    let before = fs::read_to_string(&file).unwrap_or_default();
    let text = merged(&before, rows, &origin(percent));
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
}

fn merged(before: &str, rows: &[Row], origin: &str) -> String {
    let is_new = |section: &&str| rows.iter().any(|row| section.lines().next() == Some(row.name));
    let kept = before.split("\n## ").skip(1).filter(|section| !is_new(section));
    let kept = kept.map(|section| format!("\n## {}\n", section.trim_end()));
    let mut sections: Vec<String> = kept.chain(rows.iter().map(|row| row.section(origin))).collect();
    sections.sort_by_key(|section| {
        super::PARTS.iter().position(|part| section.starts_with(&format!("\n## {}\n", part.name)))
    });
    HEAD.to_owned() + &sections.concat()
}

/// Commit, date and machine, and how much of the full length it was if it was not all of it.
fn origin(percent: u64) -> String {
    let said = |command: &mut std::process::Command| {
        let output = command.current_dir(binary::root()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let git =
        |arguments: &[&str]| said(std::process::Command::new("git").args(arguments)).unwrap_or_default();
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    let but_this = format!(":!{FILE}");
    let status = git(&["status", "--porcelain", "--untracked-files=no", "--", ".", &but_this]);
    let changed = if status.is_empty() { "" } else { ", changed" };
    let date =
        said(std::process::Command::new("date").args(["-u", "+%Y-%m-%d %H:%M UTC"])).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, |cores| cores.get());
    let length = if percent == 100 { String::new() } else { format!(", {percent} % of the full length") };
    format!("{date}, commit {commit}{changed}, profile {}, {cores} cores{length}.", binary::profile())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Ended, Row, merged};

    fn row(name: &'static str, line: &str) -> Row {
        Row { name, what: "what", ended: Ended::Passed(vec![line.to_owned()]), took: Duration::from_secs(2) }
    }

    #[test]
    fn parts_that_were_not_run_keep_their_result() {
        let first = merged("", &[row("kill", "one"), row("simulate", "two")], "then.");
        let then = merged(&first, &[row("kill", "three")], "now.");
        assert!(then.contains("two") && then.contains("three") && !then.contains("one\n"), "{then}");
        assert!(then.find("## simulate") < then.find("## kill"), "{then}");
        assert_eq!(then.matches("## ").count(), 2);
    }
}
