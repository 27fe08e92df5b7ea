//! Knowledge that a reconcile gathers about a credential.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::cloud::record::One;

/// How often a number that is taken is answered by the next one.
const CONFLICTS: u32 = 3;

/// How the identity service takes a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It gave a token for it.
    Works,
    /// It does not take it.
    Invalid,
    /// It does not answer.
    Unknown,
}

/// Why something was not done at the identity service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It does not answer, or answers that it cannot now.
    Unreachable,
    /// It answers with more than is read of an answer: the user has too many credentials.
    TooLarge,
    /// It does not know the issuer (401, 404): the user has left, or the password is another.
    Unknown,
    /// The issuer may not (403): it is restricted, or has as many credentials as a user may have.
    Forbidden,
    /// It does not take what is asked for: a role that the issuer has not.
    Refused(String),
    /// There is one of this name.
    Taken,
    /// The issuer's Secret is none; why, the end of a sentence.
    Unusable(String),
    /// The service does not accept the created credential.
    Unverified,
}

impl Fault {
    /// A sentence about an issuer.
    pub(super) fn about(&self, issuer: &str) -> String {
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
                    "issuer {issuer} may not make credentials: it has to be a password or an unrestricted application credential"
                );
            }
            Self::Refused(why) => format!("the identity service refuses ({why})"),
            Self::Taken => "all names were taken at".to_owned(),
            Self::Unusable(why) => return format!("issuer {issuer} {why}"),
            Self::Unverified => "the identity service does not take what it made for".to_owned(),
        };
        format!("{what} issuer {issuer}")
    }
}

/// Result of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It is gone, now or before.
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
pub struct Minted {
    /// Which one.
    pub one: One,
    /// When it is to be rotated, if it ends.
    pub renew: Option<Timestamp>,
}

/// Knowledge of this reconcile. It does not outlive the process.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Whether what is published works.
    pub probe: Option<Verdict>,
    /// Those of ours that issuers have.
    pub listed: BTreeMap<String, Result<Vec<One>, Fault>>,
    /// Through whom, and with which number, one is to be made, after that was noted.
    pub noted: Option<(String, u32)>,
    /// Created credential.
    pub minted: Option<Minted>,
    /// How the identity service takes it.
    pub verified: Option<Verdict>,
    /// Those through whom none could be made.
    pub failed: BTreeMap<String, Fault>,
    /// How often a name was taken.
    pub conflicts: u32,
    /// Results of deletions, by id.
    pub removed: BTreeMap<String, Removal>,
    /// Issuers of those that could not be deleted because the identity service was silent: of no other of theirs it is asked in this pass.
    pub quiet: BTreeSet<String>,
    /// The finalizer was put on the order in this pass: nothing was made before.
    pub begun: bool,
    /// The Secret was deleted in this pass.
    pub withdrawn: bool,
}

impl Known {
    /// Whether it is deleted. A failed deletion is retried while the cluster lives: issuers get fixed, and permissions restored.
    pub(super) fn is_done_with(&self, one: &One) -> bool {
        self.removed.get(&one.id) == Some(&Removal::Gone)
    }

    /// Whether its deletion was tried, or would meet with silence.
    pub(super) fn is_tried(&self, one: &One) -> bool {
        self.removed.contains_key(&one.id) || self.quiet.contains(&one.issuer)
    }

    /// Records the result of a deletion.
    pub fn remove(&mut self, one: One, removal: Removal) {
        if removal == Removal::Unreachable {
            self.quiet.insert(one.issuer);
        }
        self.removed.insert(one.id, removal);
    }

    /// Records the credentials that an issuer has.
    pub fn list(&mut self, issuer: String, found: Result<Vec<One>, Fault>) {
        if let Err(fault) = &found {
            self.failed.insert(issuer.clone(), fault.clone());
        }
        self.listed.insert(issuer, found);
    }

    /// Records the result of creating a credential through an issuer.
    pub fn mint(&mut self, issuer: String, made: Result<Minted, Fault>) {
        self.noted = None;
        // The issuer's credentials have changed.
        self.listed.remove(&issuer);
        match made {
            Ok(minted) => self.minted = Some(minted),
            Err(Fault::Taken) if self.conflicts < CONFLICTS => self.conflicts += 1,
            Err(fault) => drop(self.failed.insert(issuer, fault)),
        }
    }

    /// How the identity service takes what was made. It stays noted as perhaps made, unless it is good. `before`: the id of what is published.
    pub fn verify(&mut self, verdict: Verdict, before: Option<&str>) {
        let Some(minted) = &self.minted else { return };
        let fault = match verdict {
            Verdict::Works if before != Some(minted.one.id.as_str()) => {
                self.verified = Some(verdict);
                return;
            }
            Verdict::Works | Verdict::Invalid => Fault::Unverified,
            Verdict::Unknown => Fault::Unreachable,
        };
        self.failed.insert(minted.one.issuer.clone(), fault);
        self.minted = None;
    }

    /// Records that the created credential is published.
    pub fn publish(&mut self) {
        self.probe = Some(Verdict::Works);
        self.minted = None;
        self.verified = None;
    }
}
