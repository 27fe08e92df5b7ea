//! Knowledge that a reconcile gathers about a credential.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::controllers::cloud_credentials::record::CredentialRef;

/// Number of retries with the next number after a name conflict.
const CONFLICTS: u32 = 3;

/// How the identity service takes a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialCheck {
    /// It gave a token for it.
    Works,
    /// It does not take it.
    Invalid,
    /// It does not answer.
    Unknown,
}

/// Why something was not done at the identity service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityError {
    /// It does not answer, or answers that it cannot now.
    Unreachable,
    /// It answers with more than is read of an answer: the user has too many credentials.
    TooLarge,
    /// It does not know the issuer (401, 404): the user has left, or the password is another.
    Unknown,
    /// The issuer may not (403): it is restricted, or has as many credentials as a user may have.
    Forbidden,
    /// It rejects the request: the issuer lacks a role.
    Refused(String),
    /// There is one of this name.
    Taken,
    /// The issuer's Secret is none; why, the end of a sentence.
    Unusable(String),
    /// The service does not accept the created credential.
    Unverified,
}

impl IdentityError {
    /// A sentence about an issuer.
    pub(super) fn describe_for(&self, issuer: &str) -> String {
        let what = match self {
            Self::Unreachable => "the identity service does not answer to".to_owned(),
            Self::TooLarge => {
                return format!(
                    "issuer {issuer} has more credentials than are read of an answer of the identity service"
                );
            }
            Self::Unknown => "the identity service does not know".to_owned(),
            Self::Forbidden => {
                return format!(
                    "issuer {issuer} must not create credentials: it must be a password or an unrestricted application credential"
                );
            }
            Self::Refused(why) => format!("the identity service refuses ({why})"),
            Self::Taken => "all names were taken at".to_owned(),
            Self::Unusable(why) => return format!("issuer {issuer} {why}"),
            Self::Unverified => "the identity service rejects the credential that it created for".to_owned(),
        };
        format!("{what} issuer {issuer}")
    }
}

/// Result of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionResult {
    /// Deleted, now or before.
    Gone,
    /// It may not be deleted (403).
    Left,
    /// The identity service knows none of the issuers who could: they may be mended.
    Nobody,
    /// The identity service does not answer.
    Unreachable,
}

/// A credential that was created in this reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedCredential {
    /// Which one.
    pub one: CredentialRef,
    /// Rotation time, if it expires.
    pub renew: Option<Timestamp>,
}

/// Knowledge of this reconcile. It does not outlive the process.
#[derive(Clone, Debug, Default)]
pub struct StepResults {
    /// Whether what is published works.
    pub probe: Option<CredentialCheck>,
    /// Those of ours that issuers have.
    pub listed: BTreeMap<String, Result<Vec<CredentialRef>, IdentityError>>,
    /// Issuer and number of the next credential, after they are recorded.
    pub announced: Option<(String, u32)>,
    /// Created credential.
    pub minted: Option<IssuedCredential>,
    /// How the identity service takes it.
    pub verified: Option<CredentialCheck>,
    /// Those through whom none could be made.
    pub failed: BTreeMap<String, IdentityError>,
    /// Number of name conflicts.
    pub conflicts: u32,
    /// Results of deletions, by id.
    pub removed: BTreeMap<String, DeletionResult>,
    /// Issuers whose deletions the identity service did not answer: no further ones are tried in this reconcile.
    pub quiet: BTreeSet<String>,
    /// The finalizer was added in this reconcile: nothing was created before.
    pub begun: bool,
    /// The Secret was deleted in this reconcile.
    pub withdrawn: bool,
}

impl StepResults {
    /// Whether it is deleted. A failed deletion is retried while the cluster lives: issuers get fixed, and permissions restored.
    pub(super) fn is_done_with(&self, one: &CredentialRef) -> bool {
        self.removed.get(&one.id) == Some(&DeletionResult::Gone)
    }

    /// Whether its deletion was tried, or would meet with silence.
    pub(super) fn is_tried(&self, one: &CredentialRef) -> bool {
        self.removed.contains_key(&one.id) || self.quiet.contains(&one.issuer)
    }

    /// Records the result of a deletion.
    pub fn record_deletion(&mut self, one: CredentialRef, removal: DeletionResult) {
        if removal == DeletionResult::Unreachable {
            self.quiet.insert(one.issuer);
        }
        self.removed.insert(one.id, removal);
    }

    /// Records the credentials that an issuer has.
    pub fn record_list(&mut self, issuer: String, found: Result<Vec<CredentialRef>, IdentityError>) {
        if let Err(fault) = &found {
            self.failed.insert(issuer.clone(), fault.clone());
        }
        self.listed.insert(issuer, found);
    }

    /// Records the result of creating a credential through an issuer.
    pub fn record_issued(&mut self, issuer: String, made: Result<IssuedCredential, IdentityError>) {
        self.announced = None;
        // The issuer's credentials have changed.
        self.listed.remove(&issuer);
        match made {
            Ok(minted) => self.minted = Some(minted),
            Err(IdentityError::Taken) if self.conflicts < CONFLICTS => self.conflicts += 1,
            Err(fault) => drop(self.failed.insert(issuer, fault)),
        }
    }

    /// Records whether the identity service accepts the created credential. Unless it works, it stays recorded as possibly created. `before` is
    /// the id of the published one.
    pub fn record_check(&mut self, verdict: CredentialCheck, before: Option<&str>) {
        let Some(minted) = &self.minted else { return };
        let fault = match verdict {
            CredentialCheck::Works if before != Some(minted.one.id.as_str()) => {
                self.verified = Some(verdict);
                return;
            }
            CredentialCheck::Works | CredentialCheck::Invalid => IdentityError::Unverified,
            CredentialCheck::Unknown => IdentityError::Unreachable,
        };
        self.failed.insert(minted.one.issuer.clone(), fault);
        self.minted = None;
    }

    /// Records that the created credential is published.
    pub fn record_publication(&mut self) {
        self.probe = Some(CredentialCheck::Works);
        self.minted = None;
        self.verified = None;
    }
}
