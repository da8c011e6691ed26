use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    AcquireFields, AdmitFields, AuditAnswer, AuditFields, Decision, ExplainAnswer, Given, HistoryAnswer,
    KeysAnswer, LimitAnswer, LimitSlotsAnswer, LimitsAnswer, NamedLimit, NamespacesAnswer, NodesAnswer,
    OverviewAnswer, OverviewFields, PreviewAnswer, Problem, ReleaseAnswer, RunAnswer, RunStatus, RunsAnswer,
    RunsFields, SeriesAnswer, SlotAnswer,
};

/// One question. As JSON it carries its name in `op`; a batch is a list of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Call {
    Declare(NamedLimit),
    Deploy {
        limits: Vec<NamedLimit>,
    },
    /// Overrides the capacity until it is reset.
    SetCapacity {
        limit: String,
        #[serde(default)]
        capacity: Given,
    },
    ResetCapacity {
        limit: String,
    },
    SetMaxHold {
        limit: String,
        #[serde(default)]
        max_hold: Given,
    },
    ResetMaxHold {
        limit: String,
    },
    Pause {
        limit: String,
    },
    Resume {
        limit: String,
    },
    Acquire(AcquireFields),
    Confirm {
        slot: String,
    },
    Release {
        slot: String,
    },
    Leave {
        slot: String,
    },
    EndRun {
        run: String,
        status: RunStatus,
    },
    /// Starts a run of a workflow that the server hosts.
    StartRun {
        run: String,
        workflow: String,
        #[serde(default)]
        #[schema(value_type = Object)]
        input: serde_json::Value,
    },
    /// Cancels a run that the server hosts.
    CancelRun {
        run: String,
    },
    Admit(AdmitFields),
    ResetRate {
        task: String,
        key: String,
    },
    Limits {
        #[serde(default)]
        after: Option<String>,
        #[serde(default)]
        most: Option<u32>,
        /// Only limits whose names begin with one of these are listed; all, if there are none. The server sets it, from
        /// the token.
        #[serde(skip)]
        prefixes: Vec<String>,
    },
    Limit {
        limit: String,
    },
    LimitSlots {
        limit: String,
        #[serde(default)]
        skip: u32,
        #[serde(default)]
        most: Option<u32>,
    },
    Slot {
        slot: String,
        #[serde(default, skip_serializing_if = "Given::is_missing")]
        wait: Given,
    },
    Runs(RunsFields),
    Run {
        run: String,
    },
    /// The last ends: of a limit, a slot, a run or a label, or all. Newest first.
    History {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<u32>,
    },
    /// What was changed about limits, by whom. Newest first.
    Audit(AuditFields),
    /// Why a slot, a run or what has this label is not moving.
    Explain {
        what: String,
    },
    /// A page of the limits, searched and sorted, each with its health.
    Overview(OverviewFields),
    /// What a limit did over time.
    Series {
        limit: String,
        /// How far back: at most 24 h, an hour if absent. Steps of 10 s up to an hour, else of a minute.
        #[serde(default, skip_serializing_if = "Given::is_missing")]
        range: Given,
    },
    /// What a change of a limit would do. Changes nothing.
    Preview {
        limit: String,
        /// A number, or `reset`; as it is, if absent.
        #[serde(default, skip_serializing_if = "Given::is_missing")]
        capacity: Given,
        /// A duration, or `reset`; as it is, if absent.
        #[serde(default, skip_serializing_if = "Given::is_missing")]
        max_hold: Given,
    },
    Namespaces {},
    /// The servers that share the journal, as this one sees them.
    Nodes {},
    /// With task and key: that one, even if nothing is counted. Else a page of all.
    Keys {
        #[serde(default)]
        task: Option<String>,
        #[serde(default)]
        key: Option<String>,
        #[serde(default)]
        after: Option<String>,
        #[serde(default)]
        most: Option<u32>,
    },
}

impl Call {
    /// Whether it may change something: only then can its outcome be unknown.
    pub fn changes(&self) -> bool {
        !matches!(
            self,
            Call::Limits { .. }
                | Call::Limit { .. }
                | Call::LimitSlots { .. }
                | Call::Slot { .. }
                | Call::Runs(_)
                | Call::Run { .. }
                | Call::Keys { .. }
                | Call::History { .. }
                | Call::Audit(_)
                | Call::Explain { .. }
                | Call::Overview(_)
                | Call::Series { .. }
                | Call::Preview { .. }
                | Call::Namespaces {}
                | Call::Nodes {}
                | Call::Admit(AdmitFields { check: true, .. })
        )
    }

    /// Whether its answer may be long in coming because its caller asked to wait for it.
    pub fn waits(&self) -> bool {
        match self {
            Call::Acquire(AcquireFields { wait, .. }) | Call::Slot { wait, .. } => !wait.is_missing(),
            _ => false,
        }
    }
}

/// What stands around a call: where it applies and who makes it. Over HTTP these are headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// `Maitred-Agent`; `default` if absent.
    pub namespace: Option<String>,
    /// `Idempotency-Key`.
    pub request_id: Option<String>,
    /// Who asks, for the record.
    pub by: Option<String>,
    /// `Maitred-Reason`: why, in an operator's words.
    pub reason: Option<String>,
    /// `If-Match`: the `tag` that the limit must still have for a change of it to be made.
    pub if_match: Option<String>,
    /// Wait until at least this revision can be seen.
    pub min_revision: Option<u64>,
    /// `traceparent` of W3C: the trace that this call is a part of, for logs. One that is malformed is as none.
    pub traceparent: Option<String>,
}

/// Whether a header says which trace a request belongs to: `00-TRACE-PARENT-FLAGS`, in lower-case hexadecimal digits.
pub fn is_traceparent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_id = |part: &str, length: usize| is_hex(part, length) && part.bytes().any(|byte| byte != b'0');
    match parts[..] {
        // Later versions may have more parts behind these.
        [version, trace, parent, flags, ref more @ ..] => {
            is_hex(version, 2)
                && version != "ff"
                && (more.is_empty() || version != "00")
                && is_id(trace, 32)
                && is_id(parent, 16)
                && is_hex(flags, 2)
        }
        _ => false,
    }
}

/// The answer to a [`Call`] that was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Answer {
    Release(ReleaseAnswer),
    Slot(SlotAnswer),
    Decision(Decision),
    LimitSlots(LimitSlotsAnswer),
    Preview(PreviewAnswer),
    Series(Box<SeriesAnswer>),
    Limit(LimitAnswer),
    Overview(OverviewAnswer),
    Limits(LimitsAnswer),
    Namespaces(NamespacesAnswer),
    Nodes(NodesAnswer),
    Run(RunAnswer),
    Runs(RunsAnswer),
    Keys(KeysAnswer),
    History(HistoryAnswer),
    Audit(AuditAnswer),
    Explain(ExplainAnswer),
    Done(DoneAnswer),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DoneAnswer {
    pub revision: u64,
    pub as_of: u64,
}

/// Up to 1,000 calls, carried out in order, each with its own outcome. Not atomic; nothing waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchFields {
    pub items: Vec<BatchItem>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BatchItem {
    /// The item's own `Idempotency-Key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(flatten)]
    pub call: Call,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BatchAnswer {
    /// One per item, in order.
    pub results: Vec<BatchResult>,
}

/// `status` is what the single call would have been answered with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BatchResult {
    pub status: u16,
    pub body: BatchBody,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum BatchBody {
    Problem(Problem),
    Answer(Box<Answer>),
}
