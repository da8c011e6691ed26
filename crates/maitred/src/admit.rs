//! Rates and places in flight: limits of keys that nobody declared.

use std::{pin::Pin, time::Duration};

use maitred_api::{AdmitFields, Answer, Call, Decision, LimitKind, Problem, SpecFields};

use crate::{
    Maitred,
    error::{AdmitError, RateLimitExceeded, is_trouble},
    operate::unexpected,
};

/// One limit of a call: a rate (so many in a window) or a place in flight (so many at once).
///
/// The key says who shares the counter. It is kept beside the task's name, never joined with it, and never shown to
/// whoever is refused; the label is. 1 to 256 of `A-Z a-z 0-9 . _ = @ | / : -`.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec(SpecFields);

impl Spec {
    /// At most `limit` in a window that starts with the first hit. The window is a whole number of seconds, 1 s to 400
    /// days; anything else is refused when it is used.
    ///
    /// A new limit counts at once, a new window when the running one has ended.
    pub fn rate(key: impl Into<String>, limit: u64, window: Duration) -> Spec {
        let window_seconds = match window.subsec_nanos() {
            0 => window.as_secs().into(),
            _ => format!("{}", window.as_secs_f64()).into(),
        };
        Spec(SpecFields { key: key.into(), limit: limit.into(), window_seconds, ..SpecFields::default() })
    }

    /// At most `limit` runs at once. Needs a run, whose end frees the place; an hour after it was taken it is freed in
    /// any case. Never queued.
    pub fn place(key: impl Into<String>, limit: u64) -> Spec {
        Spec(SpecFields { key: key.into(), limit: limit.into(), ..SpecFields::default() })
    }

    /// What a refusal calls this limit. Without one it tells only that something was hit.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Spec {
        self.0.label = Some(label.into());
        self
    }

    /// How much one call counts in a rate, 1 if not given.
    #[must_use]
    pub fn cost(mut self, cost: u64) -> Spec {
        self.0.cost = cost.into();
        self
    }

    /// Gives the hit back if the run ends other than succeeded. Needs a run.
    #[must_use]
    pub fn successes_only(mut self) -> Spec {
        self.0.count_successes_only = true;
        self
    }

    /// A rate whose hits are settled, or a place that is freed, when the run ends.
    #[cfg(feature = "tower")]
    pub(crate) fn belongs_to_a_run(&self) -> bool {
        self.0.count_successes_only || self.0.window_seconds.is_missing()
    }
}

impl From<SpecFields> for Spec {
    fn from(fields: SpecFields) -> Spec {
        Spec(fields)
    }
}

/// A question whether a task may go on; await it. Made by [`Maitred::admit`].
///
/// # Cancel safety
/// What was asked may still be counted. Places that were taken are freed with their run ([`Maitred::end_run`]).
#[must_use = "nothing is asked until it is awaited"]
#[derive(Clone, Debug)]
pub struct Admit {
    home: Maitred,
    fields: AdmitFields,
    request_id: Option<String>,
}

impl Maitred {
    /// Counts the rates and takes the places of one call for a task: all of them, or none.
    ///
    /// Over the limit it is an error, unless [`Admit::enforce`] says otherwise. A limiter that can't answer within the
    /// deadline does not stop anybody: the decision says `degraded`, nothing was checked, and the caller goes on.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use maitred::AdmitError;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let maitred = maitred::Maitred::memory().await?;
    /// const MINUTE: Duration = Duration::from_secs(60);
    /// let ask = || maitred.admit("describe-image").run("run-1").rate("user=7", 1, MINUTE).place("user=7", 1);
    ///
    /// let decision = ask().await?;
    /// assert_eq!(decision.results[0].remaining, 0);
    /// let Err(AdmitError::Exceeded(exceeded)) = ask().await else { panic!("the second is one too many") };
    /// assert_eq!(exceeded.problem().reason.http_status(), 429);
    ///
    /// maitred.end_run("run-1", maitred::api::RunStatus::Succeeded).await?; // frees the place
    /// # Ok(())
    /// # }
    /// ```
    pub fn admit(&self, task: impl Into<String>) -> Admit {
        let fields = AdmitFields { task: task.into(), ..AdmitFields::default() };
        Admit { home: self.clone(), fields, request_id: None }.enforce(true)
    }

    /// [`Maitred::admit`] with rates.
    pub fn consume(&self, task: impl Into<String>, rates: impl IntoIterator<Item = Spec>) -> Admit {
        self.admit(task).specs(rates)
    }

    /// [`Maitred::admit`] with places in flight for a run.
    pub fn acquire_keys(
        &self,
        task: impl Into<String>,
        run: impl Into<String>,
        places: impl IntoIterator<Item = Spec>,
    ) -> Admit {
        self.admit(task).run(run).specs(places)
    }
}

impl Admit {
    /// The run it is for. Places and hits that count successes only need one.
    pub fn run(mut self, run: impl Into<String>) -> Self {
        self.fields.run = Some(run.into());
        self
    }

    /// Adds a rate: at most `limit` in a window. See [`Spec::rate`].
    pub fn rate(self, key: impl Into<String>, limit: u64, window: Duration) -> Self {
        self.spec(Spec::rate(key, limit, window))
    }

    /// Adds a place in flight: at most `limit` at once. See [`Spec::place`].
    pub fn place(self, key: impl Into<String>, limit: u64) -> Self {
        self.spec(Spec::place(key, limit))
    }

    /// Adds a limit with everything there is to say about it. At most 16.
    pub fn spec(self, spec: Spec) -> Self {
        self.specs([spec])
    }

    /// Adds several.
    pub fn specs(mut self, specs: impl IntoIterator<Item = Spec>) -> Self {
        self.fields.specs.extend(specs.into_iter().map(|spec| spec.0));
        self
    }

    /// The id of the message that this call is made for: a message that is delivered again counts once, and gets the
    /// first verdict. Without one it counts twice, although a far call that is made again after a lost answer never
    /// does.
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    /// Whether a decision over the limit is an error (true, as if not called) or comes back as a decision. What is
    /// counted is the same.
    pub fn enforce(mut self, enforce: bool) -> Self {
        self.fields.enforce = enforce;
        self
    }

    /// The verdict that the call would get now. Counts nothing, takes nothing, and is no error when over.
    ///
    /// # Errors
    /// The call is not one that can be decided.
    pub async fn check(mut self) -> Result<Decision, Problem> {
        self.fields.check = true;
        self.request_id = None;
        self.decided().await
    }

    async fn decided(self) -> Result<Decision, Problem> {
        let Admit { home, fields, request_id } = self;
        let windows: Vec<_> = fields.specs.iter().map(|spec| spec.window_seconds.whole_number()).collect();
        let kind = first_kind(&fields.specs);
        let task = fields.task.clone();
        match home.ask(Call::Admit(fields), home.deadline, request_id).await {
            Ok(Answer::Decision(mut decision)) => {
                // They do not travel.
                let results = decision.results.iter_mut().zip(windows);
                results.for_each(|(result, window)| result.window_seconds = window);
                Ok(decision)
            }
            Ok(other) => Err(unexpected(&other)),
            Err(problem) if is_trouble(&problem) => {
                tracing::warn!(task, %problem, "no verdict; it goes on without one");
                Ok(degraded(kind))
            }
            Err(problem) => Err(problem),
        }
    }

    async fn answered(self) -> Result<Decision, AdmitError> {
        let enforce = self.fields.enforce;
        let decision = self.decided().await.map_err(AdmitError::Refused)?;
        if decision.over_limit && enforce {
            let kind = decision.kind;
            return Err(RateLimitExceeded::new(decision, kind).into());
        }
        Ok(decision)
    }
}

fn first_kind(specs: &[SpecFields]) -> LimitKind {
    match specs.first() {
        Some(spec) if spec.window_seconds.is_missing() => LimitKind::Concurrency,
        _ => LimitKind::Rate,
    }
}

/// What is said when nothing could be checked (rule A4).
fn degraded(kind: LimitKind) -> Decision {
    Decision {
        kind,
        over_limit: false,
        retry_after_seconds: 0,
        degraded: true,
        results: Vec::new(),
        blocked_by: None,
        replayed: false,
        revision: 0,
        as_of: 0,
    }
}

impl IntoFuture for Admit {
    type Output = Result<Decision, AdmitError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.answered())
    }
}
