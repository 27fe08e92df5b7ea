//! Observed input of decisions about a credential.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::cloud::CredentialRequestSpec;

use crate::controllers::cloud_credentials::record::CredentialRecord;

/// Where the life of the cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterStage {
    /// It lives, or is not created yet.
    Here,
    /// Its object is being deleted, which takes a credential that works.
    Going,
    /// The request is being deleted since then, and the cluster's object is gone.
    Gone(Timestamp),
}

/// The Secret of the order's name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there is one of it in a pass")]
pub enum StoredSecret {
    /// There is none.
    Absent,
    /// It is not ours, or of another composite.
    Foreign,
    /// It is ours. `filled`: something is published in it.
    Ours {
        /// Record on the Secret.
        record: CredentialRecord,
        /// Whether something is published in it.
        filled: bool,
    },
}

/// Everything that decisions need, as it was read.
#[derive(Clone, Debug)]
pub struct ObservedCredential {
    /// Parsed request, or the parse error as a sentence.
    pub order: Result<CredentialRequestSpec, String>,
    /// Where the life of the cluster is.
    pub stage: ClusterStage,
    /// Whether our finalizer is on the request.
    pub holds: bool,
    /// Whether the order is being deleted.
    pub deleted: bool,
    /// Since when what was made is being deleted, if that takes more than one look.
    pub removing: Option<Timestamp>,
    /// The Secret.
    pub stored: StoredSecret,
    /// Names of the issuers that may issue for it, the best one first.
    pub issuers: Vec<String>,
    /// We have no permission to list the issuers' Secrets: no issuer can be used, and their absence is not known.
    pub unread: bool,
    /// How often it is asked whether what is published works.
    pub probe: Duration,
    /// Grace period of replaced credentials, for their readers.
    pub grace: SignedDuration,
}

impl ObservedCredential {
    /// Record on the Secret.
    pub fn record(&self) -> Option<&CredentialRecord> {
        match &self.stored {
            StoredSecret::Ours { record, .. } => Some(record),
            StoredSecret::Absent | StoredSecret::Foreign => None,
        }
    }

    /// Uid of the composite, from where it is known.
    pub(super) fn uid(&self) -> Option<&str> {
        let order = self.order.as_ref().ok().map(|order| order.uid.as_str());
        order.or_else(|| self.record().map(|record| record.uid.as_str()))
    }
}

impl ObservedCredential {
    /// Records the new content of the Secret.
    pub fn set_stored(&mut self, record: CredentialRecord, filled: bool) {
        let was = matches!(self.stored, StoredSecret::Ours { filled: true, .. });
        self.stored = StoredSecret::Ours { record, filled: filled || was };
    }
}
