//! A full disk.

use std::{
    fs,
    process::{Command, Output},
};

use crate::{GO, Machine};

#[test]
fn a_disk_that_fills_up_during_a_build_is_one_sentence() {
    let machine = Machine::new();
    machine.set("failure", "write /tmp/go-build1/b002/_pkg_.a: no space left on device\n");
    let (output, _, stderr) = machine.run(&["build", "registry"]);
    assert_eq!(output.status.code(), Some(1));
    let error = stderr.lines().last().unwrap();
    assert!(error.contains("the disk is full: building needs about 5 GB"), "{stderr}");
    assert_eq!(machine.cached(), [""; 0]);
}

/// Runs `cargo engines build` with a cache on a disk of 64 kB. None: this user may not mount one.
fn on_a_small_disk(machine: &Machine, artifact: &str) -> Option<Output> {
    let cache = machine.path("cache");
    fs::create_dir_all(&cache).unwrap();
    let script = "mount -t tmpfs -o size=64k tmpfs \"$1\" || exit 77\n\"$2\" build \"$3\"\ncode=$?\nfind \"$1\" -type f >&2\nexit $code";
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script, "sh"])
        .args([cache.as_os_str(), env!("CARGO_BIN_EXE_engines").as_ref(), artifact.as_ref()])
        .env("XDG_CACHE_HOME", &cache)
        .env("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", machine.path("tools").display()))
        .output();
    let ran = output.ok().filter(|it| it.status.code() != Some(77) && !it.stderr.starts_with(b"unshare:"));
    if ran.is_none() {
        eprintln!("NOT RUN: a cache on a full disk: this user may not mount one");
    }
    ran
}

#[test]
fn full_disk_leaves_no_partial_cache() {
    let machine = Machine::new();
    let large = "x".repeat(100_000);
    fs::write(machine.path("tools/module/cluster/crds/a.yaml"), &large).unwrap();
    machine.set("large", &large);
    let go = GO.replace("    chmod", "    cat \"$here/large\" >>\"$out/$name\" || exit 1\n    chmod");
    fs::write(machine.path("tools/go"), go).unwrap();
    for artifact in ["registry", "crossplane-crds"] {
        let Some(output) = on_a_small_disk(&machine, artifact) else { return };
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let error = said.lines().find(|line| line.starts_with("error: ")).unwrap();
        assert!(error.contains("the disk is full"), "{said}");
        let files: Vec<_> = said.lines().filter(|line| line.starts_with('/')).collect();
        assert!(files.iter().all(|file| file.ends_with("/lock")), "left behind: {files:?}");
    }
}
