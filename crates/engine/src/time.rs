//! Time is whole milliseconds (T1). Durations for people: `45m`, `1h30m`, `500ms`, or plain milliseconds (L1).

/// Milliseconds since 1970-01-01 UTC, or a number of milliseconds.
pub type Millis = u64;

pub const SECOND_MS: Millis = 1_000;
pub const MINUTE_MS: Millis = 60 * SECOND_MS;
pub const HOUR_MS: Millis = 60 * MINUTE_MS;
pub const DAY_MS: Millis = 24 * HOUR_MS;

const UNITS: [(&str, Millis); 5] =
    [("d", DAY_MS), ("h", HOUR_MS), ("m", MINUTE_MS), ("s", SECOND_MS), ("ms", 1)];

/// Reads `45m`, `2h`, `1h30m`, `500ms` or plain milliseconds: each unit once, largest first, no fractions.
///
/// ```
/// use maitred_engine::time::parse_duration;
/// assert_eq!(parse_duration("1h30m"), Some(5_400_000));
/// assert_eq!(parse_duration("90000"), Some(90_000));
/// assert_eq!(parse_duration("5m1h"), None);
/// assert_eq!(parse_duration("1.5h"), None);
/// ```
pub fn parse_duration(text: &str) -> Option<Millis> {
    if let Some(plain) = parse_digits(text) {
        return Some(plain);
    }
    let mut rest = text;
    let mut total: Millis = 0;
    let mut units = UNITS.iter();
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = parse_digits(&rest[..digits])?;
        let letters = rest[digits..].bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = &rest[digits..digits + letters];
        let (_, unit_ms) = units.find(|(name, _)| *name == unit)?;
        total = total.checked_add(number.checked_mul(*unit_ms)?)?;
        rest = &rest[digits + letters..];
    }
    (!text.is_empty()).then_some(total)
}

fn parse_digits(text: &str) -> Option<Millis> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

/// The same form, canonical: 36 hours print `1d12h`, nothing prints `0s`.
///
/// ```
/// use maitred_engine::time::format_duration;
/// assert_eq!(format_duration(36 * 3_600_000), "1d12h");
/// assert_eq!(format_duration(1_500), "1s500ms");
/// ```
pub fn format_duration(ms: Millis) -> String {
    if ms == 0 {
        return "0s".to_owned();
    }
    let mut rest = ms;
    let mut text = String::new();
    for (name, unit_ms) in UNITS {
        if rest >= unit_ms {
            text.push_str(&format!("{}{name}", rest / unit_ms));
            rest %= unit_ms;
        }
    }
    text
}

/// Whole seconds, rounded up.
pub fn seconds_up(ms: Millis) -> u64 {
    ms.div_ceil(SECOND_MS)
}

#[cfg(test)]
mod tests {
    use super::{DAY_MS, HOUR_MS, format_duration, parse_duration};

    #[test]
    fn what_is_printed_is_read_again() {
        let lengths = (0..40).map(|power| 3_u64.pow(power)).chain([0, 1_000, DAY_MS, DAY_MS + 1, u64::MAX]);
        for ms in lengths {
            assert_eq!(parse_duration(&format_duration(ms)), Some(ms), "{ms}");
        }
        assert_eq!(format_duration(DAY_MS + 12 * HOUR_MS + 5), "1d12h5ms");
    }

    #[test]
    fn each_unit_once_and_the_largest_first() {
        for bad in ["", "m", "5x", "5m5m", "5m1h", "1.5h", "-1s", " 1s", "1s ", "1h30", "5 m", "५m", "5µs"]
        {
            assert_eq!(parse_duration(bad), None, "{bad:?}");
        }
        assert_eq!(parse_duration("18446744073709551616"), None);
        assert_eq!(parse_duration("213503982335d"), None);
        assert_eq!(parse_duration("213503982334d"), Some(213_503_982_334 * DAY_MS));
    }
}
