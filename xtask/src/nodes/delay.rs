//! How long the callers of the others were kept waiting when a server was killed.

use std::fmt;

use super::caller::Made;

/// What is answered later than this is not put down to the kill any more.
const LOOKED_AT_US: u64 = 3_000_000;

/// A server that was killed, by the clock of the callers.
pub struct Kill {
    pub server: usize,
    pub at_us: u64,
    /// When something else went wrong.
    pub until_us: u64,
}

/// Of the answers of the servers that were not killed, to calls that do not wait for a grant.
pub struct Delay {
    answers: usize,
    slowest_ms: f64,
    p99_ms: f64,
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Delay { answers, slowest_ms, p99_ms } = self;
        write!(
            f,
            "{answers} answers of the others, the slowest after {slowest_ms:.0} ms, 99 % within {p99_ms:.0} ms"
        )
    }
}

/// None if there is nothing to be said.
pub fn elsewhere(kills: &[Kill], made: &[Made]) -> Option<Delay> {
    let mut took: Vec<u64> = Vec::new();
    for kill in kills {
        let until = kill.until_us.min(kill.at_us + LOOKED_AT_US);
        let concerns = |made: &&Made| {
            let is_then = made.call.ended_at >= kill.at_us && made.call.began_at <= until;
            made.server != kill.server && !made.hangs && is_then
        };
        // What was slow before that, or was still under way after it, had another reason.
        took.extend(
            made.iter()
                .filter(concerns)
                .map(|made| made.call.ended_at.min(until) - made.call.began_at.max(kill.at_us)),
        );
    }
    took.sort_unstable();
    let ms = |micros: u64| micros as f64 / 1_000.0;
    let slowest_ms = ms(*took.last()?);
    Some(Delay { answers: took.len(), slowest_ms, p99_ms: ms(took[(took.len() - 1) * 99 / 100]) })
}

#[cfg(test)]
mod tests {
    use maitred_testbed::history::{Asked, Call, Told};

    use super::{Kill, Made, elsewhere};

    fn made(server: usize, began_at: u64, ended_at: u64) -> Made {
        let (asked, told) = (Asked::Look { slot: "a".to_owned() }, Told::Refused);
        Made { server, hangs: false, call: Call { caller: 0, began_at, ended_at, asked, told } }
    }

    #[test]
    fn only_what_the_others_answered_meanwhile_counts() {
        let kills = [Kill { server: 1, at_us: 10_000, until_us: 50_000 }];
        let hangs = Made { hangs: true, ..made(0, 20_000, 90_000) };
        let others = [made(1, 11_000, 80_000), made(2, 60_000, 99_000), hangs];
        assert!(elsewhere(&kills, &others).is_none());
        let under_way = [made(0, 1_000, 12_000), made(2, 47_000, 3_047_000)];
        let delay = elsewhere(&kills, &[&others[..], &under_way].concat()).expect("two answers");
        assert_eq!((delay.answers, delay.slowest_ms), (2, 3.0));
    }
}
