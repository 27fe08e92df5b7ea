#![no_main]

#[path = "../oracles/wire.rs"]
mod wire;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::check(bytes));
