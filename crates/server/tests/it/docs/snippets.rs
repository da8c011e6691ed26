//! Runs the snippets of tutorials and how-tos as a reader would type them.
//!
//! A page is one session in a folder of its own. Behind the language, a block says what it is for:
//!
//! | block | what is done with it |
//! |---|---|
//! | `toml file NAME` | it is written to that file |
//! | `sh serve` | it is started and goes on; a server started before is killed with signal 9 |
//! | `sh stop` | the server is asked to end (signal 15), and has ended |
//! | `sh run` | it is run on a terminal and must succeed; variables live on to the next one |
//! | `text shows` | it is what the last one printed; `…` stands for anything |
//! | `rust from FILE` | its lines stand in that file, which is compiled or run elsewhere |
//!
//! Servers get free ports, so the address in a block stands for the session's own.

use std::{fs, path::Path};

use super::{
    pages::{self, Block, Page},
    server::{Server, shell},
};

const SHOWN: &str = "127.0.0.1:7654";
const PATIENCE_S: u32 = 60;

struct Session {
    folder: tempfile::TempDir,
    server: Option<Server>,
    printed: String,
    ran: usize,
}

#[test]
fn snippets_do_what_they_show() {
    let pages = pages::all();
    let ran: usize = std::thread::scope(|scope| {
        let running: Vec<_> = pages.iter().map(|page| scope.spawn(|| play(page))).collect();
        running.into_iter().map(|page| page.join().expect("what is wrong stands above")).sum()
    });
    assert!(ran >= 20, "only {ran} snippets were found");
}

/// One page from top to bottom. How many snippets ran.
fn play(page: &Page) -> usize {
    let mut session = Session::new();
    for block in pages::blocks(&page.text) {
        if let Err(why) = session.take(&block) {
            panic!("docs/src/{}:{}: {why}", page.name, block.line);
        }
    }
    assert!(
        !page.name.starts_with("tutorials/") || session.ran > 0,
        "{}: nothing of this tutorial is run",
        page.name
    );
    session.ran
}

impl Session {
    fn new() -> Session {
        Session { folder: tempfile::tempdir().unwrap(), server: None, printed: String::new(), ran: 0 }
    }

    fn take(&mut self, block: &Block) -> Result<(), String> {
        match block.words[..] {
            ["sh", "run"] => self.run(&block.text),
            ["sh", "serve"] => {
                self.server = None; // the old one goes before the new one comes
                self.server = Some(Server::start(self.folder.path(), block.text.trim()));
                Ok(())
            }
            ["sh", "stop"] => {
                self.server.take().ok_or("no server runs")?.stop();
                Ok(())
            }
            ["text", "shows"] => shows(&block.text, &self.printed),
            [_, "file", name] => {
                fs::write(self.folder.path().join(name), &block.text).map_err(|error| error.to_string())
            }
            ["rust", "from", file] => stands_in(&block.text, file),
            [_] | [] => Ok(()),
            ref other => Err(format!("`{}` is no kind of block", other.join(" "))),
        }
    }

    /// On a terminal of 100 columns, so that commands print what they print for people.
    fn run(&mut self, text: &str) -> Result<(), String> {
        let url = self.server.as_ref().map_or("", |server| &server.url);
        let addr = url.trim_start_matches("http://");
        let script = format!(
            "stty cols 100; set -eua; [ ! -f .vars ] || . ./.vars; MAITRED_URL={url}\n{}\nexport -p > .vars\n",
            text.replace(SHOWN, addr)
        );
        fs::write(self.folder.path().join(".snippet"), script).unwrap();
        let on_terminal = format!("timeout {PATIENCE_S} script -qec 'bash .snippet' /dev/null");
        let output = shell(self.folder.path()).args(["-c", &on_terminal]).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).replace('\r', "").replace(addr_or(addr), SHOWN);
        self.printed = printed;
        self.ran += 1;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("it ended with {} and printed:\n{}", output.status, self.printed)),
        }
    }
}

/// Nothing is to be replaced where no server runs.
fn addr_or(addr: &str) -> &str {
    if addr.is_empty() { SHOWN } else { addr }
}

fn shows(expected: &str, printed: &str) -> Result<(), String> {
    let same = expected.lines().count() == printed.lines().count()
        && expected.lines().zip(printed.lines()).all(|(expected, line)| fits(expected, line.trim_end()));
    if same { Ok(()) } else { Err(format!("it printed:\n{printed}")) }
}

/// `…` stands for anything; runs of spaces are one, since columns are as wide as what is in them.
fn fits(expected: &str, line: &str) -> bool {
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = expected.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut rest = line.as_str();
    let parts: Vec<&str> = expected.split('…').collect();
    for (index, part) in parts.iter().enumerate() {
        let at = match index {
            0 => rest.starts_with(part).then_some(0),
            _ if index + 1 == parts.len() => rest.ends_with(part).then(|| rest.len() - part.len()),
            _ => rest.find(part),
        };
        let Some(at) = at else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty()
}

fn stands_in(text: &str, file: &str) -> Result<(), String> {
    let even = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let whole = even(&pages::read(file));
    let is_there = even(text).split("\n// …\n").all(|part| whole.contains(part.trim()));
    if is_there { Ok(()) } else { Err(format!("these lines do not stand in {file}")) }
}

#[test]
fn a_wrong_snippet_is_seen() {
    assert!(fits("a … c", "a   b c") && fits("…", "") && fits("a", "a") && fits("…c", "abc"));
    assert!(!fits("a … c", "a b d") && !fits("a", "a b") && !fits("", "a") && !fits("a…ab", "ab"));
    assert!(shows("1\n", "1\n2\n").is_err() && shows("1 …\n", "1  2\n").is_ok());
    let blocks = pages::blocks("```sh run\nfalse\n```\n```sh rnu\n```\n");
    assert!(Session::new().take(&blocks[0]).is_err() && Session::new().take(&blocks[1]).is_err());
    assert!(stands_in("fn nowhere()", "crates/server/src/main.rs").is_err());
    assert!(Path::new(env!("CARGO_BIN_EXE_maitred")).exists());
}
