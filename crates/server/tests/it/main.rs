//! The server and its command line, as their users see them.

mod callbacks;
mod cli;
mod docs;
mod http;
mod scenarios;
