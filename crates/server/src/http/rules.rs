//! What the document says of a route holds: its role, and which query parameters it has. What the document does not
//! have is for nobody but admins, and has no parameters.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    extract::{MatchedPath, Request, State},
    http::Method,
    middleware::Next,
    response::{IntoResponse, Response},
};
use maitred_api::{Problem, Reason};
use utoipa::openapi::{
    OpenApi, PathItem, RefOr,
    path::{Operation, ParameterIn},
};

use super::{allowed::has_role, problem::Failure};
use crate::token::{Grant, Role};

/// Where an operation says the least role it needs.
pub const ROLE: &str = "x-role";

/// What holds for one route.
pub struct Rule {
    /// None where nobody needs one.
    role: Option<Role>,
    queries: Vec<String>,
}

/// By path template and method.
pub type Rules = Arc<BTreeMap<(String, Method), Rule>>;

pub fn rules(api: &OpenApi) -> Rules {
    let all = api.paths.paths.iter().flat_map(|(path, item)| {
        operations(item).map(move |(method, operation)| {
            let rule = Rule { role: role(operation), queries: query_names(operation) };
            ((path.clone(), method), rule)
        })
    });
    Arc::new(all.collect())
}

fn role(operation: &Operation) -> Option<Role> {
    let said = operation.extensions.as_ref().and_then(|extensions| extensions.get(ROLE));
    match said.and_then(|role| role.as_str()) {
        Some("none") => None,
        Some(role) => Some(Role::parse(role).unwrap_or(Role::Admin)),
        None => Some(Role::Admin),
    }
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

pub async fn obeyed(State(rules): State<Rules>, request: Request, next: Next) -> Response {
    match check(&rules, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => Failure::from(problem).into_response(),
    }
}

fn check(rules: &Rules, request: &Request) -> Result<(), Problem> {
    let Some(route) = request.extensions().get::<MatchedPath>() else {
        return Ok(());
    };
    // Where a route has GET, HEAD is the same without the body.
    let method = if request.method() == Method::HEAD { Method::GET } else { request.method().clone() };
    let Some(rule) = rules.get(&(route.as_str().to_owned(), method)) else {
        return Ok(()); // not a method of this route, which the router says
    };
    if let (Some(role), Some(grant)) = (rule.role, request.extensions().get::<Arc<Grant>>()) {
        has_role(grant, role)?;
    }
    known_queries(&rule.queries, request.uri().query().unwrap_or_default())
}

fn known_queries(names: &[String], query: &str) -> Result<(), Problem> {
    let wrong = |message: String| Err(Problem::new(Reason::InvalidArgument, message));
    let mut seen: Vec<&str> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let name = pair.split('=').next().unwrap_or_default();
        if !names.iter().any(|known| known == name) {
            return wrong(format!("the query has an unknown parameter; allowed here: {}", listed(names)));
        }
        if seen.contains(&name) {
            return wrong(format!("the query parameter {name} is given twice; give it once"));
        }
        seen.push(name);
    }
    Ok(())
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
