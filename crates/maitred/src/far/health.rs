//! Whether a server takes calls.

use maitred_api::{Context, Problem, ReadyAnswer};
use reqwest::Method;

use super::{Far, route::Route};

impl Far {
    /// What the server says of itself: also one that is not ready answers, with the reasons.
    ///
    /// Errors as any read: `unavailable` where no server was reached.
    pub async fn ready(&self) -> Result<ReadyAnswer, Problem> {
        let mut url = Route::new(Method::GET, "").url(&self.base);
        url.set_path(&format!("{}/readyz", self.base.path().trim_end_matches('/')));
        let request = self.http.get(url).headers(self.headers(&Context::default())?);
        let response = request.timeout(self.options.deadline).send().await;
        let response = response.map_err(|error| self.lost(&error, false))?;
        response.json().await.map_err(|_| self.not_an_answer(false))
    }
}
