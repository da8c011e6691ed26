use super::tree::Tree;

const LINES_MOST: usize = 500;

pub fn check(tree: &Tree) -> Vec<String> {
    let written = tree.written(&[".rs", ".ts", ".tsx", ".css"]);
    let long = written.filter(|(_, text)| text.lines().count() > LINES_MOST);
    long.map(|(path, text)| format!("{path}: {} lines; at most {LINES_MOST}", text.lines().count())).collect()
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    #[test]
    fn five_hundred_lines_are_enough() {
        let (fits, long) = ("x\n".repeat(500), "x\n".repeat(501));
        let tree = Tree::of(&[("a.rs", &fits), ("b.rs", &long), ("generated.rs", &long), ("c.md", &long)]);
        assert_eq!(check(&tree), ["b.rs: 501 lines; at most 500"]);
    }
}
