//! Missing programs and namespaces of a cluster, as pure data in and out.

use std::{collections::BTreeSet, slice};

use serde_json::{Value, json};
use testplatform_package::{
    bump::{Tree, render_directory},
    check::served::{ClusterFacts, Kind, REQUIRED, check_manifests, find_missing_kinds, used_kinds},
};

use crate::install::repository;

/// Objects of an overlay, as the offline reader of kustomizations renders them.
fn overlay(name: &str) -> Vec<Value> {
    let mut tree = Tree::default();
    for folder in ["install", "crds", "xrds", "compositions"] {
        insert_files(&mut tree, &repository().join("package").join(folder), folder);
    }
    let rendered = render_directory(&tree, &format!("install/overlays/{name}")).unwrap();
    rendered.objects.into_iter().map(|object| object.value).collect()
}

fn insert_files(tree: &mut Tree, directory: &std::path::Path, below: &str) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let below = format!("{below}/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            insert_files(tree, &path, &below);
        } else {
            tree.insert(below, std::fs::read(path).unwrap());
        }
    }
}

fn is_of(kind: &Kind, group: &str) -> bool {
    kind.0.starts_with(&format!("{group}/"))
}

/// A cluster that serves everything that an overlay uses, apart from one group.
fn cluster_without(manifests: &[Value], group: &str) -> ClusterFacts {
    let kinds = used_kinds(manifests).into_iter().filter(|kind| !is_of(kind, group)).collect();
    let names = ["ci", "crossplane-system", "default", "ephemeral-cluster"].map(str::to_owned);
    ClusterFacts { kinds, namespaces: Some(BTreeSet::from(names)) }
}

fn sentences(manifests: &[Value], cluster: &ClusterFacts) -> Vec<String> {
    check_manifests(manifests, cluster).missing.iter().map(ToString::to_string).collect()
}

/// Clusters without External Secrets and without the Prometheus operator accept every overlay but that of OpenShift, which has the latter.
#[test]
fn overlays_need_no_further_operator() {
    for name in ["crossplane", "development", "hub"] {
        let used = used_kinds(&overlay(name));
        let foreign: Vec<&Kind> = used
            .iter()
            .filter(|kind| {
                ["external-secrets.io", "monitoring.coreos.com"].iter().any(|group| is_of(kind, group))
            })
            .collect();
        assert_eq!(foreign, Vec::<&Kind>::new(), "{name}");
    }
    assert!(used_kinds(&overlay("konflux")).iter().any(|kind| is_of(kind, "monitoring.coreos.com")));
}

#[test]
fn a_cluster_with_everything_has_no_gap() {
    for name in ["crossplane", "development", "hub", "konflux"] {
        let manifests = overlay(name);
        let report = check_manifests(&manifests, &cluster_without(&manifests, "none"));
        assert_eq!(report.missing, [], "{name}");
        assert!(report.to_string().starts_with("the cluster serves the kinds of all "), "{report}");
    }
}

#[test]
fn a_missing_program_is_one_sentence_with_the_remedy() {
    let konflux = overlay("konflux");
    for (group, expected) in [
        (
            "monitoring.coreos.com",
            "missing: the Prometheus operator is not installed (PodMonitor, PrometheusRule): install it, or remove components \
             monitoring, hub-monitoring and orphans-monitoring",
        ),
        (
            "apiextensions.crossplane.io",
            "missing: Crossplane is not installed (CompositeResourceDefinition, Composition): install Crossplane 2, or update an older one",
        ),
        (
            "admissionregistration.k8s.io",
            "missing: this Kubernetes is too old (ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding): update it to \
             Kubernetes 1.30 or OpenShift 4.17",
        ),
    ] {
        assert_eq!(sentences(&konflux, &cluster_without(&konflux, group)), [expected]);
    }
    let secret = json!({
        "apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret",
        "metadata": { "name": "testplatform-cluster", "namespace": "crossplane-system" },
    });
    let found = sentences(
        slice::from_ref(&secret),
        &cluster_without(slice::from_ref(&secret), "external-secrets.io"),
    );
    assert!(
        found.len() == 1 && found[0].contains("create Secret testplatform-appci-cluster yourself"),
        "{found:?}"
    );
    let other = json!({ "apiVersion": "example.org/v1", "kind": "Thing", "metadata": { "name": "a" } });
    let found = sentences(slice::from_ref(&other), &cluster_without(slice::from_ref(&other), "example.org"));
    let expected = "missing: the cluster does not serve example.org/v1 (Thing): install its definition, or remove the objects of \
                    this kind";
    assert_eq!(found, [expected]);
}

/// A definition among the manifests is installed with them.
#[test]
fn kinds_that_manifests_define_are_not_missing() {
    let manifests = overlay("hub");
    let with_object = |version: &str| {
        let object = json!({
            "apiVersion": version, "kind": "EphemeralCluster",
            "metadata": { "name": "a", "namespace": "ephemeral-cluster" },
        });
        let mut all = manifests.clone();
        all.push(object);
        all
    };
    let cluster = cluster_without(&manifests, "none");
    assert_eq!(sentences(&with_object("ci.openshift.io/v1"), &cluster), [""; 0]);
    assert_eq!(sentences(&with_object("ci.openshift.io/v9"), &cluster).len(), 1);
}

#[test]
fn a_missing_namespace_is_named_with_its_objects() {
    let manifests = overlay("hub");
    let mut cluster = cluster_without(&manifests, "none");
    cluster.namespaces = Some(BTreeSet::from(["default".to_owned()]));
    let expected = "missing: namespace ci does not exist (Role provider-testplatform-prowjobs, RoleBinding \
                    provider-testplatform-prowjobs): create it by `kubectl create namespace ci`";
    assert_eq!(sentences(&manifests, &cluster), [expected]);
    cluster.namespaces = None;
    assert_eq!(sentences(&manifests, &cluster), [""; 0], "namespaces are unknown");
}

/// The list of required kinds is what the smallest overlay uses, and Objects.
#[test]
fn required_kinds_are_those_of_the_overlays() {
    let required: BTreeSet<Kind> =
        REQUIRED.iter().map(|(version, kind)| ((*version).to_owned(), (*kind).to_owned())).collect();
    let used = used_kinds(&overlay("crossplane"));
    let of_programs = |kind: &&Kind| {
        ["crossplane.io/", "admissionregistration.k8s.io/"].iter().any(|group| kind.0.contains(group))
    };
    let missing: Vec<&Kind> =
        used.iter().filter(of_programs).filter(|kind| !required.contains(kind)).collect();
    let binding =
        ("admissionregistration.k8s.io/v1".to_owned(), "ValidatingAdmissionPolicyBinding".to_owned());
    assert_eq!(missing, [&binding], "served with its policy");
    assert_eq!(find_missing_kinds(&required, &ClusterFacts::default()).len(), 4);
}
