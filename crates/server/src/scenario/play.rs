//! Plays the lines of one file, one after the other.
//!
//! Auto slots need a caller on the line, and here the player is every caller. It asks twice. The first `acquire`
//! does not wait, so its answer is the state that the file speaks of. If the slot is queued, the second one waits
//! in a task of its own: that is the line, held until the slot is granted or ended. The next line of the file must
//! not overtake it on its way into the journal, so the player reads the slot at a later revision than the first
//! answer's before it goes on. Two questions are one slot, since the id and the content are the same (S2).

use std::time::Duration;

use maitred::Client;
use maitred_api::{
    AcquireFields, Answer, Call, ConfirmMode, Context, Given, KeysAnswer, Problem, Reason, SlotAnswer,
    SlotState,
};
use tokio::task::JoinHandle;

use crate::scenario::{Command, Difference, Line, Reply, Report, Stage, World};

/// The longest wait that a call may ask for.
const WAIT: &str = "1d";
const LINE_WITHIN: Duration = Duration::from_secs(10);

pub struct Player {
    world: World,
    context: Context,
    /// The limiter's time at the file's `0s`.
    start_ms: u64,
    /// Every auto slot asked for, in that order.
    callers: Vec<Caller>,
}

/// The caller of one auto slot.
struct Caller {
    slot: String,
    fields: AcquireFields,
    line: Option<OpenLine>,
}

/// A call that waits; dropped, it hangs up.
struct OpenLine(JoinHandle<()>);

impl Drop for OpenLine {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Why a file cannot be played on.
struct Trouble(String);

impl From<Problem> for Trouble {
    fn from(problem: Problem) -> Self {
        Trouble(problem.to_string())
    }
}

impl Player {
    pub async fn start(stage: &Stage) -> Result<Player, String> {
        let world = World::open(stage).await?;
        let start_ms = world.client().now().await.map_err(|problem| problem.message)?;
        Ok(Player { context: world.context(), world, start_ms, callers: Vec::new() })
    }

    pub async fn play(&mut self, lines: &[Line], report: &mut Report) {
        for line in lines {
            match self.line(line).await {
                Ok(came) => {
                    report.lines += 1;
                    report.differ.extend(difference(line, &came));
                }
                Err(Trouble(why)) => {
                    report.trouble = Some(format!("{}:{}: {}: {why}", report.file, line.number, line.text));
                    return;
                }
            }
        }
    }

    /// Hangs up every line and closes the world.
    pub async fn end(self) {
        drop(self.callers);
        self.world.close().await;
    }

    async fn line(&mut self, line: &Line) -> Result<Reply, Trouble> {
        self.world.client().advance_to(self.start_ms + line.at_ms).await?;
        match &line.command {
            Command::Ask(call) => self.ask(call).await,
            Command::Queue { limit } => self.queue(limit).await,
            Command::Counter { task, key } => Ok(or_error(self.key(task, key).await?, Reply::counter)),
            Command::InFlight { task, key } => Ok(or_error(self.key(task, key).await?, Reply::in_flight)),
            Command::Restart => {
                self.restart(line.at_ms).await?;
                Ok(Reply::word("ok"))
            }
            Command::Advance => Ok(Reply::word("ok")),
            Command::Refused(reason) => Ok(Reply::error(reason.code())),
        }
    }

    async fn ask(&mut self, call: &Call) -> Result<Reply, Trouble> {
        let mut outcome = definite(self.world.client().call(&self.context, call.clone()).await)?;
        if let (Call::Acquire(fields), Ok(Answer::Slot(answer))) = (call, &outcome)
            && fields.confirm == ConfirmMode::Auto
        {
            let on_the_line = self.take_the_line(fields, answer).await?;
            outcome = Ok(Answer::Slot(on_the_line));
        }
        Ok(Reply::of(call, &outcome))
    }

    /// Remembers the caller of an auto slot, and puts it on the line if the slot waits.
    async fn take_the_line(
        &mut self,
        fields: &AcquireFields,
        first: &SlotAnswer,
    ) -> Result<SlotAnswer, Trouble> {
        let (line, answer) = match first.slot.state {
            SlotState::Queued | SlotState::Reserved => {
                let (line, answer) = open_line(self.world.client(), &self.context, fields, first).await?;
                (Some(line), answer)
            }
            _ => (None, first.clone()),
        };
        let slot = first.slot.slot.clone();
        self.callers.retain(|caller| caller.slot != slot);
        self.callers.push(Caller { slot, fields: fields.clone(), line });
        Ok(answer)
    }

    async fn queue(&self, limit: &str) -> Result<Reply, Trouble> {
        let mut ids = Vec::new();
        let mut skip = 0;
        loop {
            let call = Call::LimitSlots { limit: limit.to_owned(), skip, most: Some(1000) };
            match definite(self.world.client().call(&self.context, call).await)? {
                Ok(Answer::LimitSlots(page)) => {
                    let seen = page.holders.len() + page.queue.len();
                    ids.extend(page.queue.into_iter().map(|slot| slot.slot));
                    if seen == 0 {
                        return Ok(Reply::queue(&ids));
                    }
                    skip += seen as u32;
                }
                Ok(other) => return Err(Trouble(format!("not an answer to `queue`: {other:?}"))),
                Err(problem) => return Ok(Reply::error(problem.reason.code())),
            }
        }
    }

    async fn key(&self, task: &str, key: &str) -> Result<Result<KeysAnswer, Problem>, Trouble> {
        let call =
            Call::Keys { task: Some(task.to_owned()), key: Some(key.to_owned()), after: None, most: None };
        match definite(self.world.client().call(&self.context, call).await)? {
            Ok(Answer::Keys(answer)) => Ok(Ok(answer)),
            Ok(other) => Err(Trouble(format!("not an answer about a key: {other:?}"))),
            Err(problem) => Ok(Err(problem)),
        }
    }

    /// A new world takes over; the callers of auto slots ask again there before the old lines are dropped, so that
    /// on a server, where both are one, the hang-up of an old line is that of a line nobody is on any more.
    async fn restart(&mut self, at_ms: u64) -> Result<(), Trouble> {
        let next = self.world.restarted().await.map_err(Trouble)?;
        let client = next.client().clone();
        client.advance_to(self.start_ms + at_ms).await?;
        let mut old_lines = Vec::new();
        for caller in &mut self.callers {
            let look = Call::Slot { slot: caller.slot.clone(), wait: Given::default() };
            let Answer::Slot(now) = client.call(&self.context, look).await? else { continue };
            old_lines.extend(caller.line.take());
            if now.slot.state == SlotState::Queued {
                caller.line = Some(open_line(&client, &self.context, &caller.fields, &now).await?.0);
            }
        }
        drop(old_lines);
        std::mem::replace(&mut self.world, next).close().await;
        Ok(())
    }
}

/// Asks again, waiting; comes back with the slot as it is when the line stands.
async fn open_line(
    client: &Client,
    context: &Context,
    fields: &AcquireFields,
    before: &SlotAnswer,
) -> Result<(OpenLine, SlotAnswer), Trouble> {
    let waiting = AcquireFields { wait: WAIT.into(), ..fields.clone() };
    let line = OpenLine(tokio::spawn(hold_line(client.clone(), context.clone(), waiting)));
    let later = Context { min_revision: Some(before.revision + 1), ..context.clone() };
    let stands = async {
        loop {
            let look = Call::Slot { slot: before.slot.slot.clone(), wait: Given::default() };
            match client.call(&later, look).await? {
                Answer::Slot(now) if now.revision > before.revision => return Ok(now),
                _ => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    };
    match tokio::time::timeout(LINE_WITHIN, stands).await {
        Ok(now) => now.map(|now| (line, now)),
        Err(_) => Err(Trouble(format!("no line to slot {} within 10 s", before.slot.slot))),
    }
}

/// Stays on the line until the slot is granted or ended.
async fn hold_line(client: Client, context: Context, fields: AcquireFields) {
    while let Ok(Answer::Slot(answer)) = client.call(&context, Call::Acquire(fields.clone())).await {
        if answer.slot.state != SlotState::Queued {
            return;
        }
    }
}

/// Refusals are answers that a file can speak of. Not to have reached the limiter is not.
fn definite(outcome: Result<Answer, Problem>) -> Result<Result<Answer, Problem>, Trouble> {
    match outcome {
        Err(problem) if is_trouble(problem.reason) => Err(problem.into()),
        other => Ok(other),
    }
}

fn is_trouble(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Unavailable | Reason::Unknown | Reason::Internal | Reason::Unauthorized | Reason::Forbidden
    )
}

fn or_error(outcome: Result<KeysAnswer, Problem>, reply: fn(&KeysAnswer) -> Reply) -> Reply {
    match outcome {
        Ok(answer) => reply(&answer),
        Err(problem) => Reply::error(problem.reason.code()),
    }
}

fn difference(line: &Line, came: &Reply) -> Option<Difference> {
    let expected = line.expected.as_ref().filter(|expected| !expected.is_met_by(came))?;
    let (command, expected, came) = (line.text.clone(), expected.to_string(), came.to_string());
    Some(Difference { line: line.number, command, expected, came })
}
