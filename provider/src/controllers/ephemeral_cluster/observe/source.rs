//! The credentials in ci-operator's namespace. They are read only when what is published may not be what they are.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::Api;
use testplatform_apis::{
    account::AccessRequest,
    names::{ci_operator, keys, ours},
};
use testplatform_runtime::{
    error::{Cause, Error, Reason},
    lookup,
    redacted::Redacted,
    timeout::with_timeout,
};
use tokio::time::timeout;

use super::{Observer, not_yet};
use crate::{
    build_clusters::{BuildCluster, JobNamespace},
    controllers::ephemeral_cluster::{caches::published_state, object::EphemeralCluster, prow_job::ProwJob},
    credentials::{
        Credentials, NamespaceCredentials, Published,
        account::{
            self, CredentialsOwner, Issue,
            admin::AdminKubeconfig,
            credentials_owner,
            fingerprint::{TokenFingerprint, origin_fingerprint},
            guest_client::is_unauthorized,
            plan::{TokenDue, token_due},
        },
        kubeconfig::rewrite_kubeconfig,
        publish::is_as_stamped,
        secret::{data, source_revision},
    },
};

/// Where a value is: a Secret and a key of it.
type Place = (&'static str, &'static str);

/// resourceVersions of Secrets.
type Versions = BTreeMap<&'static str, String>;

/// Where the kubeconfig and the password are.
const INSTALLED: [Place; 2] = [(ci_operator::TEST, "kubeconfig"), (ci_operator::TEST, "kubeadmin-password")];
const FROM_HIVE: [Place; 2] =
    [(ci_operator::HIVE_KUBECONFIG, "kubeconfig"), (ci_operator::HIVE_PASSWORD, "password")];

impl Observer {
    /// The credentials in a namespace. `published` is put right where a cache or an annotation misleads.
    pub(super) async fn source(
        &self,
        object: &EphemeralCluster,
        job: &ProwJob,
        cluster: &str,
        location: &JobNamespace,
        published: &mut Published,
    ) -> Result<NamespaceCredentials, Error> {
        let over = object.is_deleted() || job.state().is_final() || location.terminating;
        let from_hive = object.spec.value.ci_operator.test.from_hive;
        let [kubeconfig, mut password] = if from_hive { FROM_HIVE } else { INSTALLED };
        let mut is_known = true;
        if *published == Published::Absent && !over && location.secrets.contains_key(kubeconfig.0) {
            let read = self.read_uncached(object).await?;
            is_known = read.is_some();
            *published = read.unwrap_or(Published::Absent);
        }
        let wish = match credentials_owner(object.annotation(account::WISH), published) {
            CredentialsOwner::Admin => None,
            CredentialsOwner::Account(wish) => Some(wish),
            CredentialsOwner::Nobody(why) => return Ok(NamespaceCredentials::Pending(why.to_owned())),
        };
        if wish.is_some() {
            // The password is not even read.
            password = kubeconfig;
        }
        for (name, _) in [kubeconfig, password] {
            if !location.secrets.contains_key(name) {
                return Ok(NamespaceCredentials::Pending(format!("Secret {name} is not created yet")));
            }
        }
        let version_of = |(name, _): Place| (name, location.secrets.get(name).cloned().unwrap_or_default());
        let revision =
            revision(cluster, &location.namespace, &[version_of(kubeconfig), version_of(password)].into());
        if let Published::Ours { revision: stored, source_revision } = published {
            // A Secret that somebody edited has another resourceVersion than the announced one.
            let untouched = object.annotation(ours::CREDENTIALS_REVISION) == Some(stored);
            if untouched && source_revision.as_ref() == Some(&revision) {
                return Ok(NamespaceCredentials::Unchanged);
            }
        }
        if let Some(wish) = &wish
            && self.keeps_published_token(object, wish, &revision, published).await?
        {
            return Ok(NamespaceCredentials::Unchanged);
        }
        if over {
            return Ok(NamespaceCredentials::Pending(
                "the job has ended, its credentials are not read any more".to_owned(),
            ));
        }
        let read = match self.build_clusters.get_cluster(cluster) {
            Ok(cluster) => match cluster.acquire_permit() {
                Some(_leave) => self.read_values(&cluster, &location.namespace, [kubeconfig, password]).await,
                // Others wait for it already. It must not keep those that wait for another one.
                None => return Err(not_yet(&location.namespace)),
            },
            Err(why) => Err(why),
        };
        let (revision, [kubeconfig_value, password_value]) = match read {
            Ok((versions, values)) => (self::revision(cluster, &location.namespace, &versions), values),
            Err(why) => return Ok(NamespaceCredentials::Unreadable(why)),
        };
        let Some(kubeconfig_value) = kubeconfig_value.filter(|value| !value.is_empty()) else {
            let (name, key) = kubeconfig;
            return Ok(NamespaceCredentials::Pending(format!("Secret {name} has no {key} yet")));
        };
        let written = match rewrite_kubeconfig(&kubeconfig_value) {
            Ok(written) => written,
            // Steps upload files that are not finished.
            Err(why) => {
                let (name, key) = kubeconfig;
                let why = format!("key {key} of Secret {name} {why}");
                // Only a published Secret that is known to be gone means that its kubeconfig was withdrawn.
                return Ok(if is_known {
                    NamespaceCredentials::Rejected(why)
                } else {
                    NamespaceCredentials::Pending(why)
                });
            }
        };
        if let Some(wish) = wish {
            let admin = AdminKubeconfig::new(kubeconfig_value);
            let issue = Issue { admin, wish, uid: object.uid().to_owned(), revision };
            return Ok(NamespaceCredentials::Account(Box::new(issue)));
        }
        if from_hive && password_value.is_none() {
            let (name, key) = password;
            return Ok(NamespaceCredentials::Pending(format!("Secret {name} has no {key} yet")));
        }
        let credentials = Credentials {
            kubeconfig: Redacted(written),
            password: Redacted(password_value.unwrap_or_default()),
            source_revision: revision,
        };
        self.compare(object, credentials, published).await
    }

    /// Whether the token that is published stays. `revision`: the state of the admin's kubeconfig.
    async fn keeps_published_token(
        &self,
        object: &EphemeralCluster,
        wish: &AccessRequest,
        revision: &str,
        published: &mut Published,
    ) -> Result<bool, Error> {
        let origin = origin_fingerprint(wish, object.uid(), revision);
        if token_due(published, wish.generation, &origin, (self.now)()) == TokenDue::Renew {
            return Ok(false);
        }
        let Published::Ours { revision: stored, .. } = &*published else { return Ok(false) };
        if object.annotation(ours::CREDENTIALS_REVISION) == Some(stored) {
            return Ok(true);
        }
        let stored = self.stored(object).await?;
        *published = published_state(stored.as_ref().map(|secret| &secret.metadata), object);
        Ok(TokenFingerprint::of(published).is_some() && stored.as_ref().is_some_and(is_as_stamped))
    }

    /// Reads a published Secret that the cache lacks. Once there is a cluster, the decision to end it depends on this, and where Secrets cannot
    /// be listed the cache is empty. None: Secrets cannot be read either; nothing can be published then, and teardown starts anyway.
    async fn read_uncached(&self, object: &EphemeralCluster) -> Result<Option<Published>, Error> {
        match self.stored(object).await {
            Ok(stored) => Ok(Some(published_state(stored.as_ref().map(|secret| &secret.metadata), object))),
            Err(error) if error.reason == Reason::Forbidden => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the published Secret from the API server.
    async fn stored(&self, object: &EphemeralCluster) -> Result<Option<Secret>, Error> {
        let name = object.secret_name();
        let call = async {
            lookup::get_opt(&self.hub.secrets(), &name).await.map_err(|error| Cause::about_secret(&error))
        };
        with_timeout("get_credentials", self.patience, call).await
    }

    /// Reads what is published, because neither the cache nor the annotation is a proof.
    async fn compare(
        &self,
        object: &EphemeralCluster,
        credentials: Credentials,
        published: &mut Published,
    ) -> Result<NamespaceCredentials, Error> {
        if matches!(published, Published::Ours { .. }) {
            let stored = self.stored(object).await?;
            *published = published_state(stored.as_ref().map(|secret| &secret.metadata), object);
            if let (Some(stored), Published::Ours { source_revision: said, .. }) = (stored, published) {
                let same = stored.data.as_ref() == Some(&data(&credentials));
                if same && source_revision(&stored.metadata) == Some(&credentials.source_revision) {
                    return Ok(NamespaceCredentials::Unchanged);
                }
                let other = |kubeconfig: &ByteString| kubeconfig.0 != credentials.kubeconfig.0;
                let now = stored.data.as_ref().and_then(|data| data.get(keys::KUBECONFIG));
                let later = said.as_ref().is_some_and(|said| *said != credentials.source_revision);
                if later && now.is_some_and(other) {
                    let admin = AdminKubeconfig::new(credentials.kubeconfig.0.clone());
                    if is_unauthorized(&self.callers, &admin, self.patience).await? {
                        return Ok(NamespaceCredentials::Refused);
                    }
                }
                // Somebody edited it: its content no longer matches the recorded source.
                *said = said.take().filter(|_| same);
            }
        }
        Ok(NamespaceCredentials::Complete(credentials))
    }

    /// The values, and the resourceVersions of the Secrets that they are from.
    async fn read_values(
        &self,
        cluster: &BuildCluster,
        namespace: &str,
        places: [Place; 2],
    ) -> Result<(Versions, [Option<Vec<u8>>; 2]), String> {
        let secrets: Api<Secret> = Api::namespaced(cluster.client(), namespace);
        let mut read: BTreeMap<&'static str, Secret> = BTreeMap::new();
        for (name, _) in places {
            if !read.contains_key(name) {
                let secret = match timeout(self.build_cluster_call, lookup::get_opt(&secrets, name)).await {
                    Ok(Ok(secret)) => secret,
                    Ok(Err(error)) => return Err(Cause::about_secret(&error).message),
                    Err(_) => return Err("the build cluster did not answer in time".to_owned()),
                };
                read.insert(name, secret.unwrap_or_default());
            }
        }
        let value = |(name, key): Place| Some(read.get(name)?.data.as_ref()?.get(key)?.0.clone());
        let values = places.map(value);
        let version = |secret: Secret| secret.metadata.resource_version.unwrap_or_default();
        Ok((read.into_iter().map(|(name, secret)| (name, version(secret))).collect(), values))
    }
}

/// Which state the Secrets are in.
fn revision(cluster: &str, namespace: &str, versions: &Versions) -> String {
    let states: Vec<String> = versions.iter().map(|(name, version)| format!("{name}@{version}")).collect();
    format!("{cluster}/{namespace}:{}", states.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_names_every_secret_once() {
        let of = |versions: &[(&'static str, &str)]| {
            let versions = versions.iter().map(|(name, version)| (*name, (*version).to_owned())).collect();
            revision("build01", "ci-op-x", &versions)
        };
        assert_eq!(
            of(&[(ci_operator::TEST, "7"), (ci_operator::TEST, "7")]),
            "build01/ci-op-x:cluster-provisioning@7"
        );
        assert_eq!(
            of(&[(ci_operator::HIVE_PASSWORD, "8"), (ci_operator::HIVE_KUBECONFIG, "9")]),
            "build01/ci-op-x:cluster-provisioning-hive-admin-kubeconfig@9,\
             cluster-provisioning-hive-admin-password@8"
        );
    }

    #[test]
    fn the_keys_that_are_published_are_both_there() {
        let credentials = Credentials {
            kubeconfig: Redacted(b"k".to_vec()),
            password: Redacted(Vec::new()),
            source_revision: String::new(),
        };
        let names: Vec<String> = data(&credentials).into_keys().collect();
        assert_eq!(names, [keys::KUBEADMIN_PASSWORD, keys::KUBECONFIG]);
    }
}
