//! `cargo demo` as it is run where nobody watches.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Output, Stdio},
};

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};
use testplatform_tests::{program, settings};

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
        "✓ every object of the claim is deleted",
        "Every check passed.",
    ] {
        ensure!(said.contains(wanted), "{wanted:?} is missing in:\n{said}");
    }
    ensure!(!said.contains('\u{1b}') && !said.contains('✗'), "{said}");
    Ok(())
}

/// The printed commands, pasted line by line into a shell, while everything stays up.
pub fn kept_commands_work_as_they_are_printed() -> anyhow::Result<()> {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_demo"));
    let plugin = program::plugin()?;
    let demo = program::tell(&mut demo)?.env("KUBECTL_TESTPLATFORM_BIN", plugin);
    let mut demo =
        demo.args(["--keep", "--speed", "20"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let explored = explore(&mut demo);
    let id = Pid::from_raw(demo.id().try_into()?).context("the demo has no id")?;
    kill_process(id, Signal::INT)?;
    let mut wrong = String::new();
    demo.stderr.take().context("no stderr")?.read_to_string(&mut wrong)?;
    let status = demo.wait()?;
    let said = explored.with_context(|| wrong.clone())?;
    ensure!(status.success(), "{status}: {wrong}");
    for wanted in
        ["NAME", "✓ testplatformcluster/demo", "kind: EphemeralCluster", "testplatformcluster/demo is gone"]
    {
        ensure!(said.contains(wanted), "{wanted:?} is missing in:\n{said}");
    }
    Ok(())
}

fn explore(demo: &mut Child) -> anyhow::Result<String> {
    let lines = BufReader::new(demo.stdout.take().context("no stdout")?).lines();
    let mut commands = Vec::new();
    for line in lines {
        let line = line?;
        if let Some(command) = line.strip_prefix("    ").filter(|rest| rest.starts_with(['e', 'k'])) {
            commands.push(command.to_owned());
        }
        if line.contains("testplatform down") {
            break;
        }
    }
    ensure!(commands.len() > 7, "{commands:?}");
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &commands.join("\n")]).env("HOME", "/nonexistent");
    let output = shell.output().context("cannot run a shell")?;
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    ensure!(output.status.success(), "{commands:#?}\n{text}");
    Ok(text)
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
    let template = settings::repository().join("examples/hypershift-asked/claim.yaml");
    let output = demo(&["--claim", &template.to_string_lossy()])?;
    let wrong = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(2) && wrong.contains("spec.ciOperator only"), "{wrong}");
    let output = demo(&["--claim", "/nowhere.yaml"])?;
    ensure!(String::from_utf8_lossy(&output.stderr).contains("cannot read /nowhere.yaml"), "{output:?}");
    Ok(())
}
