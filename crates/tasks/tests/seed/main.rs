//! Every sentence of the specification of rate limits is a test here; the table in README.md says which.
#![forbid(unsafe_code)]

mod common;
mod concurrency;
mod degraded;
mod enforce;
mod http;
mod options;
mod quotes;
mod rates;
mod readme;
mod sub_tasks;
mod successes;
mod things_to_know;
