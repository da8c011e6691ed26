//! The list of runs, with only those that are wanted.

use maitred_api::{Answer, Call, Context, Problem, Reason, RunsAnswer, RunsFields};

use super::{Node, reading};

/// A page of wanted runs is looked for in at most so many pages of all runs.
const PAGES: usize = 50;
/// With less than this part of the page to fill it is answered as it is.
const ENOUGH: usize = 4;

impl Node {
    /// Looks through the runs, a page at a time, so that nobody else waits for it, until a page of those that are wanted is
    /// full. What was passed over is not looked at again: the answer says where to go on.
    pub(super) async fn runs(&self, context: &Context, fields: RunsFields) -> Result<Answer, Problem> {
        let most = reading::page(fields.most)?;
        let mut asked = fields.clone();
        let mut found = Vec::new();
        for looked in 1.. {
            asked.most = Some((most - found.len()) as u32);
            let RunsAnswer { runs, next, revision, as_of } = self.page_of_runs(context, &asked).await?;
            found.extend(runs.into_iter().filter(|run| fields.fits(run)));
            let is_enough = found.len() + most.div_ceil(ENOUGH) > most;
            if next.is_none() || is_enough || looked == PAGES || !fields.is_filtered() {
                return Ok(Answer::Runs(RunsAnswer { runs: found, next, revision, as_of }));
            }
            asked.after = next;
        }
        Err(Problem::new(Reason::Internal, "the look at the runs has no end"))
    }

    async fn page_of_runs(&self, context: &Context, fields: &RunsFields) -> Result<RunsAnswer, Problem> {
        let mut answer = self.read(context, Call::Runs(fields.clone())).await?;
        self.mark_orphans(context, &mut answer);
        match answer {
            Answer::Runs(answer) => Ok(answer),
            _ => Err(Problem::new(Reason::Internal, "a look at the runs gave something else")),
        }
    }
}
