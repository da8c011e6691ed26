//! `maitred completions` and `maitred man`: made from the command line itself, so they cannot say anything else.

use std::{io, path::PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

use crate::cli::{complete, exit, failure::Failure, output};

#[derive(Args, Debug)]
#[command(after_help = COMPLETIONS_HELP)]
pub struct CompletionsArgs {
    /// The shell to write for
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Args, Debug)]
#[command(after_help = MAN_HELP)]
pub struct ManArgs {
    /// Write a page for each command into this folder, which is made if it is missing [default: the first page, to stdout]
    folder: Option<PathBuf>,
}

const COMPLETIONS_HELP: &str = "\
Examples:
  maitred completions bash > ~/.local/share/bash-completion/completions/maitred
  maitred completions zsh > ~/.zfunc/_maitred
  maitred completions fish > ~/.config/fish/completions/maitred.fish

The script asks this binary at each tab, and that the server: names of limits are offered as they
are now, if it answers within 300 ms.";

const MAN_HELP: &str = "\
Examples:
  maitred man | man -l -
  maitred man ~/.local/share/man/man1";

pub fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let shell = args.shell.to_string();
    let script = complete::script(&shell);
    output::raw(&script.ok_or_else(|| Failure::new(exit::FAILED, format!("no completions for {shell}")))?);
    Ok(exit::OK)
}

pub fn man(args: &ManArgs, command: Command) -> Result<u8, Failure> {
    let cannot = |error: io::Error| {
        let place = args.folder.as_ref().map_or("stdout".into(), |folder| folder.display().to_string());
        Failure::new(exit::FAILED, format!("the pages cannot be written to {place}: {error}"))
    };
    match &args.folder {
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(cannot)?;
            clap_mangen::generate_to(command, folder).map_err(cannot)?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page).map_err(cannot)?;
            output::raw(&page);
        }
    }
    Ok(exit::OK)
}
