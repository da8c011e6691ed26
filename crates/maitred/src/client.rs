//! One API, near and far.

use maitred_api::{Answer, BatchItem, Call, Context, Problem};

use crate::{far::Far, local::Node};

/// A limiter: in this process, or a server over a URL. Cheap to clone.
#[derive(Clone)]
pub enum Client {
    Near(Node),
    Far(Far),
}

impl Client {
    /// One call; see [`Node::call`] for what waits, and what dropping the future means.
    pub async fn call(&self, context: &Context, call: Call) -> Result<Answer, Problem> {
        match self {
            Client::Near(node) => node.call(context, call).await,
            Client::Far(far) => far.call(context, call).await,
        }
    }

    /// The items in order, each with its own outcome. Nothing waits.
    pub async fn batch(&self, context: &Context, items: Vec<BatchItem>) -> Vec<Result<Answer, Problem>> {
        match self {
            Client::Near(node) => node.batch(context, items).await,
            Client::Far(far) => far.batch(context, items).await,
        }
    }

    /// Moves a manual clock and answers the time that now is; refused where the clock is not manual.
    pub async fn advance_to(&self, at_ms: u64) -> Result<u64, Problem> {
        match self {
            Client::Near(node) => node.advance_to(at_ms).await,
            Client::Far(far) => far.advance_to(at_ms).await,
        }
    }

    /// The limiter's time in milliseconds since 1970.
    pub async fn now(&self) -> Result<u64, Problem> {
        match self {
            Client::Near(node) => Ok(node.now().await),
            Client::Far(far) => far.now().await,
        }
    }
}
