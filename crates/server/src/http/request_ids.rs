//! Names for requests that came without one: the process, by chance, and a count. Cheaper than chance for each, and
//! as unlikely to be given twice; next to each other in a log they also say which came first.

use std::sync::atomic::{AtomicU64, Ordering};

pub struct RequestIds {
    process: String,
    given: AtomicU64,
}

impl Default for RequestIds {
    fn default() -> Self {
        let process = uuid::Uuid::new_v4().simple().to_string();
        Self { process, given: AtomicU64::new(0) }
    }
}

impl RequestIds {
    pub fn next(&self) -> String {
        let number = self.given.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number}", self.process)
    }
}

#[cfg(test)]
mod tests {
    use super::RequestIds;

    #[test]
    fn none_is_given_twice() {
        let (one, other) = (RequestIds::default(), RequestIds::default());
        let ids = [one.next(), one.next(), other.next(), other.next()];
        let different: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(different.len(), 4, "{ids:?}");
        assert!(ids.iter().all(|id| id.len() <= 64), "{ids:?}");
    }
}
