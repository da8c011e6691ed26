//! A command line that cannot be read: as clap tells it, or as one JSON object where `--json` was given.

use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::cli::{exit, failure::Failure};

/// Prints what is wrong with the command line. Help and the version come this way too.
pub fn refuse(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || !wants_json(std::env::args().skip(1)) {
        let _ = error.print();
        return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(exit::USAGE));
    }
    let failure = as_failure(error.kind(), &error.render().to_string());
    failure.print(true);
    ExitCode::from(failure.exit)
}

/// What stands behind `--` is another command's.
fn wants_json(args: impl Iterator<Item = String>) -> bool {
    args.take_while(|arg| arg != "--").any(|arg| arg == "--json")
}

/// The first paragraph says what is wrong, each line of the others what to do next.
fn as_failure(kind: ErrorKind, told: &str) -> Failure {
    if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure::new(exit::USAGE, "a command is missing").hint("see which there are: --help");
    }
    let told = told.strip_prefix("error: ").unwrap_or(told);
    let (wrong, rest) = told.split_once("\n\n").unwrap_or((told, ""));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let hints = rest.lines().map(words).filter(|line| !line.is_empty());
    hints.fold(Failure::new(exit::USAGE, words(wrong)), Failure::hint)
}
