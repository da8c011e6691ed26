//! Just enough of HTTP/1.1 to read the answers of servers that frame them by `Content-Length`.

use memchr::memmem;

use crate::figure::Trouble;

pub struct Answer<'a> {
    pub status: u16,
    pub body: &'a [u8],
}

impl Answer<'_> {
    pub fn is_ok_with(&self, text: &str) -> bool {
        self.status == 200 && memmem::find(self.body, text.as_bytes()).is_some()
    }

    /// How often a text stands in the body.
    pub fn count(&self, text: &str) -> usize {
        memmem::find_iter(self.body, text.as_bytes()).count()
    }
}

#[derive(Debug, PartialEq)]
pub struct Head {
    pub status: u16,
    pub body_at: usize,
    /// Of the whole answer.
    pub length: usize,
}

/// None until all of the head is there.
pub fn head(bytes: &[u8]) -> Result<Option<Head>, Trouble> {
    let Some(end) = memmem::find(bytes, b"\r\n\r\n") else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes[..end]);
    let unread = || Trouble::Wrong(format!("an answer that is not read: {text}"));
    let status = text.get(9..12).and_then(|status| status.parse().ok()).ok_or_else(unread)?;
    let length = text.split("\r\n").find_map(content_length).ok_or_else(unread)?;
    let body_at = end + 4;
    Ok(Some(Head { status, body_at, length: body_at + length }))
}

fn content_length(line: &str) -> Option<usize> {
    let (name, value) = line.split_once(':')?;
    name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::{Answer, Head, head};

    #[test]
    fn heads_are_read_when_they_are_whole() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Type: x\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(head(&text[..30]).unwrap(), None);
        assert_eq!(head(text).unwrap(), Some(Head { status: 200, body_at: 55, length: 57 }));
        assert!(head(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").is_err());
    }

    #[test]
    fn only_a_200_with_the_text_is_done() {
        assert!(Answer { status: 200, body: b"{\"state\":\"busy\"}" }.is_ok_with("\"busy\""));
        assert!(!Answer { status: 200, body: b"{\"state\":\"queued\"}" }.is_ok_with("\"busy\""));
        assert!(!Answer { status: 429, body: b"busy" }.is_ok_with("busy"));
        assert_eq!(Answer { status: 200, body: b"a,a,b" }.count("a"), 2);
    }
}
