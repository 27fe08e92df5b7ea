//! `credentials.mode: ServiceAccount`: for each cluster a ServiceAccount in it, of which a token that ends is published in place of what its
//! admin has.
//!
//! ```text
//! wish, published Secret, now ──due──▶ keep | renew
//!                                              │ Issue { AdminKubeconfig, Wish }
//! the cluster ──look──▶ Known ──next──▶ Step ──┴─▶ make, ask, verify ──▶ Credentials ──▶ publish
//! ```
//!
//! **Invariant:** [`AdminKubeconfig`] has no way into what is published: it opens a client, and tells an address.
//! **Invariant:** a token is published only after the cluster has taken it, over whatever was there; what fails leaves that as it was.
//! **Invariant:** the ServiceAccount is the claim's alone (its name has the uid), and may end itself: whoever takes the published Secret
//! back needs nothing else to revoke it.

pub mod admin;
pub mod callers;
mod client;
pub mod mint;
pub mod next;
pub(crate) mod reach;
mod revoke;
pub mod stamp;
pub(crate) mod term;

use std::time::Duration;

use jiff::Timestamp;
use testplatform_apis::{account::Wish, names::ours};

pub(crate) use self::revoke::revoke;
use self::{
    admin::{AdminKubeconfig, kubeconfig},
    callers::Callers,
    mint::{Delivered, Trouble, mint},
    stamp::{Stamp, digest},
};
use crate::{
    ephemeral_cluster::credentials::{Credentials, Published},
    execute::Cause,
    redacted::Redacted,
};

/// The namespace of a delivered cluster in which the ServiceAccount is made.
pub const NAMESPACE: &str = "testplatform-access";
/// For how long a token is asked for. Of one that was read last before it is replaced a third is left, which is longer than most tests take;
/// an API server may give less.
pub const LIFETIME: Duration = Duration::from_hours(12);
/// How long it may take to make one and to have it published.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Name of the ServiceAccount that is made for an object of this uid.
pub fn account_name(uid: &str) -> String {
    format!("tpc-{uid}")
}

/// A token that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// By what the cluster lets us in.
    pub admin: AdminKubeconfig,
    /// What it is to be.
    pub wish: Wish,
    /// Uid of the object that it is for.
    pub uid: String,
    /// Which state of the admin's kubeconfig this is.
    pub revision: String,
}

impl Issue {
    /// Of what its token would be made, in a word; when that is another, a token is made anew.
    pub fn origin(&self) -> String {
        stamp::origin(&self.wish, &self.uid, &self.revision)
    }

    /// Makes a token, and what is published around it.
    ///
    /// # Errors
    /// If the cluster does not answer, does not take the admin's kubeconfig or the token, or has no such ClusterRole; or if too many wait for clusters
    /// already, or what was published before is about to end with its ServiceAccount.
    pub(crate) async fn fulfil(&self, callers: &Callers, now: Timestamp) -> Result<Credentials, Cause> {
        callers.stays(&account_name(&self.uid))?;
        let _leave = callers.leave()?;
        self.fulfil_by(&client::open(&self.admin, &self.uid, &self.wish)?, now).await
    }

    /// The same in a cluster that somebody else has opened.
    ///
    /// # Errors
    /// If the cluster does not answer, does not take the admin's kubeconfig or the token, or has no such ClusterRole.
    pub async fn fulfil_by(&self, cluster: &impl Delivered, now: Timestamp) -> Result<Credentials, Cause> {
        let address = self.admin.parts().map_err(Trouble::Unusable)?.address;
        let token = mint(cluster).await?;
        let text = kubeconfig(&address, &account_name(&self.uid), &token.token.0);
        let stamp = Stamp {
            issued: now,
            expires: token.expires,
            generation: self.wish.generation,
            origin: self.origin(),
            digest: digest(text.as_bytes()),
        };
        Ok(Credentials {
            kubeconfig: Redacted(text.into_bytes()),
            password: Redacted(Vec::new()),
            source_revision: stamp.to_string(),
        })
    }
}

/// Whose credentials are published for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those of the cluster's admin.
    Admin,
    /// Those of this ServiceAccount.
    Account(Wish),
    /// Nobody's; why, in a sentence.
    Nobody(&'static str),
}

/// Whose credentials are published. `annotation`: the wish that stands on the object. What once were a ServiceAccount's never become the admin's:
/// who may write on the object could have those by taking the wish away.
pub fn whose(annotation: Option<&str>, published: &Published) -> Whose {
    match annotation.map(Wish::read) {
        Some(Ok(wish)) => Whose::Account(wish),
        Some(Err(_)) => Whose::Nobody(UNREADABLE),
        None if Stamp::of(published).is_some() => Whose::Nobody(TAKEN_AWAY),
        None => Whose::Admin,
    }
}

/// The annotation with the wish.
pub const WISH: &str = ours::CREDENTIALS_WISH;

const UNREADABLE: &str =
    "annotation testplatform.ci.openshift.org/credentials-wish cannot be understood; update the provider";
const TAKEN_AWAY: &str = "annotation testplatform.ci.openshift.org/credentials-wish was taken away, and the admin's credentials are not published instead";
