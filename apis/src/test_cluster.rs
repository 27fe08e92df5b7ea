//! `TestCluster`: the composite without a claim, in the tenant's namespace, for Crossplane 2. Its spec and status are those of
//! [`XTestPlatformCluster`](crate::claim::XTestPlatformCluster), from the same types. As Crossplane gives such a composite no
//! connection Secret, its spec names one of its own.

use serde_json::{Value, json};

/// Kind of the composite, which lives in the tenant's namespace.
pub const KIND: &str = "TestCluster";
/// Plural of the composite.
pub const PLURAL: &str = "testclusters";
/// Short name of the composite.
pub const SHORT_NAME: &str = "tc";

/// Refusal of another Secret than the one that the composite was made with.
pub const SECRET_IMMUTABLE: &str =
    "writeConnectionSecretToRef cannot be changed, since the credentials are written where they were first";
/// Refusal of a Secret that cannot exist.
pub const SECRET_NAME: &str = "name must be an RFC 1123 subdomain of at most 253 characters";

/// The name of the Secret where the spec says none.
pub fn default_secret(composite: &str) -> String {
    format!("{composite}-kubeconfig")
}

/// Additions to a claim's schema of the spec: properties and rules.
pub(crate) fn secret_reference() -> (Value, Value) {
    let property = json!({
        "type": "object",
        "description": "Names the Secret of this namespace into which the credentials are written, with the keys kubeconfig and \
            kubeAdminPassword. An existing Secret of that name is not touched, and the credentials are then not \
            delivered. It cannot be changed later. If not set, the name of this object with -kubeconfig behind it.",
        "required": ["name"],
        "properties": { "name": {
            "type": "string",
            "description": "Name of the Secret.",
            "minLength": 1,
            "maxLength": 253,
            "x-kubernetes-validations": [{
                "rule": "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",
                "message": SECRET_NAME,
            }],
        } },
        "x-kubernetes-validations": [{ "rule": "self == oldSelf", "message": SECRET_IMMUTABLE }],
    });
    let rule = json!({
        "rule": "has(self.writeConnectionSecretToRef) == has(oldSelf.writeConnectionSecretToRef)",
        "message": SECRET_IMMUTABLE,
    });
    (property, rule)
}
