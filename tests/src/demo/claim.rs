//! The claim that is made, from a file.

use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use testplatform_render::unknown_object_fields;

use crate::{
    cluster::{At, at},
    kinds::{CLAIM, SECRET},
    manifests, settings,
};

/// Blocks of a spec for clusters that the demo has no controller for.
const OTHER_BLOCKS: [&str; 2] = ["clusterClaim", "template"];

/// A claim, fit to be created.
#[derive(Clone, Debug)]
pub struct Claim {
    file: String,
    /// Object that is sent.
    pub manifest: Value,
    /// Namespace, which the demo makes.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Name of the Secret for the kubeconfig.
    pub secret: String,
}

impl Claim {
    /// Reads a file with one claim in it. Errors say which file, and what is wrong.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let repository = settings::repository();
        let file = path.strip_prefix(&repository).unwrap_or(path).display().to_string();
        let documents = manifests::read(path)?;
        let [document] = documents.as_slice() else {
            bail!("{file}: there are {} objects in it, and one claim is wanted", documents.len());
        };
        Self::of(document, &file).with_context(|| format!("{file} cannot be shown"))
    }

    fn of(document: &Value, file: &str) -> anyhow::Result<Self> {
        let text =
            |pointer: &str| document.pointer(pointer).and_then(Value::as_str).filter(|t| !t.is_empty());
        let (api_version, kind) = (text("/apiVersion").unwrap_or("none"), text("/kind").unwrap_or("none"));
        ensure!(
            (api_version, kind) == (CLAIM.api_version, CLAIM.kind),
            "its kind is {kind} and its apiVersion {api_version}; wanted are {} and {}",
            CLAIM.kind,
            CLAIM.api_version
        );
        let name = text("/metadata/name").context("metadata.name is missing")?;
        let namespace = text("/metadata/namespace").unwrap_or("demo");
        let secret = text("/spec/writeConnectionSecretToRef/name")
            .context("spec.writeConnectionSecretToRef.name is missing, so there would be no kubeconfig")?;
        ensure!(
            document["spec"]["tearDownCluster"] != true,
            "spec.tearDownCluster is true, so no cluster would be created"
        );
        if let Some(block) = OTHER_BLOCKS.into_iter().find(|block| !document["spec"][*block].is_null()) {
            bail!(
                "it requests a cluster with spec.{block}, and the demo can create those with spec.ciOperator only; \
                 `render` shows the answer to this claim"
            );
        }
        ensure!(
            document["spec"]["ciOperator"].is_object(),
            "it has no spec.ciOperator, so it requests no cluster"
        );
        let unknown = unknown_object_fields(document);
        ensure!(unknown.is_empty(), "unknown fields: {}; correct or remove them", unknown.join(", "));
        // Fields that a server wrote stay out, and so does the reference to a composite of another cluster.
        let mut spec = document["spec"].clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("resourceRef");
        }
        let metadata = &document["metadata"];
        let manifest = json!({
            "apiVersion": api_version, "kind": kind, "spec": spec,
            "metadata": {
                "name": name, "namespace": namespace,
                "labels": metadata["labels"], "annotations": metadata["annotations"],
            },
        });
        Ok(Self {
            file: file.to_owned(),
            manifest,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            secret: secret.to_owned(),
        })
    }

    /// The file that it is from.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The claim.
    pub fn at(&self) -> At {
        at(CLAIM, &self.namespace, &self.name)
    }

    /// Its Secret.
    pub fn secret_at(&self) -> At {
        at(SECRET, &self.namespace, &self.secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(document: &Value) -> String {
        format!("{:#}", Claim::of(document, "x.yaml").unwrap_err())
    }

    #[test]
    fn what_a_server_wrote_stays_out() {
        let document = json!({
            "apiVersion": "ci.openshift.org/v1alpha1", "kind": "TestPlatformCluster",
            "metadata": { "name": "demo", "uid": "1", "resourceVersion": "2", "labels": { "a": "b" } },
            "spec": {
                "lifetime": "1h", "ciOperator": {}, "resourceRef": { "name": "x" },
                "writeConnectionSecretToRef": { "name": "s" },
            },
            "status": { "phase": "Ready" },
        });
        let claim = Claim::of(&document, "x.yaml").unwrap();
        let wanted = json!({
            "apiVersion": "ci.openshift.org/v1alpha1", "kind": "TestPlatformCluster",
            "metadata": { "name": "demo", "namespace": "demo", "labels": { "a": "b" }, "annotations": null },
            "spec": { "lifetime": "1h", "ciOperator": {}, "writeConnectionSecretToRef": { "name": "s" } },
        });
        assert_eq!(claim.manifest, wanted);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mut document = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "x" } });
        assert!(said(&document).contains("its kind is Pod"), "{}", said(&document));
        document["apiVersion"] = CLAIM.api_version.into();
        document["kind"] = CLAIM.kind.into();
        assert!(said(&document).contains("writeConnectionSecretToRef"), "{}", said(&document));
        document["spec"] = json!({ "tearDownCluster": true, "writeConnectionSecretToRef": { "name": "s" } });
        assert!(said(&document).contains("tearDownCluster"), "{}", said(&document));
        document["metadata"] = json!({});
        assert!(said(&document).contains("metadata.name"), "{}", said(&document));
    }

    #[test]
    fn blocks_that_cannot_be_created_are_named_at_once() {
        let mut document = json!({
            "apiVersion": CLAIM.api_version, "kind": CLAIM.kind, "metadata": { "name": "demo" },
            "spec": { "template": "hosted", "writeConnectionSecretToRef": { "name": "s" } },
        });
        for block in OTHER_BLOCKS {
            document["spec"] = json!({ block: {}, "writeConnectionSecretToRef": { "name": "s" } });
            let error = said(&document);
            assert!(
                error.contains(&format!("with spec.{block}")) && error.contains("spec.ciOperator only"),
                "{error}"
            );
        }
        document["spec"] = json!({ "writeConnectionSecretToRef": { "name": "s" } });
        assert!(said(&document).contains("no spec.ciOperator"), "{}", said(&document));
    }

    #[test]
    fn unknown_fields_are_refused_wherever_they_are() {
        let mut document = json!({
            "apiVersion": CLAIM.api_version, "kind": CLAIM.kind,
            "metadata": { "name": "demo", "lables": {} }, "spce": {},
            "spec": { "ciOperator": {}, "lifetme": "1h", "writeConnectionSecretToRef": { "name": "s" } },
        });
        assert!(
            said(&document).contains("unknown fields: spce, metadata.lables, spec.lifetme"),
            "{}",
            said(&document)
        );
        document["spec"]["template"] = "hosted".into();
        assert!(said(&document).contains("spec.template"), "{}", said(&document));
    }

    #[test]
    fn the_default_is_there() {
        Claim::read(&settings::repository().join("examples/minimal/claim.yaml")).unwrap();
    }
}
