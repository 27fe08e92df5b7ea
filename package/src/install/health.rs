//! Argo CD's health checks and ignored differences, as a fragment of its `ConfigMap` and of the operator's resource.

use serde_json::{Map, Value, json};
use testplatform_apis::space::{GROUP as SPACES, SPACE_CLAIM_KIND, SPACE_KIND};

/// A kind with its health check in Lua.
#[derive(Clone, Copy, Debug)]
pub struct HealthCheck {
    /// API group.
    pub group: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Lua 5.1. Its input is `obj`, its output a table with status and message.
    pub lua: &'static str,
}

const CLAIM: &str = include_str!("../../install/argocd/health/claim.lua");
const POOL: &str = include_str!("../../install/argocd/health/pool.lua");
const SPACE: &str = include_str!("../../install/argocd/health/space.lua");
const OBJECT: &str = include_str!("../../install/argocd/health/object.lua");
const DEFINITION: &str = include_str!("../../install/argocd/health/definition.lua");
const PACKAGE: &str = include_str!("../../install/argocd/health/package.lua");
const STATIC: &str = include_str!("../../install/argocd/health/static.lua");

const EXTENSIONS: &str = "apiextensions.crossplane.io";
const PACKAGES: &str = "pkg.crossplane.io";
const KUBERNETES: &str = "kubernetes.crossplane.io";
const NAMESPACED: &str = "kubernetes.m.crossplane.io";

/// Every kind that is installed here or created from it.
pub const CHECKS: [HealthCheck; 22] = [
    HealthCheck { group: "ci.openshift.org", kind: "TestPlatformCluster", lua: CLAIM },
    HealthCheck { group: "ci.openshift.org", kind: "XTestPlatformCluster", lua: CLAIM },
    HealthCheck { group: "ci.openshift.org", kind: "TestCluster", lua: CLAIM },
    HealthCheck { group: "ci.openshift.org", kind: "XTestPlatformClusterPool", lua: POOL },
    HealthCheck { group: SPACES, kind: SPACE_CLAIM_KIND, lua: SPACE },
    HealthCheck { group: SPACES, kind: SPACE_KIND, lua: SPACE },
    HealthCheck { group: KUBERNETES, kind: "Object", lua: OBJECT },
    HealthCheck { group: NAMESPACED, kind: "Object", lua: OBJECT },
    HealthCheck { group: EXTENSIONS, kind: "CompositeResourceDefinition", lua: DEFINITION },
    HealthCheck { group: PACKAGES, kind: "Function", lua: PACKAGE },
    HealthCheck { group: PACKAGES, kind: "Provider", lua: PACKAGE },
    HealthCheck { group: PACKAGES, kind: "Configuration", lua: PACKAGE },
    HealthCheck { group: PACKAGES, kind: "FunctionRevision", lua: REVISION },
    HealthCheck { group: PACKAGES, kind: "ProviderRevision", lua: REVISION },
    HealthCheck { group: PACKAGES, kind: "ConfigurationRevision", lua: REVISION },
    HealthCheck { group: EXTENSIONS, kind: "Composition", lua: STATIC },
    HealthCheck { group: EXTENSIONS, kind: "CompositionRevision", lua: STATIC },
    HealthCheck { group: EXTENSIONS, kind: "EnvironmentConfig", lua: STATIC },
    HealthCheck { group: PACKAGES, kind: "DeploymentRuntimeConfig", lua: STATIC },
    HealthCheck { group: KUBERNETES, kind: "ProviderConfig", lua: STATIC },
    HealthCheck { group: NAMESPACED, kind: "ProviderConfig", lua: STATIC },
    HealthCheck { group: NAMESPACED, kind: "ClusterProviderConfig", lua: STATIC },
];

const REVISION: &str = include_str!("../../install/argocd/health/revision.lua");

/// Defaults that an API server adds to our `ExternalSecret`. Argo CD does not know defaults inside lists, so it would report a permanent
/// difference. The set depends on the operator's version, so the object itself cannot contain them.
/// Source: external-secrets, `apis/externalsecrets/v1/externalsecret_types.go`, `ExternalSecretDataRemoteRef`.
const DEFAULTED: [&str; 4] = [
    ".spec.dataFrom[]?.extract.conversionStrategy",
    ".spec.dataFrom[]?.extract.decodingStrategy",
    ".spec.dataFrom[]?.extract.metadataPolicy",
    ".spec.dataFrom[]?.extract.nullBytePolicy",
];

/// Fragment to merge into the `ConfigMap` `argocd-cm`.
pub fn health_config_map() -> Value {
    let mut data = Map::new();
    // With this setting Argo CD's tracking mark is an annotation. Crossplane copies labels of a claim to its composite, and Argo CD would
    // prune that.
    data.insert("application.resourceTrackingMethod".to_owned(), "annotation".into());
    for check in CHECKS {
        let key = format!("resource.customizations.health.{}_{}", check.group, check.kind);
        data.insert(key, check.lua.into());
    }
    let paths = DEFAULTED.map(|path| format!("- {path}\n")).concat();
    data.insert(
        "resource.customizations.ignoreDifferences.external-secrets.io_ExternalSecret".to_owned(),
        format!("jqPathExpressions:\n{paths}").into(),
    );
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "argocd-cm", "labels": { "app.kubernetes.io/part-of": "argocd" } },
        "data": data,
    })
}

/// Fragment to merge into the resource from which the operator creates that `ConfigMap`.
pub fn operator_fragment() -> Value {
    let check = |check: HealthCheck| json!({ "group": check.group, "kind": check.kind, "check": check.lua });
    json!({
        "apiVersion": "argoproj.io/v1beta1",
        "kind": "ArgoCD",
        "metadata": { "name": "argocd" },
        "spec": {
            "resourceTrackingMethod": "annotation",
            "resourceHealthChecks": CHECKS.map(check),
            "resourceIgnoreDifferences": { "resourceIdentifiers": [{
                "group": "external-secrets.io", "kind": "ExternalSecret",
                "customization": { "jqPathExpressions": DEFAULTED },
            }] },
        },
    })
}
