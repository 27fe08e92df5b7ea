//! Pull requests that were really merged, byte for byte.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use testplatform_package::bump::{Environment, Request, Tree, disk, git as history, unified_diff};
use testplatform_test_data::upstream;

use crate::bump::support::{
    COMPONENT, Checkout, NEW, OLD, after, clone, data, dev_and_staging, files, git, plan, production, request,
};

/// The eight clusters of #13050.
const CLUSTERS: [&str; 8] = [
    "kflux-ocp-p01",
    "kflux-osp-p01",
    "kflux-prd-rh02",
    "kflux-prd-rh03",
    "kflux-rhel-p01",
    "stone-prd-rh01",
    "stone-prod-p01",
    "stone-prod-p02",
];

fn of_directory(directory: &Path) -> Tree {
    files(directory)
        .into_iter()
        .map(|(path, bytes)| {
            (format!("{COMPONENT}/{}", path.strip_prefix(directory).unwrap().to_str().unwrap()), bytes)
        })
        .collect()
}

/// The state of #13050, in which eight overlays differ in the cluster's name only.
fn of_clusters(directory: &Path) -> Tree {
    let mut tree = Tree::default();
    for cluster in CLUSTERS {
        for (path, bytes) in files(directory) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let text = String::from_utf8(bytes).unwrap().replace("CLUSTER", cluster);
            tree.insert(format!("{COMPONENT}/production/{cluster}/{name}"), text);
        }
    }
    tree
}

#[test]
fn a_bump_of_dev_and_staging_is_pull_request_13253() {
    let before = of_directory(&data("pull-requests/13253/before"));
    let plan = plan(&before, &dev_and_staging(NEW)).unwrap();
    let expected = of_directory(&data("pull-requests/13253/after"));
    assert_eq!(after(&before, &plan), expected);
    assert_eq!(plan.moves.len(), 5, "five lines, nothing else");
}

#[test]
fn a_promotion_of_eight_clusters_is_pull_request_13050() {
    let before = of_clusters(&data("pull-requests/13050/before"));
    let plan = plan(&before, &production(OLD, &CLUSTERS)).unwrap();
    assert_eq!(after(&before, &plan), of_clusters(&data("pull-requests/13050/after")));
    let created: Vec<_> = plan.edits.iter().filter(|(_, edit)| edit.before.is_none()).collect();
    assert_eq!(created.len(), 8);
    for (_, edit) in created {
        assert_eq!(String::from_utf8_lossy(&edit.after).lines().count(), 8, "a new file of eight lines");
    }
}

/// The lines as the pull request shows them.
#[test]
fn the_diff_of_one_cluster_is_the_one_that_was_reviewed() {
    let before = of_clusters(&data("pull-requests/13050/before"));
    let plan = plan(&before, &production(OLD, &["stone-prod-p02"])).unwrap();
    let path = format!("{COMPONENT}/production/stone-prod-p02/kustomization.yaml");
    let diff = unified_diff(&path, &plan.edits[&path]);
    assert!(
        diff.contains(
            " - ../base
-- https://github.com/konflux-ci/crossplane-control-plane/crossplane?ref=bd3da0eff408eb329bfb5d7306b2aa3016d1a906
-- https://github.com/konflux-ci/crossplane-control-plane/config?ref=bd3da0eff408eb329bfb5d7306b2aa3016d1a906
+- environment-config.yaml
+- https://github.com/konflux-ci/crossplane-control-plane/crossplane?ref=93468e78be8cb6980dec3cd97ef400de6d54064b
+- https://github.com/konflux-ci/crossplane-control-plane/config?ref=93468e78be8cb6980dec3cd97ef400de6d54064b
"
        ),
        "{diff}"
    );
}

/// #13253 and #13050 made upstream's current files; so both can be undone and made again.
#[test]
fn a_bump_of_old_real_files_gives_the_current_ones() {
    let directory = upstream();
    let real = disk::read_checkout(&directory.join("infra-deployments"), "crossplane-control-plane").unwrap();
    let mut before = real.clone();
    for (path, bytes) in real.files_under(COMPONENT) {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        before.insert(path, text.replace(NEW, OLD));
    }
    let plan = plan(&before, &dev_and_staging(NEW)).unwrap();
    assert_eq!(plan.moves.len(), 5);
    let mut expected = before.clone();
    for path in plan.edits.keys() {
        expected.insert(path, real.get(path).unwrap());
    }
    assert_eq!(after(&before, &plan), expected);
}

#[test]
fn second_promotion_of_a_ring_changes_nothing() {
    let directory = upstream();
    let mut tree =
        disk::read_checkout(&directory.join("infra-deployments"), "crossplane-control-plane").unwrap();
    for (ring, pins) in [("2", 12), ("ring-3", 4), ("4", 2)] {
        let request = request(NEW, &[Environment::Production], &[ring], &[]);
        let first = plan(&tree, &request).unwrap();
        assert_eq!(first.moves.len(), pins, "{ring}");
        tree = after(&tree, &first);
        assert!(plan(&tree, &request).unwrap().edits.is_empty(), "{ring}");
    }
}

/// Merged pull requests that bumped and did nothing else that a person had to think of. Their commits in infra-deployments.
const MERGED: [(&str, &str, Environment); 7] = [
    ("595bc0537", "#11275", Environment::Staging),
    ("ea782090f", "#11587", Environment::Staging),
    ("83f6ecb10", "#11644", Environment::Production),
    ("6dda7886e", "#10540", Environment::Production),
    ("1c0ef36cf", "#12948", Environment::Staging),
    ("de11366ad", "#13050", Environment::Production),
    ("f18ad330d", "#13253", Environment::Staging),
];

#[test]
fn bumps_reproduce_real_history_commit_by_commit() {
    let what = "replay of merged pull requests";
    let Some(infra) = clone(what, "INFRA_DEPLOYMENTS_CLONE") else { return };
    let Some(source) = clone(what, "CROSSPLANE_CONTROL_PLANE_CLONE") else { return };
    let directories = BTreeSet::from([COMPONENT.to_owned()]);
    for (commit, name, environment) in MERGED {
        let at = |revision: &str| {
            let commit = git(&infra, &["rev-parse", revision]).trim().parse().unwrap();
            history::read_files(&infra, &commit, &directories).unwrap()
        };
        let (before, expected) = (at(&format!("{commit}^")), at(commit));
        let added = git(&infra, &["show", "--format=", "-U0", commit]);
        let to =
            added.lines().find_map(|line| line.strip_prefix('+')?.split_once("?ref=")).unwrap().1.to_owned();
        let mut request: Request = match environment {
            Environment::Staging => dev_and_staging(&to),
            _ => request(&to, &[environment], &["all"], &[]),
        };
        if name == "#13050" {
            request = production(&to, &CLUSTERS);
        }
        // From July 2026 on the compositions ask for it.
        request.environment_configs = !git(&source, &["grep", "-l", "-e", "function", &to, "--", "config"])
            .is_empty()
            && git_finds(&source, "envcfg", &to);
        let plan = plan(&before, &request).unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
        let made = after(&before, &plan);
        for (path, bytes) in expected.files() {
            assert_eq!(
                made.get(path).map(String::from_utf8_lossy),
                Some(String::from_utf8_lossy(bytes)),
                "{name}: {path}"
            );
        }
        assert_eq!(made, expected, "{name}");
    }
}

fn git_finds(clone: &Path, text: &str, commit: &str) -> bool {
    let status = std::process::Command::new("git")
        .arg("-C")
        .arg(clone)
        .args(["grep", "-q", "-e", text, commit, "--", "config"])
        .status();
    status.unwrap().success()
}

/// On disk, as `apply` does it, with the tool's own commit as witness that git sees nothing else.
#[test]
fn apply_leaves_a_checkout_with_exactly_the_five_lines_changed() {
    let checkout = Checkout::of(&of_directory(&data("pull-requests/13253/before")));
    // The rest of the repository, which this pull request did not touch.
    for (path, bytes) in crate::bump::support::tree().files_under("argo-cd-apps") {
        checkout.write(path, bytes);
    }
    checkout.write(&format!("{COMPONENT}/base/kustomization.yaml"), "resources: []\n");
    checkout.write(&format!("{COMPONENT}/staging/base/provider-config.yaml"), providers());
    checkout.write(
        &format!("{COMPONENT}/staging/base/testplatform-provider-config.yaml"),
        "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata:\n  name: testplatform-cluster\n",
    );
    checkout.write(
        &format!("{COMPONENT}/k-components/crossplane-resources/kustomization.yaml"),
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n",
    );
    checkout.commit("rest");
    let ran = checkout.bump(&["apply", "--env", "dev,staging", "--to", NEW]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert_eq!(
        checkout.git(&["diff", "--shortstat"]).trim(),
        "2 files changed, 5 insertions(+), 5 deletions(-)"
    );
    for name in ["development", "staging/base"] {
        let expected =
            fs::read_to_string(data("pull-requests/13253/after").join(name).join("kustomization.yaml"));
        assert_eq!(checkout.read(&format!("{COMPONENT}/{name}/kustomization.yaml")), expected.unwrap());
    }
}

fn providers() -> Vec<u8> {
    fs::read(data("infra-deployments").join(COMPONENT).join("staging/base/provider-config.yaml")).unwrap()
}
