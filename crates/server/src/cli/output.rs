//! What commands print: aligned columns for people, tab-separated raw values for pipes, JSON for programs.

use std::io::{self, IsTerminal, Write};

use clap::builder::styling::Style;
use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::cli::{exit, text};

/// How to print.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    pub json: bool,
    /// Print the names of columns in a pipe too.
    pub header: bool,
    terminal: bool,
    columns: usize,
}

/// Rows below names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sheet {
    pub names: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

impl Sheet {
    pub fn new(names: &[&'static str]) -> Self {
        Sheet { names: names.to_vec(), rows: Vec::new() }
    }
}

impl Output {
    pub fn new(json: bool, header: bool) -> Self {
        let terminal = io::stdout().is_terminal();
        Output { json, header, terminal, columns: if terminal { terminal_columns() } else { usize::MAX } }
    }

    /// True where a person reads.
    pub fn for_people(&self) -> bool {
        self.terminal && !self.json
    }

    /// The answer itself as JSON, or a sheet of it: one for people, one for pipes.
    pub fn print(
        &self,
        answer: &impl Serialize,
        people: impl FnOnce() -> Sheet,
        pipe: impl FnOnce() -> Sheet,
    ) {
        if self.json {
            self.json(answer);
        } else if self.terminal {
            put(&aligned(&people(), self.columns));
        } else {
            put(&tab_separated(&pipe(), self.header));
        }
    }

    /// The same for an answer that is told in sentences.
    pub fn tell(
        &self,
        answer: &impl Serialize,
        people: impl FnOnce() -> Vec<String>,
        pipe: impl FnOnce() -> Sheet,
    ) {
        if self.for_people() {
            put(&wrapped(&people(), self.columns));
        } else {
            self.print(answer, Sheet::default, pipe);
        }
    }

    pub fn json(&self, answer: &impl Serialize) {
        match as_json(answer) {
            Ok(json) => put(&format!("{json}\n")),
            Err(error) => note(&format!("the answer cannot be shown as JSON: {error}")),
        }
    }

    /// One line.
    pub fn line(&self, line: &str) {
        put(&format!("{}\n", text::safe(line)));
    }

    /// One row of a sheet that goes on.
    pub fn row(&self, cells: Vec<String>) {
        put(&tab_separated(&Sheet { names: Vec::new(), rows: vec![cells] }, false));
    }
}

/// The whole terminal, until it is dropped.
pub struct Screen(());

impl Screen {
    pub fn open() -> Screen {
        put("\x1b[?1049h\x1b[?25l");
        Screen(())
    }

    /// A title, and as many rows as fit below it. What was there before goes.
    pub fn draw(&self, title: &str, sheet: &Sheet) {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
        let lines = size.map_or(24, |size| usize::from(size.ws_row)).max(2);
        let columns = terminal_columns();
        let text = format!("{}\n{}", cut(title, columns), aligned(sheet, columns));
        let shown: Vec<&str> = text.lines().take(lines).collect();
        put(&format!("\x1b[H{}\x1b[K\x1b[J", shown.join("\x1b[K\r\n")));
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        put("\x1b[?25h\x1b[?1049l");
    }
}

/// What another program reads, byte for byte.
pub fn raw(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_all(bytes).and_then(|()| out.flush()) {
        give_up(&error);
    }
}

/// Of a duration that is a number alone: whoever forgot the unit learns what it means.
pub fn note_milliseconds(given: Option<&str>, json: bool) {
    let number = given.and_then(|text| text.trim().parse::<u64>().ok()).filter(|number| *number > 0);
    if let Some(n) = number.filter(|_| !json) {
        note(&format!("note: {n} is {n} milliseconds; {n}s or {n}m would be seconds or minutes"));
    }
}

/// Talk beside the data: on stderr, so that pipes stay clean.
pub fn note(line: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{}", text::safe(line));
}

/// JSON of exactly these values, written so that a terminal shows it and does not obey it: what JSON may hold as it is,
/// and a terminal takes for more than a letter, is escaped.
pub fn as_json(value: &impl Serialize) -> serde_json::Result<String> {
    let mut shown = String::new();
    for c in serde_json::to_string(value)?.chars() {
        match text::is_letter(c) {
            true => shown.push(c),
            false => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| shown += &format!("\\u{unit:04x}")),
        }
    }
    Ok(shown)
}

fn put(text: &str) {
    let mut out = anstream::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        give_up(&error);
    }
}

/// A reader that has seen enough has closed the pipe; there is nobody left to tell. Whatever else keeps an answer from
/// being written has cut it off: on a full disk half a list must not pass for all of it.
fn give_up(error: &io::Error) -> ! {
    if error.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(exit::OK.into());
    }
    note(&format!("error: the answer could not be written: {error}"));
    std::process::exit(exit::FAILED.into())
}

fn terminal_columns() -> usize {
    let asked = rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
    asked.filter(|columns| *columns > 0).unwrap_or(80)
}

/// Lines of words broken at spaces, so that nothing is cut; what goes on is indented as far as its line and two more.
pub fn wrapped(lines: &[String], columns: usize) -> String {
    let mut text = String::new();
    for line in lines {
        let line = text::safe(line);
        let indent = line.len() - line.trim_start().len();
        let mut width = indent;
        text.push_str(&line[..indent]);
        for (at, word) in line.split_whitespace().enumerate() {
            if at > 0 && width + 1 + word.width() > columns {
                text.push('\n');
                text.push_str(&" ".repeat(indent + 2));
                width = indent + 2;
            } else if at > 0 {
                text.push(' ');
                width += 1;
            }
            text.push_str(word);
            width += word.width();
        }
        text.push('\n');
    }
    text
}

/// Raw values; a tab or a line break in one cannot be taken for the end of it.
pub fn tab_separated(sheet: &Sheet, header: bool) -> String {
    let names = header.then(|| sheet.names.join("\t"));
    let rows = sheet.rows.iter().map(|row| {
        let cells: Vec<String> = row.iter().map(|cell| text::safe(cell)).collect();
        cells.join("\t")
    });
    names.into_iter().chain(rows).map(|line| line + "\n").collect()
}

/// Columns as wide as their widest cell, two spaces between; what does not fit is cut in the widest columns, but not in
/// [`WHOLE`].
pub fn aligned(sheet: &Sheet, columns: usize) -> String {
    let safe = |row: &Vec<String>| row.iter().map(|cell| text::safe(cell)).collect();
    let rows: Vec<Vec<String>> = sheet.rows.iter().map(safe).collect();
    let widths = fitting(&sheet.names, &rows, columns);
    let bold = Style::new().bold();
    let names: Vec<String> = sheet.names.iter().map(|name| (*name).to_owned()).collect();
    let mut lines = String::new();
    if names.iter().any(|name| !name.is_empty()) {
        lines.push_str(&format!("{bold}{}{bold:#}\n", row(&names, &widths)));
    }
    for cells in &rows {
        lines.push_str(&row(cells, &widths));
        lines.push('\n');
    }
    lines
}

/// Half a time says nothing, and half an id cannot be copied.
const WHOLE: [&str; 3] = ["ENDED", "WHEN", "SLOT"];

fn fitting(names: &[&str], rows: &[Vec<String>], columns: usize) -> Vec<usize> {
    const LEAST: usize = 8;
    let width_of =
        |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width()).max().unwrap_or(0);
    let mut widths: Vec<usize> =
        names.iter().enumerate().map(|(at, name)| width_of(at).max(name.width())).collect();
    let least_of = |(at, name): (usize, &&str)| match WHOLE.contains(name) {
        true => width_of(at).max(name.width()),
        false => name.width().max(LEAST),
    };
    let least: Vec<usize> = names.iter().enumerate().map(least_of).collect();
    let gaps = 2 * names.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > columns {
        let widest = (0..widths.len()).filter(|at| widths[*at] > least[*at]).max_by_key(|at| widths[*at]);
        match widest {
            Some(at) => widths[at] -= 1,
            None => break,
        }
    }
    widths
}

fn row(cells: &[String], widths: &[usize]) -> String {
    let cut: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| cut(cell, *width)).collect();
    let padded =
        cut.iter().zip(widths).map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.width())));
    padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

fn cut(cell: &str, width: usize) -> String {
    if cell.width() <= width {
        return cell.to_owned();
    }
    let mut kept = String::new();
    for c in cell.chars() {
        if kept.width() + c.width().unwrap_or(0) + 1 > width {
            break;
        }
        kept.push(c);
    }
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(rows: &[[&str; 2]]) -> Sheet {
        let rows = rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect();
        Sheet { names: vec!["NAME", "USE"], rows }
    }

    fn plain(sheet: &Sheet, columns: usize) -> String {
        anstream::adapter::strip_str(&aligned(sheet, columns)).to_string()
    }

    #[test]
    fn columns_are_aligned_by_what_is_seen() {
        let sheet = sheet(&[["voice-calls", "20/20"], ["電話", "1/5"]]);
        assert_eq!(plain(&sheet, 80), "NAME         USE\nvoice-calls  20/20\n電話         1/5\n");
    }

    #[test]
    fn what_does_not_fit_is_cut_in_the_widest_column() {
        let sheet = sheet(&[["a-very-long-name-of-a-limit", "20/20"]]);
        assert_eq!(plain(&sheet, 20), "NAME           USE\na-very-long-…  20/20\n");
        assert_eq!(plain(&sheet, 3), "NAME      USE\na-very-…  20/20\n");
    }

    #[test]
    fn times_and_ids_are_never_cut() {
        let (at, slot) = ("2026-12-01 04:05:06Z", "01a22ff2-bcf0-7000-8000-000000000001");
        let row = [at, slot, "a long reason why it was given back"].map(str::to_owned).to_vec();
        let sheet = Sheet { names: vec!["ENDED", "SLOT", "WHY"], rows: vec![row] };
        assert!(plain(&sheet, 80).contains(&format!("{at}  {slot}  a long reason")), "{}", plain(&sheet, 80));
        assert!(plain(&sheet, 40).contains(&format!("{at}  {slot}  a long …")), "{}", plain(&sheet, 40));
    }

    #[test]
    fn sentences_are_broken_and_never_cut() {
        let lines = ["it waits for the first place".to_owned(), "  s-1 holds voice-calls".to_owned()];
        assert_eq!(wrapped(&lines, 16), "it waits for the\n  first place\n  s-1 holds\n    voice-calls\n");
        assert_eq!(wrapped(&lines, 4).lines().count(), 9, "words are never broken");
        assert_eq!(wrapped(&lines, usize::MAX), "it waits for the first place\n  s-1 holds voice-calls\n");
    }

    #[test]
    fn json_keeps_the_value_and_shows_nothing_that_a_terminal_obeys() {
        let hostile = "a\u{1b}]0;x\u{7}\u{9b}2J\u{7f}\u{202e}b\n\u{e0041}é";
        let json = as_json(&hostile).unwrap();
        assert_eq!(json, r#""a\u001b]0;x\u0007\u009b2J\u007f\u202eb\n\udb40\udc41é""#);
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
    }

    #[test]
    fn pipes_get_full_values_and_no_line_breaks_in_them() {
        let sheet = sheet(&[["a\tb", "c\nd"]]);
        assert_eq!(tab_separated(&sheet, false), "a\\tb\tc\\nd\n");
        assert_eq!(tab_separated(&sheet, true), "NAME\tUSE\na\\tb\tc\\nd\n");
    }
}
