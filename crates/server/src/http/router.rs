//! Every route once: the same list makes the router and the OpenAPI document, so they cannot drift.

use std::sync::Arc;

use axum::{Router, http::Method, middleware};
use maitred_api::{LiveEvent, LiveSnapshot, Problem, Reason};
use utoipa::{
    Modify, OpenApi,
    openapi::security::{Http, HttpAuthScheme, SecurityScheme},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    App, admit, batch, clock, events,
    finish::finish,
    guard::guard,
    health, keys,
    known::{known, known_queries},
    limits, looking_back,
    problem::Failure,
    runs, slots,
};

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

fn always() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(limits::list_limits, limits::deploy_limits))
        .routes(routes!(limits::show_limit, limits::declare_limit))
        .routes(routes!(limits::set_capacity, limits::reset_capacity))
        .routes(routes!(limits::set_max_hold, limits::reset_max_hold))
        .routes(routes!(limits::pause_limit, limits::resume_limit))
        .routes(routes!(limits::list_limit_slots))
        .routes(routes!(looking_back::list_limit_ends))
        .routes(routes!(slots::acquire_slot))
        .routes(routes!(slots::show_slot))
        .routes(routes!(slots::confirm_slot))
        .routes(routes!(slots::release_slot))
        .routes(routes!(slots::leave_slot))
        .routes(routes!(looking_back::explain_slot))
        .routes(routes!(runs::list_runs))
        .routes(routes!(runs::show_run))
        .routes(routes!(runs::end_run))
        .routes(routes!(admit::admit))
        .routes(routes!(keys::list_keys, keys::reset_rate))
        .routes(routes!(looking_back::list_ends))
        .routes(routes!(looking_back::list_acts))
        .routes(routes!(looking_back::explain))
        .routes(routes!(events::stream_events))
        .routes(routes!(batch::batch))
        .routes(routes!(health::live))
        .routes(routes!(health::healthy))
        .routes(routes!(health::ready))
        .routes(routes!(health::metrics))
        .routes(routes!(health::openapi))
}

fn with_clock() -> OpenApiRouter<App> {
    always().routes(routes!(clock::show_clock, clock::move_clock))
}

/// The whole service, as it is put behind a listener.
pub fn router(app: App) -> Router {
    let routes = if app.manual_clock { with_clock() } else { always() };
    let (router, api) = routes.split_for_parts();
    router
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(known_queries(&api), known))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guard))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), finish))
        .with_state(app)
}

/// The OpenAPI document of every route, also of those that only some servers have.
pub fn openapi_json() -> String {
    let api = with_clock().into_openapi();
    api.to_pretty_json().unwrap_or_default() + "\n"
}

async fn no_such_route() -> Failure {
    Failure::new(Reason::NotFound, "there is no such route; all routes are under /v1, see /openapi.json")
}

async fn no_such_method(method: Method) -> Failure {
    let known = matches!(method, Method::GET | Method::PUT | Method::POST | Method::DELETE | Method::OPTIONS);
    let shown = if known { method.as_str() } else { "this method" };
    Failure::new(Reason::MethodNotAllowed, format!("{shown} is not one of this route's methods; see Allow"))
}
