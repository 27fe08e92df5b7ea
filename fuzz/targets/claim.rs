#![no_main]

#[path = "../oracles/claim.rs"]
mod claim;
#[path = "../oracles/request.rs"]
#[allow(dead_code, reason = "the entry of another target")]
mod request;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| claim::check(bytes));
