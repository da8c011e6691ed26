//! What the connections do.

use super::{
    Caller,
    answer::Answer,
    template::{Template, post},
};
use crate::ids::{Chance, ID_BYTES, Ids, KEY_BYTES, key, limit};

/// How many keys calls are spread over.
const KEYS: u64 = 10_000;
const ITEMS: usize = 64;

const SLOT: &str = "ssssssss-ssss-ssss-ssss-ssssssssssss";
const REQUEST: &str = "rrrrrrrr-rrrr-rrrr-rrrr-rrrrrrrrrrrr";
const KEY: &str = "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk";

fn key_mark() -> [u8; KEY_BYTES] {
    let mut bytes = [0; KEY_BYTES];
    bytes.copy_from_slice(key(0).as_bytes());
    bytes
}

/// Takes a slot and gives it back, again and again: two calls. Every second pair carries request ids.
pub struct TakeAndGive {
    ids: Ids,
    /// Acquire and release, without request ids and with them.
    requests: [[Template; 2]; 2],
    asked: u64,
    slot: [u8; ID_BYTES],
}

impl TakeAndGive {
    pub fn new(connection: usize, limits: u64) -> TakeAndGive {
        let name = limit(connection as u64 % limits);
        let body = format!(
            r#"{{"slot":"{SLOT}","limit":"{name}","label":"call-48213","confirm":"auto","wait":"30s"}}"#
        );
        let pair = |id: Option<&str>| {
            [
                Template::new(&post("/v1/slots", id, &body), &[SLOT, REQUEST]),
                Template::new(&post(&format!("/v1/slots/{SLOT}/release"), id, ""), &[SLOT, REQUEST]),
            ]
        };
        TakeAndGive {
            ids: Ids::new(),
            requests: [pair(None), pair(Some(REQUEST))],
            asked: 0,
            slot: [0; ID_BYTES],
        }
    }
}

impl Caller for TakeAndGive {
    fn ask(&mut self, out: &mut Vec<u8>) {
        let gives = self.asked % 2 == 1;
        if !gives {
            self.slot = self.ids.fresh();
        }
        let request = &mut self.requests[(self.asked / 2 % 2) as usize][usize::from(gives)];
        request.put(0, &self.slot);
        if request.places(1) > 0 {
            request.put(1, &self.ids.fresh());
        }
        out.extend_from_slice(request.bytes());
        self.asked += 1;
    }

    /// The echo says the same words.
    fn judge(&mut self, answer: &Answer<'_>) -> bool {
        match self.asked % 2 == 1 {
            true => answer.is_ok_with(r#""state":"busy""#) || answer.is_ok_with(r#""wait":"30s""#),
            false => answer.is_ok_with(r#""released":true"#),
        }
    }

    fn may_stop(&self) -> bool {
        self.asked.is_multiple_of(2)
    }
}

/// Counts one against a key that is far from its limit. Every second call carries a request id.
pub struct Admits {
    ids: Ids,
    chance: Chance,
    requests: [Template; 2],
    asked: u64,
    key: [u8; KEY_BYTES],
}

fn admission() -> String {
    format!(r#""task":"describe-image","specs":[{{"key":"{KEY}","limit":1000000000,"windowSeconds":86400}}]"#)
}

impl Admits {
    pub fn new(connection: usize) -> Admits {
        let body = format!("{{{}}}", admission());
        let request = |id| Template::new(&post("/v1/admit", id, &body), &[KEY, REQUEST]);
        Admits {
            ids: Ids::new(),
            chance: Chance(connection as u64),
            requests: [request(None), request(Some(REQUEST))],
            asked: 0,
            key: key_mark(),
        }
    }
}

impl Caller for Admits {
    fn ask(&mut self, out: &mut Vec<u8>) {
        write_number(&mut self.key, self.chance.below(KEYS));
        let request = &mut self.requests[(self.asked % 2) as usize];
        request.put(0, &self.key);
        if request.places(1) > 0 {
            request.put(1, &self.ids.fresh());
        }
        out.extend_from_slice(request.bytes());
        self.asked += 1;
    }

    fn judge(&mut self, answer: &Answer<'_>) -> bool {
        answer.is_ok_with(r#""overLimit":false"#) || answer.is_ok_with(r#""windowSeconds":86400"#)
    }
}

/// 64 admissions in one request. Every second item carries a request id.
pub struct AdmitBatches {
    ids: Ids,
    chance: Chance,
    request: Template,
    key: [u8; KEY_BYTES],
}

impl AdmitBatches {
    pub const ITEMS: usize = ITEMS;

    pub fn new(connection: usize) -> AdmitBatches {
        let item = |number: usize| {
            let id = if number.is_multiple_of(2) { "" } else { &format!(r#""id":"{REQUEST}","#) };
            format!(r#"{{{id}"op":"admit",{}}}"#, admission())
        };
        let items: Vec<String> = (0..ITEMS).map(item).collect();
        let body = format!(r#"{{"items":[{}]}}"#, items.join(","));
        AdmitBatches {
            ids: Ids::new(),
            chance: Chance(connection as u64),
            request: Template::new(&post("/v1/batch", None, &body), &[KEY, REQUEST]),
            key: key_mark(),
        }
    }
}

impl Caller for AdmitBatches {
    fn ask(&mut self, out: &mut Vec<u8>) {
        for place in 0..self.request.places(0) {
            write_number(&mut self.key, self.chance.below(KEYS));
            self.request.put_at(0, place, &self.key);
        }
        for place in 0..self.request.places(1) {
            self.request.put_at(1, place, &self.ids.fresh());
        }
        out.extend_from_slice(self.request.bytes());
    }

    fn judge(&mut self, answer: &Answer<'_>) -> bool {
        answer.status == 200 && answer.count(r#""overLimit":false"#) == ITEMS
    }
}

/// A request of throttlecrab's for a key far from its limit.
pub struct Throttles {
    chance: Chance,
    request: Template,
    key: [u8; KEY_BYTES],
}

impl Throttles {
    pub fn new(connection: usize) -> Throttles {
        let body = format!(
            r#"{{"key":"{KEY}","max_burst":1000000000,"count_per_period":1000000000,"period":86400,"quantity":1}}"#
        );
        let request = Template::new(&post("/throttle", None, &body), &[KEY]);
        Throttles { chance: Chance(connection as u64), request, key: key_mark() }
    }
}

impl Caller for Throttles {
    fn ask(&mut self, out: &mut Vec<u8>) {
        write_number(&mut self.key, self.chance.below(KEYS));
        self.request.put(0, &self.key);
        out.extend_from_slice(self.request.bytes());
    }

    fn judge(&mut self, answer: &Answer<'_>) -> bool {
        answer.is_ok_with(r#""allowed":true"#)
    }
}

/// The last eight digits of a key.
fn write_number(key: &mut [u8; KEY_BYTES], mut number: u64) {
    for digit in key[KEY_BYTES - 8..].iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::{AdmitBatches, Admits, Caller, TakeAndGive, key, key_mark, write_number};
    use crate::load::answer::Answer;

    #[test]
    fn numbers_are_written_as_keys_have_them() {
        let mut bytes = key_mark();
        write_number(&mut bytes, 9_876);
        assert_eq!(bytes, key(9_876).as_bytes());
    }

    #[test]
    fn half_of_the_requests_carry_an_id() {
        let asked = |caller: &mut dyn Caller, times| {
            let mut text = Vec::new();
            (0..times).for_each(|_| caller.ask(&mut text));
            String::from_utf8(text).unwrap()
        };
        assert_eq!(asked(&mut TakeAndGive::new(0, 1), 4).matches("Idempotency-Key").count(), 2);
        assert_eq!(asked(&mut Admits::new(0), 4).matches("Idempotency-Key").count(), 2);
        assert_eq!(asked(&mut AdmitBatches::new(0), 1).matches(r#""id":"#).count(), 32);
    }

    #[test]
    fn a_slot_that_is_taken_is_given_back_and_what_was_not_granted_is_seen() {
        let mut caller = TakeAndGive::new(0, 1);
        let mut text = Vec::new();
        caller.ask(&mut text);
        assert!(!caller.may_stop());
        assert!(!caller.judge(&Answer { status: 200, body: br#"{"state":"queued"}"# }));
        assert!(caller.judge(&Answer { status: 200, body: br#"{"state":"busy"}"# }));
        caller.ask(&mut text);
        assert!(caller.may_stop());
        assert!(!caller.judge(&Answer { status: 200, body: br#"{"released":false}"# }));
    }
}
