//! A damaged entry is never used.

use std::fs;

use crate::{Machine, file_of};

/// Damages the entry of a built program, and returns what is said when it is needed next.
fn damaged(damage: impl FnOnce(&Machine)) -> String {
    let machine = Machine::new();
    machine.engines().ensure(&["registry"]).unwrap();
    damage(&machine);
    let (output, stdout, stderr) = machine.run(&["build", "registry"]);
    assert!(output.status.success(), "{stderr}");
    assert_eq!(machine.builds(), 2, "it was not built again: {stderr}");
    let program = stdout.split_whitespace().nth(1).unwrap();
    assert!(fs::read_to_string(program).unwrap().contains("echo built"));
    stderr
}

#[test]
fn a_file_that_was_cut_off_is_built_again() {
    let said =
        damaged(|machine| fs::write(file_of(machine, "registry-", "bin/registry"), "#!/bin/sh\n").unwrap());
    assert!(said.contains("is damaged: bin/registry has 10 bytes instead of 21; it is replaced"), "{said}");
}

#[test]
fn a_file_with_another_digest_is_built_again() {
    let said = damaged(|machine| {
        let file = file_of(machine, "registry-", "bin/registry");
        let content = fs::read_to_string(&file).unwrap().replace("built", "evil!");
        fs::write(file, content).unwrap();
    });
    assert!(said.contains("the SHA-256 of bin/registry differs from the record; it is replaced"), "{said}");
}

#[test]
fn a_missing_file_is_built_again() {
    let said = damaged(|machine| fs::remove_file(file_of(machine, "registry-", "bin/registry")).unwrap());
    assert!(said.contains("is damaged: cannot read ") && said.contains("it is replaced"), "{said}");
}

#[test]
fn an_entry_without_a_record_is_built_again() {
    for record in ["", "{", "{}"] {
        let said = damaged(|machine| fs::write(file_of(machine, "registry-", "entry.json"), record).unwrap());
        assert!(said.contains("has no valid entry.json"), "{said}");
    }
    damaged(|machine| fs::remove_file(file_of(machine, "registry-", "entry.json")).unwrap());
}
