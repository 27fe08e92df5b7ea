//! Only crates with a build script can have build dependencies.

fn main() {}
