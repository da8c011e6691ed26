//! Permits for one process, and the plan that picks how many.
//!
//! * [`permits`]: a fair limit on how many calls run at once, with guards that cannot leak, the signals that tell
//!   whether the limit is right, and a fan-out over any number of items.
//! * [`plan`]: from service time, ceiling and timeout to a table of permits against goodput, and the N to choose.
//!
//! Both stand alone: no server, no folder, no configuration. Programs reach them as `maitred::permits` and
//! `maitred::plan`.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod permits;
pub mod plan;
