//! The table of a plan, for programs and for people.

use std::fmt;

/// What so many permits do.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Row {
    /// The N of this row.
    pub permits: u32,
    /// Calls per second whose answer still reaches its caller.
    pub goodput_per_s: f64,
    /// Milliseconds from having a permit to the answer.
    pub mean_latency_ms: f64,
    /// Share of calls that time out, 0 to 1.
    pub timeouts: f64,
    /// How many of the tasks fail.
    pub failed: u64,
}

/// Rows of permits against goodput, latency and timeouts. `Display` is the aligned table.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Table {
    /// How many tasks there are.
    pub tasks: u64,
    /// In the order asked for.
    pub rows: Vec<Row>,
}

impl Table {
    fn cells(&self) -> Vec<[String; 5]> {
        let head = ["permits", "goodput", "mean latency", "timeouts"].map(str::to_owned);
        let [permits, goodput, latency, timeouts] = head;
        let head = [permits, goodput, latency, timeouts, format!("failed of {}", short(self.tasks))];
        std::iter::once(head).chain(self.rows.iter().map(Row::cells)).collect()
    }
}

impl Row {
    fn cells(&self) -> [String; 5] {
        [
            self.permits.to_string(),
            format!("{}/s", short_decimal(self.goodput_per_s)),
            format!("{} ms", short_decimal(self.mean_latency_ms)),
            percent(self.timeouts),
            short(self.failed),
        ]
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = self.cells();
        let width = |column: usize| cells.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths: [usize; 5] = std::array::from_fn(width);
        for row in &cells {
            let padded: Vec<_> =
                row.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
            writeln!(f, "{}", padded.join("  "))?;
        }
        Ok(())
    }
}

/// 40 as `40`, 37.5 as `37.5`, a third as `0.33`.
pub(super) fn short_decimal(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Four characters of digits, however large: `0.00%`, `12.5%`, `100.0%`.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 10.0 { format!("{percent:.2}%") } else { format!("{percent:.1}%") }
}

/// 10000 as `10K`, 1500 as `1500`: short where that loses nothing.
fn short(count: u64) -> String {
    match count {
        0 => "0".to_owned(),
        _ if count.is_multiple_of(1_000_000) => format!("{}M", count / 1_000_000),
        _ if count.is_multiple_of(1_000) => format!("{}K", count / 1_000),
        _ => count.to_string(),
    }
}
