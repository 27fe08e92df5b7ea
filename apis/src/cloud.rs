//! Credentials of a cloud for one cluster: application credentials of OpenStack's identity service.
//!
//! The function writes the [`CredentialRequestSpec`] into a ConfigMap beside the cluster's own object on the hub. The hub-side provider
//! issues the credential, writes it into a Secret of the same name, and answers with a [`CloudCredentialReport`] in an annotation of that
//! ConfigMap. A finalizer keeps the ConfigMap until the cluster's object is gone and the credential after it.
//!
//! Nothing here ever holds a secret: anybody with read access to the hub's ConfigMaps can read all of it.
//!
//! A rule of the identity service shapes this design: it deletes the application credentials of a user with the user, when the user is
//! disabled, and, of a project, when the user loses any role in it (`keystone/application_credential/core.py`). Only a password or an
//! *unrestricted* application credential can create and delete others.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{bundle::ClusterRef, duration::GoDuration, lenient_serde::lenient_option, names::ObjectName};

/// Label on the ConfigMap: `true`. On the Secret too.
pub const LABEL: &str = "testplatform.ci.openshift.org/cloud-credential";
/// Key of the ConfigMap: the request, JSON.
pub const ORDER: &str = "order";
/// Annotation on the ConfigMap: the report, JSON. The provider writes it.
pub const REPORT: &str = "testplatform.ci.openshift.org/cloud-credential-report";
/// Annotation on the Secret: the provider's record of the credentials that it issued, JSON, without secrets.
pub const RECORD: &str = "testplatform.ci.openshift.org/cloud-credential-record";
/// Finalizer on the ConfigMap: a credential is to be deleted before it goes. Only the provider adds it.
pub const FINALIZER: &str = "testplatform.ci.openshift.org/cloud-credential";
/// Suffix of the names of ConfigMap and Secret, after the name of the cluster's object.
pub const SUFFIX: &str = "-cloud-credential";
/// Key of the Secrets, of ours and of issuers: the configuration of clients of OpenStack, with exactly one cloud.
pub const CLOUDS: &str = "clouds.yaml";
/// Key of the Secrets, of ours and of issuers: certificates (PEM) by which the cloud is trusted.
pub const CERTIFICATES: &str = "cacert";

/// Label on a Secret in the namespace of issuers: the cloud for which it issues. None is an issuer without it.
pub const ISSUER: &str = "testplatform.ci.openshift.org/cloud-issuer";
/// Annotation on an issuer: the tenants for whose clusters it issues, with commas between them; `*`: all. None: nobody's.
pub const TENANTS: &str = "testplatform.ci.openshift.org/cloud-issuer-tenants";
/// Annotation on an issuer: the users for whose requests it issues, with commas between them. None: it issues where the user has no issuer of
/// their own, as the tenant's administrator.
pub const USERS: &str = "testplatform.ci.openshift.org/cloud-issuer-users";

/// Minimum lifetime of a credential.
pub const SHORTEST: GoDuration = GoDuration::from_mins(10);

/// Maximum length of a credential's name in the identity service, in bytes.
const LONGEST_NAME: usize = 255;

/// Credential of one cluster. Only `requestedBy`, `generation` and `roles` ever change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CredentialRequestSpec {
    /// Object of the cluster, in the namespace of the ConfigMap. The credential outlives it.
    pub cluster: ClusterRef,
    /// Uid of the composite: part of the names of its credentials, by which they are found again.
    pub uid: String,
    /// Cloud: the value of the label [`ISSUER`] of its issuers.
    pub cloud: String,
    /// Namespace of the claim.
    pub tenant: String,
    /// User who last requested the cluster. A change rotates the credential, if the new user has an issuer of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<String>,
    /// A change rotates the credential.
    #[serde(default)]
    pub generation: i64,
    /// Names of the roles that it has; none: all that its issuer has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// Lifetime; it is rotated at half of that. None: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<GoDuration>,
}

impl CredentialRequestSpec {
    /// Prefix of its credentials' names.
    pub fn credential_prefix(&self) -> String {
        credential_name_prefix(&self.uid)
    }

    /// Error that makes the request unusable, if any, as a sentence.
    pub fn find_flaw(&self) -> Option<&'static str> {
        if !is_part(&self.uid) || self.uid.len() > LONGEST_NAME / 2 {
            return Some("uid of the order is none");
        }
        if !is_cloud(&self.cloud) {
            return Some("cloud of the order is not the value of a label");
        }
        if self.tenant.is_empty() {
            return Some("tenant of the order is empty");
        }
        if self.lifetime.is_some_and(|lifetime| lifetime < SHORTEST) {
            return Some("lifetime of the order is shorter than 10m");
        }
        None
    }
}

/// Whether that can be part of a name and of a selector.
fn is_part(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
}

/// Whether a text can stand for a cloud, as the value of the label [`ISSUER`].
pub fn is_cloud(text: &str) -> bool {
    let ends = |text: &str| text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    is_part(text) && text.len() <= 63 && ends(text) && ends(&text[text.len() - 1..])
}

/// Prefix of the names of a composite's credentials; a number follows.
pub fn credential_name_prefix(uid: &str) -> String {
    format!("tpc-{uid}-")
}

/// Name of the ConfigMap and of the Secret for a cluster's object.
pub fn secret_name(cluster: &ObjectName) -> String {
    format!("{cluster}{SUFFIX}")
}

/// Progress of the request. A field that cannot be read counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CloudCredentialReport {
    /// State. Absent: not started.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub state: Option<CredentialPhase>,
    /// Reason and remedy; bounded, without secrets.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Name of the credential that is published. Absent: none is.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    /// Generation for which it was issued.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// Time of the last change of state.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// State of a [`CredentialRequestSpec`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CredentialPhase {
    /// The published credential works and is the requested one.
    Valid,
    /// The published credential works; another one is requested and could not be issued.
    RotationFailed,
    /// No working credential is published, and no issuer can issue one.
    OwnerInvalid,
    /// The identity service does not answer, so the state is unknown.
    Unreachable,
    /// It cannot start: the request is unreadable, or the Secret's name is in use.
    Blocked,
    /// The cluster is gone, and the credential is being deleted.
    Leaving,
}

impl CredentialPhase {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Valid,
        Self::RotationFailed,
        Self::OwnerInvalid,
        Self::Unreachable,
        Self::Blocked,
        Self::Leaving,
    ];

    /// Wire form.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "Valid",
            Self::RotationFailed => "RotationFailed",
            Self::OwnerInvalid => "OwnerInvalid",
            Self::Unreachable => "Unreachable",
            Self::Blocked => "Blocked",
            Self::Leaving => "Leaving",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn order(change: (&str, Value)) -> CredentialRequestSpec {
        let mut order = json!({
            "cluster": { "group": "cluster.x-k8s.io", "kind": "Cluster", "name": "one" },
            "uid": "0f-1", "cloud": "acme", "tenant": "t",
        });
        order[change.0] = change.1;
        serde_json::from_value(order).unwrap()
    }

    #[test]
    fn fields_that_become_part_of_a_name_or_selector_are_validated() {
        let good = order(("generation", 3.into()));
        assert_eq!(
            (good.find_flaw(), good.generation, good.credential_prefix().as_str()),
            (None, 3, "tpc-0f-1-")
        );
        assert_eq!(secret_name(&good.cluster.name), "one-cloud-credential");
        for (key, value, flaw) in [
            ("uid", "a/b", "uid"),
            ("uid", "", "uid"),
            ("cloud", "a,b=c", "cloud"),
            ("tenant", "", "tenant"),
            ("lifetime", "9m", "lifetime"),
        ] {
            let said = order((key, value.into())).find_flaw().unwrap_or_default();
            assert!(said.starts_with(flaw), "{key} {value}: {said}");
        }
    }

    #[test]
    fn a_report_reads_back_and_forgives() {
        let report = CloudCredentialReport {
            state: Some(CredentialPhase::RotationFailed),
            generation: Some(2),
            ..CloudCredentialReport::default()
        };
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(text, r#"{"state":"RotationFailed","generation":2}"#);
        assert_eq!(serde_json::from_str::<CloudCredentialReport>(&text).unwrap(), report);
        let odd: CloudCredentialReport =
            serde_json::from_str(r#"{"state":"Odd","message":7,"since":"x"}"#).unwrap();
        assert_eq!(odd, CloudCredentialReport::default());
    }
}
