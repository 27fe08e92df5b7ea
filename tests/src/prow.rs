//! Those behind the provider, played: Prow, which runs jobs on build clusters, and ci-operator, which runs in them.
//!
//! They do what `spec/ephemeralcluster.md` says of them, step by step, so that a scenario can have each of them late,
//! badly, twice or never; see [`crate::manners`].

pub mod playing;

use std::time::Duration;

use anyhow::Context as _;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use testplatform_apis::names::{ci_operator, ephemeral_cluster};

use crate::{
    actors::now,
    cluster::{At, Cluster, SOON, at, at_root},
    kinds::{NAMESPACE, PROW_JOB, SECRET},
};

/// Namespace of the ProwJobs.
pub const JOBS: &str = "ci";

/// The hand on the one job of an EphemeralCluster.
#[derive(Clone)]
pub struct Job {
    hub: Cluster,
    /// Its namespace.
    jobs: String,
    /// The build cluster on which it will run.
    site: Cluster,
    site_name: String,
    name: String,
    /// How its credentials come.
    hive: bool,
}

impl Job {
    /// Waits until there is a ProwJob for the EphemeralCluster of a name among the `jobs` of a namespace.
    pub async fn of(
        hub: &Cluster,
        jobs: &str,
        site: (&str, &Cluster),
        ephemeral_cluster: &str,
    ) -> anyhow::Result<Self> {
        let labelled = |job: &Value| job["metadata"]["labels"][ephemeral_cluster::LABEL] == ephemeral_cluster;
        let job = hub.until_some(PROW_JOB, jobs, SOON, "for the EphemeralCluster", labelled).await?;
        Self::read(hub, jobs, site, &job)
    }

    /// For a ProwJob that was read.
    pub fn read(hub: &Cluster, jobs: &str, site: (&str, &Cluster), job: &Value) -> anyhow::Result<Self> {
        let name = job["metadata"]["name"].as_str().context("a ProwJob without a name")?;
        let arguments = &job["spec"]["pod_spec"]["containers"][0]["args"];
        let hive = arguments
            .as_array()
            .into_iter()
            .flatten()
            .any(|a| a.as_str().is_some_and(|a| a.starts_with("--hive-kubeconfig")));
        Ok(Self {
            hub: hub.clone(),
            jobs: jobs.to_owned(),
            site: site.1.clone(),
            site_name: site.0.to_owned(),
            name: name.to_owned(),
            hive,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `true` if its credentials come from Hive.
    pub fn takes_from_hive(&self) -> bool {
        self.hive
    }

    /// The ProwJob.
    pub fn at(&self) -> At {
        at(PROW_JOB, &self.jobs, &self.name)
    }

    /// Where it can be watched.
    pub fn url(&self) -> String {
        format!("https://prow.example/view/{}", self.name)
    }

    /// ci-operator's namespace.
    pub fn namespace(&self) -> String {
        format!("ci-op-{}", &self.name[..8])
    }

    /// The dispatcher has chosen a build cluster.
    pub async fn schedule(&self) -> anyhow::Result<()> {
        self.change(&json!({
            "spec": { "cluster": self.site_name },
            "status": { "state": "triggered" },
        }))
        .await
    }

    /// The pod runs.
    pub async fn run(&self) -> anyhow::Result<()> {
        let status = json!({ "state": "pending", "pendingTime": time(), "url": self.url() });
        self.change(&json!({ "status": status })).await
    }

    /// ci-operator has a namespace, and has said whose it is.
    pub async fn take_namespace(&self) -> anyhow::Result<()> {
        self.namespace_labelled(&json!({ ci_operator::JOB_ID: self.name })).await
    }

    /// ci-operator's namespace with labels.
    pub async fn namespace_labelled(&self, labels: &Value) -> anyhow::Result<()> {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": { "name": self.namespace(), "labels": labels },
        });
        self.site.apply(&namespace).await.map(|_| ())
    }

    /// The steps have left credentials.
    pub async fn leave(&self, kubeconfig: &str, password: &str) -> anyhow::Result<()> {
        let secrets = if self.hive {
            vec![
                (ci_operator::HIVE_KUBECONFIG, json!({ "kubeconfig": encoded(kubeconfig) })),
                (ci_operator::HIVE_PASSWORD, json!({ "password": encoded(password) })),
            ]
        } else {
            let data = json!({ "kubeconfig": encoded(kubeconfig), "kubeadmin-password": encoded(password) });
            vec![(ci_operator::TEST, data)]
        };
        for (name, data) in secrets {
            self.secret(name, data).await?;
        }
        Ok(())
    }

    /// A Secret in ci-operator's namespace.
    pub async fn secret(&self, name: &str, data: Value) -> anyhow::Result<()> {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": name, "namespace": self.namespace() },
            "data": data,
        });
        self.site.apply(&secret).await.map(|_| ())
    }

    /// Waits for the signal on which the wait step ends.
    pub async fn until_signalled(&self, within: Duration) -> anyhow::Result<()> {
        let signal = at(SECRET, &self.namespace(), ci_operator::SIGNAL);
        self.site.until_is(&signal, within, "there", |_| true).await.map(|_| ())
    }

    /// The job ends in a state. ci-operator's namespace goes.
    pub async fn end(&self, state: &str) -> anyhow::Result<()> {
        self.complete(state).await?;
        self.site.delete(&at_root(NAMESPACE, &self.namespace())).await
    }

    /// The job ends in a state. Its namespace stays.
    pub async fn complete(&self, state: &str) -> anyhow::Result<()> {
        let status = json!({ "state": state, "completionTime": time() });
        self.change(&json!({ "status": status })).await
    }

    /// Somebody deletes the job. Its pods on the build cluster go on.
    pub async fn delete(&self) -> anyhow::Result<()> {
        self.hub.delete(&self.at()).await
    }

    /// The job ends well, unless it has ended or is gone.
    pub async fn end_unless_ended(&self) -> anyhow::Result<()> {
        match self.hub.get(&self.at()).await? {
            Some(job)
                if ["scheduling", "triggered", "pending"].iter().any(|s| job["status"]["state"] == *s) =>
            {
                self.end("success").await
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Waits until the job is in a state.
    pub async fn until_state(&self, within: Duration, state: &str) -> anyhow::Result<Value> {
        self.hub.until_is(&self.at(), within, state, |job| job["status"]["state"] == state).await
    }

    async fn change(&self, patch: &Value) -> anyhow::Result<()> {
        self.hub.merge(&self.at(), patch).await.with_context(|| format!("cannot change {}", self.at()))
    }
}

/// As it is in the data of a Secret.
pub fn encoded(text: &str) -> String {
    BASE64_STANDARD.encode(text)
}

fn time() -> String {
    now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
