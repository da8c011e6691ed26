//! Query parameters that a route does not have are refused, by the same document that describes the route.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    extract::{MatchedPath, Request, State},
    http::Method,
    middleware::Next,
    response::{IntoResponse, Response},
};
use maitred_api::Reason;
use utoipa::openapi::{
    OpenApi, PathItem, RefOr,
    path::{Operation, ParameterIn},
};

use super::problem::Failure;

/// Per path template and method, the names of its query parameters.
pub type KnownQueries = Arc<BTreeMap<(String, Method), Vec<String>>>;

pub fn known_queries(api: &OpenApi) -> KnownQueries {
    let all = api.paths.paths.iter().flat_map(|(path, item)| {
        operations(item).map(move |(method, operation)| ((path.clone(), method), query_names(operation)))
    });
    Arc::new(all.collect())
}

fn operations(item: &PathItem) -> impl Iterator<Item = (Method, &Operation)> {
    let methods = [
        (Method::GET, &item.get),
        (Method::PUT, &item.put),
        (Method::POST, &item.post),
        (Method::DELETE, &item.delete),
    ];
    methods.into_iter().filter_map(|(method, operation)| Some((method, operation.as_ref()?)))
}

fn query_names(operation: &Operation) -> Vec<String> {
    let parameters = operation.parameters.iter().flatten().filter_map(|parameter| match parameter {
        RefOr::T(parameter) => Some(parameter),
        RefOr::Ref(_) => None,
    });
    parameters
        .filter(|parameter| parameter.parameter_in == ParameterIn::Query)
        .map(|p| p.name.clone())
        .collect()
}

pub async fn known(State(queries): State<KnownQueries>, request: Request, next: Next) -> Response {
    match check(&queries, &request) {
        Ok(()) => next.run(request).await,
        Err(message) => Failure::new(Reason::InvalidArgument, message).into_response(),
    }
}

fn check(queries: &KnownQueries, request: &Request) -> Result<(), String> {
    let Some(route) = request.extensions().get::<MatchedPath>() else {
        return Ok(());
    };
    let route = (route.as_str().to_owned(), request.method().clone());
    let names = queries.get(&route).map(Vec::as_slice).unwrap_or_default();
    let mut seen: Vec<&str> = Vec::new();
    for pair in request.uri().query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let name = pair.split('=').next().unwrap_or_default();
        if !names.iter().any(|known| known == name) {
            return Err(format!("the query has an unknown parameter; allowed here: {}", listed(names)));
        }
        if seen.contains(&name) {
            return Err(format!("the query parameter {name} is given twice; give it once"));
        }
        seen.push(name);
    }
    Ok(())
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
