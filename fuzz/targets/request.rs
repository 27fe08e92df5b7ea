#![no_main]

#[path = "../oracles/request.rs"]
mod request;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| request::check(bytes));
