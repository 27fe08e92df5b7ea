//! Inputs of a published token, as recorded on its Secret: enough to decide when to replace it without reading it.

use std::{fmt, str::FromStr};

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::account::AccessRequest;
use uuid::Uuid;

use super::{LIFETIME, token_lifetime::TokenLifetime};
use crate::credentials::Published;

/// Prefix of the revision. Revisions from the admin's Secrets begin with a namespace or a build cluster, and those have no such name.
const PREFIX: &str = "account:v1/";

/// Inputs of a published token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenFingerprint {
    /// Time of the token request, by our clock.
    pub issued: Timestamp,
    /// When it ends, by the cluster's.
    pub expires: Timestamp,
    /// The generation that it is for.
    pub generation: i64,
    /// Fingerprint of role, owner and admin's kubeconfig.
    pub origin: String,
    /// Digest of the published kubeconfig, which reveals nothing of it.
    pub digest: String,
}

impl TokenFingerprint {
    /// That of what is published; none if that is not ours, or the admin's.
    pub fn of(published: &Published) -> Option<Self> {
        match published {
            Published::Ours { source_revision: Some(text), .. } => text.parse().ok(),
            Published::Ours { source_revision: None, .. } | Published::Absent | Published::Foreign(_) => None,
        }
    }

    /// Time to replace the token.
    pub fn renew_at(&self) -> Timestamp {
        self.lifetime().renew_at()
    }

    /// Its time.
    pub(super) fn lifetime(&self) -> TokenLifetime {
        let longest = SignedDuration::try_from(LIFETIME).unwrap_or(SignedDuration::MAX);
        TokenLifetime { issued: self.issued, expires: self.expires, longest }
    }
}

impl fmt::Display for TokenFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { issued, expires, generation, origin, digest } = self;
        write!(f, "{PREFIX}{issued}/{expires}/{generation}/{origin}/{digest}")
    }
}

impl FromStr for TokenFingerprint {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.strip_prefix(PREFIX).ok_or(())?.splitn(5, '/');
        let mut next = || parts.next().ok_or(());
        Ok(Self {
            issued: next()?.parse().map_err(|_| ())?,
            expires: next()?.parse().map_err(|_| ())?,
            generation: next()?.parse().map_err(|_| ())?,
            origin: next()?.to_owned(),
            digest: next()?.to_owned(),
        })
    }
}

/// Fingerprint of the inputs of a token. `revision` is the revision of the admin's kubeconfig.
pub fn origin_fingerprint(wish: &AccessRequest, uid: &str, revision: &str) -> String {
    hex_digest(&[wish.cluster_role.as_bytes(), uid.as_bytes(), revision.as_bytes()].join(&b'\n'))
}

/// Digest of the published kubeconfig. Its token has too much entropy to be guessed from the digest.
pub fn kubeconfig_digest(kubeconfig: &[u8]) -> String {
    hex_digest(kubeconfig)
}

fn hex_digest(bytes: &[u8]) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_URL, bytes).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_back_and_nothing_else_does() {
        let whole = TokenFingerprint {
            issued: "2026-03-02T11:00:00Z".parse().unwrap(),
            expires: "2026-03-02T23:00:00Z".parse().unwrap(),
            generation: 3,
            origin: "o".into(),
            digest: "d".into(),
        };
        assert_eq!(whole.renew_at(), "2026-03-02T19:00:00Z".parse().unwrap());
        assert_eq!(whole.to_string().parse(), Ok(whole));
        for other in [
            "",
            "build01/ci-op-x:cluster-provisioning@7",
            "cluster:admin@7,none",
            "account:v1/x",
            "account:v1/",
        ] {
            assert!(other.parse::<TokenFingerprint>().is_err(), "{other}");
        }
    }
}
