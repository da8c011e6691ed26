//! Declaring limits, workflows and steps, and starting them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use duroxide::{
    ActivityContext, Client, OrchestrationContext,
    providers::TagFilter,
    runtime::{
        OrchestrationRegistry, Runtime, RuntimeOptions,
        registry::{ActivityRegistry, ActivityRegistryBuilder, OrchestrationRegistryBuilder},
    },
};
use maitred::{Maitred, NextStep, api::Problem, next_step};
use semver::Version;
use serde::{Serialize, de::DeserializeOwned};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    Step, Workflow, Workflows,
    deliver::Deliverer,
    desk::{Desk, PREFIX, TAG},
    engine::{Engine, Store, tell_ends},
    error::StartError,
    names::serial_limit,
    watch::Watch,
};

/// `serial.` and this are a limit's name together.
const SERIAL_NAME_MOST: usize = 57;
const SERIAL_MAX_HOLD: Duration = Duration::from_secs(30 * 86_400);
/// A serial run waits as long as the limiter lets anybody wait.
pub const SERIAL_TIMEOUT: Duration = Duration::from_secs(400 * 86_400);
/// How long a start puts up with a limiter that is still starting.
const LIMITER_WITHIN: Duration = Duration::from_secs(30);

type Register = Box<dyn FnOnce(OrchestrationRegistryBuilder, bool) -> OrchestrationRegistryBuilder + Send>;

/// What a program declares: its limits, its workflows and their steps. Made by [`Workflows::builder`].
pub struct Builder {
    maitred: Maitred,
    limits: Vec<(String, u32, Duration)>,
    workflows: Vec<Declared>,
    serial: Vec<String>,
    steps: ActivityRegistryBuilder,
    step_names: Vec<String>,
    steps_at_once: usize,
}

struct Declared {
    name: String,
    version: Result<Version, String>,
    register: Register,
}

impl Workflows {
    /// Begins to declare. The limiter may be near or far.
    pub fn builder(maitred: Maitred) -> Builder {
        Builder {
            maitred,
            limits: Vec::new(),
            workflows: Vec::new(),
            serial: Vec::new(),
            steps: ActivityRegistry::builder(),
            step_names: Vec::new(),
            steps_at_once: 8,
        }
    }
}

impl Builder {
    /// Declares a limit. At the start all of them are deployed as the whole set of the namespace: every limit that is
    /// not among them is retired. Without any, nothing is deployed: somebody else declares them.
    #[must_use]
    pub fn limit(mut self, name: impl Into<String>, capacity: u32, max_hold: Duration) -> Self {
        self.limits.push((name.into(), capacity, max_hold));
        self
    }

    /// Declares a workflow, in version 1.0.0. Its name is what it is started by.
    #[must_use]
    pub fn workflow<In, Out, F, Fut>(self, name: impl Into<String>, body: F) -> Self
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
        F: Fn(Workflow, In) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
    {
        self.version(name, "1.0.0", body)
    }

    /// Declares another version of a workflow. New runs take the newest; runs that have begun go on with the version
    /// that they began with, so that one stays declared until they have ended.
    #[must_use]
    pub fn version<In, Out, F, Fut>(mut self, name: impl Into<String>, version: &str, body: F) -> Self
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
        F: Fn(Workflow, In) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
    {
        let name = name.into();
        let parsed = Version::parse(version).map_err(|error| {
            format!("\"{version}\" is none ({error}); allowed: three numbers, such as 1.2.0")
        });
        let (own, number) = (name.clone(), version.to_owned());
        let register: Register = Box::new(move |registry, is_serial| {
            registry.register_versioned_typed(own, number, move |context: OrchestrationContext, input: In| {
                let (workflow, body) = (Workflow::new(context), body.clone());
                async move {
                    if is_serial {
                        serial_turn(&workflow).await?;
                    }
                    body(workflow, input).await
                }
            })
        });
        self.workflows.push(Declared { name, version: parsed, register });
        self
    }

    /// The workflow named last runs one run at a time, over all programs: whole runs queue before their first step, in
    /// the order in which they were started.
    #[must_use]
    pub fn serial(mut self) -> Self {
        self.serial.extend(self.workflows.last().map(|last| last.name.clone()));
        self
    }

    /// Declares a step: what [`Workflow::step`] runs by this name.
    #[must_use]
    pub fn step<In, Out, F, Fut>(mut self, name: impl Into<String>, body: F) -> Self
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
        F: Fn(Step, In) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
    {
        let (name, maitred) = (name.into(), self.maitred.clone());
        self.step_names.push(name.clone());
        self.steps = self.steps.register_typed(name, move |context: ActivityContext, input: In| {
            body(Step::new(context, maitred.clone()), input)
        });
        self
    }

    /// How many steps run at once in this program, 8 if not given. Slots are asked for and confirmed beside them.
    #[must_use]
    pub fn steps_at_once(mut self, most: usize) -> Self {
        self.steps_at_once = most.max(1);
        self
    }

    /// Deploys the limits, takes up the runs in the store, and takes new ones.
    ///
    /// # Errors
    /// Something is declared that cannot be, with its name and field; the limiter does not answer within 30 s.
    pub async fn start(self, store: Store) -> Result<Workflows, StartError> {
        self.check()?;
        self.declare().await?;
        let Builder { maitred, workflows, serial, steps, steps_at_once, .. } = self;
        let mut names: BTreeMap<String, bool> = BTreeMap::new();
        for Declared { name, .. } in &workflows {
            names.insert(name.clone(), serial.contains(name));
        }
        let registry = registry(workflows, &serial);
        let steps = steps.build_result().map_err(StartError::Steps)?;
        let (watch, ends) = Watch::new(store);
        let store: Store = Arc::new(watch);
        let desk = Desk::new(maitred.clone()).activities();
        let runtimes = vec![
            Runtime::start_with_options(Arc::clone(&store), steps, registry, options(steps_at_once)).await,
            Runtime::start_with_options(
                Arc::clone(&store),
                desk,
                OrchestrationRegistry::builder().build(),
                desk_options(),
            )
            .await,
        ];
        let client = Client::new(Arc::clone(&store));
        let mut tasks = JoinSet::new();
        tasks.spawn(tell_ends(ends, store, maitred.clone()));
        tasks.spawn(Deliverer::new(maitred.clone(), Arc::new(Engine(client.clone()))).work());
        Ok(Workflows::running(maitred, client, names, runtimes, tasks))
    }

    fn check(&self) -> Result<(), StartError> {
        let mut seen: Vec<(&str, &Version)> = Vec::new();
        for Declared { name, version, .. } in &self.workflows {
            let wrong = |field, message| StartError::Workflow { workflow: name.clone(), field, message };
            if name.is_empty() || name.len() > 200 {
                return Err(wrong("name", "allowed: 1 to 200 characters".to_owned()));
            }
            let version = version.as_ref().map_err(|message| wrong("version", message.clone()))?;
            if seen.contains(&(name, version)) {
                return Err(wrong("version", format!("{version} is declared twice")));
            }
            seen.push((name, version));
        }
        let fits = |name: &str| {
            name.len() <= SERIAL_NAME_MOST
                && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-'))
        };
        if let Some(name) = self.serial.iter().find(|name| !fits(name)) {
            let message = format!(
                "its name makes a limit's name, serial.NAME, so it is 1 to {SERIAL_NAME_MOST} of a-z 0-9 . _ -"
            );
            return Err(StartError::Workflow { workflow: name.clone(), field: "serial", message });
        }
        match self.step_names.iter().find(|name| name.starts_with(PREFIX)) {
            Some(name) => {
                Err(StartError::Steps(format!("`{name}`: names that begin with {PREFIX} are taken")))
            }
            None => Ok(()),
        }
    }

    /// With limits of its own, it deploys them and the serial ones as one set. Else somebody else deploys, and it only
    /// adds the serial ones.
    async fn declare(&self) -> Result<(), StartError> {
        let serial: Vec<String> = self.serial.iter().map(|workflow| serial_limit(workflow)).collect();
        let until = Instant::now() + LIMITER_WITHIN;
        while let Err(problem) = self.try_declare(&serial).await {
            if next_step(&problem) != NextStep::Retry || Instant::now() >= until {
                return Err(StartError::Limits(problem));
            }
            tracing::warn!(%problem, "the limits are not declared yet");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        Ok(())
    }

    async fn try_declare(&self, serial: &[String]) -> Result<(), Problem> {
        let serial = serial.iter().map(|limit| (limit.as_str(), 1, SERIAL_MAX_HOLD));
        if self.limits.is_empty() {
            for (limit, capacity, max_hold) in serial {
                self.maitred.declare(limit, capacity, max_hold).await?;
            }
            return Ok(());
        }
        let own = self.limits.iter().map(|(name, capacity, max_hold)| (name.as_str(), *capacity, *max_hold));
        self.maitred.deploy(own.chain(serial)).await
    }
}

/// The turn of a run of a serial workflow, which it keeps until it ends.
async fn serial_turn(workflow: &Workflow) -> Result<(), String> {
    let limit = serial_limit(&workflow.orchestration_name());
    workflow.acquire_slot(limit).until_run_ends().timeout(SERIAL_TIMEOUT).await?;
    Ok(())
}

/// In the order of versions, as the engine wants them.
fn registry(mut workflows: Vec<Declared>, serial: &[String]) -> OrchestrationRegistry {
    workflows.sort_by(|a, b| a.version.as_ref().ok().cmp(&b.version.as_ref().ok()));
    let add =
        |registry, Declared { name, register, .. }: Declared| register(registry, serial.contains(&name));
    workflows.into_iter().fold(OrchestrationRegistry::builder(), add).build()
}

/// A run's turns one after the other: on SQLite more would only wait for each other.
fn options(steps_at_once: usize) -> RuntimeOptions {
    RuntimeOptions {
        // The watch waits; this is only how soon a fetch that was woken in vain is made again.
        dispatcher_min_poll_interval: Duration::from_millis(10),
        orchestration_concurrency: 1,
        worker_concurrency: steps_at_once,
        worker_lock_timeout: Duration::from_secs(10),
        ..RuntimeOptions::default()
    }
}

/// For the questions to the limiter only.
fn desk_options() -> RuntimeOptions {
    RuntimeOptions {
        orchestration_concurrency: 0,
        worker_concurrency: 2,
        worker_lock_timeout: Duration::from_secs(5),
        worker_tag_filter: TagFilter::tags([TAG]),
        ..options(2)
    }
}
