//! Words for people: safe names, spans of time, the nearest name.

/// Text from elsewhere with everything escaped that could move the cursor, change the direction of writing, or not
/// be seen at all.
pub fn safe(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' | '\n' | '\r' => shown.extend(c.escape_default()),
            c if is_letter(c) => shown.push(c),
            c => shown.extend(c.escape_unicode()),
        }
    }
    shown
}

/// Whether a terminal shows it and does nothing else.
pub fn is_letter(c: char) -> bool {
    !c.is_control() && !is_unseen(c)
}

/// Marks of direction, joiners and spaces without width, separators of lines, tags.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// `4m 10s`, `2d 3h`: the two largest units. Under ten seconds to a tenth, since there it matters.
pub fn span(ms: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    if ms < 10_000 {
        let (seconds, tenths) = (ms / 1000, ms % 1000 / 100);
        return if tenths == 0 { format!("{seconds}s") } else { format!("{seconds}.{tenths}s") };
    }
    let Some(first) = UNITS.iter().position(|(_, unit_ms)| ms >= *unit_ms) else { return String::new() };
    let (name, unit_ms) = UNITS[first];
    let mut text = format!("{}{name}", ms / unit_ms);
    if let Some((name, next_ms)) = UNITS.get(first + 1)
        && ms % unit_ms >= *next_ms
    {
        text.push_str(&format!(" {}{name}", ms % unit_ms / next_ms));
    }
    text
}

/// `2026-11-30 15:32:11Z`.
pub fn moment(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.map_or_else(|| format!("{at_ms} ms"), |at| at.strftime("%Y-%m-%d %H:%M:%SZ").to_string())
}

/// `00:41`, `1:02:03`.
pub fn clock(ms: u64) -> String {
    let seconds = ms / 1000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes:02}:{seconds:02}")
    }
}

/// `1 line`, `2 lines`.
pub fn count(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

/// The name that was probably meant: at most a third of it is wrong, and no other is as near.
pub fn nearest<'a>(meant: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let most = (meant.chars().count() / 3).clamp(1, 4);
    names
        .map(|name| (distance(meant, name), name))
        .filter(|(far, _)| *far <= most)
        .min()
        .map(|(_, name)| name)
}

/// How many letters must be put in, taken out, replaced or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = match (i, j) {
                (0, far) | (far, 0) => far,
                _ => {
                    let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                    let swap = if swapped { rows[i - 2][j - 2] + 1 } else { usize::MAX };
                    replaced.min(swap).min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1)
                }
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_two_units() {
        let shown: Vec<String> =
            [0, 300, 9_900, 10_000, 61_000, 250_000, 3_600_000, 187_200_000].map(span).into();
        assert_eq!(shown, ["0s", "0.3s", "9.9s", "10s", "1m 1s", "4m 10s", "1h", "2d 4h"]);
        assert_eq!(moment(1796052731999), "2026-11-30 15:32:11Z");
        assert_eq!([41_000, 3_723_000].map(clock), ["00:41", "1:02:03"]);
    }

    #[test]
    fn the_nearest_name_is_near() {
        let names = ["voice-calls", "voice-mail", "partner"];
        let near = |meant| nearest(meant, names.iter().copied());
        assert_eq!(near("voice-cals"), Some("voice-calls"));
        assert_eq!(near("vioce-calls"), Some("voice-calls"));
        assert_eq!(near("partnr"), Some("partner"));
        assert_eq!(near("gpu"), None);
        assert_eq!(near(""), None);
    }

    #[test]
    fn nothing_unseen_is_shown_as_it_is() {
        assert_eq!(safe("ok é 電話"), "ok é 電話");
        assert_eq!(safe("a\tb\u{7}c\u{202e}d\u{200b}"), "a\\tb\\u{7}c\\u{202e}d\\u{200b}");
    }
}
