//! Record of the credentials that were created for one cluster, as stored on their Secret. It contains no secret.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use testplatform_apis::cloud::credential_name_prefix;

/// The most that are written down as to be deleted: annotations may not be long. Others are found again by their names.
pub const MOST: usize = 128;

/// All of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CredentialRecord {
    /// Uid of the composite for which they were made.
    pub uid: String,
    /// Highest number that was ever used in a request.
    pub last: u32,
    /// Issuers through which an unrecorded credential may have been created.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub open: BTreeSet<String>,
    /// The one that is published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<CurrentCredential>,
    /// Credentials to delete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub old: Vec<RetiredCredential>,
}

/// The one that is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CurrentCredential {
    /// Which one.
    #[serde(flatten)]
    pub one: CredentialRef,
    /// For which generation it was made.
    pub generation: i64,
    /// For whose request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<String>,
    /// Rotation time, if it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renew: Option<Timestamp>,
}

/// A credential to delete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetiredCredential {
    /// Which one.
    #[serde(flatten)]
    pub one: CredentialRef,
    /// Since when another is published; somebody may still use what they read before. None: it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// A credential.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CredentialRef {
    /// Its id.
    pub id: String,
    /// Id of the user whose it is.
    pub user: String,
    /// Its name.
    pub name: String,
    /// Name of the Secret of the issuer through whom it was made.
    pub issuer: String,
}

impl CredentialRecord {
    /// Record of a composite without any credential.
    pub fn of(uid: &str) -> Self {
        Self { uid: uid.to_owned(), ..Self::default() }
    }

    /// Whether the record contains a credential.
    pub fn contains(&self, id: &str) -> bool {
        self.held.as_ref().is_some_and(|current| current.one.id == id)
            || self.old.iter().any(|old| old.one.id == id)
    }

    /// Records unknown credentials for deletion, up to [`MOST`]. Returns whether that was all of them.
    pub fn add_strays<'a>(
        &mut self,
        found: impl IntoIterator<Item = &'a CredentialRef>,
        since: Option<Timestamp>,
    ) -> bool {
        for one in found {
            if self.contains(&one.id) {
                continue;
            }
            if self.old.len() >= MOST {
                return false;
            }
            self.old.push(RetiredCredential { one: one.clone(), since });
        }
        true
    }

    /// Another one is published in its place. Beyond [`MOST`] the first one is forgotten but for whom to ask about it.
    pub fn retire(&mut self, one: CredentialRef, now: Timestamp) {
        if self.old.len() >= MOST {
            let first = self.old.remove(0);
            self.open.insert(first.one.issuer);
        }
        self.old.push(RetiredCredential { one, since: Some(now) });
    }

    /// Everyone through whom something was or may have been made.
    pub fn issuers(&self) -> BTreeSet<String> {
        let current = self.held.iter().map(|current| &current.one.issuer);
        current.chain(self.old.iter().map(|old| &old.one.issuer)).chain(&self.open).cloned().collect()
    }
}

/// The number in the name of a credential of a composite; none if it is not one of those.
pub fn parse_number(uid: &str, name: &str) -> Option<u32> {
    let number = name.strip_prefix(&credential_name_prefix(uid))?;
    let plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| number.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_name_has_complete_uid_and_number() {
        assert_eq!(parse_number("a-1", "tpc-a-1-7"), Some(7));
        for other in
            ["tpc-a-1-", "tpc-a-1-x", "tpc-a-1-+7", "tpc-a-7", "tpc-a-1-7-2", "a-1-7", "tpc-a-1-99999999999"]
        {
            assert_eq!(parse_number("a-1", other), None, "{other}");
        }
    }
}
