use std::net::TcpListener;

/// A port to listen on. Not one of those that the kernel gives to connections going out: while a server is down, a
/// caller that tries again and again could be given its port, and the server could not come back.
pub fn free_port() -> Result<u16, String> {
    let first = std::process::id() % 10_000;
    let mut ports = (0..1_000).map(|step| 10_000 + ((first + step * 7) % 10_000) as u16);
    let free = ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.ok_or_else(|| "no port between 10000 and 19999 is free".to_owned())
}
