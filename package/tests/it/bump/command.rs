//! The program: exit codes, output, and files on disk.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::Value;
use testplatform_package::bump::{Problem, disk};

use crate::bump::support::{Checkout, NEW, OLD, OTHER, path, program, put, run, tree};

const DEV: [&str; 5] = ["apply", "--env", "dev,staging", "--to", OTHER];

#[test]
fn apply_twice_changes_once() {
    let checkout = Checkout::of(&tree());
    let planned = checkout.bump(&["plan", "--env", "dev,staging", "--to", OTHER]);
    assert_eq!(
        (planned.code, checkout.git(&["status", "--porcelain"]).as_str()),
        (2, ""),
        "a plan changes nothing"
    );
    let dry = checkout.bump(&[&DEV[..], &["--dry-run"]].concat());
    assert_eq!(
        (dry.code, &dry.out, checkout.git(&["status", "--porcelain"]).as_str()),
        (2, &planned.out, "")
    );
    let first = checkout.bump(&DEV);
    assert_eq!((first.code, &first.out), (2, &planned.out), "{}", first.err);
    let files = checkout.files();
    let second = checkout.bump(&DEV);
    assert_eq!((second.code, second.out.as_str()), (0, ""), "{}", second.err);
    assert_eq!(checkout.files(), files);
}

/// The output of a plan is a patch that git takes, and comes to the same bytes as `apply`.
#[test]
fn the_diff_of_a_plan_can_be_applied_by_git() {
    let mut tree = tree();
    let name = path("staging/stone-stg-rh01/kustomization.yaml");
    tree.insert(&name, "resources:\n- ../base");
    tree = tree
        .files()
        .filter(|(file, _)| *file != path("staging/stone-stg-rh01/environment-config.yaml"))
        .map(|(file, bytes)| (file.to_owned(), bytes.to_vec()))
        .collect();
    let (by_git, by_us) = (Checkout::of(&tree), Checkout::of(&tree));
    let mut arguments = DEV.to_vec();
    arguments[0] = "plan";
    arguments.push("--force");
    by_git.write("../plan.patch", by_git.bump(&arguments).out);
    by_git.git(&["apply", "../plan.patch"]);
    arguments[0] = "apply";
    assert_eq!(by_us.bump(&arguments).code, 2);
    let texts =
        |checkout: &Checkout| checkout.files().into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>();
    assert_eq!(texts(&by_git), texts(&by_us));
}

#[test]
fn uncommitted_changes_are_refused_with_their_first_line() {
    let checkout = Checkout::of(&tree());
    let name = path("development/kustomization.yaml");
    checkout.write(&name, checkout.read(&name).replace("newTag: v1", "newTag: v2"));
    let before = checkout.files();
    for command in ["plan", "apply"] {
        let mut arguments = DEV;
        arguments[0] = command;
        let ran = checkout.bump(&arguments);
        assert_eq!(ran.code, 1);
        assert!(
            ran.err.contains(&format!("error: {name}:13: has changes that are not committed; commit")),
            "{}",
            ran.err
        );
        assert_eq!(checkout.files(), before);
    }
    checkout.git(&["add", "--all"]);
    assert_eq!(checkout.bump(&DEV).code, 1, "staged is not committed");
    assert_eq!(checkout.bump(&[&DEV[..], &["--allow-dirty"]].concat()).code, 2);
}

#[test]
fn changes_in_files_that_are_not_edited_do_not_matter() {
    let checkout = Checkout::of(&tree());
    let name = path("production/kflux-prd-rh02/kustomization.yaml");
    checkout.write(&name, checkout.read(&name) + "# mine\n");
    assert_eq!(checkout.bump(&DEV).code, 2);
}

#[test]
fn a_directory_without_git_is_edited_only_on_request() {
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), &tree());
    let repo = directory.path().to_str().unwrap();
    let arguments = ["bump", "apply", "--repo", repo, "--env", "dev", "--to", OTHER];
    let ran = run(&arguments);
    assert!(ran.code == 1 && ran.err.contains("no git checkout"), "{}", ran.err);
    assert_eq!(run(&[&arguments[..], &["--allow-no-vcs"]].concat()).code, 2);
}

#[test]
fn usage_errors_exit_with_1_and_help_with_0() {
    let checkout = Checkout::of(&tree());
    for (arguments, said) in [
        (vec!["apply", "--env", "dev", "--to", "0ddd632"], "is a short commit"),
        (vec!["apply", "--env", "dev", "--to", "main"], "is a branch or a tag"),
        (vec!["apply", "--env", "moon", "--to", OTHER], "is not an environment"),
        (vec!["apply", "--env", "dev"], "--to"),
        (
            vec!["apply", "--env", "dev,production", "--ring", "4", "--to", OTHER],
            "staging and production together",
        ),
        (vec!["apply", "--env", "production", "--to", OTHER], "no ring is given"),
        (vec!["apply", "--env", "production", "--ring", "9", "--to", OTHER], "no ring \"9\""),
        (vec!["apply", "--env", "dev", "--to", OTHER, "--source", "x"], "write OWNER/NAME"),
        (vec!["apply", "--env", "dev", "--to", OTHER, "--component", "../x"], "is not a name of a component"),
        (vec!["apply", "--env", "dev", "--to", OTHER, "--component", "other"], "no such directory"),
        (vec!["apply", "--env", "dev", "--to", OTHER, "--rings", "none.yaml"], "none.yaml: cannot be read"),
        (vec!["check", "--base", "nowhere"], "no commit \"nowhere\""),
    ] {
        let ran = checkout.bump(&arguments);
        assert!(ran.code == 1 && ran.err.contains(said), "{arguments:?}: {} {}", ran.code, ran.err);
    }
    assert_eq!(checkout.git(&["status", "--porcelain"]), "");
    assert_eq!(run(&["bump", "--help"]).code, 0);
    assert_eq!(run(&["bump", "apply", "--help"]).code, 0);
}

/// 1 means that nothing is changed, also where nobody can be told.
#[test]
fn an_unprintable_plan_is_not_applied() {
    let checkout = Checkout::of(&tree());
    let before = checkout.files();
    let full = || fs::File::options().write(true).open("/dev/full").unwrap().into();
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer.into()
    };
    let ways: [&dyn Fn() -> std::process::Stdio; 2] = [&full, &closed];
    for arguments in [&DEV[..], &[&DEV[..], &["--json"]].concat()] {
        for way in ways {
            let mut command = program(&["bump", arguments[0], "--repo", checkout.path().to_str().unwrap()]);
            let output = command.args(&arguments[1..]).stdout(way()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
            assert_eq!(checkout.files(), before, "{arguments:?}: {said}");
        }
    }
    // A failure to print afterwards does not undo the bump.
    let mut command = program(&["bump", "apply", "--repo", checkout.path().to_str().unwrap()]);
    let output = command.args(&DEV[1..]).stderr(closed()).output().unwrap();
    assert_eq!((output.status.code(), checkout.files() == before), (Some(2), false));
}

/// Git's own words say what to do, where git refuses a repository.
#[test]
fn a_repository_that_git_refuses_is_not_called_missing() {
    let checkout = Checkout::of(&tree());
    let repo = checkout.path().to_str().unwrap();
    let head = checkout.git(&["rev-parse", "HEAD"]);
    let below = checkout.path().join("components");
    for arguments in [
        &["apply", "--repo", repo, "--env", "dev", "--to", OTHER][..],
        &["check", "--repo", repo, "--base", "main"],
        &["check", "--repo", repo],
        &["plan", "--repo", repo, "--env", "dev", "--to", head.trim(), "--clone", below.to_str().unwrap()],
    ] {
        // As git's own tests have it: the repository is somebody else's.
        let mut command = program(&[&["bump"], arguments].concat());
        command.env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
        for variable in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
            command.env(variable, "/dev/null");
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("detected dubious ownership"), "{arguments:?}: {said}");
        assert!(!said.contains("fetch it"), "{arguments:?}: {said}");
    }
}

#[test]
fn problems_are_also_json() {
    let checkout = Checkout::of(&tree());
    let name = path("development/kustomization.yaml");
    checkout.write(&name, checkout.read(&name).replace(NEW, "main"));
    checkout.commit("Follow main");
    let ran = checkout.bump(&["plan", "--json", "--env", "dev,staging", "--to", OTHER]);
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    let errors = said["errors"].as_array().unwrap();
    assert_eq!((ran.code, errors.len()), (1, 3));
    assert_eq!((errors[0]["file"].as_str(), errors[0]["line"].as_u64()), (Some(name.as_str()), Some(4)));
    assert!(errors[0]["help"].as_str().unwrap().contains("whole commit"));
}

#[test]
fn a_plan_is_also_json() {
    let ran = Checkout::of(&tree()).bump(&["plan", "--json", "--env", "dev,staging", "--to", OTHER]);
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &said["changed"], &said["applied"]), (2, &true.into(), &false.into()));
    assert_eq!((said["pins"].as_array().unwrap().len(), said["files"].as_array().unwrap().len()), (5, 2));
    assert_eq!(said["risk"]["level"], "Medium", "nothing was read from the source");
}

#[test]
fn production_gets_only_what_staging_had() {
    let checkout = Checkout::of(&tree());
    let ring = ["apply", "--env", "production", "--ring", "4", "--to"];
    let ran = checkout.bump(&[&ring[..], &[OTHER]].concat());
    assert!(ran.code == 3 && ran.err.contains("error[B03]: staging never had 1234567"), "{}", ran.err);
    assert!(ran.err.ends_with("nothing was changed (--force goes on)\n"), "{}", ran.err);
    assert_eq!(checkout.git(&["status", "--porcelain"]), "");
    // Once in staging and moved on from there, it may still go to production.
    checkout.bump(&DEV);
    checkout.commit("Bump staging");
    checkout.bump(&["apply", "--env", "dev,staging", "--to", NEW]);
    checkout.commit("Bump staging again");
    let ran = checkout.bump(&[&ring[..], &[OTHER]].concat());
    assert_eq!(ran.code, 2, "{}", ran.err);
    let changed = checkout.git(&["diff", "--name-only"]);
    assert_eq!(changed.trim(), path("production/kflux-prd-rh02/kustomization.yaml"));
}

#[test]
fn pull_request_text_has_every_section() {
    let checkout = Checkout::of(&tree());
    let body = checkout.path().join("../body.md");
    let ran = checkout.bump(&[
        "apply",
        "--env",
        "production",
        "--ring",
        "3,4",
        "--to",
        NEW,
        "--jira",
        "KFLUXVNGD-1",
        "--pr-body",
        body.to_str().unwrap(),
    ]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    let text = fs::read_to_string(body).unwrap();
    let expected = [
        "## What\n\nMove `konflux-ci/crossplane-control-plane` to 0ddd632c30dfd7f2bbcf229299f1fe7186d0adb7 in production (ring-3, ring-4).",
        "Jira: KFLUXVNGD-1\n",
        "Clusters: kflux-prd-rh02, stone-prd-rh01\n",
        "compare/93468e7...0ddd632",
        "/production/kflux-prd-rh02/kustomization.yaml` | 2 pins |",
        "## Why\n\nPromote what staging has.\n",
        "## Validation\n",
        "- in staging for ",
        "## Risk Assessment\n\n- Risk Level: Medium (the commits in between were not read",
        "- Blast radius: tests in production, clusters kflux-prd-rh02, stone-prd-rh01\n",
        "- Rollback: revert this pull request. Versions that a CRD got",
    ];
    for part in expected {
        assert!(text.contains(part), "{part}\n---\n{text}");
    }
}

#[test]
fn check_exits_with_3_on_errors() {
    let mut tree = tree();
    tree.insert(path("staging/base/moving.yaml"), "kind: ConfigMap\nmetadata: {name: moving}\n");
    let checkout = Checkout::of(&tree);
    let ran = checkout.bump(&["check"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    checkout.git(&["checkout", "--quiet", "-b", "pull-request"]);
    let (staging, production) =
        (path("staging/base/kustomization.yaml"), path("production/base/kustomization.yaml"));
    checkout.write(&staging, checkout.read(&staging) + "# a\n");
    checkout.commit("Staging");
    assert_eq!(checkout.bump(&["check", "--base", "main"]).code, 0);
    checkout.write(&production, checkout.read(&production) + "# a\n");
    checkout.commit("Production");
    let ran = checkout.bump(&["check", "--base", "main"]);
    assert!(ran.code == 3 && ran.out.contains("error[B17]"), "{}", ran.out);
    checkout.git(&["checkout", "--quiet", "-b", "moves", "main"]);
    checkout.git(&["mv", &path("staging/base/moving.yaml"), &path("production/base/moving.yaml")]);
    checkout.commit("Move a file to production");
    let ran = checkout.bump(&["check", "--base", "main"]);
    assert!(ran.code == 3 && ran.out.contains("error[B17]"), "{}", ran.out);
    checkout.write(&staging, checkout.read(&staging).replace(NEW, OLD).replacen(OLD, NEW, 1));
    let ran = checkout.bump(&["check", "--json"]);
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &said["errors"], &said["findings"][0]["id"]), (3, &1.into(), &"B01".into()));
}

#[test]
fn overlays_that_do_not_render_fail_the_check() {
    let checkout = Checkout::of(&tree());
    let program = checkout.path().join("../kustomize");
    checkout.write(
        "../written",
        "#!/bin/sh\ncase $3 in */kflux-prd-rh02) echo 'no resource matches strategic merge patch' >&2; exit 1;; esac\n",
    );
    // A process that another thread starts meanwhile would hold the file open for writing for a moment, and nobody could run it.
    let mut install = Command::new("install");
    let installed = install.arg("-m755").arg(checkout.path().join("../written")).arg(&program).status();
    assert!(installed.unwrap().success());
    let ran = checkout.bump(&["check", "--render", program.to_str().unwrap()]);
    assert_eq!(ran.code, 3);
    let said = format!(
        "error[B10]: {}: does not render: no resource matches",
        path("production/kflux-prd-rh02/kustomization.yaml")
    );
    assert!(ran.out.contains(&said), "{}", ran.out);
    assert_eq!(checkout.bump(&["check", "--render", "/no/such/kustomize"]).code, 1);
}

/// The second of two files is in a directory that cannot be written: the first is as before, and nothing is left lying about.
#[test]
fn a_write_that_fails_leaves_every_file_as_it_was() {
    let checkout = Checkout::of(&tree());
    let before = checkout.files();
    // For root no permission stands in the way; a file where a directory should be does.
    let mut plan =
        crate::bump::support::plan(&tree(), &crate::bump::support::dev_and_staging(OTHER)).unwrap();
    let edit = testplatform_package::bump::Edit { before: None, after: b"x".to_vec() };
    plan.edits.insert(format!("{}/below", path("staging/base/kustomization.yaml")), edit);
    let problem = disk::write_edits(checkout.path(), &plan.edits, || Ok::<_, Problem>(())).unwrap_err();
    assert!(problem.what.contains("cannot be written"), "{problem}");
    assert_eq!(checkout.files(), before);
}

#[test]
fn a_file_that_changed_since_it_was_read_is_not_written() {
    let checkout = Checkout::of(&tree());
    let plan = crate::bump::support::plan(&tree(), &crate::bump::support::dev_and_staging(OTHER)).unwrap();
    checkout.write(&path("staging/base/kustomization.yaml"), "resources: []\n");
    let before = checkout.files();
    let problem = disk::write_edits(checkout.path(), &plan.edits, || Ok::<_, Problem>(())).unwrap_err();
    assert!(problem.what.contains("changed while"), "{problem}");
    assert_eq!(checkout.files(), before);
}

#[test]
fn permissions_stay_and_links_are_not_followed() {
    let checkout = Checkout::of(&tree());
    let file = checkout.path().join(path("development/kustomization.yaml"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    checkout.bump(&DEV);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);

    let outside = tempfile::NamedTempFile::new().unwrap();
    fs::write(outside.path(), checkout.read(&path("development/kustomization.yaml"))).unwrap();
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(outside.path(), &file).unwrap();
    checkout.commit("A link");
    let ran = checkout.bump(&["apply", "--env", "dev", "--to", NEW]);
    assert!(ran.code == 1 && ran.err.contains("development: no kustomization"), "{}", ran.err);
    assert!(fs::read_to_string(outside.path()).unwrap().contains(OTHER));
}
