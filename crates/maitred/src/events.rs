//! What happens, near and far.

use maitred_api::{Context, LiveEvent, Problem};
use tokio::{sync::mpsc, task::AbortHandle};

use crate::{
    Client, Far, Maitred,
    far::Told,
    local::{LiveEvents, Scope},
};

/// Records that were told and not yet taken. Who takes none for longer is told less, and nobody is held up.
const AHEAD: usize = 256;

/// What happens in a namespace, as it becomes durable. Made by [`Maitred::events`].
///
/// Events are hints: the state of a slot is the truth.
pub struct Events(Source);

enum Source {
    Near(Box<LiveEvents>),
    Far { told: mpsc::Receiver<Vec<LiveEvent>>, pump: AbortHandle },
}

impl Maitred {
    /// What happens in the namespace from now on. Everything that is true now was before.
    ///
    /// # Errors
    /// The limiter could not be heard.
    pub async fn events(&self) -> Result<Events, Problem> {
        let line = &self.home.line;
        match line.client() {
            Client::Near(node) => {
                let (_, events) = node.listen(&self.context, Scope::default(), None).await?;
                Ok(Events(Source::Near(Box::new(events))))
            }
            Client::Far(far) => {
                let (sender, told) = mpsc::channel(AHEAD);
                let (begun, beginning) = tokio::sync::oneshot::channel();
                let (far, context) = (far.clone(), Context::clone(&self.context));
                let pump = line.runtime().spawn(pump(far, context, begun, sender)).abort_handle();
                let events = Events(Source::Far { told, pump });
                match beginning.await {
                    Ok(Ok(())) => Ok(events),
                    Ok(Err(problem)) => Err(problem),
                    Err(_) => Err(crate::line::closed()),
                }
            }
        }
    }
}

impl Events {
    /// What happened next; none when the stream has ended or something was missed. Then what is true is to be looked at
    /// anew, behind a new stream.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Vec<LiveEvent>> {
        match &mut self.0 {
            Source::Near(events) => events.next().await.ok().flatten().map(|(_, events)| events),
            Source::Far { told, .. } => told.recv().await,
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if let Source::Far { pump, .. } = &self.0 {
            pump.abort();
        }
    }
}

type Begun = tokio::sync::oneshot::Sender<Result<(), Problem>>;

/// Reads a server's stream on the runtime that its connections live on. Ends, and with it the stream, at the first gap.
async fn pump(far: Far, context: Context, begun: Begun, told: mpsc::Sender<Vec<LiveEvent>>) {
    let mut events = match far.events(&context, None, None).await {
        Ok(events) => events,
        Err(problem) => return drop(begun.send(Err(problem))),
    };
    let mut begun = Some(begun);
    loop {
        match events.next().await {
            Ok(Some(Told::Snapshot(_))) => {
                if let Some(begun) = begun.take() {
                    let _ = begun.send(Ok(()));
                }
            }
            Ok(Some(Told::Events(_, list))) => {
                if told.try_send(list).is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}
