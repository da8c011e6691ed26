//! The examples run as their users run them, and the library's front page is pasted into an empty project.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{step::Failure, step::failed, tally::Tally};
use crate::{binary, server::Server};

/// Each checks itself; of what it prints, this must be there.
const EXAMPLES: [(&str, &str); 4] = [
    ("route", "ben: 200 OK"),
    ("guard", "12 calls, at most 3 at once\ncall 13 ended elsewhere: released = true"),
    ("fan_out", "most connections at once: 50; refusals: 0"),
    ("free_tries", r#""reason":"rate_limit_exceeded""#),
];

pub fn run() -> Result<Tally, Failure> {
    // Of the whole workspace: what the tests were built with has the features for these, and they are there already.
    let mut build = binary::cargo();
    build.args(["build", "--workspace", "--examples", "--profile", &binary::profile()]);
    said(&mut build).map_err(failed)?;
    for (name, expected) in EXAMPLES {
        let output = said(&mut Command::new(built()?.join("examples").join(name))).map_err(failed)?;
        if !output.contains(expected) {
            return Err(failed(format!("the example `{name}` did not print `{expected}` but:\n{output}")));
        }
        println!("ok   example {name}");
    }
    Ok(Tally::passed(EXAMPLES.len()))
}

/// `cargo new`, the front page, `cargo run`: near, and far with one line changed.
pub fn front_page() -> Result<Tally, Failure> {
    let folder = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| failed(error.to_string()))?;
    runtime.block_on(pasted(folder.path())).map_err(failed)?;
    Ok(Tally::passed(2))
}

async fn pasted(folder: &Path) -> Result<(), String> {
    let project = new_project(folder)?;
    let page = Page::read()?;
    run_page(&project, &page.text)?;
    println!("ok   the front page, near");
    let server = Server::start(&binary::build()?, &folder.join("server"), "").await?;
    run_page(&project, &page.far(&server.url())?)?;
    println!("ok   the front page, far");
    Ok(())
}

fn run_page(project: &Path, main: &str) -> Result<(), String> {
    write(&project.join("src/main.rs"), main)?;
    let target = built().map_err(|failure| failure.why)?;
    let target = target.parent().ok_or("the target folder has no parent")?;
    let mut cargo = binary::cargo();
    cargo.current_dir(project).args(["run", "--quiet", "--profile", &binary::profile()]);
    let output = said(cargo.env("CARGO_TARGET_DIR", target))?;
    let expected = "Ana talked for 3 minutes\n19 left in this minute\n";
    match output == expected {
        true => Ok(()),
        false => Err(format!("the front page printed\n{output}\nand not\n{expected}")),
    }
}

/// An empty project with what the README tells to put into its manifest. The versions and the profile are the
/// workspace's, so that only what differs is compiled again.
fn new_project(folder: &Path) -> Result<PathBuf, String> {
    said(binary::cargo().current_dir(folder).args(["new", "--quiet", "--vcs", "none", "pasted"]))?;
    let project = folder.join("pasted");
    let root = binary::root();
    let readme = read(&root.join("crates/maitred/README.md"))?;
    let dependencies =
        between(&readme, "```toml\n[dependencies]\n", "```").ok_or("the README has no [dependencies]")?;
    let library = format!("path = {:?}", root.join("crates/maitred"));
    let profiles = profiles()?;
    let manifest = read(&project.join("Cargo.toml"))?;
    let dependencies = dependencies.replace("path = \"crates/maitred\"", &library);
    write(&project.join("Cargo.toml"), &format!("{manifest}{dependencies}\n[workspace]\n\n{profiles}"))?;
    write(&project.join("Cargo.lock"), &read(&root.join("Cargo.lock"))?)?;
    Ok(project)
}

/// As the workspace sets them.
pub fn profiles() -> Result<String, String> {
    let workspace = read(&binary::root().join("Cargo.toml"))?;
    Ok(workspace.find("[profile.").map_or("", |at| &workspace[at..]).to_owned())
}

struct Page {
    text: String,
}

impl Page {
    /// The example at the top of the library's documentation, as a reader sees it.
    fn read() -> Result<Page, String> {
        let source = read(&binary::root().join("crates/maitred/src/lib.rs"))?;
        let example =
            between(&source, "//! ```standalone_crate\n", "//! ```").ok_or("there is no front page")?;
        let shown = example.lines().filter(|line| !line.starts_with("//! # "));
        let lines = shown
            .map(|line| line.strip_prefix("//!").map_or(line, |line| line.strip_prefix(' ').unwrap_or(line)));
        Ok(Page { text: lines.fold(String::new(), |text, line| text + line + "\n") })
    }

    /// With the one line changed that it says is to be changed.
    fn far(&self, url: &str) -> Result<String, String> {
        let far = between(&self.text, "change this one line: ", "\n")
            .ok_or("the page does not say how to go far")?;
        let near =
            self.text.lines().find(|line| line.contains("Maitred::open(")).ok_or("the page opens nothing")?;
        Ok(self.text.replace(near, &format!("    {}", far.replace("http://127.0.0.1:7654", url))))
    }
}

pub fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(inner, _)| inner)
}

/// Where this executable's profile puts what it builds.
pub fn built() -> Result<PathBuf, Failure> {
    let exe = std::env::current_exe().ok();
    let folder = exe.as_deref().and_then(Path::parent).map(Path::to_owned);
    folder.ok_or_else(|| failed("this executable does not know where it is".to_owned()))
}

/// What it prints, if it succeeds.
pub fn said(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => Err(format!("{command:?} ended with {}:\n{text}", output.status)),
    }
}

pub fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

pub fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}
