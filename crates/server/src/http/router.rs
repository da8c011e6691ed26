//! Every route once: the same list makes the router and the OpenAPI document, so they cannot drift.

use axum::{Router, http::Method};
use maitred_api::{LiveEvent, LiveSnapshot, Problem, Reason};
use utoipa::{
    Modify, OpenApi,
    openapi::{
        extensions::Extensions,
        security::{Http, HttpAuthScheme, SecurityScheme},
    },
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    App, admit, batch, clock, events, health, keys, limits, looking_back, overview,
    problem::Failure,
    rules::{ROLE, Routes as Rules},
    runs, slots, studio,
};
use crate::token::Role;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "maitred",
        description = "A durable limiter: concurrency limits with queues, rates, and places in flight. \
            Times (`…_at`) are milliseconds since 1970-01-01 UTC, durations (`…_ms`) milliseconds. Every answer \
            carries the `revision` at which it is true.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    components(schemas(Problem, LiveEvent, LiveSnapshot)),
    security((), ("token" = [])),
    modifiers(&Token)
)]
struct Document;

struct Token;

impl Modify for Token {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let components = api.components.get_or_insert_default();
        let bearer = Http::builder()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("Where the server was started with a token file."));
        components.add_security_scheme("token", SecurityScheme::Http(bearer.build()));
    }
}

type Routes = OpenApiRouter<App>;

/// Every route with the least role it needs.
fn always() -> Routes {
    OpenApiRouter::with_openapi(Document::openapi())
        .merge(needing(None, probes()))
        .merge(needing(Some(Role::Read), looks()))
        .merge(needing(Some(Role::Operate), operations()))
        .merge(needing(Some(Role::Admin), administration()))
}

fn with_clock() -> Routes {
    always()
        .merge(needing(Some(Role::Read), Routes::new().routes(routes!(clock::show_clock))))
        .merge(needing(Some(Role::Admin), Routes::new().routes(routes!(clock::move_clock))))
}

fn probes() -> Routes {
    Routes::new()
        .routes(routes!(health::live))
        .routes(routes!(health::healthy))
        .routes(routes!(health::ready))
}

fn looks() -> Routes {
    Routes::new()
        .routes(routes!(limits::list_limits))
        .routes(routes!(limits::show_limit))
        .routes(routes!(overview::overview))
        .routes(routes!(overview::limit_series))
        .routes(routes!(overview::preview_change))
        .routes(routes!(overview::list_namespaces))
        .routes(routes!(overview::list_nodes))
        .routes(routes!(overview::whoami))
        .routes(routes!(limits::list_limit_slots))
        .routes(routes!(slots::show_slot))
        .routes(routes!(runs::list_runs))
        .routes(routes!(runs::show_run))
        .routes(routes!(keys::list_keys))
        .routes(routes!(looking_back::list_ends))
        .routes(routes!(looking_back::list_limit_ends))
        .routes(routes!(looking_back::list_acts))
        .routes(routes!(looking_back::explain))
        .routes(routes!(looking_back::explain_slot))
        .routes(routes!(events::stream_events))
        // Each of its items needs what it needs.
        .routes(routes!(batch::batch))
        .routes(routes!(health::metrics))
        .routes(routes!(health::openapi))
}

fn operations() -> Routes {
    Routes::new()
        .routes(routes!(limits::set_capacity, limits::reset_capacity))
        .routes(routes!(limits::set_max_hold, limits::reset_max_hold))
        .routes(routes!(limits::pause_limit, limits::resume_limit))
        .routes(routes!(slots::acquire_slot))
        .routes(routes!(slots::confirm_slot))
        .routes(routes!(slots::release_slot))
        .routes(routes!(slots::leave_slot))
        .routes(routes!(runs::end_run))
        .routes(routes!(runs::cancel_run))
        .routes(routes!(runs::start_run))
        .routes(routes!(admit::admit))
}

fn administration() -> Routes {
    Routes::new()
        .routes(routes!(limits::deploy_limits))
        .routes(routes!(limits::declare_limit))
        .routes(routes!(keys::reset_rate))
}

/// The routes, each saying in the document which role it needs: that is where the rules of a request come from.
fn needing(role: Option<Role>, mut routes: Routes) -> Routes {
    let name = role.map_or("none", Role::as_str);
    for item in routes.get_openapi_mut().paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            operation.extensions = Some(Extensions::builder().add(ROLE, name).build());
        }
    }
    routes
}

/// The handlers by path and method, and what the document says of each.
pub fn router(app: App) -> (Router, Rules) {
    let routes = if app.manual_clock { with_clock() } else { always() };
    let (router, api) = routes.split_for_parts();
    let router = router.merge(studio::routes()).method_not_allowed_fallback(no_such_method).with_state(app);
    (router, Rules::of(&api))
}

/// The OpenAPI document of every route, also of those that only some servers have.
pub fn openapi_json() -> String {
    let api = with_clock().into_openapi();
    api.to_pretty_json().unwrap_or_default() + "\n"
}

pub fn no_such_route() -> Failure {
    Failure::new(
        Reason::NotFound,
        "there is no such route; the web UI is at /studio, all others are under /v1, see /openapi.json",
    )
}

async fn no_such_method(method: Method) -> Failure {
    let known = matches!(method, Method::GET | Method::PUT | Method::POST | Method::DELETE | Method::OPTIONS);
    let shown = if known { method.as_str() } else { "this method" };
    Failure::new(Reason::MethodNotAllowed, format!("{shown} is not one of this route's methods; see Allow"))
}
