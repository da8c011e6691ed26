fn main() -> std::process::ExitCode {
    maitred_server::cli::main()
}
