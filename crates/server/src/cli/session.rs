//! The server that a command talks to.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use maitred::{Client, Far, FarOptions};
use maitred_api::{Answer, Call, Context, LimitAnswer, LimitSlotsAnswer, Problem, Reason, SlotAnswer};

use crate::{
    cli::{agents::Agents, exit, failure::Failure, output::Output, text},
    config::DEFAULT_NAMESPACE,
    deploy,
};

pub const DEFAULT_URL: &str = "http://127.0.0.1:7654";
/// How long an error may take to look for the name that was meant.
const NAMES_WITHIN: Duration = Duration::from_secs(2);

#[derive(clap::Args, Clone, Debug)]
pub struct ConnectOptions {
    /// The server [default: that of the agent in use, else http://127.0.0.1:7654]
    #[arg(long, global = true, value_name = "URL", env = "MAITRED_URL", help_heading = "Server")]
    pub url: Option<String>,
    /// The namespace: which installation [default: default]
    #[arg(long, global = true, value_name = "ID", env = "MAITRED_AGENT", help_heading = "Server")]
    pub agent: Option<String>,
    /// A file with the token to carry; else it is taken from MAITRED_TOKEN
    #[arg(long, global = true, value_name = "FILE", help_heading = "Server")]
    pub token_file: Option<PathBuf>,
    /// A PEM file with roots to believe beside the platform's, for https with a certificate of your own making
    #[arg(long, global = true, value_name = "FILE", env = "MAITRED_CA", help_heading = "Server")]
    pub ca: Option<PathBuf>,
    /// Print the API's own JSON; errors as JSON on stderr
    #[arg(long, global = true, help_heading = "Output")]
    pub json: bool,
    /// Print the names of columns in a pipe too
    #[arg(long, global = true, help_heading = "Output")]
    pub header: bool,
}

/// Why, for the record. Operator's acts only.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Why {
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Clone)]
pub struct Session {
    pub client: Client,
    pub context: Context,
    pub out: Output,
}

impl Session {
    pub fn open(options: &ConnectOptions) -> Result<Session, Failure> {
        let agents = Agents::read()?;
        let name = agents.current.clone().unwrap_or_default();
        let agent = agents.in_use();
        let of_agent = |failure: Failure| failure.hint(format!("agent `{name}` names it: maitred agent ls"));
        let token = match options.token()? {
            Some(token) => Some(token),
            None => agent.token_file.as_deref().map(read_token).transpose().map_err(of_agent)?,
        };
        let url = options.url.clone().or(agent.url).unwrap_or_else(|| DEFAULT_URL.to_owned());
        let roots = options.ca.clone().or(agent.ca);
        let far = Far::connect(&url, FarOptions { token, roots, ..FarOptions::default() })?;
        let namespace = options.agent.clone().or(agent.namespace);
        // By the name that other tools use for the header of a shell command's trace.
        let traceparent = std::env::var("TRACEPARENT").ok();
        let context = Context { namespace, by: Some(caller()), traceparent, ..Context::default() };
        let out = Output::new(options.json, options.header);
        Ok(Session { client: Client::Far(far), context, out })
    }

    pub fn because(mut self, why: &Why) -> Session {
        self.context.reason = why.reason.clone();
        self
    }

    /// A release that an operator makes always says why: that is how it is known to be one.
    pub fn by_hand(self, why: &Why) -> Session {
        let reason = why.reason.clone().unwrap_or_else(|| "by hand".to_owned());
        self.because(&Why { reason: Some(reason) })
    }

    pub fn namespace(&self) -> &str {
        self.context.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE)
    }

    pub async fn call(&self, call: Call) -> Result<Answer, Problem> {
        self.client.call(&self.context, call).await
    }

    pub async fn limit(&self, name: &str) -> Result<LimitAnswer, Failure> {
        let call = Call::Limit { limit: name.to_owned() };
        match self.call(call).await {
            Ok(Answer::Limit(answer)) => Ok(answer),
            other => Err(self.failed(other, Some(name)).await),
        }
    }

    pub async fn limit_slots(
        &self,
        name: &str,
        skip: u32,
        most: Option<u32>,
    ) -> Result<LimitSlotsAnswer, Failure> {
        match self.call(Call::LimitSlots { limit: name.to_owned(), skip, most }).await {
            Ok(Answer::LimitSlots(answer)) => Ok(answer),
            other => Err(self.failed(other, Some(name)).await),
        }
    }

    pub async fn slot(&self, id: &str) -> Result<SlotAnswer, Failure> {
        match self.call(Call::Slot { slot: id.to_owned(), wait: Default::default() }).await {
            Ok(Answer::Slot(answer)) => Ok(answer),
            other => Err(self.failed(other, None).await),
        }
    }

    /// A failure with what to do next, from anything but the expected answer.
    pub async fn failed(&self, outcome: Result<Answer, Problem>, limit: Option<&str>) -> Failure {
        match outcome {
            Ok(answer) => {
                Failure::new(exit::FAILED, format!("the server gave an answer of another kind: {answer:?}"))
            }
            Err(problem) => self.explain(problem, limit).await,
        }
    }

    pub async fn explain(&self, problem: Problem, limit: Option<&str>) -> Failure {
        let reason = problem.reason;
        let tls = tls_hint(&problem.message);
        let mut failure = Failure::from(problem);
        match (reason, limit) {
            (Reason::LimitNotFound, Some(name)) => {
                failure.message = format!("no limit named `{name}` in namespace `{}`", self.namespace());
                if let Some(near) = self.nearest_limit(name).await {
                    failure = failure.hint(format!("did you mean `{near}`?"));
                }
                failure.hint("see all: maitred limits list")
            }
            (Reason::Unavailable | Reason::Unknown, _) if tls.is_some() => {
                failure.hint(tls.unwrap_or_default())
            }
            (Reason::Unavailable, _) => failure
                .hint("is it running? start one: maitred dev, or maitred serve")
                .hint("another server: --url URL or MAITRED_URL"),
            (Reason::NotFound, _) if failure.message.starts_with("there is no such route") => {
                failure.hint("--url names the server alone, without a path: http://127.0.0.1:7654")
            }
            (Reason::Unknown, _) => failure.hint("it is safe to run the same command again"),
            (Reason::Unauthorized, _) => failure.hint("give the token: --token-file FILE or MAITRED_TOKEN"),
            (Reason::Forbidden, name) => {
                // The server repeats no name that its caller may not see.
                if let (Some(name), Some(told)) = (name, failure.message.strip_suffix("another")) {
                    failure.message = format!("{told}`{name}`");
                }
                failure.hint("use a token that may do this")
            }
            _ => failure,
        }
    }

    async fn nearest_limit(&self, meant: &str) -> Option<String> {
        let all = deploy::limits(&self.client, &self.context);
        let limits = tokio::time::timeout(NAMES_WITHIN, all).await.ok()?.ok()?;
        text::nearest(meant, limits.iter().map(|limit| limit.limit.as_str())).map(str::to_owned)
    }
}

impl ConnectOptions {
    /// Which server and which namespace, and what said so.
    pub fn told(&self) -> Result<String, Failure> {
        let agents = Agents::read()?;
        let name = agents.current.clone().unwrap_or_default();
        let agent = agents.in_use();
        let one =
            |given: &Option<String>, flag: &str, variable: &str, kept: &Option<String>, default: &str| {
                let set = std::env::var(variable).ok();
                match (given, kept) {
                    (Some(value), _) if set.as_ref() == Some(value) => format!("{value} (by {variable})"),
                    (Some(value), _) => format!("{value} (by {flag})"),
                    (None, Some(value)) => format!("{value} (by agent {name})"),
                    (None, None) => format!("{default} (by default)"),
                }
            };
        let url = one(&self.url, "--url", "MAITRED_URL", &agent.url, DEFAULT_URL);
        let namespace = one(&self.agent, "--agent", "MAITRED_AGENT", &agent.namespace, DEFAULT_NAMESPACE);
        Ok(format!("{url}, namespace {namespace}"))
    }

    /// The token's file wins over the environment.
    pub fn token(&self) -> Result<Option<String>, Failure> {
        match &self.token_file {
            Some(path) => read_token(path).map(Some),
            None => Ok(std::env::var("MAITRED_TOKEN").ok().filter(|token| !token.is_empty())),
        }
    }
}

pub fn read_token(path: &Path) -> Result<String, Failure> {
    let refused =
        |why: String| Failure::new(exit::NOT_ALLOWED, format!("the token file {} {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| refused(format!("cannot be read: {error}")))?;
    first_token(&text).ok_or_else(|| refused("has no token".to_owned()))
}

/// Where a server answers, but not in the way it was spoken to.
fn tls_hint(message: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 4] = [
        (
            "UnknownIssuer",
            "nobody known here has signed its certificate; name the root: --ca FILE or MAITRED_CA",
        ),
        ("NotValidForName", "its certificate is for another name; use one of its names in --url"),
        ("InvalidContentType", "no TLS is spoken there; begin the URL with http://"),
        ("invalid HTTP version parsed", "TLS is spoken there; begin the URL with https://"),
    ];
    KNOWN.iter().find(|(cause, _)| message.contains(cause)).map(|(_, hint)| *hint)
}

/// The server's own file will do: `TOKEN` or `NAME TOKEN` a line, `#` starts a comment.
fn first_token(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.next()?.split_whitespace().last().map(str::to_owned)
}

/// Who asks, for the record.
fn caller() -> String {
    let user =
        ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok()).filter(|user| !user.is_empty());
    user.map_or_else(
        || "cli".to_owned(),
        |user| format!("cli:{}", user.chars().take(100).collect::<String>()),
    )
}
