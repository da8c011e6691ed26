//! A fault that is there on purpose, to know that the fuzzer sees: eight bytes that nobody guesses, but that are found
//! one after the other by a fuzzer that is told which code ran. One that was built without that never finds them.

/// Found within a second, or not at all.
const FAULT: [u8; 8] = *b"barging!";

pub fn run(bytes: &[u8]) {
    let mut seen = 0;
    // One branch each, which is what leads there.
    for (byte, wanted) in bytes.iter().zip(FAULT) {
        if *byte != wanted {
            return;
        }
        seen = step(seen);
    }
    assert!(seen < FAULT.len(), "the planted fault was found");
}

#[inline(never)]
fn step(seen: usize) -> usize {
    seen + 1
}
