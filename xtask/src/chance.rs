//! Chance from a seed: the same seed gives the same numbers in every run.

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// Different purposes of one seed have different streams, so that drawing for one does not shift the other.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let mut mixed = Self(seed);
        for byte in purpose.bytes() {
            mixed.0 = mixed.next() ^ u64::from(byte);
        }
        mixed
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// 0 to `bound` - 1; 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// `low` to `high` - 1.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low))
    }

    pub fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

/// A seed for a run that was given none. It is printed, so the run can be had again.
pub fn fresh_seed() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(1, |since| since.as_nanos() as u64 % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::Chance;

    #[test]
    fn a_seed_and_a_purpose_fix_the_numbers() {
        let draw = |seed, purpose| {
            let mut chance = Chance::new(seed, purpose);
            [chance.below(1_000_000), chance.below(1_000_000)]
        };
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
    }
}
