//! Commands of one profile enable the same features of dependencies, so they share what cargo compiles.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use cargo_metadata::MetadataCommand;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Dependencies, each with the features that cargo enables for these packages.
fn dependencies(selection: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--prefix=none", "--format={p} {f}"])
        .args(selection)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| line.trim_end_matches(" (*)").trim_end());
    // Members have paths.
    lines.filter(|line| !line.is_empty() && !line.contains(" (/")).map(str::to_owned).collect()
}

#[test]
fn every_command_has_the_features_of_the_workspaces_tests() {
    let tests = dependencies(&["--workspace", "--edges=normal,build,dev"]);
    let metadata = MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec().unwrap();
    let mut commands = vec![("cargo run".to_owned(), dependencies(&["--workspace", "--edges=normal,build"]))];
    for member in &metadata.packages {
        let selection = ["--package", member.name.as_str(), "--edges=normal,build,dev"];
        commands.push((format!("cargo test -p {}", member.name), dependencies(&selection)));
    }
    assert!(tests.len() > 300 && commands.len() > 9, "{} dependencies", tests.len());
    for (command, own) in commands {
        let different: Vec<_> = own.difference(&tests).collect();
        assert!(
            different.is_empty(),
            "`{command}` compiles these again; run `cargo hakari generate`: {different:#?}"
        );
    }
}

/// With `-p` cargo drops the features of the other members.
#[test]
fn aliases_select_the_whole_workspace() {
    let aliases = fs::read_to_string(root().join(".cargo/config.toml")).unwrap();
    let runs: Vec<&str> = aliases.lines().filter(|line| line.contains("\"run ")).collect();
    assert_eq!(runs.len(), 3, "{runs:?}");
    for line in runs {
        assert!(!line.contains(" -p ") && !line.contains("--package"), "{line}");
    }
}
