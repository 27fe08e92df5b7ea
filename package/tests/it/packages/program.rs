//! The program that is packed, as a build makes it: for release and static.

#[path = "../../../../version/tests/printed/mod.rs"]
mod printed;

use std::{fs, process::Command};

use testplatform_package::{
    build::{Platform, programs::Workspace},
    oci::Architecture,
};

use crate::packages::support::{not_run, run, stderr, stdout, tool};

/// Most bytes of the program, which every node pulls and every replica maps.
const MOST: usize = 12_000_000;

/// A commit that is not the one of this work tree.
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

#[test]
fn the_tool_prints_its_version_with_the_commit() {
    printed::is_version_with_commit(&run(&mut tool(&["--version"])), "cargo xpkg");
}

#[test]
#[ignore = "whole tier: builds the function for release, which takes minutes"]
fn the_function_is_static_small_and_starts_anywhere() {
    let root = crate::packages::support::package().parent().unwrap().canonicalize().unwrap();
    let workspace = Workspace::read(&root).unwrap();
    let architecture = if cfg!(target_arch = "aarch64") { Architecture::Arm64 } else { Architecture::Amd64 };
    let platform = Platform::linux(architecture);
    let program = workspace.build_program("function-testplatform", platform, Some(COMMIT)).unwrap();
    let size = program.bytes.len();
    println!("function-testplatform: {size} bytes");
    assert!(
        size <= MOST,
        "the function's program has {size} bytes, {} more than its budget; cargo tree -p function-testplatform -e \
         features shows the origin of each crate and feature",
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
    assert_eq!(stdout(&output).trim(), format!("function-testplatform {version} (0123456789ab)"));
}

#[test]
#[ignore = "whole tier: builds the function for release, which takes minutes"]
fn the_function_for_the_other_architecture_runs_in_an_emulator() {
    let test = "the function on the other architecture";
    let root = crate::packages::support::package().parent().unwrap().canonicalize().unwrap();
    let workspace = Workspace::read(&root).unwrap();
    let other = Architecture::ALL.into_iter().find(|architecture| !architecture.is_native()).unwrap();
    let platform = Platform::linux(other);
    if let Err(missing) = workspace.check_platform(platform) {
        return not_run(test, &format!("{missing:#}"));
    }
    let program = workspace.build_program("function-testplatform", platform, Some(COMMIT)).unwrap();
    assert_eq!(Architecture::of_program(&program.bytes).unwrap(), other);
    println!("function-testplatform for {platform}: {} bytes", program.bytes.len());
    assert!(program.bytes.len() <= MOST, "{} bytes are more than {MOST}", program.bytes.len());

    let machine = if other == Architecture::Arm64 { "aarch64" } else { "x86_64" };
    let names = [format!("qemu-{machine}"), format!("qemu-{machine}-static")];
    let Some(emulator) = names.iter().find(|name| Command::new(name).arg("--version").output().is_ok())
    else {
        return not_run(test, &format!("{} is not in PATH (on Debian: package qemu-user)", names[0]));
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("function");
    fs::write(&file, &program.bytes).unwrap();
    let output = run(Command::new(emulator).arg(&file).arg("--version"));
    assert!(output.status.success(), "{}", stderr(&output));
    let version = workspace.package_version("function-testplatform").unwrap();
    assert_eq!(stdout(&output).trim(), format!("function-testplatform {version} (0123456789ab)"));
}
