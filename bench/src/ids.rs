//! Ids and names as clients send them: slots and requests are UUIDv7 of 36 characters, keys have 32.

use std::time::{SystemTime, UNIX_EPOCH};

use uuid::{Builder, Uuid};

pub const ID_BYTES: usize = 36;
pub const KEY_BYTES: usize = 32;

/// SplitMix64: the same numbers in every run.
pub struct Chance(pub u64);

impl Chance {
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound
    }
}

/// Makes ids that nobody made before, without a lock: each maker starts at chance.
pub struct Ids(Chance);

impl Ids {
    pub fn new() -> Ids {
        Ids(Chance(Uuid::new_v4().as_u64_pair().0))
    }

    pub fn fresh(&mut self) -> [u8; ID_BYTES] {
        id(now_ms(), self.0.draw(), self.0.draw())
    }
}

impl Default for Ids {
    fn default() -> Self {
        Ids::new()
    }
}

pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

/// A UUIDv7 of this time. Version and variant take the upper bits of both, so small numbers stay different.
pub fn id(at_ms: u64, chance: u64, more: u64) -> [u8; ID_BYTES] {
    let mut random = [0; 10];
    random[..2].copy_from_slice(&more.to_be_bytes()[6..]);
    random[2..].copy_from_slice(&chance.to_be_bytes());
    let mut text = [0; ID_BYTES];
    Builder::from_unix_timestamp_millis(at_ms, &random).into_uuid().hyphenated().encode_lower(&mut text);
    text
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

pub fn key(number: u64) -> String {
    format!("user=0123456789-0123456-{number:08}")
}

pub fn limit(number: u64) -> String {
    format!("limit-{number:05}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{ID_BYTES, Ids, KEY_BYTES, id, key, text};

    #[test]
    fn they_have_the_length_that_is_promised() {
        assert_eq!(key(99_999_999).len(), KEY_BYTES);
        let made = id(1_800_000_000_000, 7, 9);
        assert_eq!(uuid::Uuid::parse_str(text(&made)).unwrap().get_version_num(), 7);
        assert_eq!(made.len(), ID_BYTES);
        let numbered: BTreeSet<_> =
            (0..10_000).flat_map(|number| [id(1, number, 0), id(1, number, 1)]).collect();
        assert_eq!(numbered.len(), 20_000);
        let mut ids = Ids::new();
        assert_ne!(ids.fresh(), ids.fresh());
    }
}
