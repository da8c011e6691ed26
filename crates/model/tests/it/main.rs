//! The model, held to what the specification says of the rules.

mod generated;
mod rules;
mod scenarios;
