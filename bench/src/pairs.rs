//! Repetitions, ratios, medians.
//!
//! Ours and theirs run in turn, A B A B. Each B is compared with the A before it, and the median of these ratios is
//! the figure: what slows the machine for a while slows both sides of a pair, and a pair that was cut in two by it
//! does not move the median. The smallest and the largest ratio are shown with it.

use crate::figure::Trouble;

/// Repetitions of one measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
    pub repetitions: usize,
}

impl Spread {
    /// At least one value.
    pub fn of(mut values: Vec<f64>) -> Spread {
        values.sort_by(f64::total_cmp);
        Spread {
            median: quantile(&values, 0.5),
            least: values[0],
            most: values[values.len() - 1],
            repetitions: values.len(),
        }
    }
}

/// Two sides of a figure, and how ours stands to theirs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pairs {
    pub ratio: Spread,
    pub ours: Spread,
    pub theirs: Spread,
}

impl Pairs {
    pub fn of(ours: Vec<f64>, theirs: Vec<f64>) -> Pairs {
        let ratio = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
        Pairs { ratio: Spread::of(ratio), ours: Spread::of(ours), theirs: Spread::of(theirs) }
    }
}

/// Runs both sides in turn, after a turn that does not count.
pub fn in_turn<T>(
    repetitions: usize,
    mut ours: impl FnMut() -> Result<T, Trouble>,
    mut theirs: impl FnMut() -> Result<T, Trouble>,
) -> Result<(Vec<T>, Vec<T>), Trouble> {
    ours()?;
    theirs()?;
    let (mut all_ours, mut all_theirs) = (Vec::new(), Vec::new());
    for _ in 0..repetitions {
        all_ours.push(ours()?);
        all_theirs.push(theirs()?);
    }
    Ok((all_ours, all_theirs))
}

pub fn pairs(
    repetitions: usize,
    ours: impl FnMut() -> Result<f64, Trouble>,
    theirs: impl FnMut() -> Result<f64, Trouble>,
) -> Result<Pairs, Trouble> {
    let (ours, theirs) = in_turn(repetitions, ours, theirs)?;
    Ok(Pairs::of(ours, theirs))
}

/// Of values in order; the mean of two where it falls between them, as the median of four does.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len() - 1) as f64 * share;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    let part = place - place.floor();
    sorted[below] * (1.0 - part) + sorted[above] * part
}

#[cfg(test)]
mod tests {
    use super::{Pairs, Spread, in_turn, quantile};

    #[test]
    fn medians_and_quantiles() {
        assert_eq!(quantile(&[1.0], 0.99), 1.0);
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 1.0), 3.0);
        let spread = Spread::of(vec![3.0, 1.0, 2.0]);
        assert_eq!(spread, Spread { median: 2.0, least: 1.0, most: 3.0, repetitions: 3 });
    }

    /// A slow spell that hits whole pairs leaves the ratio alone; ratios of medians would not.
    #[test]
    fn ratios_are_taken_inside_a_pair() {
        let pairs = Pairs::of(vec![50.0, 5.0, 50.0], vec![100.0, 10.0, 100.0]);
        assert_eq!((pairs.ratio.least, pairs.ratio.median, pairs.ratio.most), (0.5, 0.5, 0.5));
    }

    #[test]
    fn both_sides_take_turns() {
        let order = std::cell::RefCell::new(String::new());
        let add = |side| {
            order.borrow_mut().push(side);
            Ok(())
        };
        let (ours, theirs) = in_turn(2, || add('a'), || add('b')).unwrap();
        assert_eq!((ours.len(), theirs.len()), (2, 2));
        assert_eq!(*order.borrow(), "ababab");
    }
}
