//! Tests of the API: what the schema takes and refuses, and what the types make of it. Upstream's own files are used where they are
//! present, and it is said where they are not.

mod duration;
mod input;
mod parity;
mod rules;
mod status;
mod structural;
mod support;
mod unknown;
