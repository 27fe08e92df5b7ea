#![no_main]

#[path = "../oracles/bump.rs"]
mod bump;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bump::check(bytes));
