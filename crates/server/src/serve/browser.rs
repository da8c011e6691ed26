//! Opens a page in the browser of whoever sits here.

use std::{
    io,
    process::{Command, Stdio},
};

const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Does not wait, and a machine without a browser is no trouble: the address stands in the banner.
pub fn open(url: &str) {
    if let Err(error) = spawn(OPENER, url) {
        tracing::warn!(url, %error, "no browser could be opened ({OPENER}); open the page by hand");
    }
}

fn spawn(opener: &str, url: &str) -> io::Result<()> {
    let mut command = Command::new(opener);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    // Somebody has to take note of its end.
    std::thread::spawn(move || child.wait());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::spawn;

    #[test]
    fn it_is_told_apart_whether_there_is_a_browser() {
        assert!(spawn("true", "http://127.0.0.1:7654/studio").is_ok());
        assert!(spawn("no-such-opener", "http://127.0.0.1:7654/studio").is_err());
    }
}
