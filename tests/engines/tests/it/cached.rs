//! A program is built once, and is found again.

use std::{fs, process::Command, thread};

use crate::{Machine, file_of};

#[test]
fn a_program_is_built_once_and_runs() {
    let machine = Machine::new();
    let first = machine.engines().ensure(&["registry"]).unwrap();
    let again = machine.engines().ensure(&["registry"]).unwrap();
    assert_eq!(first, again);
    assert_eq!(machine.builds(), 1);
    let output = Command::new(&first["registry"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "built\n");
}

#[test]
fn manifests_are_copied_without_a_build() {
    let machine = Machine::new();
    let found = machine.engines().ensure(&["crossplane-crds"]).unwrap();
    assert_eq!(fs::read_to_string(found["crossplane-crds"].join("a.yaml")).unwrap(), "kind: A\n");
    assert_eq!(machine.builds(), 0);
}

#[test]
fn definitions_of_controllers_are_kept_apart() {
    let machine = Machine::new();
    let found = machine.engines().ensure(&["cluster-api-definitions"]).unwrap();
    let of = |path: &str| fs::read_to_string(found["cluster-api-definitions"].join(path)).unwrap();
    assert_eq!(of("cluster-api-core/crds/b.yaml"), "kind: core\n");
    assert_eq!(of("cluster-api-control-plane/crds/b.yaml"), "kind: controlplane/kubeadm\n");
    assert_eq!(of("cluster-api-infrastructure/webhooks.yaml"), "kind: Webhook\n");
    assert_eq!(machine.builds(), 0);
}

#[test]
fn programs_of_one_name_are_not_built_over_each_other() {
    let machine = Machine::new();
    let names = ["cluster-api-core", "cluster-api-bootstrap", "cluster-api-control-plane"];
    let found = machine.engines().ensure(&names).unwrap();
    let says = |name: &str| {
        let output = Command::new(&found[name]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(says("cluster-api-core"), "sigs.k8s.io/cluster-api/corebuilt");
    assert_eq!(says("cluster-api-bootstrap"), "sigs.k8s.io/cluster-api/bootstrap/kubeadmbuilt");
    assert_eq!(says("cluster-api-control-plane"), "sigs.k8s.io/cluster-api/controlplane/kubeadmbuilt");
    assert_eq!(machine.builds(), 2);
}

#[test]
fn another_go_version_builds_another_entry() {
    let machine = Machine::new();
    machine.engines().ensure(&["registry"]).unwrap();
    machine.set("version", "go1.99.2\n");
    machine.engines().ensure(&["registry"]).unwrap();
    assert_eq!((machine.builds(), machine.cached().len()), (2, 2));
}

#[test]
fn without_go_an_entry_of_any_go_version_is_used() {
    let machine = Machine::new();
    let built = machine.engines().ensure(&["registry"]).unwrap();
    fs::remove_file(machine.path("tools/go")).unwrap();
    assert_eq!(machine.engines().ensure(&["registry"]).unwrap(), built);
}

#[test]
fn processes_that_start_together_build_once() {
    let machine = Machine::new();
    machine.set("seconds", "1");
    thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| machine.run(&["build", "registry"])));
        let outputs = both.map(|one| one.join().unwrap());
        assert!(outputs.iter().all(|(output, ..)| output.status.success()), "{outputs:?}");
        assert!(
            outputs.iter().any(|(.., stderr)| stderr.contains("waiting for another process")),
            "{outputs:?}"
        );
    });
    assert_eq!(machine.builds(), 1);
}

#[test]
fn failed_build_shows_output_and_leaves_nothing() {
    let machine = Machine::new();
    machine.set("failure", "main.go:1:1: expected 'package'\n");
    let error = format!("{:#}", machine.engines().ensure(&["registry"]).unwrap_err());
    assert!(error.starts_with("cannot build registry in package/tests/registry"), "{error}");
    assert!(error.ends_with("main.go:1:1: expected 'package'"), "{error}");
    assert_eq!(machine.cached(), [""; 0]);
}

#[test]
fn an_interrupted_build_is_cleaned_up_by_the_next() {
    let machine = Machine::new();
    machine.set("seconds", "60");
    let mut child = machine.command(&["build", "registry"]).spawn().unwrap();
    while machine.cached().is_empty() {
        thread::sleep(std::time::Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(machine.cached().len(), 1, "it was killed before it had begun");
    machine.set("seconds", "0");
    machine.engines().ensure(&["registry"]).unwrap();
    assert_eq!(machine.cached().len(), 1, "{:?}", machine.cached());
    assert!(file_of(&machine, "registry-", "bin/registry").is_file());
}

#[test]
fn a_variable_names_another_program() {
    let machine = Machine::new();
    let own = machine.path("own-registry");
    fs::write(&own, "").unwrap();
    let output = machine.command(&["build", "registry"]).env("REGISTRY_BIN", &own).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains(&own.display().to_string()), "{output:?}");
    assert_eq!(machine.builds(), 0);
}
