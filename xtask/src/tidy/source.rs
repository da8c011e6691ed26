//! Rust text with everything that is not code blanked out, so that braces and words can be looked for.
//!
//! `let s = "} fn"; // {` becomes `let s = "    ";     `: same lines, same columns, no text and no comments.

/// Where one goes on reading behind what was blanked out.
pub fn code_only(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match &bytes[at..] {
            [b'/', b'/', ..] => line_end(bytes, at),
            [b'/', b'*', ..] => comment_end(bytes, at),
            [b'r', b'"' | b'#', ..] if !is_word(bytes, at) => raw_end(bytes, at).unwrap_or(at + 1),
            [b'"', ..] => quote_end(bytes, at + 1, b'"'),
            [b'\'', ..] => char_end(bytes, at).unwrap_or(at + 1),
            _ => {
                at += 1;
                continue;
            }
        };
        if end > at + 1 {
            let blanked = code[at..end].iter_mut().filter(|byte| **byte != b'\n');
            blanked.for_each(|byte| *byte = b' ');
        }
        at = end;
    }
    String::from_utf8_lossy(&code).into_owned()
}

/// The byte before belongs to the same word.
fn is_word(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| bytes[before]);
    before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && before != Some(b'b')
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length)
}

/// Comments in comments count.
fn comment_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    bytes.len()
}

fn quote_end(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// `r#"…"#`; none if it is a raw name such as `r#type`.
fn raw_end(bytes: &[u8], at: usize) -> Option<usize> {
    let hashes = bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    let start = at + 1 + hashes;
    if bytes.get(start) != Some(&b'"') {
        return None;
    }
    let mut end = vec![b'"'];
    end.resize(1 + hashes, b'#');
    let found = bytes[start + 1..].windows(end.len()).position(|window| window == end);
    Some(found.map_or(bytes.len(), |length| start + 1 + length + end.len()))
}

/// `'x'` or `'\n'`; none if it is a lifetime.
fn char_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at + 1) == Some(&b'\\') {
        return Some(quote_end(bytes, at + 1, b'\''));
    }
    let text = std::str::from_utf8(&bytes[at + 1..(at + 6).min(bytes.len())]);
    let valid = text.map_or_else(|error| error.valid_up_to(), str::len);
    let first = std::str::from_utf8(&bytes[at + 1..at + 1 + valid]).ok()?.chars().next()?;
    let end = at + 1 + first.len_utf8();
    (bytes.get(end) == Some(&b'\'')).then_some(end + 1)
}

/// The lines of code with their numbers, from 1.
pub fn lines(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// The words of a line: runs of letters, digits and `_`.
pub fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::code_only;

    fn code(text: &str) -> String {
        let code = code_only(text);
        assert_eq!(code.len(), text.len());
        code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_and_texts_are_no_code() {
        assert_eq!(code("a // { \n b"), "a b");
        assert_eq!(code("a /* { /* } */ { */ b"), "a b");
        assert_eq!(code(r#"f("}\" {") + g"#), "f( ) + g");
        assert_eq!(code("f(r#\"} \" {\"#) + br\"{\" + g"), "f( ) + b + g");
        assert_eq!(code("let r#type = par;"), "let r#type = par;");
    }

    #[test]
    fn characters_are_no_lifetimes() {
        assert_eq!(code(r"f('{', '\'', 'é') + x"), "f( , , ) + x");
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
    }
}
