//! What `/metrics` tells of HTTP and of the process. Labels are route templates, known methods and statuses only:
//! nothing a caller sends can make a new series.

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use crate::callbacks::CallbackNumbers;
use axum::http::{Method, StatusCode};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::Registry,
};

use crate::tls::Certificates;

const BOUNDS_S: [f64; 7] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfAnswer {
    route: Arc<str>,
    method: &'static str,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfRoute {
    route: Arc<str>,
}

pub struct Numbers {
    answers: Family<OfAnswer, Counter>,
    took: Family<OfRoute, Histogram, fn() -> Histogram>,
    open_requests: Gauge,
    hang_ups: Counter,
    pub open_streams: Gauge,
    pub open_connections: Gauge,
    pub refused_connections: Counter,
    pub callbacks: CallbackNumbers,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            answers: Family::default(),
            took: Family::new_with_constructor(|| Histogram::new(BOUNDS_S)),
            open_requests: Gauge::default(),
            hang_ups: Counter::default(),
            open_streams: Gauge::default(),
            open_connections: Gauge::default(),
            refused_connections: Counter::default(),
            callbacks: CallbackNumbers::default(),
        }
    }
}

/// A request that is being worked on. Dropped without an answer, its caller has hung up.
pub struct OpenRequest<'a> {
    numbers: &'a Numbers,
    is_answered: bool,
}

impl Numbers {
    pub fn request(&self) -> OpenRequest<'_> {
        self.open_requests.inc();
        OpenRequest { numbers: self, is_answered: false }
    }

    /// In the text form of OpenMetrics, with its closing mark.
    pub fn text(&self, tls: Option<&Certificates>) -> String {
        let mut registry = Registry::default();
        self.register_http(registry.sub_registry_with_prefix("maitred_http"));
        self.callbacks.register(registry.sub_registry_with_prefix("maitred_callback"));
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("maitred_build", "What runs", version);
        if let Some(tls) = tls {
            let expires: Gauge<u64, AtomicU64> = Gauge::default();
            expires.set(tls.expires_at());
            let help = "When the certificate's chain expires";
            registry.register("maitred_tls_certificate_expires_timestamp_seconds", help, expires);
        }
        register_process(registry.sub_registry_with_prefix("process"));
        let mut text = String::new();
        let _ = encode(&mut text, &registry); // a String takes everything
        text
    }

    fn register_http(&self, registry: &mut Registry) {
        registry.register("requests", "Answers by route, method and status", self.answers.clone());
        registry.register(
            "request_seconds",
            "From the headers to the answer, waits included",
            self.took.clone(),
        );
        registry.register(
            "open_requests",
            "Requests being worked on, waiting ones among them",
            self.open_requests.clone(),
        );
        registry.register("open_streams", "Event streams", self.open_streams.clone());
        registry.register("hang_ups", "Requests whose caller went before the answer", self.hang_ups.clone());
        registry.register("open_connections", "Connections", self.open_connections.clone());
        registry.register(
            "refused_connections",
            "Connections over the cap",
            self.refused_connections.clone(),
        );
    }
}

impl OpenRequest<'_> {
    pub fn answered(mut self, method: &Method, route: &Arc<str>, status: StatusCode, took: Duration) {
        self.is_answered = true;
        let answer =
            OfAnswer { route: Arc::clone(route), method: method_label(method), status: status.as_u16() };
        self.numbers.answers.get_or_create(&answer).inc();
        self.numbers.took.get_or_create(&OfRoute { route: answer.route }).observe(took.as_secs_f64());
    }
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        self.numbers.open_requests.dec();
        if !self.is_answered {
            self.numbers.hang_ups.inc();
        }
    }
}

/// The method, if it is one of those that routes have.
pub fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::PUT => "PUT",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        _ => "other",
    }
}

/// What the kernel knows of this process, as far as it tells.
fn register_process(registry: &mut Registry) {
    let gauge = |number: u64| -> Gauge<u64, AtomicU64> {
        let gauge = Gauge::default();
        gauge.set(number);
        gauge
    };
    if let Some(bytes) = resident_bytes() {
        registry.register("resident_memory_bytes", "Memory in use", gauge(bytes));
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        registry.register("open_fds", "Open file descriptors", gauge(open.count() as u64));
    }
    let cpu = Counter::<f64, AtomicU64>::default();
    cpu.inc_by(cpu_seconds());
    registry.register("cpu_seconds", "Processor time, user and system", cpu);
}

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}

fn cpu_seconds() -> f64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}
