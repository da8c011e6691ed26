//! Links of documents, and paths they name in code spans.

use std::path::Path;

use super::tree::Tree;

pub fn check(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for (document, text) in tree.documents() {
        let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (index, line) in prose(text) {
            for target in links(line) {
                if !tree.has(&joined(folder, target)) {
                    wrong.push(format!("{document}:{index}: the link {target} leads nowhere"));
                }
            }
            for path in paths(tree, line) {
                if !tree.has(path) && !tree.has(&joined(folder, path)) {
                    wrong.push(format!("{document}:{index}: there is no {path}"));
                }
            }
        }
    }
    wrong
}

/// Lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((index + 1, line))
    })
}

/// `[text](target)` to a file of the repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?.split('#').next()?;
        (!target.is_empty() && !target.contains(':')).then_some(target)
    })
}

/// `crates/engine/src/queue.rs` in a code span: what begins with a folder of the root. A path with a `*` stands for
/// what is in its folder.
fn paths<'a>(tree: &Tree, line: &'a str) -> Vec<&'a str> {
    let spans = line.split('`').skip(1).step_by(2);
    let is_path = |span: &&str| {
        let first = span.split_once('/').map(|(first, _)| first);
        let is_plain = !span.contains([' ', '{', ':', '…']);
        is_plain && first.is_some_and(|first| !first.is_empty() && tree.has(first))
    };
    let folder = |span: &'a str| span.split_once("/*").map_or(span, |(folder, _)| folder);
    spans.filter(is_path).map(folder).collect()
}

/// The target from the root, with `..` and `.` gone.
fn joined(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let path = Path::new(folder).join(target);
    for part in path.to_str().unwrap_or_default().split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    fn wrong(text: &str) -> usize {
        check(&Tree::of(&[("docs/a.md", text), ("docs/b.md", ""), ("crates/x/src/lib.rs", "")])).len()
    }

    #[test]
    fn dead_links_and_paths_are_seen() {
        assert_eq!(wrong("[b](b.md#top) [x](../crates/x) [web](https://example.org) [here](#there)"), 0);
        assert_eq!(wrong("[c](c.md)"), 1);
        assert_eq!(wrong("`crates/x/src/lib.rs` `crates/x/*` `docs/b.md` `a/b` `POST /v1/slots`"), 0);
        assert_eq!(wrong("`crates/x/src/main.rs`"), 1);
        assert_eq!(wrong("```sh\n[c](c.md)\n```\n"), 0);
    }
}
