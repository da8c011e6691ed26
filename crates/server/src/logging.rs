//! What the server says while it runs: text on a terminal, JSON lines otherwise, on stderr.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::{EnvFilter, filter::ParseError};

/// Starts logging at a level or by a filter such as `info,maitred=debug`. Only the first start counts.
pub fn start(filter: &str) -> Result<(), ParseError> {
    let filter = EnvFilter::builder().parse(filter)?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr);
    let is_terminal = stderr().is_terminal();
    // Fails where a log runs already, as in tests.
    let _ = match is_terminal {
        true => builder.with_ansi(true).with_target(false).try_init(),
        false => builder.json().flatten_event(true).try_init(),
    };
    Ok(())
}
