//! `cargo engines` as its user sees it.

use std::fs;

use crate::{Machine, file_of};

#[test]
fn the_list_tells_what_is_current_stale_and_missing() {
    let machine = Machine::new();
    machine.run(&["build", "registry"]);
    let (_, listed, _) = machine.run(&[]);
    let row = |name: &str| {
        listed.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap().to_owned()
    };
    assert!(row("registry").contains("go1.99.1") && row("registry").ends_with("current"), "{listed}");
    assert!(row("kube-apiserver").ends_with("missing"), "{listed}");
    machine.set("version", "go1.99.2\n");
    let (_, listed, _) = machine.run(&["list"]);
    assert!(listed.lines().any(|line| line.starts_with("registry ") && line.ends_with("stale")), "{listed}");
    assert!(listed.lines().last().unwrap().ends_with("cache/testplatform/engines"), "{listed}");
}

#[test]
fn stale_entries_can_be_removed_alone() {
    let machine = Machine::new();
    machine.run(&["build", "registry"]);
    machine.set("version", "go1.99.2\n");
    machine.run(&["build", "registry"]);
    let (_, said, _) = machine.run(&["clear", "--stale"]);
    assert!(said.starts_with("removed 1 "), "{said}");
    assert_eq!(machine.cached().len(), 1);
    let (_, said, _) = machine.run(&["clear"]);
    assert!(said.starts_with("removed 1 "), "{said}");
    assert_eq!(machine.cached(), [""; 0]);
}

#[test]
fn verify_names_each_damaged_entry_and_fails() {
    let machine = Machine::new();
    machine.run(&["build", "registry", "crossplane-crds"]);
    let (output, said, _) = machine.run(&["verify"]);
    assert!(output.status.success() && said.lines().count() == 2, "{said}");
    fs::write(file_of(&machine, "crossplane-crds-", "crds/a.yaml"), "kind: B\n").unwrap();
    let (output, said, _) = machine.run(&["verify"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("the SHA-256 of crds/a.yaml differs"), "{said}");
    assert!(said.lines().any(|line| line.starts_with("registry ") && line.ends_with("ok")), "{said}");
}

#[test]
fn without_go_and_archive_it_says_what_to_install() {
    let machine = Machine::new();
    fs::remove_file(machine.path("tools/go")).unwrap();
    let output = machine
        .command(&["build", "etcd", "crossplane"])
        .env("PATH", machine.path("tools"))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(said.lines().count(), 1, "{said}");
    for words in
        ["needs etcd, crossplane", "install Go 1.26", "TESTPLATFORM_ASSETS_URL", "KUBEBUILDER_ASSETS"]
    {
        assert!(said.contains(words), "{words} in {said}");
    }
    assert_eq!(machine.cached(), [""; 0]);
}

#[test]
fn an_unknown_program_is_named() {
    let (output, _, said) = Machine::new().run(&["build", "kubelet"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(said, "error: there is no engine program called kubelet\n");
}
