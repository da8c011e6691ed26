//! Limits in programs of workflows, over kills and lost words.

mod common;
mod kill;
mod programs;
mod readme;
mod slots;
mod trouble;
