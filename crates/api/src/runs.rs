use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{SlotInfo, SlotState};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Succeeded,
    Failed,
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EndRunFields {
    pub status: RunStatus,
}

/// Only runs of which this is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunFilter {
    /// They wait for a slot.
    Waiting,
    /// They hold a slot.
    Holding,
    /// They have ended, and still hold a slot.
    Ended,
}

/// Which runs are wanted: those that fit everything that is given. Where something is, a page may be short or empty, and
/// more may follow on the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RunsFields {
    /// Those whose id, workflow, label or limits have this in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Those that hold or wait for a slot of this limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub only: Option<RunFilter>,
    /// The `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// How many at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
    /// Only slots whose limits all begin with one of these are looked at; all, if there are none. The server sets it, from
    /// the token: what a caller may not see, it may not search either.
    #[serde(skip)]
    #[param(ignore)]
    pub prefixes: Vec<String>,
}

impl RunsFields {
    pub fn is_filtered(&self) -> bool {
        self.text.is_some() || self.limit.is_some() || self.only.is_some()
    }

    /// Whether a run is wanted.
    pub fn fits(&self, run: &RunInfo) -> bool {
        let slots: Vec<&SlotInfo> = run.slots.iter().filter(|slot| self.sees(slot)).collect();
        let is_so = |filter| {
            slots.iter().any(|slot| match filter {
                RunFilter::Waiting => slot.state == SlotState::Queued,
                RunFilter::Holding => slot.state.is_granted(),
                RunFilter::Ended => slot.run_ended_at.is_some(),
            })
        };
        let limits = || slots.iter().flat_map(|slot| &slot.limits).map(|share| share.limit.as_str());
        let has = |text: &String| {
            let of_slots = slots.iter().flat_map(|slot| [slot.workflow.as_deref(), slot.label.as_deref()]);
            let words = of_slots.chain([Some(run.run.as_str()), run.workflow.as_deref()]).flatten();
            words.chain(limits()).any(|word| word.to_lowercase().contains(&text.to_lowercase()))
        };
        self.text.as_ref().is_none_or(has)
            && self.limit.as_ref().is_none_or(|limit| limits().any(|of| of == limit))
            && self.only.is_none_or(is_so)
    }

    fn sees(&self, slot: &SlotInfo) -> bool {
        let covers = |limit: &str| self.prefixes.iter().any(|prefix| limit.starts_with(prefix));
        self.prefixes.is_empty() || slot.limits.iter().all(|share| covers(&share.limit))
    }
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It goes on, or waits for something.
    Running,
    Succeeded,
    Failed,
    Cancelled,
}

impl RunState {
    pub fn as_str(self) -> &'static str {
        match self {
            RunState::Running => "running",
            RunState::Succeeded => "succeeded",
            RunState::Failed => "failed",
            RunState::Cancelled => "cancelled",
        }
    }
}

impl From<RunStatus> for RunState {
    fn from(status: RunStatus) -> Self {
        match status {
            RunStatus::Succeeded => RunState::Succeeded,
            RunStatus::Failed => RunState::Failed,
            RunStatus::Cancelled => RunState::Cancelled,
        }
    }
}

/// One step of a run, as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunStep {
    /// `Esperando hueco · voice-calls`, or the name of the program's own step.
    pub name: String,
    pub kind: StepKind,
    pub state: StepState,
    /// Of a wait for a slot: the limit, or the first of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    pub started_at: u64,
    /// Absent while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
}

impl RunStep {
    /// The step that is open while a run waits for a slot of this limit.
    pub fn hook(limit: &str, started_at: u64) -> RunStep {
        RunStep {
            name: format!("{HOOK}{limit}"),
            kind: StepKind::Hook,
            state: StepState::Open,
            limit: Some(limit.to_owned()),
            started_at,
            ended_at: None,
        }
    }
}

/// What the name of a wait for a slot begins with.
pub const HOOK: &str = "Esperando hueco · ";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A wait for something from outside, such as a slot.
    Hook,
    /// The program's own work.
    Step,
    /// A wait for a time.
    Timer,
    /// Another run, started by this one.
    Run,
}

impl StepKind {
    pub fn as_str(self) -> &'static str {
        match self {
            StepKind::Hook => "hook",
            StepKind::Step => "step",
            StepKind::Timer => "timer",
            StepKind::Run => "run",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    Open,
    /// It is done: of a wait for a slot, the slot is there.
    Closed,
    /// Of a wait for a slot: none came in time.
    Failed,
    /// It was given up before it was done.
    Cancelled,
}

impl StepState {
    pub fn as_str(self) -> &'static str {
        match self {
            StepState::Open => "open",
            StepState::Closed => "closed",
            StepState::Failed => "failed",
            StepState::Cancelled => "cancelled",
        }
    }
}

/// Starts a run of a workflow that this server hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRunFields {
    pub workflow: String,
    /// What its body is given.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub input: serde_json::Value,
}

/// What a run holds and waits for. A run that does neither is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunInfo {
    pub run: String,
    /// The workflow or task that it is a run of, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// `running` while it waits for a slot. Where this server hosts the run: how it stands. Else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RunState>,
    /// Its waits for slots; where this server hosts the run: all its steps. Of a list: those of slots that are live.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<RunStep>,
    /// What it answered, as JSON, or its error, where this server hosted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    pub slots: Vec<SlotInfo>,
    pub places: Vec<PlaceInfo>,
    /// Hits that are given back if it does not succeed.
    pub hits: u64,
}

impl RunInfo {
    /// A run that holds nothing and waits for nothing.
    pub fn nothing(run: &str) -> RunInfo {
        RunInfo {
            run: run.to_owned(),
            workflow: None,
            status: None,
            steps: Vec::new(),
            output: None,
            slots: Vec::new(),
            places: Vec::new(),
            hits: 0,
        }
    }

    /// Whether there is nothing to tell of it.
    pub fn is_nothing(&self) -> bool {
        *self == RunInfo::nothing(&self.run)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlaceInfo {
    pub task: String,
    pub key: String,
    pub expires_at: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunAnswer {
    #[serde(flatten)]
    pub run: RunInfo,
    pub revision: u64,
    pub as_of: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunsAnswer {
    pub runs: Vec<RunInfo>,
    /// Give it as `after` for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    pub revision: u64,
    pub as_of: u64,
}
