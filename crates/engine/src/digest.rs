//! Keyed hashes of names and contents, and the rolling digest of outcomes. All of it is the same on every
//! machine: bytes go in lowest first, nothing depends on the layout of memory.

use siphasher::sip128::SipHasher13;

use crate::{
    index::NameHash,
    outcome::{End, KeyResult, Outcome, Refusal, SlotStatus, Verdict},
};

/// The key comes from the journal's birth, so that nobody outside can choose names that collide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HashKey(pub(crate) [u64; 2]);

/// What a name is the name of. One text may name a slot and a run.
#[derive(Clone, Copy)]
pub(crate) enum Named {
    Namespace = 1,
    Limit = 2,
    Slot = 3,
    Run = 4,
    Task = 5,
    Counter = 6,
    PlaceKey = 7,
    Request = 8,
}

/// Never part of UTF-8, so that no two lists of names give the same bytes.
const END_OF_NAME: u8 = 0xff;

impl HashKey {
    /// The hash that stands for a name: of a kind, and within what it is unique in.
    pub(crate) fn name<const N: usize>(self, of: Named, names: [&str; N]) -> NameHash {
        let len = 1 + names.iter().map(|name| name.len() + 1).sum::<usize>();
        let mut short = [0; SHORT];
        if len <= SHORT {
            return self.hash(lay_out(&mut short[..len], of, names));
        }
        self.hash(lay_out(&mut vec![0; len], of, names))
    }

    pub(crate) fn content(self, bytes: &[u8]) -> u64 {
        self.hash(bytes) as u64
    }

    fn hash(self, bytes: &[u8]) -> u128 {
        SipHasher13::new_with_keys(self.0[0], self.0[1]).hash(bytes).into()
    }
}

/// Most names are shorter than this together, and need no memory of their own to be hashed.
const SHORT: usize = 160;

fn lay_out<'a, const N: usize>(bytes: &'a mut [u8], of: Named, names: [&str; N]) -> &'a [u8] {
    bytes[0] = of as u8;
    let mut start = 1;
    for name in names {
        let end = start + name.len();
        bytes[start..end].copy_from_slice(name.as_bytes());
        bytes[end] = END_OF_NAME;
        start = end + 1;
    }
    bytes
}

/// Changes with everything that went in, and with its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest(pub(crate) u64);

impl Digest {
    pub(crate) fn add(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(31);
    }

    pub(crate) fn add_text(&mut self, text: &str) {
        self.add(text.len() as u64);
        text.bytes().for_each(|byte| self.add(u64::from(byte)));
    }

    pub(crate) fn add_outcome(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Done => self.add(1),
            Outcome::Slot(status) => self.add_status(2, status),
            Outcome::Release { released, status } => self.add_status(3 + u64::from(*released), status),
            Outcome::Admission(admission) => {
                self.add_verdict(5 + u64::from(admission.replayed), admission.verdict);
                admission.results.iter().for_each(|result| self.add_result(result));
            }
            Outcome::Refused(refusal) => self.add_refusal(refusal),
        }
    }

    fn add_status(&mut self, tag: u64, status: &SlotStatus) {
        self.add(tag);
        match *status {
            SlotStatus::Queued { place, gives_up_at } => self.add_all([1, place, gives_up_at]),
            SlotStatus::Reserved { fence, granted_at, lapses_at, expires_at } => {
                self.add_all([2, fence, granted_at, lapses_at, expires_at]);
            }
            SlotStatus::Busy { fence, granted_at, expires_at } => {
                self.add_all([3, fence, granted_at, expires_at])
            }
            SlotStatus::Ended(end) => self.add_all([4, end.number()]),
            SlotStatus::Unknown => self.add(5),
        }
    }

    fn add_verdict(&mut self, tag: u64, verdict: Verdict) {
        self.add(tag);
        match verdict {
            Verdict::Allowed => self.add(1),
            Verdict::OverRate { spec, retry_after_s } => self.add_all([2, spec as u64, retry_after_s]),
            Verdict::OverConcurrency { spec } => self.add_all([3, spec as u64]),
        }
    }

    fn add_result(&mut self, result: &KeyResult) {
        let KeyResult { used, remaining, reset_s, over } = *result;
        self.add_all([used, remaining, reset_s, u64::from(over)]);
    }

    fn add_refusal(&mut self, refusal: &Refusal) {
        self.add_text(refusal.code());
        match refusal {
            Refusal::LimitNotFound { limit } | Refusal::LimitRetired { limit } => {
                self.add_text(limit.as_str())
            }
            Refusal::NeverFits { limit, weight, capacity } => {
                self.add_text(limit.as_str());
                self.add_all([u64::from(*weight), u64::from(*capacity)]);
            }
            Refusal::TooOld { horizon } => self.add(*horizon),
            Refusal::QueueFull { limit } => self.add_text(limit.as_ref().map_or("", |limit| limit.as_str())),
            Refusal::UnsupportedRules { version } => self.add(u64::from(*version)),
            Refusal::Conflict
            | Refusal::IdempotencyFull
            | Refusal::TooManySlots
            | Refusal::TooManyLimits
            | Refusal::TooManyKeys
            | Refusal::TooManyNamespaces => {}
        }
    }

    fn add_all<const N: usize>(&mut self, words: [u64; N]) {
        words.into_iter().for_each(|word| self.add(word));
    }
}

impl End {
    /// As it stands in digests, snapshots and the memory of ended slots. Never reused.
    pub(crate) fn number(self) -> u64 {
        match self {
            End::Released => 1,
            End::Expired => 2,
            End::TimedOut => 3,
            End::Left => 4,
            End::RunEnded => 5,
        }
    }

    pub(crate) fn of_number(number: u64) -> Option<End> {
        [End::Released, End::Expired, End::TimedOut, End::Left, End::RunEnded]
            .into_iter()
            .find(|end| end.number() == number)
    }
}

#[cfg(test)]
mod tests {
    use super::{HashKey, Named};

    /// Key `c` of task `ab` is not key `bc` of task `a`; nor are two kinds of name, or two lengths of list, the same.
    #[test]
    fn other_names_have_other_hashes() {
        let key = HashKey([1, 2]);
        let long = "x".repeat(200);
        let hashes = [
            key.name(Named::Slot, ["ab", "c"]),
            key.name(Named::Slot, ["a", "bc"]),
            key.name(Named::Run, ["a", "bc"]),
            key.name(Named::Slot, ["abc"]),
            key.name(Named::Slot, ["", "abc"]),
            key.name(Named::Slot, [&long, "c"]),
            key.name(Named::Slot, [&long[1..], "xc"]),
            HashKey([2, 1]).name(Named::Slot, ["ab", "c"]),
        ];
        for (index, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..index].contains(hash), "{index}");
        }
    }
}
