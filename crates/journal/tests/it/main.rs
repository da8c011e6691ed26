//! Journals from outside: in real folders, on real servers of PostgreSQL and NATS, over kills.

mod conformance;
mod copying;
mod faulty;
mod folder;
mod format_1;
mod jetstream;
mod jetstream_access;
mod jetstream_chain;
mod kill;
mod postgres;
mod postgres_access;
mod support;
