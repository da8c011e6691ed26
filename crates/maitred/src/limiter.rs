//! The handle that programs hold.

use std::{fmt, path::Path, sync::Arc, time::Duration};

use maitred_api::{Answer, Call, Certainty, Context, Problem, Reason};
use tokio::time::Instant;

use crate::{
    Client, Far, FarOptions,
    error::is_passing,
    line::Line,
    local::{Node, NodeOptions, StartError},
    nested::Held,
    releaser::{BackOff, Job, Leftovers, Releaser, What},
};

/// How long a rate or key call may take before it goes on without a verdict (rule A4).
const DEADLINE: Duration = Duration::from_secs(1);
/// How long every other call may take. An acquire has its own timeout.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How long an acquire puts up with a limiter that can't be reached, such as one that restarts.
const PATIENCE: Duration = Duration::from_secs(30);

/// More than anybody means by it, and few enough to count with.
const LONGEST: Duration = Duration::from_secs(86_400);

/// A limiter: near, in this process on a journal of its own, or far, a server at a URL. One API, one behaviour.
///
/// Cheap to clone; clones share the journal or the connections. Everything waits on a tokio runtime, and any number of
/// runtimes may use one `Maitred`.
///
/// When the last clone and the last [`Slot`](crate::Slot) of it are dropped, what is still to be given back is
/// finished in the background. [`Maitred::close`] waits for that and tells what is left.
#[derive(Clone)]
pub struct Maitred {
    pub(crate) home: Arc<Home>,
    pub(crate) context: Arc<Context>,
    pub(crate) deadline: Duration,
    pub(crate) patience: Duration,
}

pub(crate) struct Home {
    pub line: Line,
    pub releaser: Releaser,
    pub held: Held,
}

impl fmt::Debug for Maitred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Maitred")
            .field("near", &!self.home.line.is_far())
            .field("namespace", &self.context.namespace)
            .finish_non_exhaustive()
    }
}

impl Maitred {
    /// Near: opens the journal in this folder, makes it if it is not there, and brings back everything that was
    /// answered before. One process at a time has a folder open.
    ///
    /// # Errors
    /// The folder can't be used, somebody else has it open, or its journal is damaged; the message names the place.
    pub async fn open(folder: impl AsRef<Path>) -> Result<Maitred, StartError> {
        Self::open_with(NodeOptions { folder: Some(folder.as_ref().to_owned()), ..NodeOptions::default() })
            .await
    }

    /// Near, with all options.
    ///
    /// # Errors
    /// As for [`Maitred::open`].
    pub async fn open_with(options: NodeOptions) -> Result<Maitred, StartError> {
        Self::new(Client::Near(Node::start(options).await?))
    }

    /// Near, without a folder: nothing is kept. For tests.
    ///
    /// # Errors
    /// The machine gives no threads.
    pub async fn memory() -> Result<Maitred, StartError> {
        Self::open_with(NodeOptions::default()).await
    }

    /// Far: the server at `url`, `http://HOST:PORT` or `https://HOST:PORT`. Nothing is sent yet, so the server may still be starting.
    ///
    /// # Errors
    /// The URL can't be used.
    pub fn connect(url: &str) -> Result<Maitred, StartError> {
        Self::connect_with(url, FarOptions::default())
    }

    /// Far, with a token and all other options.
    ///
    /// # Errors
    /// The URL or the token can't be used.
    pub fn connect_with(url: &str, options: FarOptions) -> Result<Maitred, StartError> {
        Self::new(Client::Far(Far::connect(url, options).map_err(|problem| StartError(problem.message))?))
    }

    /// Over a node or a connection that there is already.
    ///
    /// # Errors
    /// The machine gives no thread.
    pub fn new(client: Client) -> Result<Maitred, StartError> {
        let started = Releaser::start(client);
        let (releaser, line) =
            started.map_err(|error| StartError(format!("the client's thread cannot be started: {error}")))?;
        Ok(Maitred {
            home: Arc::new(Home { line, releaser, held: Held::default() }),
            context: Arc::default(),
            deadline: DEADLINE,
            patience: PATIENCE,
        })
    }

    /// The same limiter in another namespace: nothing in one ever meets anything in the other.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.context).namespace = Some(namespace.into());
        self
    }

    /// Who asks, for the record: the name of this program, say.
    #[must_use]
    pub fn by(mut self, who: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.context).by = Some(who.into());
        self
    }

    /// The trace that the calls are a part of, as the header `traceparent` of a request names it. It stands in the
    /// server's log. One that is malformed is as none.
    #[must_use]
    pub fn traceparent(mut self, trace: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.context).traceparent = Some(trace.into());
        self
    }

    /// How long a rate or key call may take before it goes on without a verdict, `degraded`. 1 s if not set.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline.min(LONGEST);
        self
    }

    /// How long an acquire puts up with a limiter that can't be reached, within its own timeout. 30 s if not set.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience.min(LONGEST);
        self
    }

    /// Finishes what was to be given back, then closes the journal (near). At the deadline it tells what is left;
    /// later drops are given back by nobody. For all clones.
    pub async fn close(self, within: Duration) -> Leftovers {
        let until = Instant::now() + within;
        let left = self.home.releaser.close(until).await;
        if let Client::Near(node) = self.home.line.client() {
            node.stop(until.saturating_duration_since(Instant::now())).await;
        }
        left
    }

    /// Any call of the wire, as it is. A far call that changes something carries an id of its own, and is made again
    /// with it if its answer is lost, for up to 10 s.
    ///
    /// Cancel safe in that nothing is left half done; what was asked may still happen.
    ///
    /// # Errors
    /// What the limiter says, or that it could not be heard; [`next_step`](crate::next_step) tells what to do.
    pub async fn call(&self, call: Call) -> Result<Answer, Problem> {
        self.ask(call, ANSWER_WITHIN, None).await
    }

    /// `id` names a change that is to have one effect however often it is asked for.
    pub(crate) async fn ask(
        &self,
        call: Call,
        within: Duration,
        id: Option<String>,
    ) -> Result<Answer, Problem> {
        let mut context = Arc::clone(&self.context);
        if id.is_some() {
            Arc::make_mut(&mut context).request_id = id;
        }
        match self.home.line.is_far() {
            true => self.ask_far(context, call, within).await,
            false => {
                let changes = call.changes();
                let asked = self.home.line.call(&context, call);
                let answered = tokio::time::timeout(within, asked).await;
                answered.unwrap_or_else(|_| Err(no_answer(within, changes)))
            }
        }
    }

    /// An answer may get lost on the way. So a change says which one it is, and is asked for again.
    async fn ask_far(
        &self,
        mut context: Arc<Context>,
        call: Call,
        within: Duration,
    ) -> Result<Answer, Problem> {
        let changes = call.changes();
        let until = Instant::now() + within;
        if changes && context.request_id.is_none() {
            Arc::make_mut(&mut context).request_id = Some(uuid::Uuid::now_v7().to_string());
        }
        let mut back_off = BackOff::default();
        let mut unknown = false;
        loop {
            let asked = self.home.line.call(&context, call.clone());
            let problem = match tokio::time::timeout_at(until, asked).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(problem)) => problem,
                Err(_) => return Err(no_answer(within, changes)),
            };
            unknown |= problem.reason.certainty() == Certainty::Unknown;
            let wait = back_off.next();
            if !is_passing(&problem) || Instant::now() + wait >= until {
                return Err(if unknown { as_unknown(problem) } else { problem });
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// For the releaser: in this namespace, until then.
    pub(crate) fn hand_over(&self, what: What, until: Instant) {
        self.home.releaser.take(Job { context: Arc::clone(&self.context), what, until });
    }
}

/// What a deadline of the caller's own proves.
pub(crate) fn no_answer(within: Duration, changes: bool) -> Problem {
    let message = format!("the limiter did not answer within {} ms", within.as_millis());
    match changes {
        true => Problem::new(Reason::Unknown, format!("{message}; it may have been done")),
        false => Problem::new(Reason::Unavailable, message),
    }
}

/// An earlier try may have been the one.
fn as_unknown(problem: Problem) -> Problem {
    match problem.reason.certainty() {
        Certainty::Unknown => problem,
        Certainty::Refused if is_passing(&problem) => Problem { reason: Reason::Unknown, ..problem },
        Certainty::Refused => problem,
    }
}
