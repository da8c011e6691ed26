//! The files of the repository, read once.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// Not ours, or made anew at will.
const SKIPPED: [&str; 4] = ["target", "node_modules", ".git", ".venv"];

pub struct Tree {
    /// Text by path from the root, with slashes. Files that are no text are there with nothing in them.
    files: BTreeMap<String, String>,
}

impl Tree {
    pub fn read(root: PathBuf) -> io::Result<Tree> {
        let mut files = BTreeMap::new();
        walk(&root, "", &mut files)?;
        Ok(Tree { files })
    }

    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let owned = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Tree { files: owned.collect() }
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// A file, or a folder with something in it.
    pub fn has(&self, path: &str) -> bool {
        let path = path.trim_start_matches("./").trim_end_matches('/');
        let folder = format!("{path}/");
        let first = self.files.range(folder.clone()..).next();
        self.files.contains_key(path) || first.is_some_and(|(file, _)| file.starts_with(&folder))
    }

    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Those that somebody wrote, with one of these endings.
    pub fn written(&self, endings: &'static [&'static str]) -> impl Iterator<Item = (&str, &str)> {
        let is_written = move |path: &str| {
            let is_made = path.contains("generated") || path.contains("dist/");
            !is_made && endings.iter().any(|ending| path.ends_with(ending))
        };
        self.all().filter(move |(path, _)| is_written(path))
    }

    pub fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.written(&[".rs"])
    }

    pub fn documents(&self) -> impl Iterator<Item = (&str, &str)> {
        self.written(&[".md"])
    }
}

fn walk(folder: &Path, prefix: &str, files: &mut BTreeMap<String, String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let (path, kind) = (format!("{prefix}{name}"), entry.file_type()?);
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            walk(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() {
            files.insert(path, String::from_utf8(fs::read(entry.path())?).unwrap_or_default());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Tree;

    #[test]
    fn files_and_folders_are_there() {
        let tree = Tree::of(&[("a/b/c.rs", ""), ("a/generated.rs", ""), ("ab.md", "")]);
        for path in ["a", "a/b", "a/b/", "./a/b/c.rs", "ab.md"] {
            assert!(tree.has(path), "{path}");
        }
        for path in ["a/c", "b", "ab"] {
            assert!(!tree.has(path), "{path}");
        }
        assert_eq!(tree.rust().count(), 1);
    }
}
