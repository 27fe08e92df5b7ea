//! Completion: candidates for kubectl and for shells, with names that the cluster knows, and without a word where it cannot be asked.

use std::{
    os::unix::fs::symlink,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::json;
use testplatform_apis::offer::KEY;

use crate::fake::{Ended, FORBIDDEN, Fake, ended};

/// Lists two claims of one kind and one of the other, namespaces, contexts and offers.
const ARMS: &str = r#"
  "get testplatformclusters"*jsonpath*) printf 'demo\tReady\nnightly\tPending\n' ;;
  "get testclusters"*jsonpath*) printf 'demo\t\nweekly\tReady\n' ;;
  "get namespaces"*) printf 'namespace/team-a\nnamespace/team-b\n' ;;
  "config get-contexts"*) printf 'staging\nproduction\n' ;;
  "get configmap testplatform-offers"*) cat "$room/offers" ;;"#;

/// Runs the plugin as kubectl runs its completer: the words after the plugin's name.
fn complete(fake: &Fake, words: &[&str]) -> Ended {
    let completer = fake.path("kubectl_complete-testplatform");
    if !completer.exists() {
        symlink(env!("CARGO_BIN_EXE_kubectl-testplatform"), &completer).unwrap();
    }
    let mut command = Command::new(completer);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", fake.path(""));
    command.env("KUBECTL", fake.path("kubectl")).args(words).current_dir(fake.path(""));
    ended(&mut command)
}

/// The candidates without their help, and the directive in the last line.
#[track_caller]
fn candidates(fake: &Fake, words: &[&str]) -> (Vec<String>, String) {
    let said = complete(fake, words);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{words:?}");
    let mut lines: Vec<String> =
        said.out.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect();
    let directive = lines.pop().unwrap();
    (lines, directive)
}

#[test]
fn commands_have_their_help() {
    let fake = Fake::new(ARMS);
    let said = complete(&fake, &["w"]);
    said.is(0, "why\tShow the objects from the claim to its kubeconfig").is(0, "wait\t");
    assert!(said.out.ends_with("\n:4\n"), "{}", said.out);
    assert!(!said.out.contains("--") && !said.out.contains("up\t"), "{}", said.out);
    let (all, _) = candidates(&fake, &[""]);
    for command in ["offers", "up", "get", "why", "wait", "kubeconfig", "extend", "down", "completion"] {
        assert!(all.iter().any(|candidate| candidate == command), "{command} in {all:?}");
    }
    assert_eq!(fake.calls(), "", "no name of the cluster is needed");
}

#[test]
fn names_of_claims_come_from_the_cluster_of_the_line() {
    let fake = Fake::new(ARMS);
    let line = ["why", "-n", "team-a", "--context=east", ""];
    let (names, directive) = candidates(&fake, &line);
    // A name of both kinds needs its kind.
    assert_eq!(names, ["testplatformcluster/demo", "nightly", "testcluster/demo", "weekly"]);
    assert_eq!(directive, ":4");
    let calls = fake.calls();
    assert!(calls.lines().count() == 2, "{calls}");
    for call in calls.lines() {
        assert!(call.ends_with("--request-timeout=2s --namespace=team-a --context=east"), "{call}");
    }
    let (names, _) = candidates(&fake, &["down", "we"]);
    assert_eq!(names, ["weekly"]);
    let (names, _) = candidates(&fake, &["down", "testcluster/"]);
    assert_eq!(names, ["testcluster/demo", "testcluster/weekly"]);
    complete(&fake, &["get", "nig"]).is(0, "nightly\tPending\n");
}

#[test]
fn values_of_flags_are_completed() {
    let fake = Fake::new(ARMS);
    for (words, expected) in [
        (&["get", "-n", "team-"][..], &["team-a", "team-b"][..]),
        (&["get", "--namespace=team-"], &["--namespace=team-a", "--namespace=team-b"]),
        (&["why", "demo", "--context", "s"], &["staging"]),
        (
            &["wait", "demo", "--for", "phase=De"],
            &["phase=Degraded", "phase=Deprovisioning", "phase=Deprovisioned"],
        ),
        (&["get", "--sort-by", "ex"], &["expires"]),
        (&["get", "-o", "w"], &["wide"]),
        (&["why", "demo", "-o", ""], &["json", "yaml"]),
        (&["completion", ""], &["bash", "zsh", "fish"]),
        (&["get", "--all"], &["--all-namespaces"]),
    ] {
        assert_eq!(candidates(&fake, words).0, expected, "{words:?}");
    }
    let offers = "format: 1\noffers: [{ name: small, block: template, title: A small one }]\n";
    fake.object("offers", &json!({ "data": { KEY: offers } }));
    complete(&fake, &["offers", "s"]).is(0, "small\tA small one\n");
    // Files, with the directory that a shell goes on from.
    fake.write("claim.yaml", "");
    let (files, _) = candidates(&fake, &["up", "cl"]);
    assert_eq!(files, ["claim.yaml"]);
}

/// Whoever may not list namespaces works in those of their contexts.
#[test]
fn namespaces_of_contexts_are_known_to_everybody() {
    let fake = Fake::new(&format!(
        "  \"get namespaces\"*) echo '{FORBIDDEN}' >&2; exit 1 ;;\n  \"config view\"*) printf 'mine\\n\\nmine\\nother\\n' ;;"
    ));
    assert_eq!(candidates(&fake, &["get", "-n", ""]).0, ["mine", "other"]);
}

/// A prompt waits for the answer: an error, a question or a hanging connection must not show.
#[test]
fn a_cluster_that_does_not_answer_costs_seconds_and_no_word() {
    let silent = Fake::new(&format!("  get*) echo '{FORBIDDEN}' >&2; exit 1 ;;"));
    assert_eq!(candidates(&silent, &["why", ""]), (vec![], ":4".to_owned()));
    let hanging = Fake::new("  get*) exec sleep 300 ;;");
    let begun = Instant::now();
    assert_eq!(candidates(&hanging, &["why", ""]), (vec![], ":4".to_owned()));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let missing = Fake::new("");
    let mut command = missing.command();
    command.env("KUBECTL", "/nowhere/kubectl").args(["__complete", "why", ""]);
    ended(&mut command).is(0, ":4");
    // A line that cannot be read, as it is not complete yet.
    assert_eq!(candidates(&missing, &["fly", "--nothing", ""]).1, ":4");
}

/// The script of bash, run by bash.
#[test]
fn bash_completes_by_the_script() {
    let fake = Fake::new(ARMS);
    let script = fake.run("completion bash");
    script.is(0, "TESTPLATFORM_COMPLETE=\"bash\"");
    fake.write("completion.bash", &script.out);
    let typed = r#"
. ./completion.bash
complete -p kubectl-testplatform >/dev/null || exit 1
COMP_WORDS=(kubectl-testplatform down we); COMP_CWORD=2
_clap_complete_kubectl_testplatform kubectl-testplatform we down
echo "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", typed]).current_dir(fake.path("")).env_clear();
    bash.env("PATH", format!("{}:/usr/bin:/bin", fake.path("").display()));
    bash.env("KUBECTL", fake.path("kubectl")).env("HOME", fake.path(""));
    let said = ended(&mut bash);
    assert_eq!((said.code, said.out.trim()), (0, "weekly"), "{}", said.err);
}

/// Their scripts name the program that answers.
#[test]
fn other_shells_have_scripts() {
    let fake = Fake::new("");
    fake.run("completion zsh").is(0, "#compdef kubectl-testplatform").is(0, "TESTPLATFORM_COMPLETE=\"zsh\"");
    fake.run("completion fish").is(0, "complete --keep-order").is(0, "TESTPLATFORM_COMPLETE=fish");
    fake.run("completion tcsh").is(2, "[possible values: bash, zsh, fish]");
    // As fish asks.
    let fake = Fake::new(ARMS);
    let mut command = fake.command();
    command.env("TESTPLATFORM_COMPLETE", "fish").args(["--", "kubectl-testplatform", "down", "we"]);
    ended(&mut command).is(0, "weekly\tReady\n");
    // A variable that somebody else has set changes nothing.
    let mut command = fake.command();
    command.env("TESTPLATFORM_COMPLETE", "fish").arg("--version");
    ended(&mut command).is(0, "testplatform");
}
