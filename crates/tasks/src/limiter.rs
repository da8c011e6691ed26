//! How a host asks the limiter: within a deadline, again if an answer gets lost, and never more than once in effect.

use std::time::Duration;

use maitred::{
    Client, Maitred, StartError,
    api::{AdmitFields, Answer, Call, Context, Decision, LimitKind, Problem, Reason, RunStatus},
};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use uuid::Uuid;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

pub(crate) struct Limiter {
    client: Client,
    pub maitred: Maitred,
    context: Context,
    pub deadline: Duration,
}

impl Limiter {
    pub fn new(client: Client, context: Context, deadline: Duration) -> Result<Limiter, StartError> {
        let mut maitred = Maitred::new(client.clone())?;
        if let Some(namespace) = &context.namespace {
            maitred = maitred.namespace(namespace);
        }
        if let Some(by) = &context.by {
            maitred = maitred.by(by);
        }
        Ok(Limiter { client, maitred, context, deadline })
    }

    /// The verdict, `degraded` if there is none within the deadline (rule A4).
    pub async fn decide(&self, fields: AdmitFields, request_id: Option<String>) -> Result<Decision, Problem> {
        let is_rate = fields.specs.first().is_none_or(|spec| !spec.window_seconds.is_missing());
        let task = fields.task.clone();
        match self.asked(fields, request_id).await {
            Ok(Answer::Decision(decision)) => Ok(decision),
            Ok(other) => Err(Problem::new(
                Reason::Internal,
                format!("the limiter answered another question: {other:?}"),
            )),
            Err(problem) if problem.reason.http_status() >= 500 => {
                tracing::warn!(task, %problem, "the limits of a task were not checked; it goes on without");
                Ok(degraded(if is_rate { LimitKind::Rate } else { LimitKind::Concurrency }))
            }
            Err(problem) => Err(problem),
        }
    }

    /// A far call may be made twice, so it always says which one it is.
    async fn asked(&self, fields: AdmitFields, request_id: Option<String>) -> Result<Answer, Problem> {
        let until = Instant::now() + self.deadline;
        let is_far = matches!(self.client, Client::Far(_));
        let request_id = match fields.check {
            true => None,
            false => request_id.or_else(|| is_far.then(|| Uuid::now_v7().to_string())),
        };
        let context = Context { request_id, ..self.context.clone() };
        let mut pause = FIRST_PAUSE;
        loop {
            let call = Call::Admit(AdmitFields { enforce: false, ..fields.clone() });
            let problem = match timeout_at(until, self.client.call(&context, call)).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(problem)) => problem,
                Err(_) => return Err(self.no_answer()),
            };
            if !is_passing(&problem) || Instant::now() + pause >= until {
                return Err(problem);
            }
            sleep(pause).await;
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    fn no_answer(&self) -> Problem {
        let message = format!("the limiter did not answer within {} ms", self.deadline.as_millis());
        Problem::new(Reason::Unknown, message)
    }

    /// Ends a run. True if the limiter says that it is done; false if it said nothing in time.
    pub async fn end_run(&self, run: &str, status: RunStatus) -> Result<bool, Problem> {
        match timeout(self.deadline, self.maitred.end_run(run, status)).await {
            Ok(Ok(())) => Ok(true),
            Ok(Err(problem)) if problem.reason.http_status() < 500 => Err(problem),
            Ok(Err(_)) | Err(_) => Ok(false),
        }
    }
}

/// Whether asking again soon may bring another answer.
fn is_passing(problem: &Problem) -> bool {
    matches!(problem.reason, Reason::Unavailable | Reason::Unknown | Reason::Internal | Reason::Overloaded)
}

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
