//! Callbacks against an app that answers as it is told to: who is woken, what ends, and what does not.

mod app;
mod delivery;
mod guards;
mod https;
mod states;
