#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| maitred_fuzz::planted::run(bytes));
