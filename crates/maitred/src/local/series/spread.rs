//! How durations are spread, in little memory: counts by size class, eight classes to each doubling.
//!
//! 1 000 ms falls into the class of 960 to 1 023 ms and is told as its middle, 992: at most a sixteenth off.

use maitred_engine::{
    bytes::{DecodeError, Reader, Writer},
    time::Millis,
};

/// Counts by class, in the order of the classes.
#[derive(Clone, Debug, Default)]
pub struct Spread(Vec<(u16, u32)>);

/// Classes of each doubling, as a power of two.
const FINE: u32 = 3;

fn class_of(ms: Millis) -> u16 {
    if ms < 1 << (FINE + 1) {
        return ms as u16;
    }
    let doublings = 63 - ms.leading_zeros();
    let within = (ms >> (doublings - FINE)) & ((1 << FINE) - 1);
    (((doublings - FINE + 1) << FINE) as u64 + within) as u16
}

/// The middle of a class.
fn middle_of(class: u16) -> Millis {
    let class = Millis::from(class);
    if class < 1 << (FINE + 1) {
        return class;
    }
    let shift = (class >> FINE) - 1;
    let lowest = ((1 << FINE) + (class & ((1 << FINE) - 1))) << shift;
    lowest + (1 << shift) / 2
}

impl Spread {
    pub fn add(&mut self, ms: Millis) {
        self.add_many(class_of(ms), 1);
    }

    fn add_many(&mut self, class: u16, count: u32) {
        match self.0.binary_search_by_key(&class, |(known, _)| *known) {
            Ok(at) => self.0[at].1 = self.0[at].1.saturating_add(count),
            Err(at) => self.0.insert(at, (class, count)),
        }
    }

    pub fn encode(&self, w: &mut Writer) {
        w.count(self.0.len());
        self.0.iter().for_each(|(class, count)| w.numbers([u64::from(*class), u64::from(*count)]));
    }

    pub fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut spread = Spread::default();
        for _ in 0..r.count(2)? {
            let (class, count) = (r.number_u32()?, r.number_u32()?);
            let class = u16::try_from(class).map_err(|_| DecodeError::Invalid { what: "class" })?;
            spread.add_many(class, count);
        }
        Ok(spread)
    }

    pub fn merge(&mut self, other: &Spread) {
        other.0.iter().for_each(|(class, count)| self.add_many(*class, *count));
    }

    pub fn count(&self) -> u64 {
        self.0.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    /// The duration that `percent` of a hundred do not exceed; none if nothing was counted.
    pub fn percentile(&self, percent: u64) -> Option<Millis> {
        let wanted = (self.count() * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let reached = self.0.iter().find(|(_, count)| {
            seen += u64::from(*count);
            seen >= wanted
        });
        reached.map(|(class, _)| middle_of(*class))
    }
}

#[cfg(test)]
mod tests {
    use super::{Spread, class_of, middle_of};

    #[test]
    fn every_duration_is_told_to_a_sixteenth() {
        let mut last = 0;
        for ms in (0..2_000).chain((0..36).map(|power| (1 << power) + 7)) {
            let told = middle_of(class_of(ms));
            assert!(told.abs_diff(ms) * 16 <= ms, "{ms} is told as {told}");
            last = last.max(class_of(ms));
        }
        assert!(last > 200 && class_of(u64::MAX) > last, "{last}");
        assert!((0..100_000).is_sorted_by_key(class_of));
    }

    #[test]
    fn percentiles_are_of_what_was_added_and_merged() {
        let (mut low, mut high) = (Spread::default(), Spread::default());
        assert_eq!(low.percentile(50), None);
        (1..=10).for_each(|ms| low.add(ms));
        (0..90).for_each(|_| high.add(5_000));
        assert_eq!((low.percentile(50), low.percentile(99), low.count()), (Some(5), Some(10), 10));
        high.merge(&low);
        assert_eq!((high.count(), high.percentile(10)), (100, Some(10)));
        assert!(high.percentile(11).is_some_and(|ms| ms.abs_diff(5_000) < 300));
    }
}
