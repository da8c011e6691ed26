//! A small xorshift generator: the same seed gives the same numbers everywhere and for ever.

pub(crate) struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        // Neighbouring seeds must not give neighbouring numbers, and the state must not be 0.
        let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Chance((mixed ^ (mixed >> 31)) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// 0 to `bound` - 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 16) % bound
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }

    pub fn pick_weighted<T: Copy>(&mut self, from: &[(T, u64)]) -> T {
        let weights: Vec<u64> = from.iter().map(|(_, weight)| *weight).collect();
        from[self.weighted(&weights)].0
    }

    /// The index of one of the weights, each as likely as it is heavy.
    pub fn weighted(&mut self, weights: &[u64]) -> usize {
        let mut rest = self.below(weights.iter().sum());
        for (i, weight) in weights.iter().enumerate() {
            if rest < *weight {
                return i;
            }
            rest -= weight;
        }
        unreachable!("the rest is below the sum")
    }
}
