/// A call is many small pieces of memory that live for a moment and often end on another thread than they began on; the
/// system's allocator took a fifth of the server's time for them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    maitred_server::cli::main()
}
