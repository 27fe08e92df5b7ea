//! Withdraws published credentials: removes the Secret, and deletes the ServiceAccount that the token belongs to. That revokes all of its
//! tokens.
//!
//! In this order: a credential that stays published must work. Only the revocation is best effort: a cluster that does not answer, or is
//! deleted, takes its accounts along. Nothing waits for it, neither the withdrawal nor a worker: a server that accepts connections and never
//! answers may be a tenant's, and a tenant may have many. Revocations are processed in order of arrival; until one is finished no token of that
//! account is issued, because it would be revoked too.

use std::time::Duration;

use k8s_openapi::{api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Api, core::PartialObjectMeta};
use serde_json::Value;
use testplatform_apis::names::keys;
use testplatform_runtime::{error::Cause, lookup};
use tokio::{sync::oneshot, time::timeout};

use super::{
    NAMESPACE, account_name,
    admin::KubeconfigParts,
    client::{build_client, ensure_done},
    fingerprint::TokenFingerprint,
    guest_limiter::GuestLimiter,
    token::TokenFailure,
};
use crate::credentials::secret::{remove, source_revision};

/// How long it may take, once it has begun.
const PATIENCE: Duration = Duration::from_secs(4);

/// Removes what is published, and has the ServiceAccount of the token in it end. `uid_of`: uid of the object that a Secret was published for, if it
/// may be removed.
///
/// # Errors
/// If the Secret cannot be read or removed. Then it may be called again, as what is needed for the end is in there.
pub(crate) async fn revoke_tokens(
    callers: &GuestLimiter,
    secrets: &Api<Secret>,
    metadata: &Api<PartialObjectMeta<Secret>>,
    name: &str,
    uid_of: impl Fn(&ObjectMeta) -> Option<String>,
) -> Result<(), Cause> {
    let on_deleted = read_revocation(secrets, name, &uid_of)
        .await?
        .map(|ending| ending.enqueue_revocation(callers, metadata.clone()));
    remove(metadata, name, |secret| uid_of(secret).is_some()).await?;
    if let Some(on_deleted) = on_deleted {
        let _ = on_deleted.send(());
    }
    Ok(())
}

/// A ServiceAccount that is to end.
struct AccountRevocation {
    secret: String,
    uid: Option<String>,
    parts: KubeconfigParts,
    account: String,
}

/// None: nothing is published, or it is the admin's.
async fn read_revocation(
    secrets: &Api<Secret>,
    name: &str,
    uid_of: impl Fn(&ObjectMeta) -> Option<String>,
) -> Result<Option<AccountRevocation>, Cause> {
    // One with the admin's credentials is not read for this.
    let stored = lookup::get_metadata_opt(secrets, name).await?;
    let is_ours = |metadata: &ObjectMeta| source_revision(metadata)?.parse::<TokenFingerprint>().ok();
    if stored.and_then(|stored| is_ours(&stored.metadata)).is_none() {
        return Ok(None);
    }
    let stored = lookup::get_opt(secrets, name).await.map_err(|error| Cause::about_secret(&error))?;
    Ok(stored.and_then(|stored| AccountRevocation::of(name, stored, uid_of)))
}

/// It becomes a part of a path.
fn is_uid(uid: &str) -> bool {
    !uid.is_empty() && uid.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

impl AccountRevocation {
    fn of(name: &str, stored: Secret, uid_of: impl Fn(&ObjectMeta) -> Option<String>) -> Option<Self> {
        let owner = uid_of(&stored.metadata).filter(|uid| is_uid(uid))?;
        let config = stored.data?.remove(keys::KUBECONFIG)?;
        let parts = KubeconfigParts::of(&config.0).ok()?;
        let (secret, uid) = (name.to_owned(), stored.metadata.uid);
        Some(Self { secret, uid, parts, account: account_name(&owner) })
    }

    /// From now on no token of it is issued. It is revoked in its turn, after the removal of the Secret is confirmed.
    fn enqueue_revocation(
        self,
        callers: &GuestLimiter,
        secrets: Api<PartialObjectMeta<Secret>>,
    ) -> oneshot::Sender<()> {
        let (turns, ends) = (callers.teardown_permits(), callers.begin_revocation(&self.account));
        let (gone, told) = oneshot::channel();
        tokio::spawn(async move {
            if (told.await.is_ok() || self.is_removed(&secrets).await)
                && let Ok(_turn) = turns.acquire_owned().await
            {
                self.revoke_account().await;
            }
            drop(ends);
        });
        gone
    }

    /// Whether the Secret is gone, in case its removal failed or the response was lost: it may have succeeded.
    async fn is_removed(&self, secrets: &Api<PartialObjectMeta<Secret>>) -> bool {
        let Ok(Ok(found)) = timeout(PATIENCE, lookup::get_metadata_opt(secrets, &self.secret)).await else {
            return false;
        };
        found.is_none_or(|found| found.metadata.uid != self.uid)
    }

    async fn revoke_account(&self) {
        let secret = self.secret.as_str();
        if let Ok(Ok(())) = timeout(PATIENCE, self.delete_account()).await {
            tracing::info!(secret, "ServiceAccount deleted");
        } else {
            tracing::warn!(secret, "ServiceAccount not deleted; its token expires");
        }
    }

    async fn delete_account(&self) -> Result<(), TokenFailure> {
        let client = build_client(&self.parts).await?;
        let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{}", self.account);
        ensure_done(&client, "DELETE", &path, &Value::Null).await.map(drop)
    }
}
