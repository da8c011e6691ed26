//! Commands and settings that documents show: they are parsed by the very code that takes them.

use std::ffi::OsString;

use clap::{CommandFactory, error::ErrorKind};
use maitred_server::{cli::Cli, config::LimitsFile};

use super::tree::Tree;

pub fn check(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for (document, text) in tree.documents() {
        for (number, kind, line) in blocks(text) {
            if matches!(kind, "sh" | "console")
                && let Err(why) = command(tree, line)
            {
                wrong.push(format!("{document}:{number}: {why}"));
            }
        }
        for (number, settings) in settings(text) {
            if (settings.contains("[limits") || settings.contains("[callbacks"))
                && let Err(error) = LimitsFile::parse(&settings, document)
            {
                wrong.push(format!("{document}:{number}: {error}"));
            }
        }
    }
    wrong
}

/// Lines of code blocks: number, kind of the block, text.
fn blocks(text: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let mut kind = None;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if let Some(rest) = line.trim_start().strip_prefix("```") {
            kind = kind.map_or(Some(rest.trim()), |_| None);
            return None;
        }
        kind.map(|kind| (index + 1, kind, line))
    })
}

/// Whole TOML blocks.
fn settings(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut last = 0;
    for (number, _, line) in blocks(text).filter(|(_, kind, _)| *kind == "toml") {
        match found.last_mut().filter(|_| number == last + 1) {
            Some((_, settings)) => *settings += &format!("{line}\n"),
            None => found.push((number, format!("{line}\n"))),
        }
        last = number;
    }
    found
}

fn command(tree: &Tree, line: &str) -> Result<(), String> {
    let line = line.trim().trim_start_matches("$ ");
    let line = line.split(" #").next().unwrap_or(line).split(['|', '>', '&', ';']).next().unwrap_or_default();
    if line.contains('…') {
        return Ok(());
    }
    let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
    match words.as_slice() {
        ["cargo", "xtask", ..] => parses(crate::Line::command(), &words[1..]),
        ["cargo", "install", "--path", path, ..] if !tree.has(path) => Err(format!("there is no {path}")),
        ["maitred" | "./maitred", ..] => parses(Cli::command(), &with_files(tree, &words)),
        _ => Ok(()),
    }
}

/// `scenarios/*.txt` as a shell would give it.
fn with_files<'a>(tree: &'a Tree, words: &[&'a str]) -> Vec<&'a str> {
    let matching = |word: &&'a str| {
        let (start, end) = word.split_once('*').unwrap_or((word, ""));
        let files = tree.all().map(|(path, _)| path);
        files.filter(|path| path.starts_with(start) && path.ends_with(end)).collect::<Vec<_>>()
    };
    let files = words.iter().flat_map(|word| if word.contains('*') { matching(word) } else { vec![*word] });
    files.collect()
}

fn parses(command: clap::Command, words: &[&str]) -> Result<(), String> {
    let shown = words.join(" ");
    match command.try_get_matches_from(words.iter().map(OsString::from)) {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => Ok(()),
        Err(error) => {
            let why = error.to_string();
            Err(format!("`{shown}`: {}", why.lines().next().unwrap_or_default()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    fn wrong(text: &str) -> Vec<String> {
        check(&Tree::of(&[("README.md", text), ("crates/server/Cargo.toml", ""), ("scenarios/a.txt", "")]))
    }

    #[test]
    fn what_is_shown_can_be_typed() {
        let good = "```sh\ncargo xtask demo --seed 3   # the main job\nmaitred limits list\n\
            maitred scenario scenarios/*.txt\ncargo install --path crates/server\nls | wc\n```\n\
            ```toml\n[limits.a]\ncapacity = 1\nmax_hold = \"1m\"\n```\n";
        assert_eq!(wrong(good), Vec::<String>::new());
        for bad in
            ["cargo xtask dance", "cargo xtask demo --sed 3", "maitred limits lst", "cargo install --path x"]
        {
            assert_eq!(wrong(&format!("```sh\n{bad}\n```\n")).len(), 1, "{bad}");
        }
        assert_eq!(wrong("```toml\n[limits.a]\ncapcity = 1\n```\n").len(), 1);
    }
}
