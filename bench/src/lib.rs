//! What maitred is measured with: the figures, a load generator, the yardsticks and the rivals. `README.md` says how.
//!
//! ```text
//! families/   one file a family of figures: what is measured, what is expected, what must have happened
//! load/       the load generator: the same one for every HTTP server
//! rivals/     what maitred is compared with, as real processes: installed, started, checked, stopped
//! pairs       A B A B, ratios inside a pair, median and spread
//! report      one line a figure
//! ```
#![forbid(unsafe_code)]

pub mod commands;
pub mod echo;
pub mod families;
pub mod figure;
pub mod ids;
pub mod load;
pub mod machine;
pub mod pairs;
pub mod process;
pub mod report;
pub mod results;
pub mod rivals;
pub mod scene;
