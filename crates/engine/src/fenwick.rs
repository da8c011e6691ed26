//! Counts in a row, with sums over any beginning of it in O(log n).

/// A Fenwick tree: node i (from 1) holds the sum of the `i & -i` counts that end at it.
#[derive(Default)]
#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Fenwick {
    nodes: Vec<u64>,
}

impl Fenwick {
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
    }

    /// A further count, which is 0.
    pub(crate) fn push_zero(&mut self) {
        let node = self.nodes.len() + 1;
        let start = node - lowest_bit(node);
        let sum = self.before(node - 1) - self.before(start);
        self.nodes.push(sum);
    }

    pub(crate) fn add(&mut self, index: usize, change: i64) {
        let mut node = index + 1;
        while node <= self.nodes.len() {
            let sum = &mut self.nodes[node - 1];
            *sum = sum.checked_add_signed(change).expect("no count falls below zero");
            node += lowest_bit(node);
        }
    }

    /// The sum of all counts before `index`.
    pub(crate) fn before(&self, index: usize) -> u64 {
        let mut sum = 0;
        let mut node = index;
        while node > 0 {
            sum += self.nodes[node - 1];
            node -= lowest_bit(node);
        }
        sum
    }

    /// Where the `skip`-th (from 0) of all things counted lies: the index of its count, and how many of that
    /// count are before it. `skip` is below the sum of all.
    pub(crate) fn find(&self, skip: u64) -> (usize, u64) {
        let mut rest = skip;
        let mut index = 0;
        let mut step = self.nodes.len().next_power_of_two();
        while step > 0 {
            if let Some(&sum) = self.nodes.get(index + step - 1)
                && sum <= rest
            {
                rest -= sum;
                index += step;
            }
            step /= 2;
        }
        (index, rest)
    }
}

fn lowest_bit(node: usize) -> usize {
    node & node.wrapping_neg()
}
