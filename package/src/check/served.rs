//! `cargo xpkg check cluster`: kinds that a cluster does not serve, and namespaces that it does not have. Pure.
//!
//! Input: manifests, and what the API server serves. Output: one sentence for each missing program or namespace, with the remedy. kubectl
//! reports each object of an unknown kind, and says neither where the kind comes from nor how to do without it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::Serialize;
use serde_json::Value;

/// API groups of programs that the overlays and their components use, each with its name and the remedy.
const PROGRAMS: [(&str, &str, &str); 7] = [
    (
        "apiextensions.crossplane.io",
        "Crossplane is not installed",
        "install Crossplane 2, or update an older one",
    ),
    (
        "pkg.crossplane.io",
        "Crossplane's package manager is not installed",
        "install Crossplane 2, or update an older one",
    ),
    (
        "kubernetes.crossplane.io",
        "provider-kubernetes is not installed",
        "install it by a Provider of crossplane-contrib/provider-kubernetes",
    ),
    (
        "kubernetes.m.crossplane.io",
        "provider-kubernetes is older than 1.0",
        "update it, or remove component test-clusters",
    ),
    (
        "external-secrets.io",
        "the External Secrets Operator is not installed",
        "install it, or remove component external-secret and create Secret testplatform-appci-cluster yourself",
    ),
    (
        "monitoring.coreos.com",
        "the Prometheus operator is not installed",
        "install it, or remove components monitoring, hub-monitoring and orphans-monitoring",
    ),
    (
        "admissionregistration.k8s.io",
        "this Kubernetes is too old",
        "update it to Kubernetes 1.30 or OpenShift 4.17",
    ),
];

/// Kinds that every cluster with claims needs, as version and kind.
pub const REQUIRED: [(&str, &str); 8] = [
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
    ("apiextensions.crossplane.io/v1", "CompositeResourceDefinition"),
    ("apiextensions.crossplane.io/v1", "Composition"),
    ("apiextensions.crossplane.io/v1beta1", "EnvironmentConfig"),
    ("kubernetes.crossplane.io/v1alpha1", "ProviderConfig"),
    ("kubernetes.crossplane.io/v1alpha2", "Object"),
    ("pkg.crossplane.io/v1", "Function"),
    ("pkg.crossplane.io/v1beta1", "DeploymentRuntimeConfig"),
];

/// A version of a group, and a kind in it.
pub type Kind = (String, String);

/// Kinds and namespaces of a cluster.
#[derive(Clone, Debug, Default)]
pub struct ClusterFacts {
    /// Kinds that the API server serves.
    pub kinds: BTreeSet<Kind>,
    /// Names of namespaces; none if they may not be listed.
    pub namespaces: Option<BTreeSet<String>>,
}

/// Something that has to exist before manifests can be applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The missing program or namespace.
    pub problem: String,
    /// Kinds or objects that need it.
    pub needed_by: Vec<String>,
    /// What the administrator can do.
    pub remedy: String,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "missing: {} ({}): {}", self.problem, self.needed_by.join(", "), self.remedy)
    }
}

/// Result of the check of manifests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GapReport {
    /// Number of objects in the manifests.
    pub objects: usize,
    /// Everything that is missing.
    pub missing: Vec<Gap>,
}

impl fmt::Display for GapReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for gap in &self.missing {
            writeln!(f, "{gap}")?;
        }
        if self.missing.is_empty() {
            writeln!(f, "the cluster serves the kinds of all {} objects", self.objects)?;
        }
        Ok(())
    }
}

/// Kinds that manifests use and do not define themselves.
pub fn used_kinds(manifests: &[Value]) -> BTreeSet<Kind> {
    let defined = defined_kinds(manifests);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let used = manifests.iter().map(|object| (text(&object["apiVersion"]), text(&object["kind"])));
    used.filter(|kind| !defined.contains(kind)).collect()
}

/// Kinds of the CustomResourceDefinitions among manifests.
fn defined_kinds(manifests: &[Value]) -> BTreeSet<Kind> {
    let definitions = manifests.iter().filter(|object| object["kind"] == "CustomResourceDefinition");
    definitions
        .flat_map(|definition| {
            let spec = &definition["spec"];
            let (group, kind) = (spec["group"].as_str(), spec["names"]["kind"].as_str());
            let versions = spec["versions"].as_array().into_iter().flatten();
            versions.filter_map(move |version| {
                Some((format!("{}/{}", group?, version["name"].as_str()?), kind?.to_owned()))
            })
        })
        .collect()
}

/// Kinds that a cluster does not serve, by the program that brings them.
pub fn find_missing_kinds<'k>(
    needed: impl IntoIterator<Item = &'k Kind>,
    cluster: &ClusterFacts,
) -> Vec<Gap> {
    let mut by_program: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (version, kind) in needed.into_iter().filter(|kind| !cluster.kinds.contains(kind)) {
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let known = PROGRAMS.iter().find(|(known, ..)| *known == group);
        let key = known.map_or_else(
            || {
                let remedy = "install its definition, or remove the objects of this kind";
                (format!("the cluster does not serve {version}"), remedy.to_owned())
            },
            |(_, problem, remedy)| ((*problem).to_owned(), (*remedy).to_owned()),
        );
        by_program.entry(key).or_default().push(kind.clone());
    }
    let gaps = by_program.into_iter();
    gaps.map(|((problem, remedy), needed_by)| Gap { problem, needed_by, remedy }).collect()
}

/// Compares manifests with a cluster.
pub fn check_manifests(manifests: &[Value], cluster: &ClusterFacts) -> GapReport {
    let mut missing = find_missing_kinds(&used_kinds(manifests), cluster);
    if let Some(namespaces) = &cluster.namespaces {
        missing.extend(find_missing_namespaces(manifests, namespaces));
    }
    GapReport { objects: manifests.len(), missing }
}

fn find_missing_namespaces(manifests: &[Value], existing: &BTreeSet<String>) -> Vec<Gap> {
    let created = manifests.iter().filter(|object| object["kind"] == "Namespace");
    let created: BTreeSet<&str> = created.filter_map(|object| object["metadata"]["name"].as_str()).collect();
    let mut needed: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for object in manifests {
        let Some(namespace) = object["metadata"]["namespace"].as_str() else { continue };
        if !created.contains(namespace) && !existing.contains(namespace) {
            needed.entry(namespace).or_default().insert(describe_object(object));
        }
    }
    let gaps = needed.into_iter().map(|(namespace, objects)| Gap {
        problem: format!("namespace {namespace} does not exist"),
        needed_by: objects.into_iter().collect(),
        remedy: format!("create it by `kubectl create namespace {namespace}`"),
    });
    gaps.collect()
}

fn describe_object(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]))
}
