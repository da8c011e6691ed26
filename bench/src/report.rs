//! One line a figure, on standard output as soon as it is there; nothing else ever goes there.

use serde_json::{Map, Value, json};

use crate::{
    families::figure,
    figure::Figure,
    pairs::{Pairs, Spread},
};

pub struct Report {
    json: bool,
    /// The figures asked for; all if empty.
    names: Vec<String>,
    pub lines: Vec<Line>,
    /// What there is no figure of, and why.
    pub left_out: Vec<(String, String)>,
}

pub struct Line {
    pub figure: &'static Figure,
    pub spread: Spread,
    /// For ratios: what both sides did.
    pub sides: Option<(f64, f64)>,
}

impl Report {
    pub fn new(json: bool, names: &[String]) -> Report {
        if !json {
            println!(
                "{:<34} {:>10} {:<11} {:<18} {:<6} from – to (repetitions)",
                "name", "value", "unit", "target", ""
            );
        }
        Report { json, names: names.to_vec(), lines: Vec::new(), left_out: Vec::new() }
    }

    pub fn put(&mut self, name: &str, spread: Spread) {
        self.add(name, spread, None);
    }

    pub fn put_pairs(&mut self, name: &str, pairs: &Pairs) {
        self.add(name, pairs.ratio, Some((pairs.ours.median, pairs.theirs.median)));
    }

    pub fn leave_out(&mut self, what: &str, why: &str) {
        self.left_out.push((what.to_owned(), why.to_owned()));
    }

    fn add(&mut self, name: &str, spread: Spread, sides: Option<(f64, f64)>) {
        let (family, figure) = figure(name);
        let is_wanted =
            self.names.is_empty() || self.names.iter().any(|wanted| wanted == name || wanted == family);
        if !is_wanted {
            return;
        }
        let line = Line { figure, spread, sides };
        println!("{}", if self.json { line.as_json().to_string() } else { line.as_row() });
        self.lines.push(line);
    }
}

impl Line {
    pub fn verdict(&self) -> &'static str {
        match self.figure.target.is_met(self.spread.median) {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "",
        }
    }

    fn as_json(&self) -> Value {
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| drop(object.insert(name.to_owned(), value));
        put("name", json!(self.figure.name));
        put("value", json!(rounded(self.spread.median)));
        put("unit", json!(self.figure.unit));
        put("target", json!(self.figure.target.to_string()));
        put("met", json!(self.figure.target.is_met(self.spread.median)));
        put("spread", json!([rounded(self.spread.least), rounded(self.spread.most)]));
        put("repetitions", json!(self.spread.repetitions));
        if let Some((ours, theirs)) = self.sides {
            put("ours", json!(rounded(ours)));
            put("theirs", json!(rounded(theirs)));
        }
        Value::Object(object)
    }

    fn as_row(&self) -> String {
        let Spread { median, least, most, repetitions } = self.spread;
        let sides = self
            .sides
            .map_or(String::new(), |(ours, theirs)| format!("; {} ÷ {}", shown(ours), shown(theirs)));
        format!(
            "{:<34} {:>10} {:<11} {:<18} {:<6} {} – {} ({repetitions}){sides}",
            self.figure.name,
            shown(median),
            self.figure.unit,
            self.figure.target.to_string(),
            self.verdict(),
            shown(least),
            shown(most),
        )
    }
}

/// Four digits that mean something are more than any of these figures has.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10_f64.powi(3 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

/// `1234567` as `1,235,000`, `0.51234` as `0.5123`.
pub fn shown(value: f64) -> String {
    let value = rounded(value);
    if value.abs() < 1_000.0 {
        return value.to_string();
    }
    let digits = format!("{value:.0}");
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::{rounded, shown};

    #[test]
    fn figures_are_readable() {
        assert_eq!(rounded(0.000_123_456), 0.000_123_5);
        assert_eq!(shown(1_234_567.0), "1,235,000");
        assert_eq!(shown(0.512_34), "0.5123");
        assert_eq!(shown(0.0), "0");
        assert_eq!(shown(999.96), "1,000");
    }
}
