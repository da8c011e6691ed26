//! Who is spoken to: certificates, on a real PostgreSQL.
#![cfg(feature = "postgres")]

use std::path::Path;

use maitred_journal::{
    Journal,
    postgres::{self, PostgresJournal, PostgresOptions},
};
use maitred_testbed::Postgres;

use crate::support::certificates;

/// On a server whose certificate is made out for `name`.
fn encrypted(name: &str) -> (Postgres, tempfile::TempDir) {
    let files = certificates(name);
    let server = Postgres::start_encrypted(files.path()).expect("a server");
    (server, files)
}

fn url(server: &Postgres, host: &str, mode: &str, ca: Option<&Path>) -> String {
    let ca = ca.map(|ca| format!("&sslrootcert={}", ca.display())).unwrap_or_default();
    let url = server.url("safe").replace("127.0.0.1", host);
    format!("{url}&sslmode={mode}{ca}")
}

async fn opened(url: &str) -> PostgresJournal {
    postgres::open(PostgresOptions::new(url)).await.unwrap_or_else(|error| panic!("{url}: {error}"))
}

async fn refusal(url: &str) -> String {
    match postgres::open(PostgresOptions::new(url)).await {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => error.to_string(),
    }
}

fn sessions(server: &Postgres, encrypted: bool) -> String {
    let count = format!(
        "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
         WHERE application_name = 'maitred' AND ssl = {encrypted}"
    );
    server.sql(&count).expect("a count")
}

#[tokio::test]
async fn a_server_must_show_a_certificate_for_its_name() {
    let (server, files) = encrypted("localhost");
    let ca = files.path().join("ca.pem");
    let mut journal = opened(&url(&server, "localhost", "verify-full", Some(&ca))).await;
    journal.append(0, "a".into()).await.expect("an append");
    assert_eq!((sessions(&server, true), sessions(&server, false)), ("1".to_owned(), "0".to_owned()));

    let wrong_name = refusal(&url(&server, "127.0.0.1", "verify-full", Some(&ca))).await;
    assert!(wrong_name.contains("not made out for this host"), "{wrong_name}");
    let machine = refusal(&url(&server, "localhost", "verify-full", None)).await;
    assert!(machine.contains("not trusted here") && machine.contains("sslrootcert"), "{machine}");
    let others = certificates("localhost");
    let unknown =
        refusal(&url(&server, "localhost", "verify-full", Some(&others.path().join("ca.pem")))).await;
    assert!(unknown.contains("not trusted here"), "{unknown}");
    let missing =
        refusal(&url(&server, "localhost", "verify-full", Some(Path::new("/nowhere/ca.pem")))).await;
    assert!(missing.contains("sslrootcert=/nowhere/ca.pem"), "{missing}");
}

#[tokio::test]
async fn less_is_looked_at_only_where_that_is_said() {
    let (server, files) = encrypted("elsewhere.example");
    let ca = files.path().join("ca.pem");
    opened(&url(&server, "localhost", "verify-ca", Some(&ca))).await;
    let others = certificates("localhost");
    let unknown = refusal(&url(&server, "localhost", "verify-ca", Some(&others.path().join("ca.pem")))).await;
    assert!(unknown.contains("not trusted here"), "{unknown}");
    opened(&url(&server, "localhost", "require", None)).await;
}

#[tokio::test]
async fn a_server_without_tls_is_not_spoken_to_where_it_must_have_it() {
    let server = Postgres::start().expect("a server");
    for mode in ["require", "verify-full"] {
        let plain = refusal(&url(&server, "localhost", mode, None)).await;
        assert!(plain.contains("does not support TLS"), "{plain}");
    }
}
