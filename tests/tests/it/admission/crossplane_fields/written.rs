//! Objects that tenants write, and the policies that check them.

use kube::{
    Api,
    api::{DeleteParams, DynamicObject},
};
use serde_json::{Value, json};
use testplatform_apis::{claim, space, test_cluster};
use testplatform_tests::{
    cluster::{At, Cluster, at},
    hub::define,
    kinds::{CLAIM, Kind, SPACE_CLAIM, TEST_CLUSTER},
};

/// Where the tenant is.
pub const NAMESPACE: &str = "default";

/// A kind that tenants write.
pub struct Written {
    /// The kind.
    pub kind: Kind,
    /// Its group.
    pub group: &'static str,
    /// Its plural.
    pub plural: &'static str,
    /// The composites' plural. A TestCluster is one itself.
    pub composites: &'static str,
    /// The file of the policy.
    pub policy: &'static str,
    /// The Composition that we ship for it.
    pub composition: &'static str,
}

/// Claims of clusters.
pub const CLAIMS: Written = Written {
    kind: CLAIM,
    group: claim::GROUP,
    plural: claim::CLAIM_PLURAL,
    composites: claim::COMPOSITE_PLURAL,
    policy: "install/tenants/crossplane-fields-policy.yaml",
    composition: "testplatform-ephemeral-cluster",
};
/// Claims of spaces.
pub const SPACES: Written = Written {
    kind: SPACE_CLAIM,
    group: space::GROUP,
    plural: space::SPACE_CLAIM_PLURAL,
    composites: space::SPACE_PLURAL,
    policy: "install/components/spaces/crossplane-fields-policy.yaml",
    composition: space::COMPOSITION,
};
/// TestClusters.
pub const TEST_CLUSTERS: Written = Written {
    kind: TEST_CLUSTER,
    group: claim::GROUP,
    plural: test_cluster::PLURAL,
    composites: test_cluster::PLURAL,
    policy: "install/components/test-clusters/crossplane-fields-policy.yaml",
    composition: "testplatform-test-cluster",
};

impl Written {
    fn is_composite(&self) -> bool {
        self.kind == TEST_CLUSTER
    }

    /// A spec with fields of Crossplane's, which a composite has in a place of their own.
    pub fn spec(&self, fields: &Value) -> Value {
        if self.is_composite() { json!({ "crossplane": fields }) } else { fields.clone() }
    }

    /// How such a field is called.
    pub fn path(&self, field: &str) -> String {
        let place = if self.is_composite() { "spec.crossplane" } else { "spec" };
        format!("{place}.{field}")
    }

    /// Every such field, with something that no tenant may set.
    pub fn fields(&self) -> Vec<(&'static str, Value)> {
        let (named, labelled) = (json!({ "name": "another" }), json!({ "matchLabels": {} }));
        let taken = json!({ "apiVersion": "v1", "kind": "Secret", "name": "another" });
        let taken =
            if self.is_composite() { ("resourceRefs", json!([taken])) } else { ("resourceRef", taken) };
        vec![
            taken,
            ("compositionRef", named.clone()),
            ("compositionSelector", labelled.clone()),
            ("compositionRevisionRef", named),
            ("compositionRevisionSelector", labelled),
            ("compositionUpdatePolicy", "Manual".into()),
        ]
    }

    /// One of it.
    pub fn at(&self, name: &str) -> At {
        at(self.kind, NAMESPACE, name)
    }

    /// The manifest of one.
    pub fn asked(&self, name: &str, spec: &Value) -> Value {
        json!({
            "apiVersion": self.kind.api_version, "kind": self.kind.kind,
            "metadata": { "name": name, "namespace": NAMESPACE }, "spec": spec,
        })
    }

    /// Deletes one with options of the caller's. Returns the object if it remains for now.
    pub async fn delete(
        &self,
        who: &Cluster,
        at: &At,
        how: DeleteParams,
    ) -> kube::Result<Option<DynamicObject>> {
        let api: Api<DynamicObject> = Api::namespaced_with(who.client(), NAMESPACE, &self.kind.into());
        Ok(api.delete(at.name(), &how).await?.left())
    }

    /// Defines the kind, with whatever in it, and the default that Crossplane gives to composites.
    pub async fn define(&self, konflux: &Cluster) -> anyhow::Result<()> {
        let whatever = || json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let mut schema = whatever();
        if self.is_composite() {
            let (mut spec, mut crossplane) = (whatever(), whatever());
            let policy = json!({ "type": "string", "default": "Automatic" });
            crossplane["properties"] = json!({ "compositionUpdatePolicy": policy });
            spec["properties"] = json!({ "crossplane": crossplane });
            schema["properties"] = json!({ "spec": spec });
        }
        let version = json!({
            "name": "v1alpha1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
        });
        let kind = self.kind.kind;
        let names = json!({
            "kind": kind, "listKind": format!("{kind}List"), "plural": self.plural, "singular": kind.to_lowercase(),
        });
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{}.{}", self.plural, self.group) },
            "spec": { "group": self.group, "scope": "Namespaced", "names": names, "versions": [version] },
        });
        define(konflux, &definition).await
    }
}
