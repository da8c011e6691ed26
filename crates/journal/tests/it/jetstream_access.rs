//! Who is spoken to, and as whom: certificates and passwords, on real servers.
#![cfg(feature = "jetstream")]

use std::path::Path;

use maitred_journal::{
    Journal, JournalError,
    jetstream::{JetStream, Settings},
};
use maitred_testbed::Nats;

use crate::support::certificates;

const FLUSHES: &str = "sync_interval: always";

fn encrypted(files: &Path) -> Nats {
    let more = format!(
        "tls {{ cert_file: {:?}, key_file: {:?} }}",
        files.join("server.pem"),
        files.join("server.key")
    );
    Nats::start_with(FLUSHES, &more).expect("a server")
}

async fn open(url: &str) -> Result<JetStream, JournalError> {
    JetStream::open(Settings::parse(url).expect("a good URL")).await
}

async fn refusal(url: &str) -> String {
    match open(url).await {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn a_server_must_show_a_certificate_for_its_name() {
    let files = certificates("localhost");
    let server = encrypted(files.path());
    let url = server.url("limits").replace("127.0.0.1:", "localhost:").replace("nats://", "tls://");
    let ca = files.path().join("ca.pem");
    let trusted = format!("{url}&ca={}", ca.display());
    let mut journal = open(&trusted).await.expect("encrypted, and with whom it should be");
    journal.append(0, "a".into()).await.expect("an append");
    let error = refusal(&url).await;
    assert!(error.contains("UnknownIssuer") || error.contains("certificate"), "{error}");
    let elsewhere = trusted.replace("tls://localhost:", "tls://127.0.0.1:");
    let error = refusal(&elsewhere).await;
    assert!(error.contains("not valid for name") || error.contains("NotValidForName"), "{error}");
}

#[tokio::test]
async fn nothing_is_sent_unencrypted_where_it_must_not_be() {
    let server =
        Nats::start_with(FLUSHES, "authorization { user: ada, password: secret }").expect("a server");
    let url = server.url("limits").replace("nats://", "tls://ada:secret@");
    let error = refusal(&url).await;
    assert!(matches!(open(&url).await, Err(JournalError::Unreachable { .. })), "{error}");
    assert!(!error.contains("secret"), "{error}");
}

#[tokio::test]
async fn a_password_opens_and_is_not_shown() {
    let server =
        Nats::start_with(FLUSHES, "authorization { user: ada, password: secret }").expect("a server");
    let url = server.url("limits").replace("nats://", "nats://ada:secret@");
    open(&url).await.expect("as ada").append(0, "a".into()).await.expect("an append");
    for wrong in ["nats://ada:wrong@", "nats://"] {
        let error = refusal(&server.url("limits").replace("nats://", wrong)).await;
        assert!(error.contains("authorization violation"), "{error}");
        assert!(!error.contains("wrong@"), "{error}");
    }
}
