//! A call that was sent, as a future that is as small as can be: ten thousand callers may wait at once, each with one.
//!
//! What is asked is sent before the future is polled, so nothing of it is kept. Left are the place where the answer will
//! be put and, for an open call, what the hang-up has to say.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use maitred_engine::{
    names::{Namespace, SlotId},
    time::Millis,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Sleep, sleep},
};

use super::{
    sequencer::Input,
    shell::{Answered, Message, unknown},
};

/// The answer to a call; await it. Made by [`Node::call`](super::Node::call), which says what dropping it means.
#[must_use = "the call is sent; await its answer"]
pub struct Answering(State);

enum State {
    /// It is known already. None once it has been told.
    Known(Option<Box<Answered>>),
    Sent(oneshot::Receiver<Box<Answered>>),
    OnLine(OnLine),
    /// A look, which may wait for others than the node.
    Looking(Pin<Box<dyn Future<Output = Answered> + Send>>),
}

/// An open call. Dropped before its answer, it hangs up.
pub(super) struct OnLine {
    pub answer: oneshot::Receiver<Box<Answered>>,
    pub inbox: mpsc::UnboundedSender<Message>,
    pub namespace: Namespace,
    pub slot: SlotId,
    pub number: u64,
    pub auto: bool,
    /// When the call ends although the slot still waits. None: the slot's own timeout comes first.
    wait_ends: Option<Pin<Box<Sleep>>>,
    answered: bool,
}

impl Answering {
    /// Ends the wait of an open call here, as if it had been asked for only so long; its answer comes next. Any other
    /// call goes on.
    pub fn end_wait(&mut self) {
        if let State::OnLine(line) = &mut self.0 {
            line.end_wait();
        }
    }

    pub(super) fn known(answer: Answered) -> Self {
        Self(State::Known(Some(Box::new(answer))))
    }

    pub(super) fn sent(answer: oneshot::Receiver<Box<Answered>>) -> Self {
        Self(State::Sent(answer))
    }

    pub(super) fn on_line(line: OnLine) -> Self {
        Self(State::OnLine(line))
    }

    pub(super) fn looking(look: impl Future<Output = Answered> + Send + 'static) -> Self {
        Self(State::Looking(Box::pin(look)))
    }
}

impl Future for Answering {
    type Output = Answered;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answered> {
        match &mut self.0 {
            State::Known(answer) => Poll::Ready(*answer.take().expect("it is not polled after its answer")),
            State::Sent(answer) => heard(answer, context),
            State::OnLine(line) => line.poll(context),
            State::Looking(look) => look.as_mut().poll(context),
        }
    }
}

fn heard(answer: &mut oneshot::Receiver<Box<Answered>>, context: &mut Context<'_>) -> Poll<Answered> {
    Pin::new(answer).poll(context).map(|heard| heard.map_or_else(|_| Err(unknown()), |answer| *answer))
}

impl OnLine {
    pub fn new(
        inbox: mpsc::UnboundedSender<Message>,
        (namespace, slot): (Namespace, SlotId),
        (number, auto): (u64, bool),
        wait_ms: Option<Millis>,
        answer: oneshot::Receiver<Box<Answered>>,
    ) -> Self {
        let wait_ends = wait_ms.map(|wait_ms| Box::pin(sleep(Duration::from_millis(wait_ms))));
        Self { answer, inbox, namespace, slot, number, auto, wait_ends, answered: false }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Answered> {
        if let Poll::Ready(answer) = heard(&mut self.answer, context) {
            self.answered = true;
            return Poll::Ready(answer);
        }
        if let Some(wait_ends) = &mut self.wait_ends {
            ready!(wait_ends.as_mut().poll(context));
            self.end_wait();
        }
        Poll::Pending
    }

    fn end_wait(&mut self) {
        self.wait_ends = None;
        let (namespace, slot) = (self.namespace.clone(), self.slot.clone());
        self.say(Input::WaitOver { namespace, slot, line: self.number, auto: self.auto });
    }

    /// A node that is gone has no lines any more; the answer says so.
    fn say(&self, input: Input<super::shell::Reply>) {
        let _ = self.inbox.send(Message::Input(Box::new(input)));
    }
}

impl Drop for OnLine {
    fn drop(&mut self) {
        if !self.answered {
            let (namespace, slot) = (self.namespace.clone(), self.slot.clone());
            self.say(Input::HangUp { namespace, slot, line: self.number, auto: self.auto });
        }
    }
}
