//! One worker: a process that enriches the records it is handed, several at once.

use std::{
    io::{self, BufRead, Write},
    sync::Arc,
    thread,
};

use maitred::{Far, FarOptions};
use tokio::{sync::mpsc, task::JoinSet};

use super::{
    guarded::{Guarded, Held},
    partner::SLOT,
    talk::{Job, Said},
};
use crate::chance::Chance;

#[derive(clap::Args)]
pub struct Options {
    #[arg(long)]
    server: String,
    #[arg(long)]
    partner: String,
    #[arg(long)]
    name: String,
    /// The planted defect: one call in ten is made without a slot
    #[arg(long)]
    unguarded: bool,
}

/// Runs until stdin ends and everything that was handed over is done.
pub fn run(options: Options) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(work(options))
}

async fn work(options: Options) -> Result<(), String> {
    let far = Far::connect(&options.server, FarOptions::default()).map_err(|error| error.to_string())?;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().no_proxy().build().map_err(|error| error.to_string())?;
    let worker = Arc::new(Worker {
        guarded: Guarded { far, name: options.name },
        http,
        partner: options.partner,
        unguarded: options.unguarded,
    });
    let mut jobs = jobs();
    let mut under_way = JoinSet::new();
    loop {
        tokio::select! {
            job = jobs.recv() => match job {
                Some(job) => _ = under_way.spawn(Arc::clone(&worker).enrich(job)),
                None => break,
            },
            Some(done) = under_way.join_next() => done.map_err(|error| error.to_string())??,
        }
    }
    while let Some(done) = under_way.join_next().await {
        done.map_err(|error| error.to_string())??;
    }
    Ok(())
}

/// Stdin is read by a thread of its own, since a read of it cannot be given up.
fn jobs() -> mpsc::UnboundedReceiver<Job> {
    let (handed, jobs) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(job) => _ = handed.send(job),
                Err(error) => eprintln!("not a job ({error}): {line}"),
            }
        }
    });
    jobs
}

/// One line in one piece. A parent that is gone wants nothing any more.
pub fn say(said: &Said) {
    let line = serde_json::to_string(said).unwrap_or_default() + "\n";
    let mut out = io::stdout().lock();
    if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(1);
    }
}

struct Worker {
    guarded: Guarded,
    http: reqwest::Client,
    partner: String,
    unguarded: bool,
}

/// What a call at the partner came to.
enum Call {
    Enriched,
    NotServed,
    /// Nobody knows whether the partner is still at it.
    Unanswered,
}

impl Worker {
    async fn enrich(self: Arc<Self>, job: Job) -> Result<(), String> {
        loop {
            if self.unguarded && Chance::new(job.record as u64, "unguarded").one_in(10) {
                let held = Held::nothing(&format!("none-{}", job.record));
                if matches!(self.call_partner(&job, &held).await?, Call::Enriched) {
                    return Ok(());
                }
                continue;
            }
            let held = self.guarded.acquire(&job.product.sku).await?;
            let call = match held.has_time() {
                true => self.call_partner(&job, &held).await?,
                false => Call::NotServed,
            };
            match call {
                Call::Enriched => return self.guarded.release(&held).await,
                Call::NotServed => self.guarded.release(&held).await?,
                Call::Unanswered => {} // giving it back now could make a fifty-first; it expires by itself
            }
        }
    }

    /// Everything between the grant and the end of the slot. The result is told at once, so that it is not lost if
    /// the release takes long.
    async fn call_partner(&self, job: &Job, held: &Held) -> Result<Call, String> {
        say(&Said::Calling { slot: held.slot.clone() });
        let request = self.http.post(&self.partner).header(SLOT, &held.slot).json(&job.product);
        let answer = async {
            let answer = request.send().await?;
            let status = answer.status();
            let body = if status.is_success() { Some(answer.json().await?) } else { None };
            Ok::<_, reqwest::Error>((status.as_u16(), body))
        };
        let (status, body) = match tokio::time::timeout(held.time_left(), answer).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(_)) | Err(_) => (0, None),
        };
        say(&Said::Answered { slot: held.slot.clone(), status });
        match (status, body) {
            (_, Some(enriched)) => {
                say(&Said::Done { record: job.record, enriched });
                Ok(Call::Enriched)
            }
            (0, None) => Ok(Call::Unanswered),
            (429, None) => Ok(Call::NotServed),
            (other, None) => Err(format!("the partner answered {other}")),
        }
    }
}
