//! The program's report of a panic.

#[path = "../../../process/tests/panicked/mod.rs"]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the lints see helpers of an integration test as production code"
)]
mod panicked;

use std::process::Command;

#[test]
fn a_panic_is_logged_with_where_and_not_with_what() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "{}").unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_provider-testplatform"));
    panicked::is_logged_with_where_and_not_with_what(program.env_clear().arg("--config").arg(file.path()));
}
