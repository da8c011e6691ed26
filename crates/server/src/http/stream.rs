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
//! While a request is being worked on, reads have no timer, but hyper still reads: that is how a hang-up is seen.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep},
};

use super::Limits;

/// How many requests of a connection have begun and ended. Shared between the stream and the service.
#[derive(Clone, Default)]
pub struct Turns(Arc<AtomicU64>);

/// A request that is being worked on; ends when dropped.
pub struct Turn(Turns);

impl Turns {
    pub fn begin(&self) -> Turn {
        self.0.fetch_add(1, Ordering::Relaxed);
        Turn(self.clone())
    }

    pub fn are_at_rest(&self) -> bool {
        self.count().is_multiple_of(2)
    }

    /// Grows by one at each begin and each end, so it is odd while a request is being worked on.
    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::Relaxed);
    }
}

pub struct Stream {
    tcp: TcpStream,
    turns: Turns,
    /// The count of turns that the read deadline belongs to.
    read_turn: u64,
    has_begun: bool,
    read: Deadline,
    write: Deadline,
    head_within: Duration,
    idle_within: Duration,
    write_within: Duration,
}

impl Stream {
    pub fn new(tcp: TcpStream, turns: Turns, limits: &Limits) -> Self {
        Self {
            tcp,
            turns,
            read_turn: 0,
            has_begun: false,
            read: Deadline::default(),
            write: Deadline::default(),
            head_within: limits.head_within,
            idle_within: limits.idle_within,
            write_within: limits.write_within,
        }
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

    fn poll_written<T>(&mut self, cx: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
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

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.next_turn();
        let before = buf.filled().len();
        match Pin::new(&mut this.tcp).poll_read(cx, buf) {
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

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.tcp).poll_write(cx, buf);
        this.poll_written(cx, poll)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.tcp).poll_write_vectored(cx, bufs);
        this.poll_written(cx, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tcp).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tcp).poll_shutdown(cx)
    }
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
