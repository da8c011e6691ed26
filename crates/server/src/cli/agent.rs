//! `maitred agent …`: which server the commands talk to when no flag says.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use maitred::{Far, FarOptions};
use serde_json::json;

use crate::cli::{
    agents::{Agent, Agents},
    complete, exit,
    failure::Failure,
    output::{self, Output, Sheet},
    session::{DEFAULT_URL, read_token},
    text, token,
};

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct AgentArgs {
    #[command(subcommand)]
    verb: AgentVerb,
    /// Print JSON; errors as JSON on stderr
    #[arg(long, global = true, help_heading = "Output")]
    pub json: bool,
    /// Print the names of columns in a pipe too
    #[arg(long, global = true, help_heading = "Output")]
    header: bool,
}

#[derive(Subcommand, Debug)]
enum AgentVerb {
    /// Add an agent, or change it
    #[command(after_help = ADD_HELP)]
    Add {
        /// Its name here: 1 to 64 of A-Z a-z 0-9 . _ -
        #[arg(value_parser = token::name)]
        name: String,
        /// Its server
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// Its namespace there
        #[arg(long, value_name = "ID", value_parser = namespace)]
        namespace: Option<String>,
        /// A file with the token to carry
        #[arg(long, value_name = "FILE")]
        token_file: Option<PathBuf>,
        /// A PEM file with roots to believe beside the platform's
        #[arg(long, value_name = "FILE")]
        ca: Option<PathBuf>,
    },
    /// Talk to this one from now on
    #[command(after_help = USE_HELP)]
    Use {
        /// Its name here
        #[arg(add = complete::agents())]
        name: String,
    },
    /// Every agent; the one in use is marked
    #[command(after_help = LS_HELP)]
    Ls,
    /// Forget an agent; its server knows nothing of it
    #[command(after_help = RM_HELP)]
    Rm {
        /// Its name here
        #[arg(add = complete::agents())]
        name: String,
    },
}

const HELP: &str = "\
Examples:
  maitred agent add prod --url http://limits.example:7654 --token-file ~/.config/maitred/prod.token
  maitred agent use prod
  maitred agent ls

A flag wins over the environment, the environment over the agent in use, that over the defaults.
They stand in agents.toml in ~/.config/maitred, or in $XDG_CONFIG_HOME/maitred.";

const ADD_HELP: &str = "\
Examples:
  maitred agent add prod --url http://limits.example:7654 --token-file prod.token
  maitred agent add staging --url http://limits.example:7654 --namespace staging

The first one is in use at once. The files must be there; whether the server answers is not asked.";

const USE_HELP: &str = "\
Examples:
  maitred agent use staging
  maitred agent ls                        # the one in use is marked";

const LS_HELP: &str = "\
Examples:
  maitred agent ls
  maitred agent ls --json

In a pipe, tab-separated: in use (yes or no), name, url, namespace, token file, file of roots.";

const RM_HELP: &str = "\
Examples:
  maitred agent rm staging
  maitred agent use prod                  # where the one in use was forgotten";

pub fn run(args: AgentArgs) -> Result<u8, Failure> {
    let out = Output::new(args.json, args.header);
    let mut agents = Agents::read()?;
    match args.verb {
        AgentVerb::Add { name, url, namespace, token_file, ca } => {
            let whole = |file: PathBuf| std::path::absolute(&file).unwrap_or(file);
            let (token_file, ca) = (token_file.map(whole), ca.map(whole));
            check(url.as_deref(), token_file.as_deref(), ca.as_deref())?;
            agents.agents.insert(name.clone(), Agent { url, namespace, token_file, ca });
            agents.current.get_or_insert(name);
        }
        AgentVerb::Use { name } => {
            known(&agents, &name)?;
            agents.current = Some(name);
        }
        AgentVerb::Rm { name } => {
            known(&agents, &name)?;
            agents.agents.remove(&name);
            agents.current = agents.current.filter(|current| *current != name);
        }
        AgentVerb::Ls => {
            print(out, &agents);
            return Ok(exit::OK);
        }
    }
    agents.write()?;
    print(out, &agents);
    Ok(exit::OK)
}

/// What could not be used later is not kept.
fn check(url: Option<&str>, token_file: Option<&Path>, ca: Option<&Path>) -> Result<(), Failure> {
    let token = token_file.map(read_token).transpose()?;
    if let Some(Err(error)) = ca.map(std::fs::File::open) {
        let file = ca.unwrap_or(Path::new("")).display();
        return Err(Failure::new(exit::USAGE, format!("the file of roots {file} cannot be read: {error}")));
    }
    let options = FarOptions { token, roots: ca.map(Path::to_owned), ..FarOptions::default() };
    Far::connect(url.unwrap_or(DEFAULT_URL), options)?;
    Ok(())
}

fn namespace(text: &str) -> Result<String, String> {
    let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
    match (1..=64).contains(&text.len()) && text.bytes().all(fits) {
        true => Ok(text.to_owned()),
        false => Err("allowed: 1 to 64 of a-z 0-9 . _ -".to_owned()),
    }
}

fn known(agents: &Agents, name: &str) -> Result<(), Failure> {
    if agents.agents.contains_key(name) {
        return Ok(());
    }
    let mut failure = Failure::new(exit::NOT_FOUND, format!("there is no agent named `{name}`"));
    if let Some(near) = text::nearest(name, agents.agents.keys().map(String::as_str)) {
        failure = failure.hint(format!("did you mean `{near}`?"));
    }
    Err(failure.hint("see all: maitred agent ls"))
}

fn print(out: Output, agents: &Agents) {
    let in_use = |name: &String| agents.current.as_ref() == Some(name);
    let sheet = |names: &[&'static str], marks: [&str; 2], no_url: &str| {
        let mut sheet = Sheet::new(names);
        let row = |(name, agent): (&String, &Agent)| {
            vec![
                marks[usize::from(in_use(name))].to_owned(),
                name.clone(),
                agent.url.clone().unwrap_or_else(|| no_url.to_owned()),
                agent.namespace.clone().unwrap_or_default(),
                agent.token_file.as_ref().map(|file| file.display().to_string()).unwrap_or_default(),
                agent.ca.as_ref().map(|file| file.display().to_string()).unwrap_or_default(),
            ]
        };
        sheet.rows = agents.agents.iter().map(row).collect();
        sheet
    };
    out.print(
        &json!({ "current": agents.current, "agents": agents.agents }),
        || sheet(&["", "NAME", "URL", "NAMESPACE", "TOKEN FILE", "ROOTS"], ["", "*"], DEFAULT_URL),
        || sheet(&["in_use", "name", "url", "namespace", "token_file", "ca"], ["no", "yes"], ""),
    );
    if agents.agents.is_empty() && out.for_people() {
        output::note("there are no agents; add one: maitred agent add NAME --url URL");
    }
}
