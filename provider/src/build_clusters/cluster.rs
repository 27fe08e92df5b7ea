//! One build cluster: five watches, and what they said.

use std::{
    collections::BTreeMap,
    panic::AssertUnwindSafe,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use futures_util::{FutureExt as _, future::join_all};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Api, Client, ResourceExt as _,
    core::PartialObjectMeta,
    runtime::watcher::{Config, Event},
};
use testplatform_apis::names::ci_operator;
use testplatform_runtime::{
    table::Table,
    watch::{self, Health},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc::UnboundedSender},
    time::{Instant, sleep},
};

use super::BuildClusterEvent;
use crate::{build_clusters::JobSite, credentials::NamespaceCredentials};

/// Names of the watched Secrets; RBAC allows no others.
pub const SECRETS: [&str; 4] =
    [ci_operator::TEST, ci_operator::HIVE_KUBECONFIG, ci_operator::HIVE_PASSWORD, ci_operator::SIGNAL];

/// How many workers may wait for one cluster at a time; the others go on with what lies on other clusters.
const AT_A_TIME: usize = 3;

/// Before everything is watched again that a bug has ended.
const AFTER_A_BUG: Duration = Duration::from_secs(5);

/// A build cluster.
pub struct BuildCluster {
    name: String,
    client: Client,
    known: RwLock<KnownNamespaces>,
    /// Of the namespaces, then of the Secrets in the order of [`SECRETS`].
    health: [Health; 5],
    begun: Instant,
    patience: Duration,
    callers: Arc<Semaphore>,
}

#[derive(Default)]
struct KnownNamespaces {
    namespaces: Table<NamespaceInfo>,
    /// resourceVersions by namespace, in the order of [`SECRETS`].
    secrets: [Table<String>; 4],
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct NamespaceInfo {
    job: String,
    created: Option<Timestamp>,
    terminating: bool,
}

/// Lookup result for a job's namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamespaceLookup {
    /// There is no kubeconfig for the cluster.
    Unknown,
    /// The cluster was not seen yet, or not for a moment; soon more is known.
    NotYet,
    /// The cluster cannot be observed; message of the cluster or of the network.
    Unreachable(String),
    /// The cluster has no namespace for the job.
    NoNamespace,
    /// The namespace.
    Here(JobNamespace),
}

/// A job's namespace, the newest if there are several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobNamespace {
    /// Its name.
    pub namespace: String,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// resourceVersions of the Secrets in it.
    pub secrets: BTreeMap<&'static str, String>,
}

impl JobNamespace {
    /// As the world has it.
    pub fn into_site(self, cluster: String, source: NamespaceCredentials) -> JobSite {
        let signalled = self.secrets.contains_key(ci_operator::SIGNAL);
        JobSite::Namespace { cluster, name: self.namespace, terminating: self.terminating, source, signalled }
    }
}

impl BuildCluster {
    pub(super) fn new(name: &str, client: Client, patience: Duration) -> Self {
        let [a, b, c, d] = SECRETS;
        Self {
            name: name.to_owned(),
            client,
            known: RwLock::default(),
            health: ["namespaces", a, b, c, d].map(Health::new),
            begun: Instant::now(),
            patience,
            callers: Arc::new(Semaphore::new(AT_A_TIME)),
        }
    }

    /// Its client.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Leave to ask it for something, if not too many wait for it already.
    pub fn acquire_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.callers).try_acquire_owned().ok()
    }

    /// Lookup result for a job's namespace.
    pub fn find_namespace(&self, job: &str) -> NamespaceLookup {
        if let Some(error) = self.unreachable_reason() {
            return NamespaceLookup::Unreachable(error);
        }
        // Without its Secrets a namespace would look as if there were none.
        if !self.health.iter().all(Health::listed) {
            return NamespaceLookup::NotYet;
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let of_job = known.namespaces.iter().filter(|(_, place)| place.job == job);
        // A terminating namespace counts only if there is no newer one.
        let best = of_job.max_by_key(|(name, place)| (!place.terminating, place.created, *name));
        match best {
            // A missing namespace may exist by now.
            None if self.lag_reason().is_some() => NamespaceLookup::NotYet,
            None => NamespaceLookup::NoNamespace,
            Some((namespace, place)) => {
                let of = |table: &Table<String>| table.get(namespace).cloned();
                let secrets = SECRETS.into_iter().zip(&known.secrets);
                NamespaceLookup::Here(JobNamespace {
                    namespace: namespace.clone(),
                    terminating: place.terminating,
                    secrets: secrets.filter_map(|(name, table)| Some((name, of(table)?))).collect(),
                })
            }
        }
    }

    /// Why what is known may be old, from the first moment on.
    pub fn lag_reason(&self) -> Option<String> {
        self.health.iter().find_map(|health| Some(format!("{}: {}", health.name(), health.lag_reason()?.1)))
    }

    /// Why it counts as away. None as long as it may only have stumbled.
    pub fn unreachable_reason(&self) -> Option<String> {
        self.health.iter().find_map(|health| {
            let (since, why) = health.lag_reason()?;
            (since >= self.patience).then(|| format!("{}: {why}", health.name()))
        })
    }

    /// Whether it has neither been seen nor had its time.
    pub(super) fn is_awaited(&self) -> bool {
        self.begun.elapsed() < self.patience && !self.health.iter().all(Health::listed)
    }

    /// Watches until it is dropped. It is a task of its own, and the last observation would stay forever if a bug ended it.
    pub(super) async fn watch_until_dropped(self: Arc<Self>, moved: UnboundedSender<BuildClusterEvent>) {
        let lost = self.report_when_lost(&moved);
        let watched = async {
            loop {
                let watches = AssertUnwindSafe(self.watch_all(&moved)).catch_unwind();
                let why = if watches.await.is_ok() { "its watches ended" } else { "its watches panicked" };
                tracing::error!(cluster = self.name, why, "watches restarted after a bug");
                for health in &self.health {
                    health.failed(why.to_owned());
                }
                sleep(AFTER_A_BUG).await;
            }
        };
        tokio::join!(watched, lost);
    }

    async fn watch_all(&self, moved: &UnboundedSender<BuildClusterEvent>) {
        let namespaces = self.watch_namespaces(moved);
        let secrets = join_all((0..SECRETS.len()).map(|which| self.watch_secrets(which, moved)));
        tokio::join!(namespaces, secrets);
    }

    async fn watch_namespaces(&self, moved: &UnboundedSender<BuildClusterEvent>) {
        let api: Api<PartialObjectMeta<Namespace>> = Api::all(self.client());
        let config = Config::default().labels(ci_operator::JOB_ID);
        watch::keep_watching(api, config, &self.health[0], |event| {
            let (is_listed, gone) = (matches!(event, Event::InitDone), job_of_deleted(&event));
            let jobs: Vec<String> = {
                let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
                let keys = known.namespaces.apply_event(&event, namespace_info);
                keys.iter().filter_map(|key| known.namespaces.get(key)).map(|p| p.job.clone()).collect()
            };
            self.send_events(moved, is_listed, jobs.into_iter().chain(gone));
        })
        .await;
    }

    async fn watch_secrets(&self, which: usize, moved: &UnboundedSender<BuildClusterEvent>) {
        let api: Api<PartialObjectMeta<Secret>> = Api::all(self.client());
        let config = Config::default().fields(&format!("metadata.name={}", SECRETS[which]));
        watch::keep_watching(api, config, &self.health[which + 1], |event| {
            let is_listed = matches!(event, Event::InitDone);
            let jobs: Vec<String> = {
                let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
                let keys = known.secrets[which]
                    .apply_event(&event, |s| Some((s.namespace()?, s.resource_version()?)));
                keys.iter().filter_map(|key| known.namespaces.get(key)).map(|p| p.job.clone()).collect()
            };
            self.send_events(moved, is_listed, jobs.into_iter());
        })
        .await;
    }

    /// After a list not only the changes matter: objects that waited for the cluster need a reconcile.
    fn send_events(
        &self,
        moved: &UnboundedSender<BuildClusterEvent>,
        is_listed: bool,
        jobs: impl Iterator<Item = String>,
    ) {
        let all = if is_listed {
            vec![BuildClusterEvent::Cluster(self.name.clone())]
        } else {
            jobs.map(BuildClusterEvent::Job).collect()
        };
        for one in all {
            // There is no receiver while the process ends.
            let _ = moved.send(one);
        }
    }

    /// No event marks the end of a cluster's patience, so it is reported here.
    async fn report_when_lost(&self, moved: &UnboundedSender<BuildClusterEvent>) {
        let mut lost = false;
        loop {
            sleep(Duration::from_secs(1)).await;
            let error = self.unreachable_reason();
            if error.is_some() != lost {
                lost = error.is_some();
                if let Some(error) = error {
                    tracing::warn!(cluster = self.name, error, "build cluster lost");
                } else {
                    tracing::info!(cluster = self.name, "build cluster is back");
                }
                let _ = moved.send(BuildClusterEvent::Cluster(self.name.clone()));
            }
        }
    }
}

fn namespace_info(namespace: &PartialObjectMeta<Namespace>) -> Option<(String, NamespaceInfo)> {
    let place = NamespaceInfo {
        job: namespace.labels().get(ci_operator::JOB_ID)?.clone(),
        created: namespace.creation_timestamp().map(|time| time.0),
        terminating: namespace.metadata.deletion_timestamp.is_some(),
    };
    Some((namespace.name_any(), place))
}

/// A deleted namespace is no longer in the table when its job is looked up.
fn job_of_deleted(event: &Event<PartialObjectMeta<Namespace>>) -> Option<String> {
    match event {
        Event::Delete(namespace) => namespace.labels().get(ci_operator::JOB_ID).cloned(),
        _ => None,
    }
}
