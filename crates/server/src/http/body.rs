//! Bodies: JSON of the documented shape, within a size and a time, or a problem that says what is allowed.

use std::{future::poll_fn, pin::Pin};

use axum::{
    Json,
    body::Body,
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};
use bytes::{Bytes, BytesMut};
use hyper::body::Body as _;
use maitred_api::Reason;
use serde::{Deserialize, de::DeserializeOwned};

use super::{App, problem::Failure};

/// The most a body may be, where a route says nothing else.
pub const SMALL: usize = 64 * 1024;
/// For whole sets of limits and for batches.
pub const LARGE: usize = 2 * 1024 * 1024;
/// What is read and thrown away of a body that is too large, so that its sender gets to read the answer.
const SPILL: usize = 1024 * 1024;

/// The fields of a JSON body.
pub struct Fields<T, const MOST: usize = SMALL>(pub T);

/// No fields: an empty body, or `{}`.
pub struct NoFields;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl<T: DeserializeOwned, const MOST: usize> FromRequest<App> for Fields<T, MOST> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &App) -> Result<Self, Failure> {
        must_be_json(request.headers())?;
        let bytes = read(request, app, MOST).await?;
        if bytes.is_empty() {
            return Err(Failure::new(Reason::InvalidBody, "the body is empty; send a JSON object"));
        }
        parse(&bytes).map(Self)
    }
}

impl FromRequest<App> for NoFields {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &App) -> Result<Self, Failure> {
        let as_json = must_be_json(request.headers());
        let bytes = read(request, app, SMALL).await?;
        if !bytes.is_empty() {
            as_json?;
            parse::<Nothing>(&bytes)?;
        }
        Ok(Self)
    }
}

fn must_be_json(headers: &HeaderMap) -> Result<(), Failure> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (kind, parameter) = given.split_once(';').unwrap_or((given, "charset=utf-8"));
    let is_json = kind.trim().eq_ignore_ascii_case("application/json")
        && parameter.trim().eq_ignore_ascii_case("charset=utf-8")
        && !headers.contains_key(header::CONTENT_ENCODING);
    let message = "the body must be sent as Content-Type: application/json, in UTF-8 and not compressed";
    is_json.then_some(()).ok_or_else(|| Failure::new(Reason::UnsupportedMediaType, message))
}

async fn read(request: Request, app: &App, most: usize) -> Result<Bytes, Failure> {
    let within = app.limits.body_within;
    let late = || {
        let message =
            format!("the body did not come within {} s; send the request again", within.as_secs_f64());
        Failure::new(Reason::RequestTimeout, message)
    };
    tokio::time::timeout(within, gather(request.into_body(), most)).await.map_err(|_| late())?
}

async fn gather(mut body: Body, most: usize) -> Result<Bytes, Failure> {
    let mut gathered = BytesMut::new();
    let mut seen = 0;
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame
            .map_err(|_| Failure::new(Reason::InvalidBody, "the body broke off or was not well framed"))?;
        let Ok(data) = frame.into_data() else { continue };
        seen += data.len();
        if seen > most + SPILL {
            break;
        }
        if seen <= most {
            gathered.extend_from_slice(&data);
        }
    }
    match seen > most {
        true => {
            Err(Failure::new(Reason::BodyTooLarge, format!("the body is too large; allowed: {most} bytes")))
        }
        false => Ok(gathered.freeze()),
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    let bad = |why: String| {
        Failure::new(Reason::InvalidBody, format!("the body is not what this route takes: {why}"))
    };
    if std::str::from_utf8(bytes).is_err() {
        return Err(bad("it is not UTF-8".to_owned()));
    }
    Json::from_bytes(bytes).map(|Json(fields)| fields).map_err(|rejection| bad(words(&rejection.body_text())))
}

/// `name: what was wrong at line 1 column 7`, without the introduction, and not endless.
fn words(text: &str) -> String {
    let known = [
        "Failed to deserialize the JSON body into the target type: ",
        "Failed to parse the request body as JSON: ",
    ];
    let words = known.iter().find_map(|intro| text.strip_prefix(intro)).unwrap_or(text);
    words.chars().take(400).collect()
}
