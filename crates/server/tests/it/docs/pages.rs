//! The pages of the book and the code blocks on them.

use std::{
    fs,
    path::{Path, PathBuf},
};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Writes a generated page where that is asked for; else it has to be as it stands.
#[track_caller]
pub fn is_fresh(path: &str, page: &str) {
    let file = root().join(path);
    if std::env::var("MAITRED_DOCS").is_ok_and(|word| word == "write") {
        fs::write(&file, page).unwrap();
    }
    let there = fs::read_to_string(&file).unwrap_or_default();
    if there == page {
        return;
    }
    let line = 1 + there.lines().zip(page.lines()).take_while(|(a, b)| a == b).count();
    panic!(
        "{path}:{line} is not what would be generated; MAITRED_DOCS=write cargo test -p maitred-server --test it"
    );
}

/// A page, named by its path below `docs/src`.
pub struct Page {
    pub name: String,
    pub text: String,
}

pub fn all() -> Vec<Page> {
    let source = root().join("docs/src");
    let mut found = Vec::new();
    gather(&source, &source, &mut found);
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn gather(source: &Path, folder: &Path, found: &mut Vec<Page>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(source, &path, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            let name = path.strip_prefix(source).unwrap().display().to_string();
            found.push(Page { name, text: fs::read_to_string(&path).unwrap() });
        }
    }
}

/// A fenced block. `words` is what stands behind the opening fence: the language, then what the block is for.
pub struct Block<'a> {
    pub line: usize,
    pub words: Vec<&'a str>,
    pub text: String,
}

pub fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found: Vec<Block> = Vec::new();
    let mut is_open = false;
    for (index, line) in text.lines().enumerate() {
        if let Some(rest) = line.strip_prefix("```") {
            is_open = !is_open;
            if is_open {
                let words = rest.split_whitespace().collect();
                found.push(Block { line: index + 1, words, text: String::new() });
            }
        } else if is_open && let Some(block) = found.last_mut() {
            block.text += line;
            block.text.push('\n');
        }
    }
    assert!(!is_open, "a code block is not closed");
    found
}
