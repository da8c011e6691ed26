//! A connection whose patience has an end.
//!
//! hyper reads and writes through this wrapper. While nothing can be read or written it arms a timer, and when the
//! timer ends first, the read or write fails and hyper closes the connection:
//!
//! | what is waited for | how long |
//! | --- | --- |
//! | the first byte of a request | `idle_within` |
//! | the rest of its headers, from that byte | `head_within` |
//! | its body, and its answer | not here: the body has its own limit, and a long poll may last |
//! | the peer to take the next bytes of an answer | `write_within` |
//!
//! While a request is being worked on, reads have no timer, but hyper still reads: that is how a hang-up is seen. Of a
//! caller that has sent more than its request, be it a line break, hyper reads no more. So for calls that wait,
//! [`Presence`] reads ahead.
//!
//! What hyper cannot read as a request it answers itself, with a status and no body, before any of our code hears of it.
//! Such an answer is told by what it lacks, the id that each of ours has, and goes out as a problem instead
//! ([`Substitute`]).

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Buf, BytesMut};
use maitred_api::{Problem, Reason};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};

use super::Limits;

/// So much of what a caller sends during a call is kept for later.
const AHEAD_MOST: usize = 64 * 1024;

/// How many requests of a connection have begun and ended. Shared between the stream and the service.
#[derive(Clone, Default)]
pub struct Turns(Arc<Counts>);

#[derive(Default)]
struct Counts {
    turns: AtomicU64,
    /// The request that is being worked on may last.
    waits: AtomicBool,
}

/// A request that is being worked on; ends when dropped.
pub struct Turn(Turns);

impl Turns {
    pub fn begin(&self) -> Turn {
        self.0.waits.store(false, Ordering::Relaxed);
        self.0.turns.fetch_add(1, Ordering::Relaxed);
        Turn(self.clone())
    }

    /// From now on the caller of this request is looked after: its body has been read, and it may wait for long.
    pub fn wait(&self) {
        self.0.waits.store(true, Ordering::Relaxed);
    }

    pub fn has_to_wait(&self) -> bool {
        self.0.waits.load(Ordering::Relaxed)
    }

    pub fn are_at_rest(&self) -> bool {
        self.count().is_multiple_of(2)
    }

    /// Grows by one at each begin and each end, so it is odd while a request is being worked on.
    fn count(&self) -> u64 {
        self.0.turns.load(Ordering::Relaxed)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.0.turns.fetch_add(1, Ordering::Relaxed);
    }
}

/// The other side, and what was read of it before hyper asked for it.
struct Peer<T> {
    io: T,
    ahead: BytesMut,
    has_ended: bool,
}

impl<T: AsyncRead + Unpin> Peer<T> {
    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() && !self.has_ended {
            return Pin::new(&mut self.io).poll_read(cx, buf);
        }
        let most = buf.remaining().min(self.ahead.len());
        buf.put_slice(&self.ahead[..most]);
        self.ahead.advance(most);
        Poll::Ready(Ok(()))
    }

    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while !self.has_ended && self.ahead.len() < AHEAD_MOST {
            let mut bytes = [0; 512];
            let mut read = ReadBuf::new(&mut bytes);
            let result = ready!(Pin::new(&mut self.io).poll_read(cx, &mut read));
            self.has_ended = result.is_err() || read.filled().is_empty();
            self.ahead.extend_from_slice(read.filled());
            cx.waker().wake_by_ref(); // hyper may wait for just this
        }
        if self.has_ended { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Whether the peer of a stream is still there.
pub struct Presence<T>(Arc<Mutex<Peer<T>>>);

impl<T> Clone for Presence<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: AsyncRead + Unpin> Presence<T> {
    /// Ready when the peer says no more. To be asked in the task that the stream is in.
    pub fn poll_gone(&self, cx: &mut Context<'_>) -> Poll<()> {
        locked(&self.0).poll_gone(cx)
    }
}

fn locked<T>(peer: &Mutex<Peer<T>>) -> MutexGuard<'_, Peer<T>> {
    peer.lock().unwrap_or_else(PoisonError::into_inner)
}

pub struct Stream<T> {
    peer: Arc<Mutex<Peer<T>>>,
    is_write_vectored: bool,
    turns: Turns,
    /// The count of turns that the read deadline belongs to.
    read_turn: u64,
    has_begun: bool,
    read: Deadline,
    write: Deadline,
    substitute: Option<Substitute>,
    head_within: Duration,
    idle_within: Duration,
    write_within: Duration,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Stream<T> {
    pub fn new(peer: T, turns: Turns, limits: &Limits) -> Self {
        Self {
            is_write_vectored: peer.is_write_vectored(),
            peer: Arc::new(Mutex::new(Peer { io: peer, ahead: BytesMut::new(), has_ended: false })),
            turns,
            read_turn: 0,
            has_begun: false,
            read: Deadline::default(),
            write: Deadline::default(),
            substitute: None,
            head_within: limits.head_within,
            idle_within: limits.idle_within,
            write_within: limits.write_within,
        }
    }

    pub fn presence(&self) -> Presence<T> {
        Presence(Arc::clone(&self.peer))
    }

    /// The deadline of a read that has to wait; none while a request is being worked on.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.turns.are_at_rest() {
            return Poll::Pending;
        }
        let within = if self.has_begun { self.head_within } else { self.idle_within };
        self.read.poll(cx, within)
    }

    fn next_turn(&mut self) {
        let turn = self.turns.count();
        if turn != self.read_turn {
            (self.read_turn, self.has_begun) = (turn, false);
            self.read.disarm();
        }
    }

    /// The first byte of a request starts the time of its headers; later ones do not prolong it.
    fn has_read(&mut self) {
        if !self.has_begun {
            self.has_begun = true;
            self.read.disarm();
        }
    }

    fn poll_written<N>(&mut self, cx: &mut Context<'_>, poll: Poll<io::Result<N>>) -> Poll<io::Result<N>> {
        match poll {
            Poll::Ready(result) => {
                self.write.disarm();
                Poll::Ready(result)
            }
            Poll::Pending => {
                ready!(self.write.poll(cx, self.write_within));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<T> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.next_turn();
        let before = buf.filled().len();
        let read = locked(&this.peer).poll_read(cx, buf);
        match read {
            Poll::Ready(result) => {
                if buf.filled().len() > before {
                    this.has_read();
                }
                Poll::Ready(result)
            }
            Poll::Pending => {
                ready!(this.poll_patience(cx));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.substitute = this.substitute.take().or_else(|| Substitute::of(buf));
        let poll = {
            let mut peer = locked(&this.peer);
            match &mut this.substitute {
                Some(substitute) => substitute.poll_write(Pin::new(&mut peer.io), cx),
                None => Pin::new(&mut peer.io).poll_write(cx, buf),
            }
        };
        if poll.is_ready() {
            this.substitute = None;
        }
        this.poll_written(cx, poll)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.substitute.is_some() || Substitute::of(bufs.first().map_or(&[], |first| first)).is_some() {
            return Pin::new(this).poll_write(cx, bufs.first().map_or(&[], |first| first));
        }
        let poll = Pin::new(&mut locked(&this.peer).io).poll_write_vectored(cx, bufs);
        this.poll_written(cx, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.is_write_vectored
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut locked(&self.peer).io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut locked(&self.peer).io).poll_shutdown(cx)
    }
}

/// A problem in the place of an answer that hyper gave by itself.
struct Substitute {
    bytes: Vec<u8>,
    written: usize,
    /// What hyper is told when all of it is out.
    in_place_of: usize,
}

impl Substitute {
    /// A whole head without our id. The head of an answer of ours is never written without it.
    fn of(written: &[u8]) -> Option<Substitute> {
        if !written.starts_with(b"HTTP/1.1 4") || !written.ends_with(b"\r\n\r\n") {
            return None;
        }
        let head = std::str::from_utf8(written).ok()?.to_ascii_lowercase();
        if head.contains("\r\nx-request-id:") {
            return None;
        }
        let status = head.split(' ').nth(1)?.to_owned();
        Some(Substitute { bytes: unreadable(&status), written: 0, in_place_of: written.len() })
    }

    fn poll_write<T: AsyncWrite>(
        &mut self,
        mut peer: Pin<&mut T>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        while self.written < self.bytes.len() {
            match ready!(peer.as_mut().poll_write(cx, &self.bytes[self.written..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                more => self.written += more,
            }
        }
        Poll::Ready(Ok(self.in_place_of))
    }
}

fn unreadable(status: &str) -> Vec<u8> {
    let (reason, message) = match status {
        "431" | "414" => (Reason::HeadersTooLarge, "the request line and headers are too large"),
        _ => (Reason::InvalidArgument, "this cannot be read as an HTTP/1.1 request"),
    };
    let id = uuid::Uuid::now_v7().to_string();
    let problem = Problem { request_id: Some(id.clone()), ..Problem::new(reason, message) };
    let body = serde_json::to_string(&problem).unwrap_or_default();
    let fields = format!(
        "content-type: application/json\r\ncontent-length: {}\r\nx-content-type-options: nosniff\r\n\
         cache-control: no-store\r\nx-request-id: {id}\r\nconnection: close",
        body.len()
    );
    let phrase = if status == "400" { "Bad Request" } else { "Request Header Fields Too Large" };
    let status = if status == "400" { "400" } else { "431" };
    format!("HTTP/1.1 {status} {phrase}\r\n{fields}\r\n\r\n{body}").into_bytes()
}

/// A timer that is set at the first wait and forgotten when there was progress.
#[derive(Default)]
struct Deadline {
    /// Kept for the next time: making one costs more than setting it.
    sleep: Option<Pin<Box<Sleep>>>,
    is_armed: bool,
}

impl Deadline {
    fn disarm(&mut self) {
        self.is_armed = false;
    }

    fn poll(&mut self, cx: &mut Context<'_>, within: Duration) -> Poll<()> {
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(within)));
        if !self.is_armed {
            sleep.as_mut().reset(Instant::now() + within);
            self.is_armed = true;
        }
        sleep.as_mut().poll(cx)
    }
}
