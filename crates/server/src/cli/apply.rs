//! `maitred apply`: deploys the limits of a file.

use std::path::PathBuf;

use clap::Args;
use maitred::{
    Client,
    local::{Node, NodeOptions},
};
use maitred_api::{Call, Context, LimitInfo, NamedLimit, Problem};
use serde_json::{Value, json};

use crate::{
    cli::{
        exit,
        failure::Failure,
        output::{self, Sheet},
        session::{ConnectOptions, Session},
    },
    config::{DEFAULT_NAMESPACE, LimitsFile},
    deploy::{self, Deployed},
};

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct ApplyArgs {
    /// The file with the limits, in the form of maitred.toml
    #[arg(short, long, value_name = "FILE")]
    file: PathBuf,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub connect: ConnectOptions,
}

const HELP: &str = "\
Examples:
  maitred apply -f limits.toml --dry-run
  maitred apply -f limits.toml
  maitred apply -f limits.toml --agent staging     # [limits] go to this namespace

The file says the whole set of a namespace: a limit that is not in it is retired, takes nothing
new and goes when it is empty. An operator's override stays in force, so what is declared behind
it cannot be seen until it is reset.

  [limits.\"voice-calls\"]
  capacity = 20
  max_hold = \"45m\"

In a pipe, tab-separated: namespace, limit, what happened to it.";

pub async fn run(args: ApplyArgs) -> Result<u8, Failure> {
    let session = Session::open(&args.connect)?;
    let file = read(&args, &session).await?;
    let done = match args.dry_run {
        true => rehearse(&session, &file).await,
        false => {
            deploy::deploy(&session.client, &file, session.context.by.as_deref().unwrap_or("apply")).await
        }
    };
    let done = match done {
        Ok(done) => done,
        Err(problem) => return Err(session.explain(problem, None).await),
    };
    let rows = |told: fn(&Deployed) -> Vec<Vec<String>>| done.iter().flat_map(told).collect();
    let people = || Sheet { names: vec![""], rows: rows(|deployed| vec![vec![deployed.to_string()]]) };
    let pipe = || Sheet { names: vec!["namespace", "limit", "change"], rows: rows(changes) };
    session.out.print(&as_json(&done, args.dry_run), people, pipe);
    if args.dry_run && session.out.for_people() {
        output::note("nothing was changed; leave --dry-run out to apply it");
    }
    Ok(exit::OK)
}

/// The file's sets, checked by the rules before anything is sent. `[limits]` go to the namespace that was named.
async fn read(args: &ApplyArgs, session: &Session) -> Result<LimitsFile, Failure> {
    let mut file =
        LimitsFile::read(&args.file).map_err(|error| Failure::new(exit::USAGE, error.to_string()))?;
    file.rehearse().await.map_err(|error| Failure::new(exit::USAGE, error.to_string()))?;
    if let Some(set) = file.sets.remove(DEFAULT_NAMESPACE) {
        let namespace = session.namespace().to_owned();
        if file.sets.insert(namespace.clone(), set).is_some() {
            let message = format!("{}: the limits of namespace `{namespace}` stand there twice", file.path);
            return Err(Failure::new(exit::USAGE, message).hint("--agent sends [limits] to that namespace"));
        }
    }
    match file.sets.is_empty() {
        true => Err(Failure::new(exit::USAGE, format!("{}: no limits are declared there", file.path))
            .hint("declare one: [limits.\"NAME\"] capacity = 20, max_hold = \"45m\"")),
        false => Ok(file),
    }
}

/// What a deploy would do: it is done, by the same rules, on a limiter in memory that holds the same limits.
async fn rehearse(session: &Session, file: &LimitsFile) -> Result<Vec<Deployed>, Problem> {
    let mut all = Vec::new();
    for (namespace, set) in &file.sets {
        let context = Context { namespace: Some(namespace.clone()), ..session.context.clone() };
        let before = deploy::limits(&session.client, &context).await?;
        let after = rehearse_set(&context, &before, set).await?;
        all.push(deploy::compare(namespace, &before, &after));
    }
    Ok(all)
}

async fn rehearse_set(
    context: &Context,
    before: &[LimitInfo],
    set: &[NamedLimit],
) -> Result<Vec<LimitInfo>, Problem> {
    let options = NodeOptions { manual_clock: true, ..NodeOptions::default() };
    let node =
        Node::start(options).await.map_err(|error| Problem::new(maitred_api::Reason::Internal, error.0))?;
    for limit in before {
        let name = limit.limit.clone();
        let declared = NamedLimit {
            name: name.clone(),
            capacity: limit.declared_capacity.into(),
            max_hold: limit.declared_max_hold_ms.into(),
        };
        node.call(context, Call::Declare(declared)).await?;
        if let Some(capacity) = limit.capacity_override {
            node.call(context, Call::SetCapacity { limit: name.clone(), capacity: capacity.into() }).await?;
        }
        if let Some(max_hold_ms) = limit.max_hold_override_ms {
            node.call(context, Call::SetMaxHold { limit: name, max_hold: max_hold_ms.into() }).await?;
        }
    }
    node.call(context, Call::Deploy { limits: set.to_vec() }).await?;
    deploy::limits(&Client::Near(node), context).await
}

fn parts(deployed: &Deployed) -> [(&'static str, &Vec<String>); 5] {
    [
        ("added", &deployed.added),
        ("changed", &deployed.changed),
        ("unchanged", &deployed.unchanged),
        ("retired", &deployed.retired),
        ("overridden", &deployed.overridden),
    ]
}

fn changes(deployed: &Deployed) -> Vec<Vec<String>> {
    let row = |what: &str, name: &String| vec![deployed.namespace.clone(), name.clone(), what.to_owned()];
    parts(deployed).iter().flat_map(|(what, names)| names.iter().map(|name| row(what, name))).collect()
}

fn as_json(all: &[Deployed], dry_run: bool) -> Value {
    let namespaces = all.iter().map(|deployed| {
        let mut value = json!({ "namespace": deployed.namespace });
        for (what, names) in parts(deployed) {
            value[what] = json!(names);
        }
        value
    });
    json!({ "dry_run": dry_run, "namespaces": namespaces.collect::<Vec<_>>() })
}
