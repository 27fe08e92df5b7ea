//! Workflows of the forge only call scripts that run here too, with the permissions that their steps need, and with pinned actions.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt as _,
    process::Command,
};

use serde_json::Value;

use crate::{
    documents::text::{read, root},
    packages::support::go_program,
};

const FOLDER: &str = ".github/workflows";
const NAMES: [&str; 3] = ["nightly.yaml", "pull-request.yaml", "release.yaml"];

/// Permissions by scope, such as `contents: read`.
type Permissions = BTreeMap<String, String>;

/// Permissions that a step needs, by words of its action or command.
const NEEDED: [(&str, &[(&str, &str)]); 5] = [
    ("actions/checkout", &[("contents", "read")]),
    ("actions/deploy-pages", &[("pages", "write"), ("id-token", "write")]),
    (".ci/release push", &[("packages", "write")]),
    (".ci/release sign", &[("packages", "write"), ("id-token", "write")]),
    (".ci/release publish", &[("contents", "write")]),
];

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The permissions that the steps of a job need together. Writing includes reading.
fn needed_permissions(steps: &[Value]) -> Permissions {
    let mut needed = Permissions::new();
    for step in steps {
        let calls = [text(&step["uses"]), text(&step["run"])];
        for (_, scopes) in NEEDED.iter().filter(|(words, _)| calls.iter().any(|call| call.starts_with(words)))
        {
            for (scope, access) in *scopes {
                if needed.get(*scope).is_none_or(|granted| granted != "write") {
                    needed.insert((*scope).to_owned(), (*access).to_owned());
                }
            }
        }
    }
    needed
}

/// Names of cargo's aliases.
fn aliases() -> BTreeSet<String> {
    let config = read(".cargo/config.toml");
    let section = config.split("[alias]\n").nth(1).unwrap().split("\n[").next().unwrap();
    section.lines().filter_map(|line| Some(line.split_once(" = ")?.0.to_owned())).collect()
}

/// The error in a command, if it is not one call of a script or of a cargo alias.
fn command_error(command: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    if command.contains('\n')
        || ["${{", "&&", "||", ";", "|", "`", "$("].iter().any(|part| command.contains(part))
    {
        return Some("is more than one call".to_owned());
    }
    match words[..] {
        ["cargo", alias, ..] => (!aliases().contains(alias)).then(|| format!("{alias} is no alias of cargo")),
        [script, ref arguments @ ..] if script.starts_with(".ci/") => {
            let Ok(metadata) = fs::metadata(root().join(script)) else {
                return Some("calls a script that does not exist".to_owned());
            };
            if metadata.permissions().mode() & 0o111 == 0 {
                return Some("calls a script that is not executable".to_owned());
            }
            let takes = |step: &&str| read(script).contains(&format!("\n{step}() {{\n"));
            let is_step = script != ".ci/release" || arguments.first().is_some_and(takes);
            (!is_step).then(|| "calls a step that the script does not have".to_owned())
        }
        _ => Some("is neither a script of .ci nor a cargo alias".to_owned()),
    }
}

/// The error in the reference of an action. `line` is where it stands, with the version in a comment.
fn action_error(action: &str, line: Option<&str>) -> Option<String> {
    let (name, commit) = action.split_once('@').unwrap_or((action, ""));
    let is_commit =
        commit.len() == 40 && commit.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if name.split('/').count() != 2 || !is_commit {
        return Some("is not pinned by the digest of a commit".to_owned());
    }
    let version = line.and_then(|line| line.split_once(" # v")).is_some();
    (!version).then(|| "has no comment with its version".to_owned())
}

/// Everything that is wrong with a workflow.
fn find_problems(workflow: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let parsed: Value = serde_saphyr::from_str(workflow).unwrap();
    if parsed["permissions"].as_object().is_none_or(|permissions| !permissions.is_empty()) {
        problems.push("the workflow grants permissions to every job".to_owned());
    }
    for (name, job) in parsed["jobs"].as_object().unwrap() {
        let steps = job["steps"].as_array().cloned().unwrap_or_default();
        let granted: Option<Permissions> = serde_json::from_value(job["permissions"].clone()).ok();
        let needed = needed_permissions(&steps);
        if granted.as_ref() != Some(&needed) {
            problems.push(format!("job {name} has permissions {granted:?} and needs {needed:?}"));
        }
        if job["timeout-minutes"].as_u64().is_none() || steps.is_empty() {
            problems.push(format!("job {name} has no time limit, or no steps"));
        }
        for step in &steps {
            let (action, command) = (text(&step["uses"]), text(&step["run"]));
            let error = if action.is_empty() {
                command_error(command)
            } else {
                action_error(action, workflow.lines().find(|line| line.contains(action)))
            };
            problems.extend(error.map(|error| format!("job {name}: {action}{command} {error}")));
            if action.starts_with("actions/checkout@") && step["with"]["persist-credentials"] != false {
                problems.push(format!("job {name} leaves credentials in the work tree"));
            }
        }
    }
    problems
}

#[test]
fn workflows_call_scripts_with_least_permissions_and_pinned_actions() {
    let mut names: Vec<String> = fs::read_dir(root().join(FOLDER))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, NAMES);
    for name in NAMES {
        assert_eq!(find_problems(&read(&format!("{FOLDER}/{name}"))), Vec::<String>::new(), "{name}");
    }
}

/// The parts and the targets of the nightly run are those that the scripts know.
#[test]
fn the_nightly_matrix_is_complete() {
    let nightly: Value = serde_saphyr::from_str(&read(&format!("{FOLDER}/nightly.yaml"))).unwrap();
    let matrix = |job: &str, key: &str| -> BTreeSet<String> {
        let values = nightly["jobs"][job]["strategy"]["matrix"][key].as_array().unwrap();
        values.iter().map(|value| text(value).to_owned()).collect()
    };
    let script = read(".ci/run");
    let parts = script.lines().filter_map(|line| line.trim_start().split_once(')'));
    let parts = parts.map(|(part, _)| part.to_owned()).filter(|part| part.ends_with("/4") && part.len() == 3);
    assert_eq!(matrix("whole", "part"), parts.collect());
    let targets = fs::read_dir(root().join("fuzz/targets")).unwrap();
    let targets =
        targets.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned());
    assert_eq!(matrix("fuzz", "target"), targets.collect());
}

#[test]
fn problems_of_a_workflow_are_found() {
    let good = read(&format!("{FOLDER}/pull-request.yaml"));
    let changed = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        find_problems(&good.replace(from, to))
    };
    assert_eq!(find_problems(&good), Vec::<String>::new());
    for (from, to) in [
        ("permissions: {}", "permissions: write-all"),
        ("permissions: {}\n", ""),
        ("      contents: read\n", "      contents: write\n"),
        ("      contents: read\n", "      contents: read\n      packages: write\n"),
        ("    permissions:\n      contents: read\n", ""),
        ("    timeout-minutes: 120\n", ""),
        ("          persist-credentials: false\n", "          fetch-depth: 0\n"),
        ("@3d3c42e5aac5ba805825da76410c181273ba90b1", "@v7"),
        (" # v7.0.1", ""),
        (".ci/run quick", ".ci/nowhere"),
        (".ci/run quick", ".ci/run quick && curl https://example.org"),
        (".ci/run quick", ".ci/release nothing"),
        (".ci/run quick", "cargo build"),
        (".ci/run quick", "cargo whole ${{ github.head_ref }}"),
        (".ci/run quick", "npm test"),
    ] {
        assert_eq!(changed(from, to).len(), 1, "{from:?} as {to:?}: {:?}", changed(from, to));
    }
    assert_eq!(changed(".ci/run quick", "cargo whole"), Vec::<String>::new());
}

#[test]
#[ignore = "whole tier: Go builds actionlint"]
fn actionlint_finds_nothing() {
    let mut lint = Command::new(go_program("actionlint"));
    // It runs other linters that it finds, and those differ between machines.
    lint.args(["-no-color", "-shellcheck=", "-pyflakes="]).current_dir(root());
    let output = lint.args(NAMES.map(|name| format!("{FOLDER}/{name}"))).output().unwrap();
    let found = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{found}{}", String::from_utf8_lossy(&output.stderr));

    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.yaml");
    fs::write(&bad, read(&format!("{FOLDER}/nightly.yaml")).replace("matrix.part }}", "matrix.parts }}"))
        .unwrap();
    let mut lint = Command::new(go_program("actionlint"));
    let output = lint.args(["-no-color", "-shellcheck=", "-pyflakes="]).arg(&bad).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "it finds no mistake at all");
}
