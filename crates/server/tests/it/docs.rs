//! The documents are true: their snippets run, their references are as generated, what they count on is there.
//!
//! What is generated is written anew by `MAITRED_DOCS=write cargo test -p maitred-server --test it`.

mod book;
mod day_one;
mod measures;
pub mod pages;
mod reference;
mod server;
mod snippets;
mod tables;
