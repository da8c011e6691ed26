//! A server's event stream, message by message.

use std::time::Duration;

use maitred_api::{Call, Context, LiveEvent, LiveSnapshot, Problem, Reason};
use reqwest::{Method, Response};
use serde::{Deserialize, de::DeserializeOwned};

use super::{Far, judge, route::Route};

/// A server says every 15 s that it is alive; three times nothing is a lost connection.
const SILENCE: Duration = Duration::from_secs(45);
/// More than any message has: what sends this much without an end is no event stream.
const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What a stream tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// What is true at its revision; everything after it comes as events.
    Snapshot(LiveSnapshot),
    /// What happened at this revision.
    Events(u64, Vec<LiveEvent>),
    /// Too much happened since; a new snapshot follows.
    Reset(String),
    /// The server ends the stream, and why.
    Bye(String),
}

/// An open event stream. Dropping it closes it.
pub struct FarEvents {
    response: Response,
    unread: Vec<u8>,
    last_id: Option<u64>,
}

impl Far {
    /// Opens the stream of a namespace, or of one of its limits: with a snapshot first, or, with `after`, behind that
    /// revision.
    ///
    /// Errors as any read: `unavailable` where no server was reached, `limit_not_found`, and so on.
    pub async fn events(
        &self,
        context: &Context,
        limit: Option<&str>,
        after: Option<u64>,
    ) -> Result<FarEvents, Problem> {
        let route = Route::new(Method::GET, "events")
            .query("limit", limit.map(ToOwned::to_owned))
            .query("after", after.map(|after| after.to_string()));
        let request = self.http.get(route.url(&self.base)).headers(self.headers(context)?);
        let sent = tokio::time::timeout(self.options.deadline, request.send()).await;
        let late = |_| self.silent();
        let response = sent.map_err(late)?.map_err(|error| self.lost(&error, false))?;
        let status = response.status().as_u16();
        let is_stream = response
            .headers()
            .get("content-type")
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if status == 200 && is_stream {
            return Ok(FarEvents { response, unread: Vec::new(), last_id: after });
        }
        let bytes = response.bytes().await.map_err(|error| self.lost(&error, false))?;
        match judge::body(status, &bytes) {
            Err(verdict) => Err(verdict.into_problem(&self.base, false)),
            Ok(_) => Err(self.not_an_answer(false)),
        }
    }

    /// One read with whole keys, where the caller's token may see them.
    pub async fn call_revealing(
        &self,
        context: &Context,
        call: Call,
    ) -> Result<maitred_api::Answer, Problem> {
        let route = super::route::route(&call).ok_or_else(|| self.not_an_answer(false))?;
        let route = route.query("reveal", Some("true".to_owned()));
        let body = self.exchange(context, route, false).await?;
        judge::answer(&call, body).ok_or_else(|| self.not_an_answer(false))
    }

    fn silent(&self) -> Problem {
        Problem::new(Reason::Unavailable, format!("the server at {} did not answer in time", self.base))
    }
}

impl FarEvents {
    /// What is told next; none when the connection ended. An `unavailable` problem when it broke off or fell silent.
    ///
    /// Cancel safe: what was read is kept.
    pub async fn next(&mut self) -> Result<Option<Told>, Problem> {
        loop {
            while let Some(block) = take_block(&mut self.unread) {
                if let Some(told) = self.read(&block)? {
                    return Ok(Some(told));
                }
            }
            if self.unread.len() > MESSAGE_BYTES_MAX {
                return Err(broken("sends messages without an end"));
            }
            let chunk = tokio::time::timeout(SILENCE, self.response.chunk()).await;
            let chunk = chunk.map_err(|_| broken("fell silent"))?;
            match chunk.map_err(|_| broken("broke off"))? {
                Some(bytes) => self.unread.extend_from_slice(&bytes),
                None => return Ok(None),
            }
        }
    }

    /// Give it as `after` to go on behind what was told.
    pub fn last_id(&self) -> Option<u64> {
        self.last_id
    }

    /// None for a comment, and for an event that a newer server may have.
    fn read(&mut self, block: &str) -> Result<Option<Told>, Problem> {
        let field = |name: &str| {
            block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
        };
        let id = field("id").and_then(|id| id.parse().ok());
        let data = field("data").unwrap_or_default();
        let told = match field("event") {
            Some("snapshot") => Told::Snapshot(json(data)?),
            Some("events") => Told::Events(id.unwrap_or_default(), json(data)?),
            Some("reset") => Told::Reset(json::<Words>(data)?.reason),
            Some("bye") => Told::Bye(json::<Words>(data)?.reason),
            _ => return Ok(None),
        };
        self.last_id = id.or(self.last_id);
        Ok(Some(told))
    }
}

#[derive(Deserialize)]
struct Words {
    reason: String,
}

fn json<T: DeserializeOwned>(data: &str) -> Result<T, Problem> {
    serde_json::from_str(data).map_err(|_| broken("sent something that this version does not read"))
}

fn broken(how: &str) -> Problem {
    Problem::new(Reason::Unavailable, format!("the event stream {how}"))
}

/// Everything up to the next empty line, taken away.
fn take_block(unread: &mut Vec<u8>) -> Option<String> {
    let end = unread.windows(2).position(|two| two == b"\n\n")?;
    let block: Vec<u8> = unread.drain(..end + 2).collect();
    Some(String::from_utf8_lossy(&block[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::take_block;

    #[test]
    fn blocks_end_at_an_empty_line_wherever_the_bytes_were_cut() {
        let mut unread = b"event: a\nid: 1\n\n:\n\nevent: b".to_vec();
        assert_eq!(take_block(&mut unread).as_deref(), Some("event: a\nid: 1"));
        assert_eq!(take_block(&mut unread).as_deref(), Some(":"));
        assert_eq!(take_block(&mut unread), None);
        unread.extend_from_slice(b"\n\n");
        assert_eq!(take_block(&mut unread).as_deref(), Some("event: b"));
    }
}
