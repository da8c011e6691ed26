//! The rules from outside, in one executable: linking one is quicker than linking one a file.

mod bounds;
mod codec;
mod judge;
mod remembered;
mod seen;
#[cfg(feature = "check")]
mod small_scope;
mod snapshots;
mod support;
