//! A claim → the composite that Crossplane makes of it.

use serde_json::{Map, Value, json};

use super::files::{Document, text};

/// Label with the composite's name, on the composite and on everything that it composes.
pub const COMPOSITE: &str = "crossplane.io/composite";
/// Label with the claim's name.
pub const CLAIM_NAME: &str = "crossplane.io/claim-name";
/// Label with the claim's namespace.
pub const CLAIM_NAMESPACE: &str = "crossplane.io/claim-namespace";

/// Fields of a claim's spec that are about the claim itself and do not travel to the composite.
const CLAIM_ONLY: [&str; 4] =
    ["compositeDeletePolicy", "publishConnectionDetailsTo", "resourceRef", "writeConnectionSecretToRef"];

/// How much of a name precedes its random characters.
const LONGEST_BASE: usize = 58;

/// Letters of the random names that Kubernetes makes.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The composite of a claim. Name and uid are those that the observed resources know it by, if there are any.
pub fn build_composite(claim: &Document, api_version: &str, kind: &str, observed: &[Document]) -> Value {
    let name = claim.text("/metadata/name");
    let namespace = match claim.text("/metadata/namespace") {
        "" => "default",
        namespace => namespace,
    };
    let composite = [claim.text("/spec/resourceRef/name"), find_label(observed)];
    let composite = composite
        .into_iter()
        .find(|n| !n.is_empty())
        .map_or_else(|| generate_name(name, &name_suffix(&format!("{namespace}/{name}"))), str::to_owned);

    let mut metadata = json!({ "name": composite });
    for field in ["creationTimestamp", "generation"] {
        if let Some(value) = claim.object.pointer(&format!("/metadata/{field}")) {
            metadata[field] = value.clone();
        }
    }
    if let Some(uid) = find_uid(observed, kind, &composite) {
        metadata["uid"] = uid.into();
    }
    let annotations = copied_metadata(claim, "/metadata/annotations");
    if !annotations.is_empty() {
        metadata["annotations"] = Value::Object(annotations);
    }
    let mut labels = copied_metadata(claim, "/metadata/labels");
    for (key, value) in [(COMPOSITE, composite.as_str()), (CLAIM_NAME, name), (CLAIM_NAMESPACE, namespace)] {
        labels.insert(key.to_owned(), value.into());
    }
    metadata["labels"] = Value::Object(labels);

    let mut spec = claim.object["spec"].as_object().cloned().unwrap_or_default();
    spec.retain(|field, _| !CLAIM_ONLY.contains(&field.as_str()));
    spec.insert(
        "claimRef".into(),
        json!({
            "apiVersion": claim.text("/apiVersion"), "kind": claim.text("/kind"),
            "name": name, "namespace": namespace,
        }),
    );
    let mut object =
        json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": Value::Object(spec) });
    if let Some(status) = claim.object.get("status") {
        object["status"] = status.clone();
        // Whether the claim is synced says nothing about the composite.
        if let Some(Value::Array(conditions)) = object.pointer_mut("/status/conditions") {
            conditions.retain(|c| c["type"] != "Synced");
        }
    }
    object
}

/// The name that Crossplane generates from that of a claim: Kubernetes cuts the name before it adds the random characters. Source: apiserver,
/// `pkg/storage/names/generate.go`.
fn generate_name(claim: &str, suffix: &str) -> String {
    let base: String = format!("{claim}-").chars().take(LONGEST_BASE).collect();
    base + suffix
}

/// The composite that the observed resources are labelled with.
fn find_label(observed: &[Document]) -> &str {
    observed
        .iter()
        .filter_map(|d| d.object["metadata"]["labels"][COMPOSITE].as_str())
        .find(|name| !name.is_empty())
        .unwrap_or_default()
}

/// The composite's uid, as what it composes names its owner.
fn find_uid(observed: &[Document], kind: &str, name: &str) -> Option<String> {
    let owners = observed.iter().filter_map(|d| d.object["metadata"]["ownerReferences"].as_array()).flatten();
    owners
        .filter(|o| o["controller"] == true && text(o, "/kind") == kind && text(o, "/name") == name)
        .map(|o| text(o, "/uid"))
        .find(|uid| !uid.is_empty())
        .map(str::to_owned)
}

/// Labels or annotations without those that are Kubernetes' own.
fn copied_metadata(claim: &Document, pointer: &str) -> Map<String, Value> {
    let mut map = claim.object.pointer(pointer).and_then(Value::as_object).cloned().unwrap_or_default();
    map.retain(|key, _| {
        let prefix = key.split_once('/').map_or("", |(prefix, _)| prefix);
        prefix != "kubernetes.io" && !prefix.ends_with(".kubernetes.io")
    });
    map
}

/// Five characters that are the same for the same text: Crossplane draws them at random.
fn name_suffix(text: &str) -> String {
    // FNV-1a: short, and its value is the same everywhere and for ever.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let letters = LETTERS.len() as u64;
    let digit = |n: u32| usize::try_from(hash / letters.pow(n) % letters).unwrap_or_default();
    (0..5).map(|n| char::from(LETTERS[digit(n)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(object: Value) -> Document {
        Document { path: "claim.yaml".into(), object }
    }

    #[test]
    fn a_claim_becomes_its_composite() {
        let claim = document(json!({
            "apiVersion": "ci.openshift.org/v1alpha1", "kind": "TestPlatformCluster",
            "metadata": {
                "name": "c", "namespace": "t", "uid": "of the claim",
                "annotations": { "a/b": "kept", "kubectl.kubernetes.io/last-applied-configuration": "dropped" },
                "labels": { "app.kubernetes.io/name": "dropped", "team": "kept" },
            },
            "spec": { "lifetime": "1h", "writeConnectionSecretToRef": { "name": "s" } },
            "status": { "phase": "Ready", "conditions": [{ "type": "Synced" }, { "type": "Ready" }] },
        }));
        let composite = build_composite(&claim, "ci.openshift.org/v1alpha1", "XTestPlatformCluster", &[]);
        let name = composite["metadata"]["name"].as_str().unwrap();
        assert_eq!((name.len(), &name[..2]), (7, "c-"));
        assert_eq!(
            composite["metadata"],
            json!({
                "name": name, "annotations": { "a/b": "kept" },
                "labels": { COMPOSITE: name, CLAIM_NAME: "c", CLAIM_NAMESPACE: "t", "team": "kept" },
            })
        );
        assert_eq!(
            composite["spec"],
            json!({
                "lifetime": "1h",
                "claimRef": {
                    "apiVersion": "ci.openshift.org/v1alpha1", "kind": "TestPlatformCluster",
                    "name": "c", "namespace": "t",
                },
            })
        );
        assert_eq!(composite["status"], json!({ "phase": "Ready", "conditions": [{ "type": "Ready" }] }));
    }

    #[test]
    fn a_long_name_is_cut_as_kubernetes_does() {
        assert_eq!(generate_name(&"a".repeat(57), "bcdfg"), format!("{}-bcdfg", "a".repeat(57)));
        assert_eq!(generate_name(&"a".repeat(63), "bcdfg"), format!("{}bcdfg", "a".repeat(58)));
    }

    #[test]
    fn observed_resources_know_their_composite() {
        let claim = document(json!({ "metadata": { "name": "c" }, "spec": {} }));
        let observed = document(json!({ "metadata": {
            "labels": { COMPOSITE: "c-x7k2p" },
            "ownerReferences": [{ "controller": true, "kind": "X", "name": "c-x7k2p", "uid": "u" }],
        }}));
        let composite = build_composite(&claim, "v1", "X", &[observed]);
        assert_eq!(composite["metadata"]["name"], "c-x7k2p");
        assert_eq!(composite["metadata"]["uid"], "u");
        assert_eq!(composite["spec"]["claimRef"]["namespace"], "default");
    }
}
