//! Rewrites kubeconfigs that an earlier version published as they came.
//!
//! A published Secret is compared with its source by revision, so a Secret from an earlier version stays unchanged as long as its source does.
//! When the provider starts, it reads each of them once. A Secret in an older format is rewritten from its own content, which needs no access
//! to the cluster. An unusable Secret is removed, and the controller of its owner reports why.
//!
//! **Invariant:** changes are made one after another with a pause in between, because each wakes a claim.

use std::time::Duration;

use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, Preconditions},
};
use serde_json::json;
use testplatform_apis::{
    foreign::ephemeral_cluster,
    names::{keys, ours},
};
use testplatform_runtime::{
    apply::patch_params,
    controller::Running,
    error::{Cause, Error, Reason, catch_panic},
    lookup,
    metrics::RuntimeMetrics,
    timeout::with_timeout,
};
use tokio::time::sleep;

use crate::credentials::{
    SUFFIX, account::fingerprint::TokenFingerprint, kubeconfig::rewrite_kubeconfig, secret::source_revision,
};

/// Between two changes: a thousand claims are woken within half an hour.
const PAUSE: Duration = Duration::from_secs(2);
/// After a round in which something failed or had changed meanwhile.
const RETRY: Duration = Duration::from_mins(5);
/// Request timeout.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Secrets of one page.
const PAGE: u32 = 500;

/// Options of the controller.
pub struct Options {
    /// The hub.
    pub client: Client,
    /// The namespaces in which credentials are published.
    pub namespaces: Vec<String>,
}

/// Change that a published Secret needs.
#[derive(Debug, PartialEq, Eq)]
enum Refresh {
    /// Nothing: it is in the form of this version, or has no kubeconfig.
    Current,
    /// This kubeconfig in place of its own.
    Rewrite(Vec<u8>),
    /// To be removed, and why.
    Remove(&'static str),
}

/// Runs until `stop`: one round through all namespaces, and further ones as long as something fails.
pub fn run(options: Options, metrics: RuntimeMetrics, stop: Running) -> Running {
    Box::pin(async move {
        let mut stop = stop;
        tokio::select! {
            () = &mut stop => return,
            () = refresh_all(&options, &metrics) => {}
        }
        stop.await;
    })
}

async fn refresh_all(options: &Options, metrics: &RuntimeMetrics) {
    loop {
        let mut is_done = true;
        for namespace in &options.namespaces {
            let secrets = Api::namespaced(options.client.clone(), namespace);
            is_done &= refresh_namespace(&secrets, metrics).await;
        }
        if is_done {
            return;
        }
        sleep(RETRY).await;
    }
}

/// Whether there is nothing left to do.
async fn refresh_namespace(secrets: &Api<Secret>, metrics: &RuntimeMetrics) -> bool {
    let names = match catch_panic(with_timeout("list_credentials", TIMEOUT, list_published(secrets))).await {
        Ok(names) => names,
        Err(error) => return is_final(&error, metrics),
    };
    let mut is_done = true;
    for name in names {
        match catch_panic(with_timeout("refresh_credentials", TIMEOUT, refresh(secrets, &name))).await {
            Ok(Refresh::Current) => {}
            Ok(Refresh::Rewrite(_)) => {
                tracing::info!(
                    secret = name,
                    "credentials rewritten, because an earlier version published them unchanged"
                );
                sleep(PAUSE).await;
            }
            Ok(Refresh::Remove(why)) => {
                tracing::warn!(secret = name, "credentials withdrawn: their kubeconfig {why}");
                sleep(PAUSE).await;
            }
            Err(error) => is_done &= is_final(&error, metrics),
        }
    }
    is_done
}

/// Reports a failure, and whether another try is of no use.
fn is_final(Error { action, reason, message }: &Error, metrics: &RuntimeMetrics) -> bool {
    // Somebody changed the Secret meanwhile.
    if !matches!(reason, Reason::Conflict | Reason::NotFound) {
        metrics.failed(action, reason.as_str());
        tracing::warn!(action, error = message, "refresh of published credentials failed");
    }
    *reason == Reason::Forbidden
}

/// The names of the Secrets that may have been published by an earlier version.
async fn list_published(secrets: &Api<Secret>) -> Result<Vec<String>, Cause> {
    let mut names = Vec::new();
    let mut page = ListParams::default().limit(PAGE);
    loop {
        let list = secrets.list_metadata(&page).await?;
        let published = list.items.iter().filter(|secret| is_published(&secret.metadata));
        names.extend(published.filter_map(|secret| secret.metadata.name.clone()));
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(names),
        }
    }
}

/// Whether a Secret was published for a cluster with the credentials of its admin. Tokens of `ServiceAccount`s were always written by the provider.
/// One of an EphemeralCluster without a source revision was made by another controller, which would make it again.
fn is_published(secret: &ObjectMeta) -> bool {
    let is_owned = secret.owner_references.iter().flatten().any(|owner| {
        owner.controller == Some(true)
            && owner.kind == ephemeral_cluster::KIND
            && owner.api_version == ephemeral_cluster::API_VERSION
    });
    let group = secret.labels.as_ref().and_then(|labels| labels.get(ours::OWNER_GROUP));
    let revision = source_revision(secret);
    let is_token = revision.as_ref().is_some_and(|revision| revision.parse::<TokenFingerprint>().is_ok());
    // Those of spaces have an owner of the core group.
    let is_labelled = group.is_some_and(|group| !group.is_empty());
    let is_named = secret.name.as_ref().is_some_and(|name| name.ends_with(SUFFIX));
    is_named && (is_labelled || (is_owned && revision.is_some())) && !is_token
}

/// Reads a Secret and does what it needs.
async fn refresh(secrets: &Api<Secret>, name: &str) -> Result<Refresh, Cause> {
    let stored = lookup::get_opt(secrets, name).await.map_err(|error| Cause::about_secret(&error))?;
    let Some(stored) = stored.filter(|stored| is_published(&stored.metadata)) else {
        return Ok(Refresh::Current);
    };
    let needed = decide_refresh(&stored);
    let ObjectMeta { uid, resource_version, .. } = stored.metadata;
    match &needed {
        Refresh::Current => {}
        Refresh::Rewrite(kubeconfig) => {
            let data = json!({ keys::KUBECONFIG: ByteString(kubeconfig.clone()) });
            let patch =
                json!({ "metadata": { "uid": uid, "resourceVersion": resource_version }, "data": data });
            let patched = secrets.patch(name, &patch_params(), &Patch::Merge(patch)).await;
            patched.map_err(|error| Cause::about_secret(&error))?;
        }
        Refresh::Remove(_) => {
            let this = DeleteParams::default().preconditions(Preconditions { uid, resource_version });
            secrets.delete(name, &this).await.map_err(|error| Cause::about_secret(&error))?;
        }
    }
    Ok(needed)
}

fn decide_refresh(secret: &Secret) -> Refresh {
    let data = secret.data.as_ref();
    let Some(stored) = data.and_then(|data| data.get(keys::KUBECONFIG)).filter(|stored| !stored.0.is_empty())
    else {
        return Refresh::Current;
    };
    match rewrite_kubeconfig(&stored.0) {
        Ok(same) if same == stored.0 => Refresh::Current,
        Ok(kubeconfig) => Refresh::Rewrite(kubeconfig),
        Err(why) => Refresh::Remove(why),
    }
}
