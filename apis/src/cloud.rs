//! Credentials of a cloud for one cluster: application credentials of OpenStack's identity service.
//!
//! What both ends know of it: the function writes the [`Order`] into a ConfigMap beside the cluster's own object on the hub, the hub-side provider
//! makes the credential, writes it into a Secret of the same name, and answers with a [`Report`] in an annotation of that ConfigMap. A finalizer
//! holds the ConfigMap until the cluster's object is gone and the credential after it.
//!
//! Nothing here ever holds a secret: the whole of it can be read by anybody who may read the hub's ConfigMaps.
//!
//! A foreign rule that much follows from: the identity service deletes the application credentials of a user with the user, when the user is
//! disabled, and, of a project, when the user loses any role in it (`keystone/application_credential/core.py`). What an application credential was
//! made with can make and delete others only if it is *unrestricted*, or is a password.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{bundle::Cluster, duration::GoDuration, lenient::lenient, names::ObjectName};

/// Label on the ConfigMap: `true`. On the Secret too.
pub const LABEL: &str = "testplatform.ci.openshift.org/cloud-credential";
/// Key of the ConfigMap: the [`Order`], JSON.
pub const ORDER: &str = "order";
/// Annotation on the ConfigMap: the [`Report`], JSON. Written by the provider.
pub const REPORT: &str = "testplatform.ci.openshift.org/cloud-credential-report";
/// Annotation on the Secret: what the provider knows of the credentials that it made, JSON, without what is secret of them.
pub const RECORD: &str = "testplatform.ci.openshift.org/cloud-credential-record";
/// Finalizer on the ConfigMap: a credential is to be deleted before it goes. Only the provider adds it.
pub const FINALIZER: &str = "testplatform.ci.openshift.org/cloud-credential";
/// What the name of ConfigMap and Secret has after the name of the cluster's object.
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

/// The shortest time that a credential may last.
pub const SHORTEST: GoDuration = GoDuration::from_mins(10);

/// The most bytes of a credential's name that the identity service takes.
const LONGEST_NAME: usize = 255;

/// What is wanted for one cluster. Only `requestedBy`, `generation` and `roles` ever change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// The object that stands for the cluster, in the namespace of the ConfigMap. The credential outlives it.
    pub cluster: Cluster,
    /// Uid of the composite: part of the names of its credentials, by which they are found again.
    pub uid: String,
    /// In which cloud: the value of the label [`ISSUER`] of its issuers.
    pub cloud: String,
    /// Whose cluster it is: the namespace of the claim.
    pub tenant: String,
    /// Who asked for the cluster last. Another one than before has the credential rotated, if that user has an issuer of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<String>,
    /// Any other number than before has the credential rotated.
    #[serde(default)]
    pub generation: i64,
    /// Names of the roles that it has; none: all that its issuer has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// How long it lasts; it is rotated at half of that. None: without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<GoDuration>,
}

impl Order {
    /// What the names of its credentials begin with.
    pub fn prefix(&self) -> String {
        prefix(&self.uid)
    }

    /// Why nothing can be made of it, if that is so: a sentence.
    pub fn flaw(&self) -> Option<&'static str> {
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

/// What the names of the credentials for a composite begin with; a number follows.
pub fn prefix(uid: &str) -> String {
    format!("tpc-{uid}-")
}

/// Name of the ConfigMap and of the Secret for a cluster's object.
pub fn name(cluster: &ObjectName) -> String {
    format!("{cluster}{SUFFIX}")
}

/// What became of an [`Order`]. Reading is forgiving: what cannot be read counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    /// How it stands. Absent: not begun.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Why, in a sentence, and what to do; bounded, without secrets.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Name of the credential that is published. Absent: none is.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    /// For which generation it was made.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// Since when it stands so.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// How an [`Order`] stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum State {
    /// What is published works, and is what is wanted.
    Valid,
    /// What is published works; another one is wanted and could not be made.
    RotationFailed,
    /// Nothing that works is published, and no issuer can make one.
    OwnerInvalid,
    /// The identity service does not answer, so that nobody knows.
    Unreachable,
    /// It cannot be begun: the order cannot be read, or the Secret's name is taken.
    Blocked,
    /// The cluster is gone, and the credential is being deleted.
    Leaving,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Valid,
        Self::RotationFailed,
        Self::OwnerInvalid,
        Self::Unreachable,
        Self::Blocked,
        Self::Leaving,
    ];

    /// The word, as it is on the wire.
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

    fn order(change: (&str, Value)) -> Order {
        let mut order = json!({
            "cluster": { "group": "cluster.x-k8s.io", "kind": "Cluster", "name": "one" },
            "uid": "0f-1", "cloud": "acme", "tenant": "t",
        });
        order[change.0] = change.1;
        serde_json::from_value(order).unwrap()
    }

    #[test]
    fn what_becomes_part_of_a_name_or_a_selector_is_checked() {
        let good = order(("generation", 3.into()));
        assert_eq!((good.flaw(), good.generation, good.prefix().as_str()), (None, 3, "tpc-0f-1-"));
        assert_eq!(name(&good.cluster.name), "one-cloud-credential");
        for (key, value, flaw) in [
            ("uid", "a/b", "uid"),
            ("uid", "", "uid"),
            ("cloud", "a,b=c", "cloud"),
            ("tenant", "", "tenant"),
            ("lifetime", "9m", "lifetime"),
        ] {
            let said = order((key, value.into())).flaw().unwrap_or_default();
            assert!(said.starts_with(flaw), "{key} {value}: {said}");
        }
    }

    #[test]
    fn a_report_reads_back_and_forgives() {
        let report = Report { state: Some(State::RotationFailed), generation: Some(2), ..Report::default() };
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(text, r#"{"state":"RotationFailed","generation":2}"#);
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
        let odd: Report = serde_json::from_str(r#"{"state":"Odd","message":7,"since":"x"}"#).unwrap();
        assert_eq!(odd, Report::default());
    }
}
