//! `maitred limits top`: the list of limits on the whole screen, those with the longest queues first, again and again.

use std::time::Duration;

use super::show;
use crate::cli::{exit, failure::Failure, output::Screen, session::Session, signals::Signals, text};

pub async fn run(session: &Session, every: Duration) -> Result<u8, Failure> {
    if !session.out.for_people() {
        let failure = Failure::new(exit::USAGE, "there is no terminal to draw on");
        return Err(failure.hint("for programs: maitred limits list, or maitred limits watch --json"));
    }
    let mut signals = Signals::ending().map_err(|error| Failure::new(exit::FAILED, error.to_string()))?;
    let screen = Screen::open();
    let mut last = show::all(session).await?;
    let mut trouble = String::new();
    loop {
        last.limits.sort_by(|a, b| b.waiting.cmp(&a.waiting).then_with(|| a.limit.cmp(&b.limit)));
        let title = format!("{}  {}  Ctrl-C ends it{trouble}", session.namespace(), text::moment(last.as_of));
        screen.draw(&title, &show::list_for_people(&last));
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            _ = signals.next() => return Ok(exit::OK),
        }
        // What was true last stays on the screen, with its time.
        trouble = match show::all(session).await {
            Ok(answer) => {
                last = answer;
                String::new()
            }
            Err(failure) => format!("  {}", text::safe(&failure.message)),
        };
    }
}
