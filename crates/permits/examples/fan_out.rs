//! Ten thousand tasks against a partner that refuses the 51st connection: with 50 permits it never has to.
//!
//! `cargo run -p maitred-permits --example fan_out`

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

use maitred_permits::permits::{AcquireError, Permits, fan_out};
use maitred_permits::plan::{Plan, ROWS};

const CONNECTIONS: u32 = 50;
const RECORDS: u32 = 10_000;
const SERVICE_TIME: Duration = Duration::from_millis(10);

/// A partner in this process. It counts its own connections, whatever its callers believe.
#[derive(Default)]
struct Partner {
    connected: AtomicU32,
    most_connected: AtomicU32,
    refused: AtomicU32,
}

#[derive(Debug, thiserror::Error)]
enum PartnerError {
    #[error("429 Too Many Requests")]
    TooManyConnections,
    #[error(transparent)]
    NoPermit(#[from] AcquireError),
}

impl Partner {
    async fn enrich(&self, record: u32) -> Result<u32, PartnerError> {
        let connected = self.connected.fetch_add(1, SeqCst) + 1;
        self.most_connected.fetch_max(connected, SeqCst);
        let result = if connected > CONNECTIONS {
            self.refused.fetch_add(1, SeqCst);
            Err(PartnerError::TooManyConnections)
        } else {
            tokio::time::sleep(SERVICE_TIME).await;
            Ok(record * 2)
        };
        self.connected.fetch_sub(1, SeqCst);
        result
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ceiling_per_s = f64::from(CONNECTIONS) / SERVICE_TIME.as_secs_f64();
    let plan =
        Plan::new(SERVICE_TIME, Duration::ZERO, ceiling_per_s, Duration::from_millis(500), RECORDS.into());
    println!("{}\n{}\n", plan.table(&ROWS)?, plan.choose()?);

    let partner = Partner::default();
    let permits = Permits::new("partner", plan.choose()?.permits);
    let started = Instant::now();
    let results = fan_out(0..RECORDS, &permits, |record| partner.enrich(record)).await;

    let enriched = results.iter().filter(|result| result.is_ok()).count();
    let (refused, most) = (partner.refused.load(SeqCst), partner.most_connected.load(SeqCst));
    println!("{enriched} of {RECORDS} records enriched in {:.1} s", started.elapsed().as_secs_f64());
    println!("most connections at once: {most}; refusals: {refused}");
    println!("{}", permits.signals());
    let in_order =
        results.iter().zip(0..).all(|(result, record)| matches!(result, Ok(value) if *value == record * 2));
    if refused > 0 || !in_order {
        return Err("the partner had to refuse, or a result is missing".into());
    }
    Ok(())
}
