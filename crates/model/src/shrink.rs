//! Makes a failing sequence of steps short enough to read.

use crate::Step;

/// Takes steps out as long as `fails` still says yes, first in large pieces, then one by one, until no single step can
/// go. The steps must fail to begin with. Times are absolute, so what stays happens when it happened.
pub fn shrink(steps: Vec<Step>, mut fails: impl FnMut(&[Step]) -> bool) -> Vec<Step> {
    let mut kept = steps;
    let mut piece = kept.len().div_ceil(2);
    while piece > 0 {
        let before = kept.len();
        kept = without_pieces(kept, piece, &mut fails);
        let removed_some = kept.len() < before;
        piece = if piece == 1 && removed_some { 1 } else { piece / 2 };
    }
    kept
}

/// One pass from the back, where most steps are of no use to what failed before them.
fn without_pieces(mut kept: Vec<Step>, piece: usize, fails: &mut impl FnMut(&[Step]) -> bool) -> Vec<Step> {
    let mut end = kept.len();
    while end > 0 {
        let start = end.saturating_sub(piece);
        let mut shorter = kept.clone();
        shorter.drain(start..end);
        if fails(&shorter) {
            kept = shorter;
        }
        end = start;
    }
    kept
}
