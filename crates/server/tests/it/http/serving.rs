//! From options to a running server, and the limits file while it runs.

use std::{fs, path::Path};

use clap::Parser;
use maitred::local::Node;
use maitred_api::{Answer, Call, Context};
use maitred_server::serve::{Limiting, ServeOptions, reload, start};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: ServeOptions,
}

fn options(line: &[&str]) -> ServeOptions {
    Line::parse_from(["serve", "--listen", "127.0.0.1:0"].iter().chain(line)).options
}

async fn capacities(node: &Node, namespace: &str) -> Vec<(String, u32)> {
    let context = Context { namespace: Some(namespace.to_owned()), ..Context::default() };
    match node.call(&context, Call::Limits { after: None, most: None, prefixes: Vec::new() }).await {
        Ok(Answer::Limits(page)) => {
            page.limits.into_iter().map(|limit| (limit.limit, limit.capacity)).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn named(name: &str, capacity: u32) -> (String, u32) {
    (name.to_owned(), capacity)
}

fn write(file: &Path, limits: &[(&str, &str)]) {
    let sections = limits
        .iter()
        .map(|(name, capacity)| format!("[limits.{name}]\ncapacity = {capacity}\nmax_hold = \"1m\"\n"));
    fs::write(file, sections.collect::<String>()).unwrap();
}

#[tokio::test]
async fn the_file_is_deployed_at_the_start_and_when_it_is_loaded_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("maitred.toml");
    write(&file, &[("a", "1"), ("b", "2")]);
    let running = start(&options(&["--config", file.to_str().unwrap()]), Limiting::File).await.unwrap();
    let node = &running.node;
    assert_eq!(capacities(node, "default").await, [named("a", 1), named("b", 2)]);

    write(&file, &[("a", "5")]);
    assert!(reload(node, Some(&file)).await);
    assert_eq!(capacities(node, "default").await, [named("a", 5)]);

    for bad in ["[limits.a]\ncapacity = 0\nmax_hold = \"1m\"\n", "[limits.a]\ncapcity = 1\n", "[limits", ""] {
        fs::write(&file, bad).unwrap();
        assert!(!reload(node, Some(&file)).await, "{bad}");
        assert_eq!(capacities(node, "default").await, [named("a", 5)], "{bad}");
    }
    fs::remove_file(&file).unwrap();
    assert!(!reload(node, Some(&file)).await);
    assert!(!reload(node, None).await);
    assert_eq!(capacities(node, "default").await, [named("a", 5)]);
}

#[tokio::test]
async fn a_bad_namespace_keeps_the_good_ones_from_being_deployed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("maitred.toml");
    write(&file, &[("a", "1")]);
    let running = start(&options(&["--config", file.to_str().unwrap()]), Limiting::File).await.unwrap();
    let two = "[limits.a]\ncapacity = 9\nmax_hold = \"1m\"\n[namespace.zoo.limits.z]\ncapacity = 1\nmax_hold = \"31d\"\n";
    fs::write(&file, two).unwrap();
    assert!(!reload(&running.node, Some(&file)).await);
    assert_eq!(capacities(&running.node, "default").await, [named("a", 1)]);
    fs::write(&file, two.replace("31d", "30d")).unwrap();
    assert!(reload(&running.node, Some(&file)).await);
    assert_eq!(capacities(&running.node, "default").await, [named("a", 9)]);
    assert_eq!(capacities(&running.node, "zoo").await, [named("z", 1)]);
}

#[tokio::test]
async fn what_keeps_a_server_from_starting() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    fs::write(&file, "[limits.voice]\ncapacity = 100001\nmax_hold = \"1m\"\n").unwrap();
    let cases: [(&[&str], &[&str]); 4] = [
        (&["--config", file.to_str().unwrap()], &["bad.toml", "`voice`", "capacity", "100000"]),
        (&["--config", "/nowhere/maitred.toml"], &["/nowhere/maitred.toml", "cannot be read"]),
        (&["--token-file", "/nowhere/tokens"], &["/nowhere/tokens", "cannot be read"]),
        (&["--listen", "0.0.0.0:0"], &["--token-file", "0.0.0.0:0"]),
    ];
    for (line, words) in cases {
        let line: Vec<&str> = ["serve"].into_iter().chain(line.iter().copied()).collect();
        let mut options = Line::parse_from(line).options;
        if options.listen.port() == 7654 {
            options.listen.set_port(0);
        }
        let error = start(&options, Limiting::File).await.err().expect("an error").to_string();
        for word in words {
            assert!(error.contains(word), "{word} is missing in: {error}");
        }
    }
}

#[tokio::test]
async fn a_taken_port_is_told_before_a_journal_is_opened() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut options = options(&["--data", data.to_str().unwrap()]);
    options.listen = taken.local_addr().unwrap();
    let error = start(&options, Limiting::File).await.err().expect("an error").to_string();
    assert!(error.contains("--listen"), "{error}");
    assert!(!data.exists());
}

#[tokio::test]
async fn a_server_for_playing_has_limits_to_play_with() {
    let running = start(&options(&[]), Limiting::FileOrDemo).await.unwrap();
    assert!(capacities(&running.node, "default").await.contains(&named("demo", 3)));
    let none = start(&options(&[]), Limiting::File).await.unwrap();
    assert!(capacities(&none.node, "default").await.is_empty());
}

#[test]
fn hosts_are_names_without_port() {
    let host = |name: &str| Line::try_parse_from(["serve", "--allowed-host", name]).is_ok();
    assert!(host("limits.example") && host("[fd00::7]") && host("10.0.0.7"));
    assert!(!host("limits.example:80") && !host("http://limits.example") && !host("*") && !host(""));
}
