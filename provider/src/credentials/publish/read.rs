//! Reads the credentials of clusters, and what is published where that is no proof of itself.

use std::{borrow::Cow, time::Duration};

use k8s_openapi::api::core::v1::Secret;
use testplatform_apis::{
    hive_status::Blocked,
    names::{ObjectName, keys},
};
use testplatform_runtime::{
    error::{Cause, Error, Reason},
    lookup,
    timeout::with_timeout,
};

use super::{CredentialsNamespace, CredentialsSource, SecretOwner, replaces_other_source};
use crate::credentials::{
    Published,
    account::{
        admin::AdminKubeconfig,
        fingerprint::{TokenFingerprint, kubeconfig_digest},
        guest_client::is_unauthorized,
        guest_limiter::GuestLimiter,
    },
    kubeconfig,
    secret::{data, source_revision},
};

/// One key of one Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// Name of the Secret.
    pub secret: Cow<'a, str>,
    /// The key in it.
    pub key: &'static str,
}

impl<'a> Key<'a> {
    /// A key of a Secret.
    pub fn new(secret: impl Into<Cow<'a, str>>, key: &'static str) -> Self {
        Self { secret: secret.into(), key }
    }
}

/// A value, and which state of which Secret it is from; or why there is none.
type Value = Result<(Vec<u8>, String), (Blocked, String)>;

/// The kubeconfig of a cluster's admin, and which state of which Secret it is from; or why there is none.
type Admin = Result<(AdminKubeconfig, String), (Blocked, String)>;

/// Whether what a Secret holds is what it was when a token was published in it.
pub(crate) fn is_as_stamped(secret: &Secret) -> bool {
    let stamp = source_revision(&secret.metadata).and_then(|text| text.parse::<TokenFingerprint>().ok());
    let data = secret.data.as_ref();
    let config = data.and_then(|data| data.get(keys::KUBECONFIG));
    let alone = data.is_some_and(|data| {
        data.len() == 2 && data.get(keys::KUBEADMIN_PASSWORD).is_some_and(|p| p.0.is_empty())
    });
    alone && stamp.zip(config).is_some_and(|(stamp, config)| stamp.digest == kubeconfig_digest(&config.0))
}

/// Reads Secrets.
pub(crate) struct Reader<'a> {
    /// Where they are.
    pub vault: &'a CredentialsNamespace,
    /// How long one call may take.
    pub patience: Duration,
}

impl Reader<'_> {
    /// Reads and rewrites a kubeconfig.
    pub async fn kubeconfig(&self, namespace: &str, at: &Key<'_>) -> Result<Value, Error> {
        let found = self.value(namespace, at).await?;
        Ok(found.and_then(|(config, version)| match kubeconfig::rewrite_kubeconfig(&config) {
            Ok(config) => Ok((config, version)),
            Err(why) => {
                let message = format!("key {} of Secret {} {why}", at.key, at.secret);
                Err((Blocked::KubeconfigRejected, message))
            }
        }))
    }

    /// The kubeconfig of a cluster's admin, and which state of which Secret it is from. Whether it can be used is seen when it is.
    pub async fn admin(&self, namespace: &str, at: &Key<'_>) -> Result<Admin, Error> {
        let found = self.value(namespace, at).await?;
        Ok(found.map(|(config, version)| (AdminKubeconfig::new(config), format!("{namespace}:{version}"))))
    }

    /// One value.
    pub async fn value(&self, namespace: &str, Key { secret: name, key }: &Key<'_>) -> Result<Value, Error> {
        let blocked = |reason, message| Ok(Err((reason, message)));
        // It becomes a part of a path.
        if ObjectName::try_from(&**name).is_err() {
            let message = "the cluster refers to a Secret with an invalid name".to_owned();
            return blocked(Blocked::SecretMissing, message);
        }
        let secret = match self.secret(lookup::get_opt(&self.vault.secrets_of(namespace), name)).await {
            Ok(Some(secret)) => secret,
            Ok(None) => {
                return blocked(
                    Blocked::SecretMissing,
                    format!("Secret {name} of the cluster does not exist"),
                );
            }
            // Said, because only an administrator can change it.
            Err(error) if error.reason == Reason::Forbidden => {
                let message = format!("the provider has no permission to read Secret {name} of the cluster");
                return blocked(Blocked::SecretMissing, message);
            }
            Err(error) => return Err(error),
        };
        let version = secret.metadata.resource_version.unwrap_or_default();
        match secret.data.and_then(|mut data| data.remove(*key)).filter(|value| !value.0.is_empty()) {
            Some(value) => Ok(Ok((value.0, format!("{name}@{version}")))),
            None => blocked(Blocked::KeyMissing, format!("Secret {name} of the cluster has no {key}")),
        }
    }

    /// Reads what is published where neither the cache nor the annotation `announced` is a proof that it is what it was, and puts
    /// `published` right.
    pub async fn verify(
        &self,
        owner: &SecretOwner<'_>,
        announced: Option<&str>,
        source: &CredentialsSource,
        published: &mut Published,
    ) -> Result<(), Error> {
        let Published::Ours { revision, source_revision: made_from } = &*published else { return Ok(()) };
        let matches_source = match source {
            CredentialsSource::Complete(credentials) => {
                made_from.as_ref() == Some(&credentials.source_revision)
            }
            CredentialsSource::Account(_) => TokenFingerprint::of(published).is_some(),
            CredentialsSource::Unread | CredentialsSource::Blocked(..) | CredentialsSource::Refused(_) => {
                false
            }
        };
        // A Secret that somebody edited has another resourceVersion than the announced one.
        let untouched = announced == Some(revision);
        if untouched || !matches_source {
            return Ok(());
        }
        let stored = self.secret(lookup::get_opt(&self.vault.secrets(), &owner.secret_name())).await?;
        *published = owner.published_state(stored.as_ref().map(|secret| &secret.metadata));
        if let (Some(stored), Published::Ours { source_revision: said, .. }) = (stored, published) {
            let same = match source {
                CredentialsSource::Complete(credentials) => stored.data.as_ref() == Some(&data(credentials)),
                CredentialsSource::Account(_) => is_as_stamped(&stored),
                CredentialsSource::Unread
                | CredentialsSource::Blocked(..)
                | CredentialsSource::Refused(_) => true,
            };
            *said = source_revision(&stored.metadata).filter(|_| same).cloned();
        }
        Ok(())
    }

    /// Asks the cluster whether it takes a kubeconfig that would replace another one.
    pub async fn verify_accepted(
        &self,
        callers: &GuestLimiter,
        source: CredentialsSource,
        published: &Published,
    ) -> Result<CredentialsSource, Error> {
        Ok(match source {
            CredentialsSource::Complete(found) if replaces_other_source(&found, published) => {
                let admin = AdminKubeconfig::new(found.kubeconfig.0.clone());
                if is_unauthorized(callers, &admin, self.patience).await? {
                    CredentialsSource::Refused(found)
                } else {
                    CredentialsSource::Complete(found)
                }
            }
            source => source,
        })
    }

    /// A call whose answer is secret.
    pub async fn secret(
        &self,
        call: impl Future<Output = kube::Result<Option<Secret>>>,
    ) -> Result<Option<Secret>, Error> {
        let call = async { call.await.map_err(|error| Cause::about_secret(&error)) };
        with_timeout("get_credentials", self.patience, call).await
    }
}
