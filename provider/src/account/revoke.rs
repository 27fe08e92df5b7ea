//! The end of a ServiceAccount whose token is published no longer: all tokens of it end with it.
//!
//! Best effort: a cluster that does not answer, or is gone, takes them along. Nothing waits for it, neither what is withdrawn nor a worker: what
//! takes connections and never answers may be a tenant's, and he may have many. Each gets its turn, in the order in which they came; until it is
//! over no token is made of it again, which would end with it.

use std::time::Duration;

use k8s_openapi::{api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::Api;
use serde_json::Value;
use testplatform_apis::names::keys;
use tokio::time::timeout;

use super::{
    NAMESPACE, account_name,
    admin::Parts,
    callers::Callers,
    client::{client, done},
    mint::Trouble,
    stamp::Stamp,
};
use crate::{caches::source_revision, named};

/// How long it may take, once it has begun.
const PATIENCE: Duration = Duration::from_secs(4);

/// Has the ServiceAccount of what is published ended, with the token that is published; what is needed for that is read before this returns, so
/// that the Secret may go. `uid_of`: uid of the object that the Secret was published for, if it may be used.
pub(crate) async fn revoke(
    callers: &Callers,
    secrets: &Api<Secret>,
    name: &str,
    uid_of: impl Fn(&ObjectMeta) -> Option<String>,
) {
    // Nothing is published, or it is the admin's.
    let Some(ending) = read(secrets, name, uid_of).await else { return };
    let (turns, ends) = (callers.turns(), callers.ends(&ending.account));
    tokio::spawn(async move {
        if let Ok(_turn) = turns.acquire_owned().await {
            ending.end().await;
        }
        drop(ends);
    });
}

/// A ServiceAccount that is to end.
struct Ending {
    secret: String,
    parts: Parts,
    account: String,
}

async fn read(
    secrets: &Api<Secret>,
    name: &str,
    uid_of: impl Fn(&ObjectMeta) -> Option<String>,
) -> Option<Ending> {
    // One with the admin's credentials is not read for this.
    let metadata = named::find_metadata(secrets, name).await.ok().flatten()?.metadata;
    source_revision(&metadata)?.parse::<Stamp>().ok()?;
    let secret = named::find(secrets, name).await.ok().flatten()?;
    let uid = uid_of(&secret.metadata).filter(|uid| is_uid(uid))?;
    let config = secret.data?.remove(keys::KUBECONFIG)?;
    let parts = Parts::of(&config.0).ok()?;
    Some(Ending { secret: name.to_owned(), parts, account: account_name(&uid) })
}

/// It becomes a part of a path.
fn is_uid(uid: &str) -> bool {
    !uid.is_empty() && uid.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

impl Ending {
    async fn end(&self) {
        let secret = self.secret.as_str();
        if let Ok(Ok(())) = timeout(PATIENCE, self.call()).await {
            tracing::info!(secret, "the ServiceAccount behind it was ended");
        } else {
            tracing::warn!(
                secret,
                "the ServiceAccount behind it could not be ended; its token ends by itself"
            );
        }
    }

    async fn call(&self) -> Result<(), Trouble> {
        let client = client(&self.parts).await?;
        let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{}", self.account);
        done(&client, "DELETE", &path, &Value::Null).await.map(drop)
    }
}
