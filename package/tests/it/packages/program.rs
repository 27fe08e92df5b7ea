//! The program that is packed, as a build makes it: for release and static.

use std::{fs, process::Command};

use testplatform_package::{build::programs::Workspace, oci::Architecture};

use crate::packages::support::{run, stderr, stdout};

/// Most bytes of the program, which every node pulls and every replica maps.
const MOST: usize = 12_000_000;

#[test]
#[ignore = "whole tier: builds the function for release, which takes minutes"]
fn the_function_is_static_small_and_starts_anywhere() {
    let root = crate::packages::support::package().parent().unwrap().canonicalize().unwrap();
    let workspace = Workspace::read(&root).unwrap();
    let architecture = if cfg!(target_arch = "aarch64") { Architecture::Arm64 } else { Architecture::Amd64 };
    let program = workspace.build_program("function-testplatform", architecture).unwrap();
    let size = program.bytes.len();
    println!("function-testplatform: {size} bytes");
    assert!(
        size <= MOST,
        "the function's program has {size} bytes, {} more than its budget; cargo tree -p function-testplatform -e \
         features shows what brings what, and [profile.release.package] in Cargo.toml what is built for size",
        size - MOST
    );
    assert!(size > MOST / 2, "the function's program has {size} bytes: the budget can be lowered");
    // It refuses a program that asks for a loader.
    assert_eq!(Architecture::of_program(&program.bytes).unwrap(), architecture);
    let path = root.to_str().unwrap().as_bytes();
    assert!(!program.bytes.windows(path.len()).any(|part| part == path), "a path of this machine is in it");

    // Nothing of this machine is needed: no library, no file, no variable.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("function");
    let written = folder.path().join("written");
    fs::write(&written, &program.bytes).unwrap();
    // A process that another thread starts meanwhile would hold the file open for writing for a moment, and nobody could run it.
    let mut install = Command::new("install");
    assert!(install.arg("-m755").arg(&written).arg(&file).status().unwrap().success());
    let output = run(Command::new(&file).arg("--version").env_clear());
    assert!(output.status.success(), "{}", stderr(&output));
    let version = workspace.package_version("function-testplatform").unwrap();
    assert_eq!(stdout(&output).trim(), format!("function-testplatform {version}"));
}
