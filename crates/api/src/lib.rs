//! The wire: what is asked and what is answered, as JSON.
//!
//! A [`Call`] is one question, a [`Problem`] the answer that it could not be done. The HTTP routes, the items of a
//! batch, the library's two clients and the command line all speak these types; `openapi/v1.json` is made from
//! them. Times are milliseconds since 1970-01-01 UTC (`…_at`), durations milliseconds (`…_ms`) unless a field
//! says otherwise. Decisions about keys carry the names of the seed's API (`retryAfterSeconds`), the rest is in
//! snake case.
#![forbid(unsafe_code)]

mod admission;
mod call;
mod clock;
mod explain;
mod given;
mod health;
mod history;
mod installation;
mod keys;
mod limits;
mod live;
mod nodes;
mod overview;
mod problem;
mod rate_fields;
mod runs;
mod slots;

pub use admission::*;
pub use call::*;
pub use clock::*;
pub use explain::*;
pub use given::*;
pub use health::*;
pub use history::*;
pub use installation::*;
pub use keys::*;
pub use limits::*;
pub use live::*;
pub use nodes::*;
pub use overview::*;
pub use problem::*;
pub use rate_fields::*;
pub use runs::*;
pub use slots::*;
