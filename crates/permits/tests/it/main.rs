//! Permits as a program uses them.

mod acquire;
mod fan_out;
mod leak;
mod nested;
mod plan;
mod resize;
mod signals;
mod stress;
