//! What the document says of a route holds: its role, and which query parameters it has. What the document does not
//! say is for nobody but admins, and has no parameters; a path that it does not have is not asked for further.

use std::sync::Arc;

use axum::{extract::Request, http::Method};
use maitred_api::{Problem, Reason};
use utoipa::openapi::{
    OpenApi, PathItem, RefOr,
    path::{Operation, ParameterIn},
};

use super::{allowed::has_role, studio};
use crate::token::{Grant, Role};

/// Where an operation says the least role it needs.
pub const ROLE: &str = "x-role";

/// One path, and what holds for each of its methods.
pub struct Route {
    /// With the names of its parameters, as the document has it.
    pub template: Arc<str>,
    /// A method that is not here is one that the router refuses.
    rules: Vec<(Method, Rule)>,
}

struct Rule {
    /// None where nobody needs one.
    role: Option<Role>,
    queries: Vec<String>,
}

/// Every path there is, matched as the router matches it.
pub struct Routes(matchit::Router<Route>);

impl Routes {
    pub fn of(api: &OpenApi) -> Self {
        let mut routes = matchit::Router::new();
        let documented = api.paths.paths.iter().map(|(path, item)| (path.as_str(), rules(item)));
        // Files, which everybody may have.
        let files = studio::PATHS.map(|path| (path, Vec::new()));
        for (path, rules) in documented.chain(files) {
            let route = Route { template: path.into(), rules };
            routes.insert(path, route).expect("the router takes the same paths");
        }
        Self(routes)
    }

    pub fn find(&self, path: &str) -> Option<&Route> {
        self.0.at(path).ok().map(|found| found.value)
    }
}

fn rules(item: &PathItem) -> Vec<(Method, Rule)> {
    let rule =
        |(method, operation)| (method, Rule { role: role(operation), queries: query_names(operation) });
    operations(item).map(rule).collect()
}

impl Route {
    pub fn check(&self, grant: &Grant, request: &Request) -> Result<(), Problem> {
        // Where a route has GET, HEAD is the same without the body.
        let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
        let Some((_, rule)) = self.rules.iter().find(|(known, _)| known == method) else {
            return Ok(()); // not a method of this route, which the router says
        };
        if let Some(role) = rule.role {
            has_role(grant, role)?;
        }
        known_queries(&rule.queries, request.uri().query().unwrap_or_default())
    }
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
