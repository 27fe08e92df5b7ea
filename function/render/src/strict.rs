//! Fields that the definition does not have, as `kubectl apply` refuses them: a typo in `lifetime` would change what is rendered.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, Visitor},
    forward_to_deserialize_any,
};
use serde_json::Value;
use testplatform_apis::{
    account::Access,
    byoc::{Azure, Byoc, ByocPlatform, Region, SecretRef},
    claim::{ClusterClaimSpec, PoolRef, TestPlatformClusterSpec},
    cleanup::Cleanup,
    template::companions::{
        Autoscale, ControlPlane, ExternalNetwork, HubChoice, InternalNetwork, Network, NodeGroup, Selector,
        Taint, Timeouts,
    },
};

/// Fields in the spec of claims and composites that are Crossplane's.
const CROSSPLANES: [&str; 12] = [
    "claimRef",
    "compositeDeletePolicy",
    "compositionRef",
    "compositionRevisionRef",
    "compositionRevisionSelector",
    "compositionSelector",
    "compositionUpdatePolicy",
    "crossplane",
    "publishConnectionDetailsTo",
    "resourceRef",
    "resourceRefs",
    "writeConnectionSecretToRef",
];

/// Members of a claim or a composite.
const MEMBERS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
/// Members of `metadata` in a manifest.
const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Paths of fields in a claim or a composite that its definition does not have, those of the object and its metadata included.
pub fn unknown_object_fields(object: &Value) -> Vec<String> {
    let names = |object: &Value| {
        object.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    let own = names(object).into_iter().filter(|name| !MEMBERS.contains(&name.as_str()));
    let metadata = names(&object["metadata"]).into_iter().filter(|name| !METADATA.contains(&name.as_str()));
    own.chain(metadata.map(|name| format!("metadata.{name}")))
        .chain(unknown_fields(&object["spec"]))
        .collect()
}

/// Paths of fields in the spec of a claim, or of a composite for a claim, that its definition does not have. Fields of `ciOperator` are those
/// of the hub, and `parameters` those of a template.
fn unknown_fields(spec: &Value) -> Vec<String> {
    let mut unknown = Vec::new();
    let mut check = |pointer: &str, fields: &[&str]| {
        for (path, object) in list_objects(spec, pointer) {
            let names = object.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
            let known =
                |name: &str| fields.contains(&name) || (path == "spec" && CROSSPLANES.contains(&name));
            unknown.extend(names.filter(|name| !known(name)).map(|name| format!("{path}.{name}")));
        }
    };
    check("", list_fields::<TestPlatformClusterSpec>());
    check("/clusterClaim", list_fields::<ClusterClaimSpec>());
    check("/clusterClaim/pool", list_fields::<PoolRef>());
    check("/byoc", list_fields::<Byoc>());
    check("/byoc/platform", list_fields::<ByocPlatform>());
    check("/byoc/platform/aws", list_fields::<Region>());
    check("/byoc/platform/azure", list_fields::<Azure>());
    check("/byoc/platform/gcp", list_fields::<Region>());
    for secret in ["credentialsSecretRef", "pullSecretRef", "sshKeySecretRef", "installConfigSecretRef"] {
        check(&format!("/byoc/{secret}"), list_fields::<SecretRef>());
    }
    check("/controlPlane", list_fields::<ControlPlane>());
    check("/nodeGroups/*", list_fields::<NodeGroup>());
    check("/nodeGroups/*/autoscale", list_fields::<Autoscale>());
    check("/nodeGroups/*/taints/*", list_fields::<Taint>());
    check("/network", list_fields::<Network>());
    check("/network/internal", list_fields::<InternalNetwork>());
    check("/network/external", list_fields::<ExternalNetwork>());
    check("/hub", list_fields::<HubChoice>());
    check("/hub/selector", list_fields::<Selector>());
    check("/timeouts", list_fields::<Timeouts>());
    check("/cleanup", list_fields::<Cleanup>());
    check("/credentials", list_fields::<Access>());
    unknown
}

/// Values at a JSON pointer in which `*` stands for every item of a list, each with its path in words of the API server.
fn list_objects<'v>(spec: &'v Value, pointer: &str) -> Vec<(String, &'v Value)> {
    let mut found = vec![("spec".to_owned(), spec)];
    for step in pointer.split('/').skip(1) {
        found = match step {
            "*" => found
                .into_iter()
                .flat_map(|(path, list)| {
                    let items = list.as_array().into_iter().flatten().enumerate();
                    items.map(move |(i, item)| (format!("{path}[{i}]"), item))
                })
                .collect(),
            field => found
                .into_iter()
                .filter_map(|(path, object)| Some((format!("{path}.{field}"), object.get(field)?)))
                .collect(),
        };
    }
    found
}

/// Names of the fields of a type, from its derived `Deserialize`.
fn list_fields<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut fields: &'static [&'static str] = &[];
    let _ = T::deserialize(FieldNames(&mut fields));
    fields
}

/// Reads nothing, and notes the fields that it is asked for.
struct FieldNames<'f>(&'f mut &'static [&'static str]);

/// There is nothing to read.
#[derive(Debug)]
struct Nothing;

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing to read")
    }
}

impl std::error::Error for Nothing {}

impl de::Error for Nothing {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = Nothing;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Nothing> {
        Err(Nothing)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Nothing> {
        *self.0 = fields;
        Err(Nothing)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map identifier ignored_any enum
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_fields_are_found_at_every_depth() {
        let spec = json!({
            "lifetme": "1h", "template": "hosted", "writeConnectionSecretToRef": { "name": "s" },
            "parameters": { "any": 1 }, "ciOperator": { "new": 1 },
            "nodeGroups": [{ "name": "a" }, { "name": "b", "clas": "x", "autoscale": { "mn": 1 } }],
            "hub": { "nme": "x", "selector": { "matchLables": {} } },
            "byoc": { "platform": { "aws": { "regin": "r" } }, "pullSecretRef": { "nam": "s" } },
        });
        let expected = [
            "spec.lifetme",
            "spec.byoc.platform.aws.regin",
            "spec.byoc.pullSecretRef.nam",
            "spec.nodeGroups[1].clas",
            "spec.nodeGroups[1].autoscale.mn",
            "spec.hub.nme",
            "spec.hub.selector.matchLables",
        ];
        assert_eq!(unknown_fields(&spec), expected);
    }

    #[test]
    fn unknown_fields_are_found_beside_the_spec() {
        let object = json!({
            "apiVersion": "v", "kind": "K", "spce": {}, "status": { "any": 1 },
            "metadata": { "name": "n", "lables": {}, "uid": "" }, "spec": { "lifetme": "1h" },
        });
        let expected = ["spce", "metadata.lables", "spec.lifetme"];
        assert_eq!(unknown_object_fields(&object), expected);
    }

    #[test]
    fn every_type_tells_its_fields() {
        assert!(list_fields::<TestPlatformClusterSpec>().contains(&"tearDownCluster"));
        assert!(list_fields::<Access>().contains(&"mode"));
        assert!(list_fields::<Taint>().contains(&"effect"));
    }
}
