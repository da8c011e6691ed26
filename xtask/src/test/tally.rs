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

    /// Adds what a line of the test runner says if it is its summary: `Summary … 12 tests run: 11 passed (2 slow), 1
    /// failed, …`. What it shows of a failed test has a summary of its own, which does not count.
    pub fn read_nextest(&mut self, line: &str) {
        if let Some((_, summary)) = line.split_once("Summary [") {
            self.read(summary);
        }
    }

    /// The same for the doc tests of one crate: `test result: ok. 12 passed; 0 failed; …`.
    pub fn read_doc_tests(&mut self, line: &str) {
        if let Some(summary) = line.strip_prefix("test result: ") {
            self.read(summary);
        }
    }

    /// Of the stories of a browser: `  25 passed (2.9m)`, and before it `  1 failed`.
    pub fn read_stories(&mut self, line: &str) {
        let is_summary =
            line.starts_with("  ") && line.trim_start().starts_with(|c: char| c.is_ascii_digit());
        if is_summary && (line.contains(" passed (") || line.ends_with(" failed")) {
            self.read(line);
        }
    }

    fn read(&mut self, summary: &str) {
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

    fn read(how: fn(&mut Tally, &str), line: &str) -> (usize, usize) {
        let mut tally = Tally::default();
        how(&mut tally, line);
        (tally.passed, tally.failed)
    }

    #[test]
    fn summaries_of_nextest() {
        let nextest = |line| read(Tally::read_nextest, line);
        let long = "     Summary [  12.345s] 120 tests run: 117 passed (3 slow, 1 flaky), 2 failed, 1 timed out, 4 skipped";
        assert_eq!(nextest(long), (117, 3));
        assert_eq!(nextest("     Summary [   0.003s] 1 test run: 1 passed, 0 skipped"), (1, 0));
        assert_eq!(
            nextest("     Summary [   9.1s] 365/560 tests run: 364 passed, 1 failed, 2 skipped"),
            (364, 1)
        );
        assert_eq!(nextest("    test result: FAILED. 0 passed; 1 failed; 0 ignored"), (0, 0));
    }

    #[test]
    fn summaries_of_stories() {
        let stories = |line| read(Tally::read_stories, line);
        assert_eq!(stories("  25 passed (2.9m)"), (25, 0));
        assert_eq!(stories("  5 failed"), (0, 5));
        assert_eq!(stories("    stories/leak.story.ts:53:1 › 3 failed"), (0, 0));
        assert_eq!(stories("  ✓   7 stories/a.story.ts:1:1 › 2 passed (1.0s)"), (0, 0));
    }

    #[test]
    fn summaries_of_doc_tests() {
        let doc_tests = |line| read(Tally::read_doc_tests, line);
        assert_eq!(doc_tests("test result: ok. 5 passed; 0 failed; 1 ignored; finished in 0.1s"), (5, 0));
        assert_eq!(doc_tests("test result: FAILED. 4 passed; 1 failed; 0 ignored"), (4, 1));
        assert_eq!(doc_tests("running 3 tests, 2 passed before"), (0, 0));
    }
}
