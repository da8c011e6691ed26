//! The OpenAPI document in the repository is the one the routes make.

use std::{fs, path::PathBuf};

use maitred_api::Reason;
use serde_json::Value;

use super::support::rig;

fn committed() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../openapi/v1.json")
}

#[test]
fn the_committed_document_is_fresh() {
    let text = fs::read_to_string(committed()).unwrap_or_default();
    assert!(
        text == maitred_server::http::openapi_json(),
        "openapi/v1.json is not what the routes make; write it anew: maitred openapi > openapi/v1.json"
    );
}

#[test]
fn every_route_names_its_answers_and_every_reference_is_there() {
    let api: Value = serde_json::from_str(&maitred_server::http::openapi_json()).unwrap();
    let paths = api["paths"].as_object().unwrap();
    assert!(paths.len() >= 20, "{}", paths.len());
    for (path, item) in paths {
        for (method, operation) in item.as_object().unwrap() {
            assert!(operation["responses"]["200"].is_object(), "{method} {path}");
            assert!(operation["summary"].is_string(), "{method} {path} has no summary");
            let is_call = path.starts_with("/v1/");
            assert_eq!(
                operation["responses"]["4XX"].is_object(),
                is_call || path == "/metrics" || path == "/openapi.json"
            );
        }
    }
    let mut references = Vec::new();
    collect(&api, &mut references);
    assert!(references.len() > 40);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(api.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

fn collect<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|value| collect(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn a_server_shows_it() {
    let rig = rig().await;
    assert_eq!(rig.get("/openapi.json").await.body, maitred_server::http::openapi_json());
}

#[test]
fn reasons_are_told_as_they_are_sent() {
    let api: Value = serde_json::from_str(&maitred_server::http::openapi_json()).unwrap();
    let told = api["components"]["schemas"]["Reason"]["enum"].as_array().unwrap();
    let sent: Vec<Value> = Reason::ALL.iter().map(|reason| serde_json::to_value(reason).unwrap()).collect();
    assert_eq!(*told, sent);
}
