//! The load generator: keep-alive HTTP/1.1 over plain TCP, one request under way on each connection.
//!
//! Two threads, each with a runtime and half of the connections of its own, on the same two cores as the server.
//! Requests are written beforehand and only their ids are put in; of answers the head is looked through, and the body
//! for what must stand in it. What the generator costs is the same for every server, so it brings ratios closer to one
//! and never turns them round.

pub mod answer;
pub mod callers;
pub mod template;

use std::{
    net::SocketAddr,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

use self::answer::{Answer, head};
use crate::{
    figure::{Trouble, check},
    pairs::quantile,
};

pub const THREADS: usize = 2;

/// One connection's part: what it asks next, and whether the answer is the one that was due.
pub trait Caller: Send + 'static {
    /// Writes the next request into `out`, which is empty.
    fn ask(&mut self, out: &mut Vec<u8>);
    /// Whether the work was done. `done` counts what the figure counts: calls, pairs, decisions.
    fn judge(&mut self, answer: &Answer<'_>) -> bool;
    /// Whether nothing is left half done.
    fn may_stop(&self) -> bool {
        true
    }
}

#[derive(Clone, Copy)]
pub struct Load<'a> {
    /// Each has as many of the connections as the others.
    pub servers: &'a [SocketAddr],
    pub connections: usize,
    pub time: Duration,
}

/// What came of it.
pub struct Done {
    pub calls: u64,
    pub calls_per_s: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    /// How many of the calls each server answered.
    pub by_server: Vec<u64>,
}

impl Load<'_> {
    /// Runs until the time is over. Any answer that is not the one that was due ends it.
    pub fn run<C: Caller>(&self, caller: impl Fn(usize) -> C + Sync) -> Result<Done, Trouble> {
        let together = Barrier::new(THREADS);
        let took = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let mine = (thread..self.connections).step_by(THREADS);
                    let mine = mine.map(|number| (number % self.servers.len(), caller(number))).collect();
                    scope.spawn(|| self.on_this_thread(mine, &together))
                })
                .collect();
            let ended = threads.into_iter().map(|thread| thread.join());
            ended
                .map(|ended| ended.map_err(|_| Trouble::Wrong("the load generator panicked".to_owned()))?)
                .collect()
        });
        let took: Vec<Took> = Result::from_iter::<Vec<Result<Took, Trouble>>>(took)?;
        self.summed(took)
    }

    fn on_this_thread<C: Caller>(
        &self,
        callers: Vec<(usize, C)>,
        together: &Barrier,
    ) -> Result<Took, Trouble> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let opened = runtime.block_on(async {
            let mut opened = Vec::with_capacity(callers.len());
            for (server, caller) in callers {
                opened.push((server, Connection::open(self.servers[server], caller).await?));
            }
            Ok::<_, Trouble>(opened)
        });
        // The other thread must not wait for one that failed.
        together.wait();
        let opened = opened?;
        runtime.block_on(async {
            let begin = Instant::now();
            let end = begin + self.time;
            let mut tasks: JoinSet<_> = opened
                .into_iter()
                .map(|(server, one)| async move { one.run_until(end).await.map(|micros| (server, micros)) })
                .collect();
            let mut micros = Vec::new();
            while let Some(ended) = tasks.join_next().await {
                micros.push(ended.map_err(|error| Trouble::Wrong(error.to_string()))??);
            }
            Ok(Took { seconds: begin.elapsed().as_secs_f64(), micros })
        })
    }

    fn summed(&self, took: Vec<Took>) -> Result<Done, Trouble> {
        let seconds = took.iter().map(|took| took.seconds).fold(0.0, f64::max);
        let mut by_server = vec![0; self.servers.len()];
        let mut all = Vec::new();
        for (server, micros) in took.into_iter().flat_map(|took| took.micros) {
            by_server[server] += micros.len() as u64;
            all.extend(micros.into_iter().map(|micros| f64::from(micros) / 1e3));
        }
        check(!all.is_empty(), || "not one call was answered".to_owned())?;
        all.sort_by(f64::total_cmp);
        Ok(Done {
            calls: all.len() as u64,
            calls_per_s: all.len() as f64 / seconds,
            p50_ms: quantile(&all, 0.5),
            p99_ms: quantile(&all, 0.99),
            by_server,
        })
    }
}

struct Took {
    seconds: f64,
    /// Of each connection, with the server that it was to.
    micros: Vec<(usize, Vec<u32>)>,
}

/// One connection and its caller.
pub struct Connection<C> {
    tcp: TcpStream,
    pub caller: C,
    asked: Vec<u8>,
    answered: Vec<u8>,
}

impl<C: Caller> Connection<C> {
    pub async fn open(addr: SocketAddr, caller: C) -> Result<Self, Trouble> {
        let tcp = TcpStream::connect(addr).await?;
        tcp.set_nodelay(true)?;
        Ok(Connection { tcp, caller, asked: Vec::with_capacity(1024), answered: Vec::with_capacity(4096) })
    }

    async fn run_until(mut self, end: Instant) -> Result<Vec<u32>, Trouble> {
        let mut micros = Vec::with_capacity(4096);
        let mut since = Instant::now();
        loop {
            self.call().await?;
            let now = Instant::now();
            micros.push((now - since).as_micros() as u32);
            since = now;
            if now >= end && self.caller.may_stop() {
                return Ok(micros);
            }
        }
    }

    /// One request and its answer.
    pub async fn call(&mut self) -> Result<(), Trouble> {
        self.ask().await?;
        self.hear().await
    }

    pub async fn ask(&mut self) -> Result<(), Trouble> {
        self.asked.clear();
        self.caller.ask(&mut self.asked);
        Ok(self.tcp.write_all(&self.asked).await?)
    }

    /// Waits for the answer to what was asked.
    pub async fn hear(&mut self) -> Result<(), Trouble> {
        self.answered.clear();
        let head = loop {
            let read = self.tcp.read_buf(&mut self.answered).await?;
            check(read > 0, || format!("the server closed the connection after {}", shown(&self.asked)))?;
            if let Some(head) = head(&self.answered)? {
                break head;
            }
        };
        while self.answered.len() < head.length {
            let read = self.tcp.read_buf(&mut self.answered).await?;
            check(read > 0, || "the server closed the connection within an answer".to_owned())?;
        }
        let answer = Answer { status: head.status, body: &self.answered[head.body_at..head.length] };
        let was_done = self.caller.judge(&answer);
        check(was_done, || format!("{} was answered {}", shown(&self.asked), shown(&self.answered)))
    }
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(1_500)]).into_owned()
}
