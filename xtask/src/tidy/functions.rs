use super::{source, tree::Tree};

const LINES_MOST: usize = 70;

pub fn check(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in tree.rust() {
        for Function { name, line, lines } in functions(&source::code_only(text)) {
            if lines > LINES_MOST {
                wrong.push(format!("{path}:{line}: fn {name} has {lines} lines; at most {LINES_MOST}"));
            }
        }
    }
    wrong
}

struct Function<'a> {
    name: &'a str,
    line: usize,
    lines: usize,
}

/// Every `fn NAME` with a body: from that line to the one with the closing brace.
fn functions(code: &str) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let starts_word = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let name = source::words(&code[at + 3..]).next().unwrap_or_default();
        let is_named = code[at + 3..].trim_start().starts_with(name) && !name.is_empty();
        if starts_word
            && is_named
            && let Some(body) = body_of(&code[at..])
        {
            let line = code[..at].matches('\n').count() + 1;
            found.push(Function { name, line, lines: body.matches('\n').count() + 1 });
        }
    }
    found
}

/// From `fn` to the end of the body; none for a declaration without one. Braces and brackets of the signature come
/// in pairs before the body's.
fn body_of(code: &str) -> Option<&str> {
    let (mut round, mut curly) = (0, 0);
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' => round += 1,
            b')' | b']' => round -= 1,
            b';' if round == 0 && curly == 0 => return None,
            b'{' => curly += 1,
            b'}' => curly -= 1,
            _ => continue,
        }
        if byte == b'}' && curly == 0 && round == 0 {
            return Some(&code[..=at]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Tree, check, functions};

    #[test]
    fn bodies_are_measured_from_name_to_brace() {
        let code =
            "trait T { fn a(&self); }\nfn b(x: [u8; 3]) -> u8 {\n if x { 1 } else { 2 }\n}\nlet f: fn (u8);";
        let found: Vec<_> =
            functions(code).into_iter().map(|function| (function.name.to_owned(), function.lines)).collect();
        assert_eq!(found, [("b".to_owned(), 3)]);
    }

    #[test]
    fn seventy_lines_are_enough() {
        let of = |lines: usize| format!("\nfn long() {{\n{}}}\n", "    call();\n".repeat(lines - 2));
        assert!(check(&Tree::of(&[("a.rs", &of(70))])).is_empty());
        assert_eq!(check(&Tree::of(&[("a.rs", &of(71))])), ["a.rs:2: fn long has 71 lines; at most 70"]);
    }
}
