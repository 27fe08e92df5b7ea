//! Observed → desired Objects. Observed Objects keep their names; core names new ones, as it names the incumbent's.
//!
//! Everything but the namespace lacks the policy Delete: with the claim only the namespace is deleted on the hub, its Object stays until it
//! is gone, and nothing in it goes before. So an account never has rights without quota.

use serde_json::{Map, Value, json};
use testplatform_apis::{
    foreign::object::{API_VERSION, KIND},
    input::{Settings, Spaces},
    names::{crossplane, ours},
    space::{self, keys},
    text::bounded,
};

use super::{
    CONTENT, CREDENTIALS, FROM_OPENSHIFT, LIMITS, NAMESPACE, NEWBORN, QUOTA, QUOTA_NOT_TERMINATING,
    QUOTA_TERMINATING, ROLE_BINDING, SAME_NAMESPACE, SECRET, SERVICE_ACCOUNT, SpaceObject, SpaceState,
};
use crate::{objects::assemble_object, sdk::response::DesiredResource};

/// The API group of rights.
const RBAC: &str = "rbac.authorization.k8s.io";
/// Name of the RoleBinding.
const BINDING: &str = "namespace-manager-rb";

/// Everything that is to exist.
pub(super) fn build_resources(
    namespace: &str,
    settings: &Settings,
    observed: &SpaceState,
) -> Vec<DesiredResource> {
    let spaces = &settings.spaces;
    let provider_config =
        observed.namespace_object().map(|item| item.object.spec.provider_config_ref.name.clone());
    let provider_config =
        provider_config.filter(|name| !name.is_empty()).unwrap_or_else(|| spaces.provider_config());
    let make = SpaceBuilder { namespace, provider_config: &provider_config, spaces, observed };
    let mut all = vec![make.build_namespace()];
    let is_home = observed.namespace_object().is_some_and(SpaceObject::exists) && !observed.is_foreign();
    let content: Vec<DesiredResource> =
        CONTENT.into_iter().filter_map(|name| make.build_content(name, is_home)).collect();
    let limited = content.iter().all(|r| r.ready) && is_home;
    all.extend(content);
    if limited || observed.objects.contains_key(ROLE_BINDING) {
        all.push(make.inner_object(ROLE_BINDING, make.build_role_binding()));
    }
    all.extend(make.repeat_token());
    all.extend(make.build_credentials(settings));
    all
}

/// Common values of the Objects of one space.
struct SpaceBuilder<'a> {
    namespace: &'a str,
    provider_config: &'a str,
    spaces: &'a Spaces,
    observed: &'a SpaceState,
}

impl SpaceBuilder<'_> {
    /// The namespace.
    fn build_namespace(&self) -> DesiredResource {
        let mut metadata = json!({ "name": self.namespace, "labels": { space::NAMESPACE_TYPE: space::NAMESPACE_TYPE_VALUE } });
        let mut spec = json!({ "forProvider": {} });
        if !self.observed.is_legacy() {
            if self.has_prerequisites() {
                metadata["labels"][ours::SPACE_ACCOUNT] = space::SERVICE_ACCOUNT.into();
            }
            // The hub-side provider's note is to be seen at once, and where nobody may watch, by the poll of those that are not ready.
            spec["watch"] = true.into();
            let revision = ours::CREDENTIALS_REVISION;
            spec["readiness"] = json!({
                "policy": "DeriveFromCelQuery",
                "celQuery":
                    format!("has(object.metadata.annotations) && '{revision}' in object.metadata.annotations"),
            });
        }
        if self.observed.is_ownership_unproven() {
            spec["managementPolicies"] = json!(NEWBORN);
        }
        spec["forProvider"]["manifest"] =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
        let mut desired = self.build_object(NAMESPACE, spec);
        desired.object["metadata"]["annotations"] = json!({ crossplane::EXTERNAL_NAME: self.namespace });
        desired
    }

    /// Whether everything is there that has to be before credentials make sense. Once that was so, it stays: a label that comes and goes
    /// would make credentials come and go.
    fn has_prerequisites(&self) -> bool {
        let is = |name: &str| self.observed.objects.get(name).is_some_and(SpaceObject::exists);
        let before = self
            .observed
            .namespace_object()
            .is_some_and(|item| !item.manifest()["metadata"]["labels"][ours::SPACE_ACCOUNT].is_null());
        before || (is(ROLE_BINDING) && is(SERVICE_ACCOUNT))
    }

    /// Objects that are created once the namespace exists. One that the input no longer names stays as it was last requested.
    fn build_content(&self, name: &'static str, is_home: bool) -> Option<DesiredResource> {
        let before = self.observed.objects.get(name);
        let wanted = self.build_manifest(name);
        if before.is_none() && !is_home {
            return None;
        }
        wanted
            .or_else(|| before.map(|item| item.manifest().clone()))
            .map(|manifest| self.inner_object(name, manifest))
    }

    fn build_manifest(&self, name: &str) -> Option<Value> {
        let spaces = self.spaces;
        match name {
            QUOTA => self.build_quota(QUOTA, None, spaces.total_quota()),
            QUOTA_NOT_TERMINATING => self.build_quota(
                QUOTA_NOT_TERMINATING,
                Some("NotTerminating"),
                spaces.not_terminating_quota(),
            ),
            QUOTA_TERMINATING => {
                self.build_quota(QUOTA_TERMINATING, Some("Terminating"), spaces.terminating_quota())
            }
            LIMITS => self.build_limits(),
            SAME_NAMESPACE => {
                let same = json!({ "podSelector": {}, "ingress": [{ "from": [{ "podSelector": {} }] }] });
                Some(self.build_inner("networking.k8s.io/v1", "NetworkPolicy", SAME_NAMESPACE, Some(same)))
            }
            FROM_OPENSHIFT => {
                let group = "network.openshift.io/policy-group";
                let of = |(key, value): (&str, &str)| json!({ "namespaceSelector": { "matchLabels": { key: value } } });
                let from: Vec<Value> = [
                    (group, "console"),
                    (group, "monitoring"),
                    (group, "ingress"),
                    ("openshift.io/scc", "anyuid"),
                ]
                .map(of)
                .into();
                let from = json!({
                    "podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{ "from": from }],
                });
                Some(self.build_inner("networking.k8s.io/v1", "NetworkPolicy", FROM_OPENSHIFT, Some(from)))
            }
            SERVICE_ACCOUNT => Some(self.build_inner("v1", "ServiceAccount", space::SERVICE_ACCOUNT, None)),
            _ => None,
        }
    }

    /// Empty ones are none.
    fn build_quota(&self, name: &str, scope: Option<&str>, hard: Value) -> Option<Value> {
        let mut spec = Map::new();
        if hard.as_object().is_none_or(Map::is_empty) {
            return None;
        }
        spec.insert("hard".into(), hard);
        if let Some(scope) = scope {
            spec.insert("scopes".into(), json!([scope]));
        }
        Some(self.build_inner("v1", "ResourceQuota", name, Some(spec.into())))
    }

    fn build_limits(&self) -> Option<Value> {
        let mut limit = json!({ "type": "Container" });
        for (key, amounts) in
            [("default", self.spaces.default_limits()), ("defaultRequest", self.spaces.default_requests())]
        {
            if amounts.as_object().is_some_and(|a| !a.is_empty()) {
                limit[key] = amounts;
            }
        }
        let some = limit.as_object().is_some_and(|l| l.len() > 1);
        some.then(|| self.build_inner("v1", "LimitRange", LIMITS, Some(json!({ "limits": [limit] }))))
    }

    /// A role that was given cannot be changed for another: the API server refuses that of a RoleBinding.
    fn build_role_binding(&self) -> Value {
        let before = self.observed.objects.get(ROLE_BINDING);
        let before = before.map(|item| &item.manifest()["roleRef"]).filter(|r| r.is_object()).cloned();
        let role = before.unwrap_or_else(
            || json!({ "apiGroup": RBAC, "kind": "ClusterRole", "name": self.spaces.cluster_role() }),
        );
        let mut binding = self.build_inner(&format!("{RBAC}/v1"), "RoleBinding", BINDING, None);
        binding["roleRef"] = role;
        binding["subjects"] = json!([{
            "kind": "ServiceAccount", "name": space::SERVICE_ACCOUNT, "namespace": self.namespace,
        }]);
        binding
    }

    fn build_inner(&self, api_version: &str, kind: &str, name: &str, spec: Option<Value>) -> Value {
        let mut object = json!({ "apiVersion": api_version, "kind": kind });
        object["metadata"] = json!({ "name": name, "namespace": self.namespace });
        if let Some(spec) = spec {
            object["spec"] = spec;
        }
        object
    }

    /// An Object of something in the namespace.
    fn inner_object(&self, name: &'static str, manifest: Value) -> DesiredResource {
        let mut spec = json!({ "forProvider": {}, "managementPolicies": ["Observe", "Create", "Update"] });
        spec["forProvider"]["manifest"] = manifest;
        self.build_object(name, spec)
    }

    /// The incumbent's token, as it was observed: the whole spec, or what this version does not know of it would be taken away.
    fn repeat_token(&self) -> Option<DesiredResource> {
        let spec = self.observed.secret.clone()?;
        let item = self.observed.objects.get(SECRET)?;
        let metadata = json!({ "name": item.object.metadata.name });
        Some(DesiredResource {
            name: SECRET.into(),
            object: assemble_object(API_VERSION, KIND, metadata, spec),
            ready: item.is_synced(),
        })
    }

    /// Observer of the published credentials. It is created once they are published: an observer of a missing Secret fails once a minute.
    fn build_credentials(&self, settings: &Settings) -> Option<DesiredResource> {
        let before = self.observed.objects.get(CREDENTIALS);
        let revision = self.observed.revision();
        if before.is_none() && (revision.is_none() || self.observed.is_legacy()) {
            return None;
        }
        let place = |item: &SpaceObject| item.manifest()["metadata"]["namespace"].as_str().map(str::to_owned);
        let place = before.and_then(place).unwrap_or_else(|| self.spaces.credentials_namespace());
        let secret = format!("{}-credentials", self.namespace);
        let detail = |key: &str| {
            json!({
                "apiVersion": "v1", "kind": "Secret", "namespace": place, "name": secret,
                "fieldPath": format!("data.{key}"), "toConnectionSecretKey": key,
            })
        };
        let own = format!("space-credentials-{}", self.observed.composite.metadata.name);
        let spec = json!({
            "managementPolicies": ["Observe"],
            "forProvider": { "manifest": {
                "apiVersion": "v1", "kind": "Secret", "metadata": { "name": secret, "namespace": place },
            } },
            "connectionDetails": keys::EVERY.map(detail),
            "readiness": { "policy": "SuccessfulCreate" },
            "writeConnectionSecretToRef": { "name": own, "namespace": settings.connection_secret_namespace },
        });
        let mut desired = self.build_object(CREDENTIALS, spec);
        // As the `credentials` of a cluster: provider-kubernetes would add them by updates, the second of which makes it forget the Secret.
        desired.object["metadata"]["annotations"] = json!({ crossplane::EXTERNAL_NAME: own });
        // No finalizer can be added during a deletion.
        if before.is_none_or(|item| item.object.metadata.deletion_timestamp.is_none()) {
            desired.object["metadata"]["finalizers"] = json!([crossplane::FINALIZER]);
        }
        desired.object["metadata"]["name"] = own.into();
        desired.object["metadata"]["labels"] = json!({ ours::COMPONENT: CREDENTIALS });
        let last = || before?.object.metadata.annotation(ours::CREDENTIALS_REVISION);
        if let Some(revision) = revision.or_else(last) {
            // A change of an annotation makes provider-kubernetes read the Secret again at once.
            let revision = bounded(revision, 256);
            desired.object["metadata"]["annotations"][ours::CREDENTIALS_REVISION] = revision.into();
        }
        desired.ready &= before.is_some_and(|item| item.details.is_complete());
        Some(desired)
    }

    /// An Object around what it carries, on the hub on which it is.
    fn build_object(&self, name: &'static str, mut spec: Value) -> DesiredResource {
        let before = self.observed.objects.get(name);
        let hub = before.map(|item| item.object.spec.provider_config_ref.name.as_str());
        let hub = hub.filter(|hub| !hub.is_empty()).unwrap_or(self.provider_config);
        spec["providerConfigRef"] = json!({ "name": hub });
        let mut metadata = json!({});
        if let Some(named) = before.map(|item| &item.object.metadata.name).filter(|named| !named.is_empty()) {
            metadata["name"] = named.as_str().into();
        }
        let ready = before.is_some_and(SpaceObject::is_synced);
        DesiredResource {
            name: name.into(),
            object: assemble_object(API_VERSION, KIND, metadata, spec),
            ready,
        }
    }
}
