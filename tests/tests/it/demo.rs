//! `cargo demo` as it is run where nobody watches.

use std::{
    fs,
    process::{Command, Output},
};

use anyhow::{Context as _, ensure};
use testplatform_tests::program;

fn demo(arguments: &[&str]) -> anyhow::Result<Output> {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_demo"));
    program::tell(&mut demo)?.args(arguments).output().context("cannot run it")
}

pub fn it_exits_zero_and_says_what_it_saw() -> anyhow::Result<()> {
    let output = demo(&["--speed", "5"])?;
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{said}\n{wrong}");
    for wanted in [
        "claim               Ready: the cluster is ready",
        "✓ ready, and the Secret has both keys",
        "✓ the delivered kubeconfig works",
        "Secret of tenant    emptied: kubeconfig, kubeAdminPassword",
        "✓ everything that hung on the claim is gone",
        "All is as it should be.",
    ] {
        ensure!(said.contains(wanted), "{wanted:?} is missing in:\n{said}");
    }
    ensure!(!said.contains('\u{1b}') && !said.contains('✗'), "{said}");
    Ok(())
}

pub fn a_file_without_a_claim_is_refused_at_once() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("pod.yaml");
    for (content, wanted) in [
        ("apiVersion: v1\nkind: Pod\n", "its kind is Pod"),
        ("a: [", "cannot parse"),
        ("", "there are 0 objects in it"),
    ] {
        fs::write(&file, content)?;
        let output = demo(&["--claim", &file.to_string_lossy()])?;
        let wrong = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() == Some(2), "{:?}", output.status);
        ensure!(wrong.contains("pod.yaml") && wrong.contains(wanted), "{wrong}");
    }
    let output = demo(&["--claim", "/nowhere.yaml"])?;
    ensure!(String::from_utf8_lossy(&output.stderr).contains("cannot read /nowhere.yaml"), "{output:?}");
    Ok(())
}
