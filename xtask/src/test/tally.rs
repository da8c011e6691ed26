//! How many tests and checks there were.

use std::fmt;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: usize,
    pub failed: usize,
}

impl Tally {
    pub fn passed(passed: usize) -> Tally {
        Tally { passed, failed: 0 }
    }

    pub fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// Adds what a line of a test runner's output says, if it is its summary: `… 12 passed; 1 failed; …` of the doc
    /// tests, or `Summary … 12 tests run: 11 passed (2 slow), 1 failed, …`.
    pub fn read(&mut self, line: &str) {
        let summary = line.split_once("test result: ").or_else(|| line.split_once("tests run: "));
        let summary = summary.or_else(|| line.split_once("test run: "));
        let Some((_, summary)) = summary else { return };
        let words: Vec<&str> =
            summary.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            let Ok(number) = pair[0].parse::<usize>() else { continue };
            match pair[1] {
                "passed" => self.passed += number,
                "failed" | "timed" | "exec" => self.failed += number,
                _ => {}
            }
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tests and checks", self.passed + self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    fn read(line: &str) -> (usize, usize) {
        let mut tally = Tally::default();
        tally.read(line);
        (tally.passed, tally.failed)
    }

    #[test]
    fn summaries_of_both_runners() {
        let nextest = "     Summary [  12.345s] 120 tests run: 117 passed (3 slow, 1 flaky), 2 failed, 1 timed out, 4 skipped";
        assert_eq!(read(nextest), (117, 3));
        assert_eq!(read("     Summary [   0.003s] 1 test run: 1 passed, 0 skipped"), (1, 0));
        assert_eq!(
            read("test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; finished in 0.1s"),
            (5, 0)
        );
        assert_eq!(read("test result: FAILED. 4 passed; 1 failed; 0 ignored"), (4, 1));
        assert_eq!(read("running 3 tests, 2 passed before"), (0, 0));
    }
}
