//! `spec.credentials`: the credentials that a claim receives for its cluster, and the annotation by which the function requests them from
//! the hub-side provider.
//!
//! In mode `ServiceAccount` the provider creates a ServiceAccount in the cluster and publishes a token of it that expires. The request
//! travels as one annotation of the remote object ([`CREDENTIALS_WISH`](crate::names::ours::CREDENTIALS_WISH)), and a provider that fulfils
//! it says so ([`CREDENTIALS_MODE`](crate::names::ours::CREDENTIALS_MODE) or
//! [`CredentialsReport::mode`](crate::hive_status::CredentialsReport::mode)): one that is too old for it would publish the admin's
//! credentials, and those are then never taken up.

use std::fmt;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Refusal of fields that belong to mode ServiceAccount only.
pub const ACCOUNT_ONLY: &str = "clusterRole and generation belong to mode ServiceAccount";
/// Refusal of a name that no ClusterRole can have.
pub const ROLE_RULE: &str =
    "clusterRole must be the name of a ClusterRole: letters, digits, and - . _ : between them";
/// Refusal of a changed mode or role.
pub const CREDENTIALS_IMMUTABLE: &str = "mode and clusterRole of credentials cannot be changed, since published credentials stay in \
    use; create a new claim";
/// CEL rule of [`CREDENTIALS_IMMUTABLE`]; an absent field counts as its default.
pub(crate) const SAME_CREDENTIALS: &str = "(has(self.credentials) && has(self.credentials.mode) ? self.credentials.mode : 'Admin') == (has(oldSelf.credentials) && has(oldSelf.credentials.mode) ? oldSelf.credentials.mode : 'Admin') && (has(self.credentials) && has(self.credentials.clusterRole) ? self.credentials.clusterRole : 'cluster-admin') == (has(oldSelf.credentials) && has(oldSelf.credentials.clusterRole) ? oldSelf.credentials.clusterRole : 'cluster-admin')";

/// Default ClusterRole. It grants what the admin's credentials grant, so every use of those works with a token too.
pub const DEFAULT_ROLE: &str = "cluster-admin";
/// Maximum length of a ClusterRole's name, in bytes.
const ROLE_MAX: usize = 253;

/// Credentials that the claim receives for its cluster.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!(has(self.clusterRole) || has(self.generation)) || (has(self.mode) && self.mode == 'ServiceAccount')").message(ACCOUNT_ONLY))]
pub struct Access {
    /// Admin: the kubeconfig and the password of the cluster's admin, which last as long as the cluster. ServiceAccount: a kubeconfig with a token
    /// of a ServiceAccount that is made in the cluster; it ends after some hours, is replaced long before, and is revoked when the cluster is torn
    /// down, and there is no password. It cannot be changed later. If not set, Admin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,

    /// Permissions of the ServiceAccount, by name of a ClusterRole of the cluster, bound for the whole of it. Only with mode
    /// ServiceAccount. It cannot be changed later. If not set, cluster-admin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.matches('^[A-Za-z0-9]([-A-Za-z0-9._:]*[A-Za-z0-9])?$')").message(ROLE_RULE))]
    pub cluster_role: Option<String>,

    /// Any other number than before has a new token published at once. The one before it works until it ends by itself. Only with mode
    /// ServiceAccount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub generation: Option<i64>,
}

/// Kind of the published credentials.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// Those of the cluster's admin.
    #[default]
    Admin,
    /// Those of a ServiceAccount.
    ServiceAccount,
}

impl Mode {
    /// Wire form.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "Admin",
            Self::ServiceAccount => "ServiceAccount",
        }
    }
}

/// Request for credentials of a ServiceAccount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessRequest {
    /// The ClusterRole that it gets; a legal name.
    pub cluster_role: String,
    /// Generation of its token.
    pub generation: i64,
}

/// Error in `spec.credentials`: the path within it, and the predicate of a sentence.
pub type FieldError = (&'static str, String);

impl AccessRequest {
    /// Reads `spec.credentials` of a claim. None: the admin's credentials.
    ///
    /// # Errors If the request is invalid. A file has not passed the validation of an API server.
    pub fn from_spec(block: &Value) -> Result<Option<Self>, FieldError> {
        let beside = || !block["clusterRole"].is_null() || !block["generation"].is_null();
        match &block["mode"] {
            _ if !(block.is_null() || block.is_object()) => Err(("", "is not an object".into())),
            Value::Null if beside() => Err(("", ACCOUNT_ONLY.into())),
            Value::Null => Ok(None),
            Value::String(word) if word == Mode::Admin.as_str() => {
                if beside() {
                    Err(("", ACCOUNT_ONLY.into()))
                } else {
                    Ok(None)
                }
            }
            Value::String(word) if word == Mode::ServiceAccount.as_str() => Self::from_parts(block).map(Some),
            _ => Err(("mode", "is neither Admin nor ServiceAccount".into())),
        }
    }

    /// Reads the annotation of a remote object.
    ///
    /// # Errors If it is invalid. An invalid annotation never means the admin's credentials.
    pub fn from_annotation(annotation: &str) -> Result<Self, FieldError> {
        match serde_json::from_str::<Value>(annotation) {
            Ok(block) => Self::from_spec(&block)?.ok_or_else(|| ("mode", "is not ServiceAccount".into())),
            Err(_) => Err(("", "is not JSON".into())),
        }
    }

    fn from_parts(block: &Value) -> Result<Self, FieldError> {
        let cluster_role = match &block["clusterRole"] {
            Value::Null => DEFAULT_ROLE.to_owned(),
            Value::String(name) if is_role(name) => name.clone(),
            _ => return Err(("clusterRole", ROLE_RULE.into())),
        };
        let generation = match &block["generation"] {
            Value::Null => 0,
            // A Struct of protobuf turns every number into a float.
            number => integer_in_range(number)
                .ok_or_else(|| ("generation", "is not a number from 0 to 1000000000".to_owned()))?,
        };
        Ok(Self { cluster_role, generation })
    }
}

/// Text of the annotation; equal requests have equal text.
impl fmt::Display for AccessRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No legal name of a role has anything in it that JSON would escape.
        let Self { cluster_role, generation } = self;
        let mode = Mode::ServiceAccount.as_str();
        write!(f, r#"{{"clusterRole":"{cluster_role}","generation":{generation},"mode":"{mode}"}}"#)
    }
}

/// Whether the name is legal for a ClusterRole: one path segment without characters that need escaping.
fn is_role(name: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || b"-._:".contains(&b);
    let ends = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    name.len() <= ROLE_MAX
        && name.bytes().all(inner)
        && ends(name.bytes().next())
        && ends(name.bytes().last())
}

#[expect(clippy::cast_possible_truncation, reason = "it is whole, and in a range that both have")]
fn integer_in_range(number: &Value) -> Option<i64> {
    const MAX: f64 = 1e9;
    let float = number.as_f64().filter(|n| n.fract() == 0.0 && (0.0..=MAX).contains(n))?;
    Some(float as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wish_reads_back() {
        let asked =
            json!({ "mode": "ServiceAccount", "clusterRole": "system:image-puller", "generation": 7.0 });
        let wish = AccessRequest::from_spec(&asked).unwrap().unwrap();
        assert_eq!(
            wish.to_string(),
            r#"{"clusterRole":"system:image-puller","generation":7,"mode":"ServiceAccount"}"#
        );
        assert_eq!(AccessRequest::from_annotation(&wish.to_string()), Ok(wish));
        let least = AccessRequest::from_spec(&json!({ "mode": "ServiceAccount" })).unwrap();
        assert_eq!(least, Some(AccessRequest { cluster_role: DEFAULT_ROLE.into(), generation: 0 }));
        for admin in [json!(null), json!({}), json!({ "mode": "Admin" })] {
            assert_eq!(AccessRequest::from_spec(&admin), Ok(None));
        }
    }

    #[test]
    fn invalid_access_request_is_refused_and_never_falls_back_to_admin() {
        for (asked, at) in [
            (json!("ServiceAccount"), ""),
            (json!({ "mode": "serviceaccount" }), "mode"),
            (json!({ "mode": 1 }), "mode"),
            (json!({ "clusterRole": "view" }), ""),
            (json!({ "mode": "Admin", "generation": 1 }), ""),
            (json!({ "mode": "ServiceAccount", "clusterRole": "../secrets" }), "clusterRole"),
            (json!({ "mode": "ServiceAccount", "clusterRole": "a/b" }), "clusterRole"),
            (json!({ "mode": "ServiceAccount", "clusterRole": "" }), "clusterRole"),
            (json!({ "mode": "ServiceAccount", "clusterRole": "a\"b" }), "clusterRole"),
            (json!({ "mode": "ServiceAccount", "clusterRole": "a".repeat(254) }), "clusterRole"),
            (json!({ "mode": "ServiceAccount", "generation": -1 }), "generation"),
            (json!({ "mode": "ServiceAccount", "generation": 1.5 }), "generation"),
            (json!({ "mode": "ServiceAccount", "generation": "1" }), "generation"),
        ] {
            assert_eq!(AccessRequest::from_spec(&asked).map_err(|(path, _)| path), Err(at), "{asked}");
            assert!(AccessRequest::from_annotation(&asked.to_string()).is_err(), "{asked}");
        }
        for text in ["", "{", "null", "{}", r#"{"mode":"Admin"}"#] {
            assert!(AccessRequest::from_annotation(text).is_err(), "{text}");
        }
    }
}
