//! The version that the program prints.

#[path = "../../../../version/tests/printed/mod.rs"]
mod printed;

use std::process::Command;

#[test]
fn the_version_has_the_commit() {
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-testplatform")).arg("--version").output().unwrap();
    printed::is_version_with_commit(&output, "kubectl testplatform");
}
