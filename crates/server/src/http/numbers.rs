//! What `/metrics` tells of HTTP and of the process. Labels are route templates, known methods and statuses only:
//! nothing a caller sends can make a new series.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::http::{Method, StatusCode};

const BUCKETS: [(&str, Duration); 7] = [
    ("0.001", Duration::from_millis(1)),
    ("0.005", Duration::from_millis(5)),
    ("0.025", Duration::from_millis(25)),
    ("0.1", Duration::from_millis(100)),
    ("0.5", Duration::from_millis(500)),
    ("2.5", Duration::from_millis(2_500)),
    ("10", Duration::from_secs(10)),
];

#[derive(Default)]
pub struct Numbers {
    routes: Mutex<BTreeMap<String, Route>>,
    open_requests: AtomicI64,
    hang_ups: AtomicU64,
    pub open_connections: AtomicI64,
    pub refused_connections: AtomicU64,
}

#[derive(Default)]
struct Route {
    answers: BTreeMap<(&'static str, u16), u64>,
    /// How many took this long at the most, per bucket.
    took: [u64; BUCKETS.len()],
    took_in_all: Duration,
}

/// A request that is being worked on. Dropped without an answer, its caller has hung up.
pub struct OpenRequest<'a> {
    numbers: &'a Numbers,
    is_answered: bool,
}

impl Numbers {
    pub fn request(&self) -> OpenRequest<'_> {
        self.open_requests.fetch_add(1, Ordering::Relaxed);
        OpenRequest { numbers: self, is_answered: false }
    }

    fn routes(&self) -> MutexGuard<'_, BTreeMap<String, Route>> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to the text of the node.
    pub fn write(&self, text: &mut String) {
        let gauge = |number: &AtomicI64| number.load(Ordering::Relaxed).max(0) as u64;
        one(
            text,
            "maitred_http_open_requests",
            "gauge",
            "Requests being worked on, long polls among them.",
            gauge(&self.open_requests),
        );
        one(text, "maitred_http_open_connections", "gauge", "Connections.", gauge(&self.open_connections));
        let counter = |number: &AtomicU64| number.load(Ordering::Relaxed);
        one(
            text,
            "maitred_http_hang_ups_total",
            "counter",
            "Requests whose caller went before the answer.",
            counter(&self.hang_ups),
        );
        one(
            text,
            "maitred_http_refused_connections_total",
            "counter",
            "Connections over the cap.",
            counter(&self.refused_connections),
        );
        self.write_routes(text);
        write_process(text);
    }

    fn write_routes(&self, text: &mut String) {
        let routes = self.routes();
        head(text, "maitred_http_requests_total", "counter", "Answers by route, method and status.");
        for (path, route) in routes.iter() {
            for ((method, status), count) in &route.answers {
                let labels = format!("route=\"{path}\",method=\"{method}\",status=\"{status}\"");
                let _ = writeln!(text, "maitred_http_requests_total{{{labels}}} {count}");
            }
        }
        head(
            text,
            "maitred_http_request_seconds",
            "histogram",
            "From the headers to the answer, waits included.",
        );
        for (path, route) in routes.iter() {
            let all: u64 = route.answers.values().sum();
            for ((bound, _), count) in BUCKETS.iter().zip(route.took) {
                let _ = writeln!(
                    text,
                    "maitred_http_request_seconds_bucket{{route=\"{path}\",le=\"{bound}\"}} {count}"
                );
            }
            let _ =
                writeln!(text, "maitred_http_request_seconds_bucket{{route=\"{path}\",le=\"+Inf\"}} {all}");
            let _ = writeln!(
                text,
                "maitred_http_request_seconds_sum{{route=\"{path}\"}} {}",
                route.took_in_all.as_secs_f64()
            );
            let _ = writeln!(text, "maitred_http_request_seconds_count{{route=\"{path}\"}} {all}");
        }
    }
}

impl OpenRequest<'_> {
    pub fn answered(mut self, method: &Method, route: &str, status: StatusCode, took: Duration) {
        self.is_answered = true;
        let mut routes = self.numbers.routes();
        if !routes.contains_key(route) {
            routes.insert(route.to_owned(), Route::default());
        }
        let Some(numbers) = routes.get_mut(route) else { return };
        *numbers.answers.entry((method_label(method), status.as_u16())).or_default() += 1;
        numbers.took_in_all += took;
        for ((_, bound), count) in BUCKETS.iter().zip(&mut numbers.took) {
            *count += u64::from(took <= *bound);
        }
    }
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        self.numbers.open_requests.fetch_sub(1, Ordering::Relaxed);
        if !self.is_answered {
            self.numbers.hang_ups.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::PUT => "PUT",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        _ => "other",
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn one(text: &mut String, name: &str, kind: &str, help: &str, number: impl std::fmt::Display) {
    head(text, name, kind, help);
    let _ = writeln!(text, "{name} {number}");
}

/// What the kernel knows of this process, where it has `/proc`.
fn write_process(text: &mut String) {
    let version = env!("CARGO_PKG_VERSION");
    head(text, "maitred_build_info", "gauge", "Always 1; its labels say what runs.");
    let _ = writeln!(text, "maitred_build_info{{version=\"{version}\"}} 1");
    if let Some(bytes) = resident_bytes() {
        one(text, "process_resident_memory_bytes", "gauge", "Memory in use.", bytes);
    }
    if let Some(seconds) = cpu_seconds() {
        one(text, "process_cpu_seconds_total", "counter", "Processor time, user and system.", seconds);
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        one(text, "process_open_fds", "gauge", "Open file descriptors.", open.count());
    }
}

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}

fn cpu_seconds() -> Option<f64> {
    let usage = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(usage.tv_sec as f64 + usage.tv_nsec as f64 / 1e9)
}
