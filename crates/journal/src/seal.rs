//! What names a record and everything before it, for stores whose records can be replaced behind our back.
//!
//! # Worked example
//! Record 7 has the seal `s7`; record 8 with the bytes `b` gets `s8 = SHA-256(s7 ‖ 8 ‖ b)`, cut to 16 bytes, and is
//! appended under the condition that the head is record 7 *with the seal `s7`*. An asynchronous standby that is
//! promoted without record 7, and on which another node has meanwhile put a record 7 of its own, has another seal
//! there: the append is refused, and a read that compares seals says what happened. The position alone would have
//! matched.

use sha2::{Digest, Sha256};

use crate::Position;

/// Names a record and all before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seal(pub [u8; 16]);

impl Seal {
    /// Before the first record: each journal has a beginning of its own, so that one made anew is another one.
    pub(crate) fn of_journal(id: &str) -> Seal {
        Seal(cut(Sha256::digest(id.as_bytes()).into()))
    }

    pub(crate) fn of_record(before: Seal, position: Position, bytes: &[u8]) -> Seal {
        let mut hasher = Sha256::new();
        hasher.update(before.0);
        hasher.update(position.to_be_bytes());
        hasher.update(bytes);
        Seal(cut(hasher.finalize().into()))
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Seal> {
        bytes.try_into().ok().map(Seal)
    }
}

fn cut(whole: [u8; 32]) -> [u8; 16] {
    let mut cut = [0; 16];
    cut.copy_from_slice(&whole[..16]);
    cut
}

#[cfg(test)]
mod tests {
    use super::Seal;

    #[test]
    fn a_seal_names_everything_before_it() {
        let chain = |id: &str, records: &[&str]| {
            let numbered = (1..).zip(records);
            numbered.fold(Seal::of_journal(id), |seal, (position, bytes)| {
                Seal::of_record(seal, position, bytes.as_bytes())
            })
        };
        let whole = chain("a", &["x", "y", "z"]);
        assert_eq!(whole, chain("a", &["x", "y", "z"]));
        for other in
            [chain("b", &["x", "y", "z"]), chain("a", &["y", "x", "z"]), chain("a", &["xy", "", "z"])]
        {
            assert_ne!(whole, other);
        }
    }
}
