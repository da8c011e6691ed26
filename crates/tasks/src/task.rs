//! What a task is.

use std::pin::Pin;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{Flow, TaskError};

/// A task: a preflight that declares its limits and its price, and a body.
///
/// ```
/// use std::time::Duration;
/// use maitred_tasks::{Flow, Options, Output, RateSpec, Task, TaskError};
/// use serde_json::json;
///
/// struct Describe;
///
/// #[derive(serde::Deserialize)]
/// struct Params { image: String }
///
/// impl Task for Describe {
///     type Params = Params;
///
///     async fn options(&self, flow: &Flow) -> Result<Options, TaskError> {
///         let key = format!("user={}", flow.meta().require_user_id()?);
///         flow.rate_limit().consume([RateSpec::new(key, 20, Duration::from_secs(60))]).await?;
///         Ok(Options::new().credits(12))
///     }
///
///     async fn run(&self, _flow: &Flow, params: Params) -> Result<Output, TaskError> {
///         Ok(json!({ "text": format!("what {} shows", params.image) }).into())
///     }
/// }
/// ```
pub trait Task: Send + Sync + 'static {
    /// What the body takes. Parameters that can't be read as this fail the run, after its preflight, with 400
    /// `invalid_params`.
    type Params: DeserializeOwned + Send;

    /// The preflight. With `enablePreflight` it runs before every execution of the task and for every quote; without,
    /// never. What it returns as an error is what the caller gets, and the body does not run.
    fn options(&self, flow: &Flow) -> impl Future<Output = Result<Options, TaskError>> + Send {
        let _ = flow;
        async { Ok(Options::new()) }
    }

    /// The body. Its return ends the run, unless it returns [`Flow::defer`].
    fn run(
        &self,
        flow: &Flow,
        params: Self::Params,
    ) -> impl Future<Output = Result<Output, TaskError>> + Send;
}

/// How a task is registered, as in its YAML: `{name: …, publish: true, enablePreflight: true}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskConfig {
    /// Part of every count: two tasks never share a counter. 1 to 80 of a key's characters.
    pub name: String,
    /// Whether clients may run it and ask for its quote. If not, it is there for other tasks only.
    #[serde(default)]
    pub publish: bool,
    /// Whether `options()` runs. Limits are declared there, so a task with limits needs it.
    #[serde(default)]
    pub enable_preflight: bool,
}

impl TaskConfig {
    /// Not published, without preflight.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), publish: false, enable_preflight: false }
    }

    /// For clients too.
    #[must_use]
    pub fn publish(mut self) -> Self {
        self.publish = true;
        self
    }

    /// With `options()` before every execution.
    #[must_use]
    pub fn enable_preflight(mut self) -> Self {
        self.enable_preflight = true;
        self
    }
}

/// What the preflight says of an execution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// What the execution costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits: Option<u64>,
    /// How it is paid for, such as `{"toolId": "example_paid"}`. Handed on as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monetization: Option<Map<String, Value>>,
}

impl Options {
    /// Free.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the price.
    #[must_use]
    pub fn credits(mut self, credits: u64) -> Self {
        self.credits = Some(credits);
        self
    }

    /// Sets `monetization.toolId`.
    #[must_use]
    pub fn tool_id(mut self, tool_id: impl Into<String>) -> Self {
        let monetization = self.monetization.get_or_insert_default();
        monetization.insert("toolId".to_owned(), Value::String(tool_id.into()));
        self
    }
}

/// What the body comes back with.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// The response. The run has succeeded.
    Response(Value),
    /// The work goes on elsewhere, and so does this run: see [`Flow::defer`].
    Deferred {
        /// Whoever does the work completes this run.
        run: String,
    },
}

impl Output {
    /// The response, if there is one already.
    pub fn response(&self) -> Option<&Value> {
        match self {
            Output::Response(value) => Some(value),
            Output::Deferred { .. } => None,
        }
    }
}

impl From<Value> for Output {
    fn from(response: Value) -> Self {
        Output::Response(response)
    }
}

pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A task without its types, so that a host can hold many.
pub(crate) trait AnyTask: Send + Sync {
    fn options<'a>(&'a self, flow: &'a Flow) -> Boxed<'a, Result<Options, TaskError>>;
    fn run<'a>(&'a self, flow: &'a Flow) -> Boxed<'a, Result<Output, TaskError>>;
}

impl<T: Task> AnyTask for T {
    fn options<'a>(&'a self, flow: &'a Flow) -> Boxed<'a, Result<Options, TaskError>> {
        Box::pin(Task::options(self, flow))
    }

    fn run<'a>(&'a self, flow: &'a Flow) -> Boxed<'a, Result<Output, TaskError>> {
        Box::pin(async move { Task::run(self, flow, flow.params()?).await })
    }
}

/// A task and how it was registered.
pub(crate) struct Registered {
    pub config: TaskConfig,
    pub task: Box<dyn AnyTask>,
}
