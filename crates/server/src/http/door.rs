//! The way of a request in and of its answer out. Plain calls around the router, no layers within it: a layer costs
//! each request a copy of everything below it.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Router,
    extract::Request,
    response::{IntoResponse, Response},
};
use tower::Service;
use tracing::Instrument;

use super::{
    App,
    finish::{Turn, answered},
    guard::{self, OwnAddress},
    problem::Failure,
    router::{no_such_route, router},
    rules::{Route, Routes},
};

#[derive(Clone)]
pub struct Door(Arc<Inner>);

struct Inner {
    app: App,
    router: Router,
    routes: Routes,
    /// What a path that is no route is counted as.
    unmatched: Arc<str>,
}

impl Door {
    pub fn new(app: App) -> Self {
        let (router, routes) = router(Arc::clone(&app));
        Self(Arc::new(Inner { app, router, routes, unmatched: "unmatched".into() }))
    }

    /// Answers a request that came in on this address of the server.
    pub async fn pass(&self, own: OwnAddress, request: Request) -> Response {
        let Inner { app, routes, unmatched, .. } = &*self.0;
        let route = routes.find(request.uri().path());
        let turn = Turn::begin(app, route.map_or(unmatched, |route| &route.template), &request);
        let response = answered(self.admitted(own, route, request)).instrument(turn.span()).await;
        turn.end(response)
    }

    async fn admitted(&self, own: OwnAddress, route: Option<&Route>, mut request: Request) -> Response {
        if let Err(failure) = self.admit(own, route, &mut request) {
            return failure.into_response();
        }
        let response: Result<Response, Infallible> = self.0.router.clone().call(request).await;
        response.unwrap_or_else(|never| match never {})
    }

    /// Whoever may not come in does not hear what there is.
    fn admit(&self, own: OwnAddress, route: Option<&Route>, request: &mut Request) -> Result<(), Failure> {
        let grant = guard::check(&self.0.app, own, request)?;
        route.ok_or_else(no_such_route)?.check(&grant, request)?;
        request.extensions_mut().insert(grant);
        Ok(())
    }
}
