//! What people and programs give as text: names, ids, keys, labels, durations, traces, numbers.

use std::str::FromStr;

use maitred_api::{Given, is_traceparent};
use maitred_engine::{
    names::{Key, Label, LimitName, Namespace, RequestId, RunId, SlotId, TaskId},
    time::{format_duration, parse_duration},
};

const NAME: &str = "abcdefghijklmnopqrstuvwxyz0123456789._-";
const ID: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._=@|/:-";

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    name::<Namespace>(text, 64, NAME);
    name::<LimitName>(text, 64, NAME);
    name::<Key>(text, 256, ID);
    name::<SlotId>(text, 200, ID);
    name::<RunId>(text, 200, ID);
    name::<TaskId>(text, 200, ID);
    name::<RequestId>(text, 200, ID);
    label(text);
    duration(text);
    given(text);
    trace(text);
}

/// Taken exactly if it is of the allowed length and letters, and then as it is. Else told what is allowed.
fn name<T: FromStr + ToString>(text: &str, most: usize, letters: &str)
where
    T::Err: ToString,
{
    let is_allowed = (1..=most).contains(&text.len()) && text.chars().all(|letter| letters.contains(letter));
    match T::from_str(text) {
        Ok(name) => {
            assert!(is_allowed && name.to_string() == text, "{text:?} was taken as {}", name.to_string())
        }
        Err(error) => {
            assert!(!is_allowed && error.to_string().starts_with("allowed: "), "{text:?} was refused")
        }
    }
}

fn label(text: &str) {
    let is_allowed = text.chars().count() <= 200 && !text.contains('\0');
    assert_eq!(Label::parse(text).is_ok(), is_allowed, "{text:?}");
}

/// What is read is written in the one form, which is read as the same.
fn duration(text: &str) {
    let Some(ms) = parse_duration(text) else { return };
    let written = format_duration(ms);
    assert_eq!(parse_duration(&written), Some(ms), "{text:?} is written {written}");
    assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{text:?} was taken for {written}");
    if let Ok(number) = text.parse::<u64>() {
        assert_eq!(number, ms);
    }
}

/// As a field of a body: a whole number is one in either form, and what is shown of it stays on its line.
fn given(text: &str) {
    let value = Given::from(text);
    if let Some(number) = value.whole_number() {
        assert_eq!(text.trim_start_matches('0').parse().unwrap_or(0), number);
    }
    assert!(!value.shown().contains(char::is_control), "{:?}", value.shown());
}

fn trace(text: &str) {
    if is_traceparent(text) {
        assert!(text.len() >= 55 && text.is_ascii() && !text.contains(char::is_whitespace), "{text:?}");
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "voice-calls",
        "user=7",
        "org/7:gpu|a@b",
        "0190c5e2-7a3b-7abc-8def-0123456789ab",
        "Ana, at the desk",
        "1d12h",
        "1h30m",
        "45m",
        "1s500ms",
        "90000",
        "18446744073709551615",
        "213503982334d",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ];
    texts.map(|text| text.as_bytes().to_vec()).into()
}
