use std::{
    hash::{BuildHasher, Hasher, RandomState},
    net::TcpListener,
};

/// A port to listen on, by chance: two calls before either is used give two. Not one of those that the kernel gives to
/// connections going out: while a server is down, a caller that tries again and again could be given its port, and the
/// server could not come back.
pub fn free_port() -> Result<u16, String> {
    for _ in 0..1_000 {
        let chance = RandomState::new().build_hasher().finish();
        let port = 10_000 + (chance % 20_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Err("no free port on 127.0.0.1 between 10000 and 29999 was found".to_owned())
}
