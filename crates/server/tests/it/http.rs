//! The HTTP API over real sockets, against a server in this process. The rules have their own tests; here is the
//! wiring, and what a bad or unlucky caller gets.

mod admission;
mod bad_input;
mod batches;
mod canaries;
mod clocks;
mod connections;
mod document;
mod guards;
mod hang_ups;
mod health;
mod hostile;
mod looking_back;
mod many_streams;
mod overview;
mod process;
mod role_matrix;
mod roles;
mod routes;
mod serving;
mod slow_peers;
mod stopping;
mod streams;
mod studio;
mod supervised;
pub mod support;
mod tls;
mod token_ends;
mod traces;
