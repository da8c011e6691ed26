//! What is counted on is measured: the names in dashboard, alert rules and reference stand in a real `/metrics`.

use std::{collections::BTreeSet, os::unix::fs::PermissionsExt, path::Path};

use serde_json::Value;

use super::{
    pages,
    server::{Server, shell},
};

const LIMITS: &str = "[limits.a]\ncapacity = 1\nmax_hold = \"100ms\"\n\
    [callbacks.app]\nurl = \"http://127.0.0.1:9/maitred\"\nnetwork = \"loopback\"\n";
const SERVE: &str = "env MAITRED_CALLBACK_SECRET=0123456789abcdef0123456789abcdef \
    maitred dev --tls-cert cert.pem --tls-key key.pem";
/// Makes a series of every kind: a grant, a lapse, an end, a decision.
const DEEDS: &str = r#"
export CURL_CA_BUNDLE=cert.pem
post() { curl -fsS -H 'content-type: application/json' -d "$2" "$URL/v1/$1" > /dev/null; }
post slots '{"limit":"a","slot":"lapses"}'
sleep 0.3
post slots/lapses/leave '{}'
post slots '{"limit":"a","slot":"ends","confirm":"auto","wait":"10s"}'
sleep 0.3
post admit '{"task":"t","specs":[{"key":"k","limit":9,"windowSeconds":9}]}'
curl -fsS "$URL/metrics"
"#;

fn metrics() -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("maitred.toml"), LIMITS).unwrap();
    certify(folder.path());
    let server = Server::start(folder.path(), SERVE);
    let output = shell(folder.path()).args(["-euc", DEEDS]).env("URL", &server.url).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A certificate for the address that the server has: its end is a metric too.
fn certify(folder: &Path) {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(folder.join("cert.pem"), cert.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), signing_key.serialize_pem()).unwrap();
    std::fs::set_permissions(folder.join("key.pem"), std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Names of samples: `maitred_grants_total`.
fn samples(metrics: &str) -> BTreeSet<&str> {
    let lines = metrics.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split(['{', ' ']).next()).collect()
}

fn families(metrics: &str) -> BTreeSet<&str> {
    metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect()
}

/// Names of ours in an expression. Word by word, so that labels and functions do not count.
fn ours(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("maitred_") || word.starts_with("process_"))
}

#[test]
fn dashboard_and_alerts_ask_for_what_there_is() {
    let metrics = metrics();
    let there = samples(&metrics);
    let dashboard: Value = serde_json::from_str(&pages::read("deploy/grafana/maitred.json")).unwrap();
    let mut asked = Vec::new();
    expressions(&dashboard, &mut asked);
    assert!(asked.len() >= 20, "the dashboard asks for {} things", asked.len());
    let rules = rules();
    assert!(rules.len() >= 8, "{} alerts", rules.len());
    asked.extend(rules);
    for expression in &asked {
        for name in ours(expression) {
            assert!(there.contains(name), "{name} of `{expression}` is not in /metrics:\n{metrics}");
        }
        let depth = expression.matches('(').count() == expression.matches(')').count();
        assert!(depth, "`{expression}` is not closed");
    }
}

/// Every `expr` of a dashboard, and the queries of its variables.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str().filter(|_| name == "expr" || name == "definition") {
                    Some(text) => found.push(text.to_owned()),
                    None => expressions(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| expressions(value, found)),
        _ => {}
    }
}

/// Every `expr:` of the alert rules; each stands on one line.
fn rules() -> Vec<String> {
    let text = pages::read("deploy/prometheus/alerts.yml");
    text.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).map(str::to_owned).collect()
}

#[test]
fn the_reference_has_every_metric() {
    let metrics = metrics();
    let page = pages::read("docs/src/reference/metrics.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let told: BTreeSet<&str> = rows.filter(|name| !name.starts_with('{')).collect();
    assert_eq!(told, families(&metrics));
}

#[test]
fn every_alert_says_what_to_do() {
    let alerts = pages::read("deploy/prometheus/alerts.yml");
    let alerts: Vec<&str> = alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let page = pages::read("docs/src/how-to/alerts.md");
    let told = page.lines().filter_map(|line| line.strip_prefix("| Maitred")?.split(' ').next());
    let told: Vec<String> = told.map(|name| format!("Maitred{name}")).collect();
    assert_eq!(told, alerts);
}

/// What operators of peers know under other names, as our research lists it, and where it is here.
const KNOWN_ELSEWHERE: [(&str, &str); 14] = [
    ("capacity", "maitred_limit_capacity{"),
    ("slots by state", "maitred_limit_slots{"),
    ("waiting", "maitred_limit_waiting{"),
    ("oldest wait", "maitred_limit_oldest_wait_seconds{"),
    ("oldest hold", "maitred_limit_oldest_hold_seconds{"),
    (
        "wait by outcome",
        "maitred_acquire_wait_seconds_count{namespace=\"default\",limit=\"a\",outcome=\"granted\"}",
    ),
    ("hold by end", "maitred_hold_seconds_count{namespace=\"default\",limit=\"a\",reason=\"expired\"}"),
    ("grants", "maitred_grants_total{"),
    (
        "ends by reason, timeouts among them",
        "maitred_slot_ends_total{namespace=\"default\",limit=\"a\",reason=\"left\"}",
    ),
    ("decisions by outcome", "maitred_rate_decisions_total{outcome=\"allowed\"}"),
    ("commit time of the store", "maitred_journal_commit_seconds_bucket{"),
    ("a sweep that stands still", "maitred_overdue_seconds "),
    ("event streams", "maitred_http_open_streams "),
    ("build", "maitred_build_info{version="),
];

#[test]
fn what_peers_measure_is_measured_here() {
    let metrics = metrics();
    for (what, sample) in KNOWN_ELSEWHERE {
        assert!(
            metrics.lines().any(|line| line.starts_with(sample)),
            "{what}: {sample} is not in\n{metrics}"
        );
    }
}
