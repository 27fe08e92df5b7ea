//! `hub-kubeconfig` before it asks anybody: what cannot work is refused, in words that say what to do. And what is put beside one another on a
//! hub.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;
use testplatform_package::hub::{KubeconfigTarget, build_kubeconfig};

use crate::install::{documents, repository};

const CA: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==";

fn run(folder: &Path, kubeconfig: &str, arguments: &[&str]) -> Output {
    let file = folder.join("kubeconfig");
    fs::write(&file, kubeconfig).unwrap();
    Command::new(env!("CARGO_BIN_EXE_testplatform-package"))
        .arg("hub-kubeconfig")
        .arg("--kubeconfig")
        .arg(file)
        .args(arguments)
        .output()
        .unwrap()
}

fn own(cluster: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: hub, user: u}}\n\
         users:\n- name: u\n  user: {{token: t}}\nclusters:\n- name: hub\n  cluster: {cluster}\n"
    )
}

#[test]
fn invalid_arguments_are_refused_before_any_request() {
    let folder = tempfile::tempdir().unwrap();
    let whole = own(&format!("{{server: 'https://127.0.0.1:1', certificate-authority-data: {CA}}}"));
    let key = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCi0tLS0tQkVHSU4gUFJJVkFURSBLRVktLS0tLQo=";
    let cases: [(&str, &[&str], &str); 9] = [
        (&whole, &["--duration", "5m"], "no API server issues a token for less than 10m"),
        (&whole, &["--duration", "90d"], "unknown unit"),
        (&whole, &["--service-account", "konflux"], "expected namespace/name"),
        (&whole, &["--context", "d"], "the kubeconfig has no context \"d\""),
        (&whole, &["--server", "http://hub.example.com"], "begins with https://"),
        (&own("{server: 'https://127.0.0.1:1'}"), &[], "--certificate-authority"),
        (
            &own("{server: 'https://127.0.0.1:1', certificate-authority-data: bm90IGl0}"),
            &[],
            "not a certificate in PEM",
        ),
        (
            &own(&format!("{{server: 'https://127.0.0.1:1', certificate-authority-data: {key}}}")),
            &[],
            "private key",
        ),
        ("}", &[], "cannot read"),
    ];
    for (kubeconfig, arguments, words) in cases {
        let output = run(folder.path(), kubeconfig, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains(words) && output.stdout.is_empty(), "{arguments:?}: {said}");
    }
}

#[test]
fn everything_is_in_the_kubeconfig() {
    let way = KubeconfigTarget {
        server: "https://hub.example.com:6443",
        authority: CA,
        account: "konflux",
        namespace: "ephemeral-cluster",
        token: "t0ken",
    };
    let made = build_kubeconfig(&way);
    assert_eq!(made["clusters"][0]["cluster"]["certificate-authority-data"], CA);
    assert_eq!(made["users"][0]["user"]["token"], "t0ken");
    assert_eq!(made["contexts"][0]["context"]["namespace"], "ephemeral-cluster");
    // No path of this machine.
    assert!(!made.to_string().contains("certificate-authority\""), "{made}");
}

/// Option by which Argo CD neither prunes nor deletes an object with its Application.
const KEPT: &str = "Prune=false,Delete=false";

/// By what kustomize tells objects apart: kind, namespace, name.
type Id = (String, String, String);

fn id(kind: &Value, object: &Value) -> Id {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(kind), text(&object["namespace"]), text(&object["name"]))
}

fn ids(file: &Path) -> Vec<Id> {
    let found: Vec<Id> = documents(file).iter().map(|o| id(&o["kind"], &o["metadata"])).collect();
    assert!(!found.is_empty(), "{}", file.display());
    found
}

/// kustomize takes nothing that is there twice, so what the guide has beside `hub` repeats nothing of it.
#[test]
fn components_and_hub_share_no_object() {
    let folder = repository().join("package/install/hub");
    let mut seen = BTreeSet::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let listing = ["kustomization.yaml", "provider-config.yaml"].contains(&name.as_str());
        // In place of provider-rbac.yaml, and never beside it.
        if listing || name == "provider-rbac-clusterclaims.yaml" {
            continue;
        }
        for id in ids(&folder.join(&name)) {
            assert!(seen.insert(id.clone()), "{id:?} of {name} is in another file too");
        }
    }
}

/// Made anew an account is another one: whoever has a token of before is let in no more.
#[test]
fn accounts_with_external_tokens_and_their_namespaces_stay() {
    let folder = repository().join("package/install");
    let of = |file: &str| documents(&folder.join(file));
    let mut outside = BTreeSet::new();
    for file in [
        "hub/konflux-identity.yaml",
        "hub/konflux-identity-spaces-rbac.yaml",
        "hub/byoc-rbac.yaml",
        "build-cluster/provider-rbac.yaml",
    ] {
        let accounts = of(file).into_iter().filter(|object| object["kind"] == "ServiceAccount");
        for account in accounts {
            outside.insert(account["metadata"]["namespace"].as_str().unwrap().to_owned());
            assert_eq!(account["metadata"]["annotations"]["argocd.argoproj.io/sync-options"], KEPT, "{file}");
        }
    }
    assert_eq!(outside.len(), 2, "{outside:?}");
    for namespace in of("hub/namespaces.yaml") {
        if outside.remove(namespace["metadata"]["name"].as_str().unwrap()) {
            assert_eq!(namespace["metadata"]["annotations"]["argocd.argoproj.io/sync-options"], KEPT);
        }
    }
    assert!(outside.is_empty(), "{outside:?}");
}

/// Rights for another configuration have the names of those that are shipped, which therefore go first: all of them, and nothing else.
#[test]
fn a_component_for_own_rights_removes_the_shipped_ones() {
    let install = repository().join("package/install");
    let component = documents(&install.join("components/own-rights/kustomization.yaml")).remove(0);
    let mut out = BTreeSet::new();
    for patch in component["patches"].as_array().unwrap() {
        assert!(patch["patch"].as_str().unwrap().contains("$patch: delete"), "{patch}");
        let target = &patch["target"];
        for kind in target["kind"].as_str().unwrap().trim_matches(['(', ')']).split('|') {
            out.insert(id(&kind.into(), target));
        }
    }
    assert_eq!(out, ids(&install.join("hub/provider-rbac.yaml")).into_iter().collect());
}
