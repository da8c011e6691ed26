//! The format of the scenario files: one command a line, `TIME VERB ARGUMENTS => EXPECTED`.

#[derive(Debug)]
pub struct Line {
    pub number: usize,
    pub at_ms: u64,
    pub verb: String,
    pub arguments: Vec<String>,
    /// `None`: any answer will do.
    pub expected: Option<Vec<String>>,
}

/// The command on a line, `None` if there is only a comment or nothing.
pub fn parse(number: usize, text: &str) -> Result<Option<Line>, String> {
    let mut words = text.split_whitespace().take_while(|word| !word.starts_with('#')).map(str::to_owned);
    let Some(time) = words.next() else { return Ok(None) };
    let at_ms = duration_ms(&time).ok_or(format!("{time} is not a time"))?;
    let verb = words.next().ok_or("a verb is missing")?;
    let rest: Vec<String> = words.collect();
    let mut halves = rest.split(|word| word == "=>").map(<[String]>::to_vec);
    let arguments = halves.next().unwrap_or_default();
    Ok(Some(Line { number, at_ms, verb, arguments, expected: halves.next() }))
}

/// `1h30m`, `500ms`, or plain milliseconds; each unit once, largest first, no fractions.
pub fn duration_ms(text: &str) -> Option<u64> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
    let mut units_left = units.as_slice();
    let mut rest = text;
    let mut sum_ms = 0u64;
    while !rest.is_empty() {
        let (number, after) = split_where(rest, |c| !c.is_ascii_digit());
        let (unit, next) = split_where(after, |c| c.is_ascii_digit());
        let place = units_left.iter().position(|(name, _)| *name == unit)?;
        sum_ms = sum_ms.checked_add(number.parse::<u64>().ok()?.checked_mul(units_left[place].1)?)?;
        units_left = &units_left[place + 1..];
        rest = next;
    }
    (!text.is_empty()).then_some(sum_ms)
}

fn split_where(text: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

/// What was answered holds what was expected: the plain words first, in order, then each `name=value` somewhere.
pub fn matches(expected: &[String], answer: &str) -> bool {
    let answered: Vec<&str> = answer.split(' ').collect();
    let is_pair = |word: &&String| word.contains('=');
    let words = expected.iter().filter(|word| !is_pair(word)).enumerate();
    let words_agree = words.fold(true, |agree, (i, word)| agree && answered.get(i) == Some(&word.as_str()));
    words_agree && expected.iter().filter(is_pair).all(|pair| answered.contains(&pair.as_str()))
}
