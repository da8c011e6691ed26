//! The binary under somebody who speaks as systemd does: a socket that hears READY, WATCHDOG and STOPPING.

use std::{
    os::unix::net::UnixDatagram,
    time::{Duration, Instant},
};

use super::process::start_in;

struct Supervisor {
    socket: UnixDatagram,
    folder: tempfile::TempDir,
}

impl Supervisor {
    fn new() -> Supervisor {
        let folder = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Supervisor { socket, folder }
    }

    fn hears(&self) -> String {
        let mut bytes = [0; 1024];
        let length = self.socket.recv(&mut bytes).expect("a word within 20 s");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }
}

#[test]
fn it_says_when_it_is_ready_that_it_is_alive_and_when_it_stops() {
    let supervisor = Supervisor::new();
    let path = supervisor.folder.path().join("notify");
    let environment = [("NOTIFY_SOCKET", path.to_str().unwrap()), ("WATCHDOG_USEC", "400000")];
    let mut process = start_in(supervisor.folder.path(), &["dev"], &environment);
    let ready = supervisor.hears();
    assert!(
        ready.contains("READY=1") && ready.contains(&format!("STATUS=listens on http://{}", process.addr)),
        "{ready}"
    );

    // Twice in each interval of 400 ms: ten times take 2 s.
    let began = Instant::now();
    for _ in 0..10 {
        assert_eq!(supervisor.hears().trim_end(), "WATCHDOG=1");
    }
    let took = began.elapsed();
    assert!((Duration::from_millis(1_500)..Duration::from_secs(10)).contains(&took), "{took:?}");

    process.signal("TERM");
    let last = std::iter::repeat_with(|| supervisor.hears()).find(|word| word.trim_end() != "WATCHDOG=1");
    assert_eq!(last.as_deref().map(str::trim_end), Some("STOPPING=1"));
    assert!(process.end().0.success());
}

#[test]
fn without_a_watchdog_it_only_says_that_it_is_ready() {
    let supervisor = Supervisor::new();
    let path = supervisor.folder.path().join("notify");
    let mut process =
        start_in(supervisor.folder.path(), &["dev"], &[("NOTIFY_SOCKET", path.to_str().unwrap())]);
    assert!(supervisor.hears().contains("READY=1"));
    process.signal("TERM");
    assert_eq!(supervisor.hears().trim_end(), "STOPPING=1");
    process.end();
}
