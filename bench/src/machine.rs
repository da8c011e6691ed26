//! The machine the figures are of.

use std::{
    fmt,
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::pairs::quantile;

pub struct Machine {
    pub facts: Vec<(&'static str, String)>,
}

impl Machine {
    /// What is not known is said to be unknown.
    pub fn look(folder: &Path) -> Machine {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let memory =
            field("/proc/meminfo", "MemTotal:").and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok();
        let facts = vec![
            ("commit", commit()),
            ("processor", field("/proc/cpuinfo", "model name").unwrap_or_else(unknown)),
            ("cores", cores.to_string()),
            (
                "memory",
                memory.map_or_else(unknown, |kilobytes| format!("{:.1} GiB", kilobytes as f64 / 1_048_576.0)),
            ),
            ("kernel", release.map_or_else(unknown, |release| format!("Linux {}", release.trim()))),
            ("disk", disk_of(folder).unwrap_or_else(unknown)),
            ("4 KiB write + fdatasync", flush_cost(folder).unwrap_or_else(unknown)),
            ("load before the run", field_of_load().unwrap_or_else(unknown)),
        ];
        Machine { facts }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.facts.iter().map(|(name, fact)| format!("{name}: {fact}")).collect();
        f.write_str(&lines.join("\n"))
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start_matches([':', ' ', '\t']).trim().to_owned())
}

fn field_of_load() -> Option<String> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    Some(text.split(' ').take(3).collect::<Vec<_>>().join(" "))
}

fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "HEAD"]) else { return unknown() };
    let is_clean =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|changed| changed.is_empty());
    format!("{commit}{}", if is_clean { "" } else { " with changes" })
}

/// The device and file system of the longest mount point that `folder` lies under.
fn disk_of(folder: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/mounts").ok()?;
    let mut best: Option<(&str, &str, &str)> = None;
    for line in mounts.lines() {
        let mut words = line.split(' ');
        let (Some(device), Some(at), Some(kind)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        if folder.starts_with(at) && best.is_none_or(|(_, longest, _)| at.len() >= longest.len()) {
            best = Some((device, at, kind));
        }
    }
    best.map(|(device, _, kind)| format!("{kind} on {device}"))
}

/// Into a file that is there already, for half a second.
fn flush_cost(folder: &Path) -> Option<String> {
    let path = folder.join("flush-cost");
    let file = File::create(&path).ok()?;
    let page = [7; 4096];
    (0..1_024).try_for_each(|page_number| file.write_all_at(&page, page_number * 4096)).ok()?;
    file.sync_all().ok()?;
    let (begin, mut took) = (Instant::now(), Vec::new());
    while begin.elapsed() < Duration::from_millis(500) {
        let since = Instant::now();
        file.write_all_at(&page, (took.len() % 1_024) as u64 * 4096).ok()?;
        file.sync_data().ok()?;
        took.push(since.elapsed().as_secs_f64() * 1e3);
    }
    let _ = fs::remove_file(path);
    took.sort_by(f64::total_cmp);
    Some(format!("median {:.3} ms, 99th percentile {:.3} ms", quantile(&took, 0.5), quantile(&took, 0.99)))
}
