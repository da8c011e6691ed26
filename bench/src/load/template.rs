//! A request that is written once; afterwards only ids of the same length are put in.

use memchr::memmem;

pub struct Template {
    bytes: Vec<u8>,
    /// For each mark the places where it stood.
    places: Vec<Vec<usize>>,
    widths: Vec<usize>,
}

impl Template {
    /// `marks` are texts in `text` that are replaced later, by others of the same length.
    pub fn new(text: &str, marks: &[&str]) -> Template {
        let places = marks.iter().map(|mark| memmem::find_iter(text.as_bytes(), mark.as_bytes()).collect());
        Template {
            bytes: text.as_bytes().to_vec(),
            places: places.collect(),
            widths: marks.iter().map(|mark| mark.len()).collect(),
        }
    }

    pub fn put(&mut self, mark: usize, value: &[u8]) {
        for at in 0..self.places[mark].len() {
            self.put_at(mark, at, value);
        }
    }

    /// At one of the places of a mark.
    pub fn put_at(&mut self, mark: usize, place: usize, value: &[u8]) {
        let at = self.places[mark][place];
        self.bytes[at..at + self.widths[mark]].copy_from_slice(value);
    }

    pub fn places(&self, mark: usize) -> usize {
        self.places[mark].len()
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A `POST` of a JSON body, or of none.
pub fn post(path: &str, request_id: Option<&str>, body: &str) -> String {
    let id = request_id.map(|id| format!("Idempotency-Key: {id}\r\n")).unwrap_or_default();
    let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{kind}{id}Content-Length: {length}\r\n\r\n{body}")
}

#[cfg(test)]
mod tests {
    use super::{Template, post};

    #[test]
    fn marks_are_replaced_wherever_they_stand() {
        let mut template = Template::new(&post("/a/SS", Some("RR"), "{\"x\":\"SS\"}"), &["SS", "RR"]);
        template.put(0, b"12");
        template.put(1, b"34");
        let text = String::from_utf8_lossy(template.bytes());
        assert!(text.starts_with("POST /a/12 HTTP/1.1\r\n"), "{text}");
        assert!(text.contains("Idempotency-Key: 34\r\nContent-Length: 10\r\n\r\n{\"x\":\"12\"}"), "{text}");
        template.put_at(0, 1, b"56");
        assert!(template.bytes().ends_with(b"{\"x\":\"56\"}"));
        assert_eq!(template.places(0), 2);
    }
}
