//! A server under load for a long time: 10,000 callers on the line of a full limit, and others who take and give back at
//! 70 % of what they could at most.
//!
//! The load is open: a call is begun when its time has come, whether those before it have been answered or not, and its
//! latency counts from that time. So a server that stands still is seen.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use maitred::{
    Far,
    api::{AcquireFields, Answer, Call, ConfirmMode, Context},
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    sync::Semaphore,
    task::JoinSet,
    time::{interval, sleep},
};
use uuid::Uuid;

use super::parts::{Ended, Lengths};
use crate::{binary, server::Server};

const LIMITS: &str = "[limits.held]\ncapacity = 1\nmax_hold = \"30d\"\n\n[limits.work]\ncapacity = 100000\nmax_hold = \"1h\"\n";
const ON_THE_LINE: usize = 10_000;
const CALLERS: usize = 64;
const MEASURED_FOR: Duration = Duration::from_secs(10);
/// So many calls may be under way, a few seconds' worth: more, and the server does not keep up.
const OPEN_MAX: usize = 5_000;
/// Room for the line and for all of these.
const CONNECTIONS: &str = "16384";
/// Memory may grow by so much an hour, once everything has been there, beside what is remembered of ended slots.
const GROWTH_PERCENT_AN_HOUR: f64 = 5.0;
/// Of each for a day, in both engines (rule B1).
const REMEMBERED_BYTES: u64 = 2 * 64;

pub fn run(lengths: &Lengths) -> Ended {
    let outcome = binary::build().and_then(|binary| {
        let temporary = tempfile::Builder::new().prefix("maitred-load-").tempdir();
        let temporary = temporary.map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
        let ended = runtime.block_on(async {
            raise_open_files();
            let room = ["--data", "data", "--max-connections", CONNECTIONS];
            let server = Server::start_on(&binary, temporary.path(), LIMITS, &room).await?;
            loaded(&server, Duration::from_secs(60 * lengths.load_minutes)).await
        });
        runtime.shutdown_background();
        ended
    });
    match outcome {
        Ok(lines) => Ended::Passed(lines),
        Err(why) => Ended::Failed(why),
    }
}

/// As many as the system allows; the server inherits it.
fn raise_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

async fn loaded(server: &Server, time: Duration) -> Result<Vec<String>, String> {
    let far = server.far();
    acquire(&far, "holder", "held").await?;
    let mut line = Line::open(server, ON_THE_LINE).await?;
    let most = most_a_second(&far).await?;
    let rate = most * 0.7;
    let load = Arc::new(Load::default());
    let before = resident_bytes(server)?;
    let sampling = sample(server.pid(), Arc::clone(&load), time);
    let pacing = pace(&far, rate, time, &load);
    let (memory, ()) = tokio::try_join!(async { Ok(sampling.await) }, pacing)?;
    let alive = line.alive();
    let latencies = load.quantiles();
    let lines = vec![
        format!(
            "at most {most:.0} pairs of acquire and release a second; {rate:.0} a second for {} s",
            time.as_secs()
        ),
        format!("{} pairs, {} failed; latency of a pair {latencies}", load.done(), load.failed()),
        format!("{alive} of {ON_THE_LINE} callers still on the line"),
        format!("memory: {} MB at the beginning, {memory}", before >> 20),
    ];
    let is_well = load.failed() == 0 && alive == ON_THE_LINE && memory.is_level();
    if is_well { Ok(lines) } else { Err(lines.join("\n")) }
}

/// Callers that wait for a slot of the held limit, each on a connection of its own.
struct Line {
    streams: Vec<TcpStream>,
}

impl Line {
    async fn open(server: &Server, callers: usize) -> Result<Line, String> {
        let address = server.url().replace("http://", "");
        let mut streams = Vec::new();
        for number in 0..callers {
            let body = format!(
                r#"{{"slot":"on-the-line-{number}","limit":"held","confirm":"auto","timeout":"30d","wait":"1d"}}"#
            );
            let request = format!(
                "POST /v1/slots HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            let mut stream = TcpStream::connect(&address)
                .await
                .map_err(|error| format!("caller {number} was not let in: {error}"))?;
            stream.write_all(request.as_bytes()).await.map_err(|error| error.to_string())?;
            streams.push(stream);
        }
        sleep(Duration::from_secs(2)).await;
        Ok(Line { streams })
    }

    /// How many have heard nothing yet.
    fn alive(&mut self) -> usize {
        let silent = |stream: &&mut TcpStream| {
            let mut byte = [0];
            matches!(stream.try_read(&mut byte), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
        };
        self.streams.iter_mut().filter(silent).count()
    }
}

/// Each caller as fast as it can, for a while.
async fn most_a_second(far: &Far) -> Result<f64, String> {
    let until = Instant::now() + MEASURED_FOR;
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let far = far.clone();
        callers.spawn(async move {
            let mut pairs = 0_u64;
            while Instant::now() < until {
                pair(&far).await?;
                pairs += 1;
            }
            Ok::<u64, String>(pairs)
        });
    }
    let mut sum = 0;
    while let Some(joined) = callers.join_next().await {
        sum += joined.map_err(|error| error.to_string())??;
    }
    Ok(sum as f64 / MEASURED_FOR.as_secs_f64())
}

async fn pace(far: &Far, rate: f64, time: Duration, load: &Arc<Load>) -> Result<(), String> {
    let room = Arc::new(Semaphore::new(OPEN_MAX));
    let began = Instant::now();
    let mut ticks = interval(Duration::from_millis(5));
    let mut begun = 0_u64;
    while began.elapsed() < time {
        ticks.tick().await;
        let wanted = (began.elapsed().as_secs_f64() * rate) as u64;
        while begun < wanted {
            let due = began + Duration::from_secs_f64(begun as f64 / rate);
            let Ok(under_way) = Arc::clone(&room).try_acquire_owned() else {
                return Err(format!("{OPEN_MAX} calls were under way at once: the server does not keep up"));
            };
            let (far, load) = (far.clone(), Arc::clone(load));
            tokio::spawn(async move {
                let ended = pair(&far).await;
                load.note(due.elapsed(), ended.is_err());
                drop(under_way);
            });
            begun += 1;
        }
    }
    let _all = room.acquire_many(OPEN_MAX as u32).await.map_err(|error| error.to_string())?;
    load.over.store(true, Ordering::Relaxed);
    Ok(())
}

/// Under an id that tells when it was made, as the library chooses them: of others only a million a day are remembered.
async fn pair(far: &Far) -> Result<(), String> {
    let slot = Uuid::now_v7().to_string();
    acquire(far, &slot, "work").await?;
    let released = far.call(&Context::default(), Call::Release { slot: slot.clone() }).await;
    match released {
        Ok(Answer::Release(answer)) if answer.released => Ok(()),
        other => Err(format!("{slot} was not given back: {other:?}")),
    }
}

async fn acquire(far: &Far, slot: &str, limit: &str) -> Result<(), String> {
    let fields = AcquireFields {
        slot: Some(slot.to_owned()),
        limit: Some(limit.to_owned()),
        confirm: ConfirmMode::Auto,
        timeout: "1m".into(),
        ..AcquireFields::default()
    };
    let answer = far.call(&Context::default(), Call::Acquire(fields)).await;
    answer.map(drop).map_err(|problem| format!("{slot} was not granted: {problem}"))
}

/// Latencies in steps of an eighth of a power of two.
struct Load {
    steps: [AtomicU64; 256],
    failed: AtomicU64,
    over: AtomicBool,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            steps: std::array::from_fn(|_| AtomicU64::new(0)),
            failed: AtomicU64::new(0),
            over: AtomicBool::new(false),
        }
    }
}

impl Load {
    fn note(&self, latency: Duration, has_failed: bool) {
        let step = ((latency.as_micros().max(1) as f64).log2() * 8.0) as usize;
        self.steps[step.min(255)].fetch_add(1, Ordering::Relaxed);
        self.failed.fetch_add(u64::from(has_failed), Ordering::Relaxed);
    }

    fn done(&self) -> u64 {
        self.steps.iter().map(|step| step.load(Ordering::Relaxed)).sum()
    }

    fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    fn quantiles(&self) -> String {
        let of = |share: f64| {
            let wanted = (self.done() as f64 * share) as u64;
            let mut sum = 0;
            let step = self.steps.iter().position(|step| {
                sum += step.load(Ordering::Relaxed);
                sum >= wanted
            });
            2_f64.powf((step.unwrap_or(255) + 1) as f64 / 8.0) / 1_000.0
        };
        format!("p50 {:.1} ms, p99 {:.1} ms, p99.9 {:.1} ms", of(0.5), of(0.99), of(0.999))
    }
}

/// What the server held once everything had been there for a tenth of the time, and in the end.
struct Memory {
    warm: u64,
    end: u64,
    /// Pairs between the two.
    pairs: u64,
    most_files: usize,
    hours: f64,
}

impl Memory {
    fn is_level(&self) -> bool {
        let unexplained = self.end.saturating_sub(self.pairs * REMEMBERED_BYTES);
        let grown = unexplained as f64 / self.warm.max(1) as f64 - 1.0;
        // A short run says nothing of hours.
        self.hours < 0.5 || grown * 100.0 <= GROWTH_PERCENT_AN_HOUR * self.hours.max(1.0)
    }
}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (warm, end) = (self.warm >> 20, self.end >> 20);
        let Memory { pairs, most_files, .. } = self;
        write!(
            f,
            "{warm} MB after a tenth of the time, {end} MB {pairs} pairs later, of which {} MB may be what is \
             remembered of them for a day; {most_files} open files at most",
            (pairs * REMEMBERED_BYTES) >> 20
        )
    }
}

/// Until the load is over.
async fn sample(pid: Option<u32>, load: Arc<Load>, time: Duration) -> Memory {
    let began = Instant::now();
    let mut memory = Memory { warm: 0, end: 0, pairs: 0, most_files: 0, hours: time.as_secs_f64() / 3_600.0 };
    let mut done_when_warm = 0;
    while !load.over.load(Ordering::Relaxed) && began.elapsed() < time + Duration::from_secs(60) {
        sleep(Duration::from_secs(1)).await;
        memory.end = pid.and_then(resident_of).unwrap_or(memory.end);
        if began.elapsed() * 10 < time || memory.warm == 0 {
            (memory.warm, done_when_warm) = (memory.end, load.done());
        }
        memory.pairs = load.done() - done_when_warm;
        let files = pid.and_then(|pid| fs::read_dir(format!("/proc/{pid}/fd")).ok());
        memory.most_files = memory.most_files.max(files.map_or(0, Iterator::count));
    }
    memory
}

fn resident_bytes(server: &Server) -> Result<u64, String> {
    server.pid().and_then(resident_of).ok_or_else(|| "the server is not running".to_owned())
}

fn resident_of(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1_024)
}
