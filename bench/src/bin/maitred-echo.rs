//! The yardstick of the HTTP figures as a process: `maitred-echo ADDR`. With the allocator that the server has, so that
//! this is no difference between them.
#![forbid(unsafe_code)]

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), String> {
    let addr = std::env::args().nth(1).and_then(|addr| addr.parse().ok());
    let addr = addr.ok_or_else(|| "usage: maitred-echo ADDR".to_owned())?;
    maitred_bench::echo::serve(addr).map_err(|trouble| trouble.to_string())
}
