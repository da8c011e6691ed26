//! Studio, the web UI: files that are part of the binary.
//!
//! They are built from `studio/` into `studio-dist/` and committed, so building the server needs no Node; CI builds them
//! again and compares. Every path below `/studio` that is no file is a page of the app, which reads the path itself; so
//! a link into it works. The pages hold no data and are for everybody; what they show they ask for with the token that
//! their user gives them.

use std::sync::LazyLock;

use axum::{
    Router,
    extract::Path,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use sha2::{Digest, Sha256};

use super::App;

/// Nothing from elsewhere, nothing inline, in nobody's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

struct File {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

macro_rules! file {
    ($path:literal, $kind:literal) => {
        File { path: $path, kind: $kind, bytes: include_bytes!(concat!("../../studio-dist/", $path)) }
    };
}

static FILES: [File; 5] = [
    file!("index.html", "text/html; charset=utf-8"),
    file!("assets/index.js", "text/javascript; charset=utf-8"),
    file!("assets/index.css", "text/css; charset=utf-8"),
    file!("theme.js", "text/javascript; charset=utf-8"),
    file!("icon.svg", "image/svg+xml"),
];

/// By file, the hash of what is in it.
static TAGS: LazyLock<[HeaderValue; FILES.len()]> = LazyLock::new(|| {
    std::array::from_fn(|index| {
        let hash: String =
            Sha256::digest(FILES[index].bytes).iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        HeaderValue::from_str(&format!("\"{hash}\"")).unwrap_or(HeaderValue::from_static("\"\""))
    })
});

/// All of them.
pub const PATHS: [&str; 3] = ["/studio", "/studio/", "/studio/{*path}"];

pub fn routes() -> Router<App> {
    let [bare, root, below] = PATHS;
    Router::new().route(bare, get(page)).route(root, get(page)).route(below, get(file))
}

/// Whether a path is for everybody.
pub fn is_here(path: &str) -> bool {
    path == "/studio" || path.starts_with("/studio/")
}

async fn page(headers: HeaderMap) -> Response {
    answer(0, &headers)
}

async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    answer(FILES.iter().position(|file| file.path == path).unwrap_or(0), &headers)
}

fn answer(index: usize, headers: &HeaderMap) -> Response {
    let (file, tag) = (&FILES[index], &TAGS[index]);
    let fields: [(HeaderName, HeaderValue); 6] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(file.kind)),
        (header::ETAG, tag.clone()),
        // Kept, but asked about each time: the next binary has other files of the same names.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    ];
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag);
    match is_known {
        true => (StatusCode::NOT_MODIFIED, fields).into_response(),
        false => (fields, file.bytes).into_response(),
    }
}
