//! The clusters on which jobs run: one for each kubeconfig in a directory, read again when it changes, each failing alone.
//!
//! Each cluster's watch keeps the namespaces with a job's label and the Secrets of four names, by their metadata only. Callers read the
//! contents themselves.

mod cluster;
mod site;

use std::{
    collections::BTreeMap,
    fs, io,
    path::Path,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use jiff::Timestamp;
use kube::{Client, config::Kubeconfig};
use testplatform_runtime::{
    client::{ClientError, Trust, connect_cluster, token_expiry},
    redacted::Redacted,
};
use tokio::{sync::mpsc::UnboundedSender, task::JoinHandle, time::sleep};

pub use self::{
    cluster::{BuildCluster, JobNamespace, NamespaceLookup, SECRETS},
    site::JobSite,
};

/// How often the directory is read. The kubelet takes a minute to bring a change, so this adds nothing.
const EVERY: Duration = Duration::from_secs(5);

/// Something that may concern an EphemeralCluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildClusterEvent {
    /// The namespace of a job, or a Secret in it. The name of the ProwJob.
    Job(String),
    /// A whole cluster came, went, or can or cannot be seen. Its name.
    Cluster(String),
}

/// All build clusters.
pub struct BuildClusterSet {
    clusters: RwLock<BTreeMap<String, ClusterEntry>>,
    moved: UnboundedSender<BuildClusterEvent>,
    patience: Duration,
}

/// One kubeconfig and what came of it.
struct ClusterEntry {
    content: Redacted<Vec<u8>>,
    /// Expiry of the token in the kubeconfig.
    expires: Option<Timestamp>,
    cluster: Result<Arc<BuildCluster>, ClientError>,
    watching: Option<JoinHandle<()>>,
}

impl Drop for ClusterEntry {
    fn drop(&mut self) {
        if let Some(watching) = &self.watching {
            watching.abort();
        }
    }
}

impl BuildClusterSet {
    /// Creates an empty set. For `patience` a cluster that stops answering counts as unchanged.
    pub fn new(moved: UnboundedSender<BuildClusterEvent>, patience: Duration) -> Arc<Self> {
        Arc::new(Self { clusters: RwLock::default(), moved, patience })
    }

    /// Keeps the clusters equal to the directory until it is dropped.
    pub async fn watch_directory(&self, directory: &Path, trust: Trust) {
        let mut last_error = String::new();
        loop {
            let error = match self.read_directory(directory, trust).await {
                Err(error) => error.to_string(),
                Ok(()) if self.read_entries().is_empty() => "there are none".to_owned(),
                Ok(()) => String::new(),
            };
            if !error.is_empty() && error != last_error {
                // A Secret may be mounted late; until then its clusters are unknown, which every object reports.
                tracing::error!(directory = %directory.display(), error, "build cluster kubeconfigs not read");
            }
            last_error = error;
            sleep(EVERY).await;
        }
    }

    /// Makes the clusters equal to the directory.
    pub async fn read_directory(&self, directory: &Path, trust: Trust) -> io::Result<()> {
        let files = read_files(directory)?;
        let removed: Vec<String> = {
            let mut clusters = self.write_entries();
            let removed = clusters.keys().filter(|name| !files.contains_key(*name)).cloned().collect();
            clusters.retain(|name, _| files.contains_key(name));
            removed
        };
        for name in removed {
            tracing::info!(cluster = name, "build cluster removed: its kubeconfig is gone");
            self.send_event(BuildClusterEvent::Cluster(name));
        }
        for (name, content) in files {
            if self.read_entries().get(&name).is_some_and(|entry| entry.content == content) {
                continue;
            }
            let client = connect_cluster(&directory.join(&name), trust).await;
            self.set_entry(&name, content, client);
        }
        Ok(())
    }

    /// Takes a cluster by its client.
    pub fn add_cluster(&self, name: &str, client: Client) {
        self.set_entry(name, Redacted::default(), Ok(client));
    }

    fn set_entry(&self, name: &str, content: Redacted<Vec<u8>>, client: Result<Client, ClientError>) {
        let text = std::str::from_utf8(&content.0).ok();
        let expires = text.and_then(|text| token_expiry(&Kubeconfig::from_yaml(text).ok()?));
        let mut clusters = self.write_entries();
        match (client, clusters.get_mut(name)) {
            (Ok(client), _) => {
                tracing::info!(cluster = name, "build cluster added");
                let cluster = Arc::new(BuildCluster::new(name, client, self.patience));
                let watching = tokio::spawn(Arc::clone(&cluster).watch_until_dropped(self.moved.clone()));
                let entry = ClusterEntry { content, expires, cluster: Ok(cluster), watching: Some(watching) };
                clusters.insert(name.to_owned(), entry);
            }
            // A client that worked stays in use; its own calls report when it stops working.
            (Err(error), Some(entry)) if entry.cluster.is_ok() => {
                tracing::error!(cluster = name, %error, "build cluster kubeconfig not accepted; the previous one stays in use");
                entry.content = content;
            }
            (Err(error), _) => {
                tracing::error!(cluster = name, %error, "build cluster unusable");
                clusters.insert(
                    name.to_owned(),
                    ClusterEntry { content, expires, cluster: Err(error), watching: None },
                );
            }
        }
        drop(clusters);
        self.send_event(BuildClusterEvent::Cluster(name.to_owned()));
    }

    /// Looks up the namespace of a job on one cluster.
    pub fn find_namespace(&self, cluster: &str, job: &str) -> NamespaceLookup {
        match self.read_entries().get(cluster).map(|entry| &entry.cluster) {
            None => NamespaceLookup::Unknown,
            Some(Err(error)) => NamespaceLookup::Unreachable(error.to_string()),
            Some(Ok(cluster)) => cluster.find_namespace(job),
        }
    }

    /// Looks up a job whose build cluster is unknown: first a namespace on any cluster, then a cluster that cannot be observed now and may have
    /// one. Returns the cluster's name too. The name is empty if there is no kubeconfig at all: the Secret may arrive later or be in the middle
    /// of a replacement, and the job still runs somewhere.
    pub fn find_namespace_anywhere(&self, job: &str) -> Option<(String, NamespaceLookup)> {
        let clusters = self.read_entries();
        if clusters.is_empty() {
            return Some((String::new(), NamespaceLookup::Unknown));
        }
        let mut unseen = None;
        for (name, entry) in &*clusters {
            let found = match &entry.cluster {
                Ok(cluster) => cluster.find_namespace(job),
                Err(error) => NamespaceLookup::Unreachable(error.to_string()),
            };
            match found {
                NamespaceLookup::Here(_) => return Some((name.clone(), found)),
                // Soon more is known, which is worth more than that something is not.
                NamespaceLookup::NotYet => unseen = Some((name.clone(), found)),
                NamespaceLookup::Unreachable(_) => unseen = unseen.or_else(|| Some((name.clone(), found))),
                NamespaceLookup::Unknown | NamespaceLookup::NoNamespace => {}
            }
        }
        unseen
    }

    /// A cluster to talk to, or why not.
    pub fn get_cluster(&self, cluster: &str) -> Result<Arc<BuildCluster>, String> {
        match self.read_entries().get(cluster).map(|entry| &entry.cluster) {
            None => Err("there is no kubeconfig for it".to_owned()),
            Some(Err(error)) => Err(error.to_string()),
            Some(Ok(cluster)) => match cluster.unreachable_reason() {
                Some(error) => Err(error),
                None => Ok(Arc::clone(cluster)),
            },
        }
    }

    /// Each cluster and why it cannot be used, if it cannot.
    pub fn states(&self) -> Vec<(String, Option<String>)> {
        let state = |entry: &ClusterEntry| match &entry.cluster {
            Ok(cluster) => cluster.lag_reason(),
            Err(error) => Some(error.to_string()),
        };
        self.read_entries().iter().map(|(name, entry)| (name.clone(), state(entry))).collect()
    }

    /// Each cluster and the expiry of the token in its kubeconfig, if it says so.
    pub fn token_expiries(&self) -> Vec<(String, Option<Timestamp>)> {
        let entries = self.read_entries();
        entries.iter().map(|(name, entry)| (name.clone(), entry.expires)).collect()
    }

    /// Waits until every cluster was seen, or has had its time.
    pub async fn wait_for_first_list(&self) {
        let waiting =
            || self.read_entries().values().any(|e| e.cluster.as_ref().is_ok_and(|c| c.is_awaited()));
        while waiting() {
            sleep(Duration::from_millis(20)).await;
        }
    }

    fn send_event(&self, moved: BuildClusterEvent) {
        // There is no receiver while the process ends.
        let _ = self.moved.send(moved);
    }

    fn read_entries(&self) -> std::sync::RwLockReadGuard<'_, BTreeMap<String, ClusterEntry>> {
        self.clusters.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_entries(&self) -> std::sync::RwLockWriteGuard<'_, BTreeMap<String, ClusterEntry>> {
        self.clusters.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The files of a directory by name. Names with a dot in front are those of the kubelet's own links.
fn read_files(directory: &Path) -> io::Result<BTreeMap<String, Redacted<Vec<u8>>>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with('.') || !fs::metadata(entry.path()).is_ok_and(|m| m.is_file()) {
            continue;
        }
        files.insert(name, Redacted(fs::read(entry.path())?));
    }
    Ok(files)
}
