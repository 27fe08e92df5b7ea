//! Labels that identify the owner of a published Secret, since an owner reference does not cross namespaces, and the check for Secrets whose
//! owner is gone.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use testplatform_apis::names::{ShortName, ours};

use crate::credentials::{Published, published_name, secret::source_revision};

/// The object that credentials are published for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretOwner<'a> {
    /// Its API group.
    pub group: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its uid.
    pub uid: &'a str,
}

impl SecretOwner<'_> {
    /// The name of its Secret.
    pub fn secret_name(&self) -> String {
        published_name(self.name)
    }

    /// Labels that identify the owner.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let mut labels: BTreeMap<String, String> = [
            (ours::OWNER_GROUP, self.group),
            (ours::OWNER_KIND, self.kind),
            (ours::OWNER_NAMESPACE, self.namespace),
            (ours::OWNER_UID, self.uid),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
        // A longer one is no label value; the Secret's name has it.
        if ShortName::try_from(self.name).is_ok() {
            labels.insert(ours::OWNER_NAME.to_owned(), self.name.to_owned());
        }
        labels
    }

    /// Checks that a Secret was published for this exact object; the error is a sentence that names its owner.
    pub fn owns(&self, secret: &ObjectMeta) -> Result<(), String> {
        let (name, kind) = (secret.name.as_deref().unwrap_or_default(), self.kind);
        match Labelled::of(secret, self.group, kind) {
            Some(owner) if owner.uid == self.uid && owner.namespace == self.namespace => Ok(()),
            Some(Labelled { namespace, uid }) => {
                Err(format!("Secret {name} was published for a {kind} in namespace {namespace} (uid {uid})"))
            }
            None => Err(format!("Secret {name} was not published for a {kind}")),
        }
    }

    /// Decides whether the Secret belongs to this owner.
    pub fn published_state(&self, secret: Option<&ObjectMeta>) -> Published {
        let Some(metadata) = secret else { return Published::Absent };
        match self.owns(metadata) {
            Ok(()) => Published::Ours {
                revision: metadata.resource_version.clone().unwrap_or_default(),
                source_revision: source_revision(metadata).cloned(),
            },
            Err(whose) => Published::Foreign(whose),
        }
    }
}

/// Owner of a Secret, by its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Labelled<'a> {
    /// The owner's namespace.
    pub namespace: &'a str,
    /// The owner's uid.
    pub uid: &'a str,
}

impl<'a> Labelled<'a> {
    /// None: it was not published for an object of this kind.
    pub fn of(secret: &'a ObjectMeta, group: &str, kind: &str) -> Option<Self> {
        let label = |key| secret.labels.as_ref()?.get(key).map(String::as_str);
        if label(ours::OWNER_GROUP) != Some(group) || label(ours::OWNER_KIND) != Some(kind) {
            return None;
        }
        Some(Self { namespace: label(ours::OWNER_NAMESPACE)?, uid: label(ours::OWNER_UID)? })
    }

    /// Whether it has outlived its owner. `uid` is that of the current object of the owner's name, as the API server reports it.
    pub fn is_orphaned(&self, uid: Option<&str>) -> bool {
        uid != Some(self.uid)
    }
}
