//! The partner: a service that works on fifty requests at once and refuses the fifty-first with 429.
//!
//! It counts for itself and believes nobody. A request counts from the moment its head was read until the moment
//! before its answer is written, and a caller that hangs up changes nothing: the work goes on to its end, as it
//! does at partners.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use tokio::net::TcpListener;

use super::catalog::{Enriched, Product, enrich};
use crate::chance::Chance;

/// How many requests it works on at once.
pub const HOLDS: usize = 50;
/// No request takes longer.
pub const SERVICE_MOST: Duration = Duration::from_millis(400);
/// The header by which a caller names the slot it holds.
pub const SLOT: &str = "slot";

/// What the partner saw.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    pub open: usize,
    pub high_water: usize,
    pub refused: u64,
    /// How often each slot was named by a call that was served.
    pub served: HashMap<String, u64>,
}

#[derive(Clone)]
pub struct Partner {
    pub url: String,
    numbers: Arc<Mutex<Numbers>>,
    seed: u64,
}

impl Partner {
    pub async fn start(seed: u64) -> Result<Partner, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let partner = Partner { url: format!("http://{address}/enrich"), numbers: Arc::default(), seed };
        let router = Router::new().route("/enrich", post(serve)).with_state(partner.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(partner)
    }

    pub fn numbers(&self) -> Numbers {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Some ten milliseconds, so that the partner and not the limiter is what everybody waits for; one in two hundred
    /// is slow.
    fn service_time(&self, product: &Product) -> Duration {
        let mut chance = Chance::new(self.seed, &product.sku);
        let slowest = SERVICE_MOST.as_millis() as u64;
        let range = if chance.one_in(200) { (150, slowest) } else { (10, 90) };
        Duration::from_millis(chance.between(range.0, range.1))
    }

    fn open(&self, slot: &str) -> Option<Open> {
        let mut numbers = self.lock();
        if numbers.open >= HOLDS {
            numbers.refused += 1;
            return None;
        }
        numbers.open += 1;
        numbers.high_water = numbers.high_water.max(numbers.open);
        *numbers.served.entry(slot.to_owned()).or_default() += 1;
        Some(Open(self.clone()))
    }
}

/// A request that is being worked on.
struct Open(Partner);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.lock().open -= 1;
    }
}

async fn serve(
    State(partner): State<Partner>,
    headers: HeaderMap,
    Json(product): Json<Product>,
) -> Result<Json<Enriched>, StatusCode> {
    let slot = headers.get(SLOT).and_then(|slot| slot.to_str().ok()).unwrap_or("none");
    let open = partner.open(slot).ok_or(StatusCode::TOO_MANY_REQUESTS)?;
    let time = partner.service_time(&product);
    let work = tokio::spawn(async move {
        tokio::time::sleep(time).await;
        let enriched = enrich(&product);
        drop(open);
        enriched
    });
    work.await.map(Json).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reqwest::StatusCode;

    use super::{HOLDS, Partner, SLOT};
    use crate::demo::catalog::{Product, enrich, products};

    async fn ask(partner: Partner, product: Product) -> StatusCode {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let asked = client.post(&partner.url).header(SLOT, &product.sku).json(&product).send().await.unwrap();
        let status = asked.status();
        if status.is_success() {
            assert_eq!(asked.json::<super::Enriched>().await.unwrap(), enrich(&product));
        }
        status
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_fifty_first_is_refused() {
        let partner = Partner::start(1).await.unwrap();
        let busy: Vec<_> = (0..HOLDS).map(|number| partner.open(&number.to_string()).unwrap()).collect();
        let record = products(1, 1).remove(0);
        assert_eq!(ask(partner.clone(), record.clone()).await, StatusCode::TOO_MANY_REQUESTS);
        drop(busy);
        assert_eq!(ask(partner.clone(), record).await, StatusCode::OK);
        let numbers = partner.numbers();
        assert_eq!((numbers.open, numbers.high_water, numbers.refused), (0, HOLDS, 1));
        assert_eq!(numbers.served.len(), HOLDS + 1);
    }

    #[tokio::test]
    async fn a_caller_that_hangs_up_does_not_end_the_work() {
        let partner = Partner::start(1).await.unwrap();
        // Among many there is one that is slow.
        let all = products(1, 3_000);
        let slow = all.into_iter().find(|product| partner.service_time(product) > Duration::from_millis(200));
        let asking = tokio::spawn(ask(partner.clone(), slow.unwrap()));
        while partner.numbers().open == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        asking.abort();
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(partner.numbers().open, 1);
        while partner.numbers().open == 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
