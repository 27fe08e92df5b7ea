//! Those who make clusters on the hub, played step by step for scenarios, by itself for demonstrations.
//!
//! Where the real provider fulfils EphemeralClusters, Prow and ci-operator are played (see [`crate::prow`]). Elsewhere the
//! upstream controller is, as `spec/ephemeralcluster.md` has it: what it writes is what the function has to understand too,
//! and only an actor does it late, by halves or not at all.

use std::time::Duration;

use anyhow::Context as _;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    cluster::{At, Cluster, SOON, at},
    hub::{ACTED, NAMESPACE},
    kinds::{EPHEMERAL_CLUSTER, SECRET},
    provider::SITE,
    prow::{JOBS, Job},
};

const FINALIZER: &str = "ephemeralcluster.ci.openshift.io/dependent-prowjob";

/// Who fulfils claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fulfilled {
    /// The real provider.
    ByProvider,
    /// The upstream controller, played, beside it.
    ByActor,
    /// The upstream controller, played, in its place.
    ByActorAlone,
    /// Hive, played, out of a pool; the real provider publishes the credentials.
    ByHive,
    /// HyperShift, played, by a template; the real provider publishes the credentials.
    ByHyperShift,
    /// Cluster API, played, likewise.
    ByClusterApi,
    /// OSAC, played, likewise.
    ByOsac,
    /// CaaS and HyperShift behind it, played, likewise.
    ByCaas,
}

impl Fulfilled {
    /// The namespace in which it does that with EphemeralClusters.
    pub const fn namespace(self) -> &'static str {
        match self {
            Self::ByProvider
            | Self::ByActorAlone
            | Self::ByHive
            | Self::ByHyperShift
            | Self::ByClusterApi
            | Self::ByOsac
            | Self::ByCaas => NAMESPACE,
            Self::ByActor => ACTED,
        }
    }
}

/// The hand of those behind it on one EphemeralCluster.
#[derive(Clone)]
pub struct Controller {
    hub: Cluster,
    name: String,
    fulfilled: Fulfilled,
}

impl Controller {
    /// For the EphemeralCluster of a name.
    pub fn new(hub: &Cluster, name: &str, fulfilled: Fulfilled) -> Self {
        Self { hub: hub.clone(), name: name.to_owned(), fulfilled }
    }

    /// The EphemeralCluster.
    pub fn at(&self) -> At {
        at(EPHEMERAL_CLUSTER, self.fulfilled.namespace(), &self.name)
    }

    /// Its job, once there is one. Only where the provider fulfils it.
    pub async fn job(&self) -> anyhow::Result<Job> {
        Job::of(&self.hub, JOBS, (SITE, &self.hub), &self.name).await
    }

    /// The Secret that is published for it.
    pub fn secret(&self) -> String {
        format!("{}-credentials", self.name)
    }

    /// Its object on the hub.
    pub async fn get(&self) -> anyhow::Result<Option<Value>> {
        self.hub.get(&self.at()).await
    }

    /// Waits until there is one to work on.
    pub async fn until_asked(&self, within: Duration) -> anyhow::Result<Value> {
        self.hub.until_is(&self.at(), within, "there", |_| true).await
    }

    /// Waits until the end was asked for, by the spec or by deletion.
    pub async fn until_told_to_end(&self, within: Duration) -> anyhow::Result<Option<Value>> {
        let told = |ec: Option<&Value>| {
            ec.is_none_or(|ec| {
                ec["spec"]["tearDownCluster"] == true || ec["metadata"]["deletionTimestamp"].is_string()
            })
        };
        self.hub.until(&self.at(), within, "told to end", told).await
    }

    /// Makes the ProwJob: from now on there is something to clean up, and something that costs money.
    pub async fn provision(&self) -> anyhow::Result<()> {
        if self.fulfilled == Fulfilled::ByProvider {
            let job = self.job().await?;
            job.schedule().await?;
            job.run().await?;
            return job.take_namespace().await;
        }
        self.hub.merge(&self.at(), &json!({ "metadata": { "finalizers": [FINALIZER] } })).await?;
        let id = format!("job-of-{}", self.name);
        let url = format!("https://prow.example/view/{id}");
        let conditions = json!([condition("ProwJobCreating", "True", "", "")]);
        self.status(json!({
            "phase": "Provisioning", "prowJobId": id, "prowJobURL": url, "conditions": conditions,
        }))
        .await
    }

    /// Publishes the credentials, then says so.
    pub async fn ready(&self, kubeconfig: &str, password: &str) -> anyhow::Result<()> {
        if self.fulfilled == Fulfilled::ByProvider {
            self.job().await?.leave(kubeconfig, password).await?;
            return self.until_phase("Ready").await;
        }
        self.publish(kubeconfig, password).await?;
        let conditions =
            json!([condition("ProwJobCreating", "True", "", ""), condition("ClusterReady", "True", "", ""),]);
        let secret = self.secret();
        self.status(json!({ "phase": "Ready", "secretRef": secret, "conditions": conditions })).await
    }

    /// Writes the Secret, controlled by the EphemeralCluster; or leaves it to the provider to do that.
    pub async fn publish(&self, kubeconfig: &str, password: &str) -> anyhow::Result<()> {
        if self.fulfilled == Fulfilled::ByProvider {
            return self.job().await?.leave(kubeconfig, password).await;
        }
        let owner = self.get().await?.with_context(|| format!("{} is gone", self.at()))?;
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": self.secret(), "namespace": self.fulfilled.namespace(), "ownerReferences": [{
                "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster", "name": self.name,
                "uid": owner["metadata"]["uid"], "controller": true,
            }] },
            "data": {
                "kubeconfig": BASE64_STANDARD.encode(kubeconfig),
                "kubeAdminPassword": BASE64_STANDARD.encode(password),
            },
        });
        self.hub.apply(&secret).await.map(|_| ())
    }

    /// Begins to tear down.
    pub async fn deprovision(&self) -> anyhow::Result<()> {
        if self.fulfilled == Fulfilled::ByProvider {
            self.job().await?.until_signalled(SOON).await?;
            return self.until_phase("Deprovisioning").await;
        }
        let conditions = json!([
            condition("ProwJobCreating", "True", "", ""),
            condition("ClusterReady", "True", "", ""),
            condition("TestCompleted", "True", "", ""),
        ]);
        self.status(json!({ "phase": "Deprovisioning", "conditions": conditions })).await
    }

    /// The job ended well.
    pub async fn deprovisioned(&self) -> anyhow::Result<()> {
        if self.fulfilled == Fulfilled::ByProvider {
            return self.job().await?.end_unless_ended().await;
        }
        let conditions = json!([
            condition("ProwJobCreating", "True", "", ""),
            condition("ClusterReady", "False", "", ""),
            condition("TestCompleted", "True", "", ""),
            condition("ProwJobCompleted", "True", "ProwJobCompleted", "prowjob state: success"),
        ]);
        self.status(json!({ "phase": "Deprovisioned", "conditions": conditions })).await?;
        self.hub.delete(&at(SECRET, self.fulfilled.namespace(), &self.secret())).await
    }

    /// The job ended badly.
    pub async fn fail(&self) -> anyhow::Result<()> {
        if self.fulfilled == Fulfilled::ByProvider {
            return self.job().await?.end("failure").await;
        }
        let conditions = json!([
            condition("ProwJobCreating", "True", "", ""),
            condition("ProwJobCompleted", "True", "ProwJobFailure", "prowjob state: failure"),
        ]);
        self.status(json!({ "phase": "Failed", "conditions": conditions })).await
    }

    /// Lets go of it, so that it can be deleted. The provider does by itself, once the job has ended.
    pub async fn release(&self) -> anyhow::Result<()> {
        if self.fulfilled == Fulfilled::ByProvider {
            return self.job().await?.end_unless_ended().await;
        }
        match self.hub.merge(&self.at(), &json!({ "metadata": { "finalizers": null } })).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => Ok(other?),
        }
    }

    /// Writes its status: what is given over what is there, conditions as a whole. Only where nobody else does.
    pub async fn status(&self, status: Value) -> anyhow::Result<()> {
        anyhow::ensure!(self.fulfilled != Fulfilled::ByProvider, "the status is the provider's to write");
        self.hub
            .merge_status(&self.at(), &status)
            .await
            .with_context(|| format!("cannot write the status of {}", self.at()))
    }

    async fn until_phase(&self, phase: &str) -> anyhow::Result<()> {
        let is = |ec: &Value| ec["status"]["phase"] == phase;
        self.hub.until_is(&self.at(), SOON, phase, is).await.map(|_| ())
    }

    /// The whole life by itself, with a pause before each step, until the object is gone or its job has ended.
    pub async fn fulfil(&self, kubeconfig: &str, pace: Duration) -> anyhow::Result<()> {
        let day = Duration::from_hours(24);
        self.until_asked(day).await?;
        self.provision().await?;
        let end = self.until_told_to_end(day);
        tokio::pin!(end);
        let built = async {
            tokio::time::sleep(pace).await;
            self.ready(kubeconfig, "").await
        };
        tokio::select! {
            told = &mut end => { told?; }
            built = built => { built?; end.await?; }
        }
        self.deprovision().await?;
        tokio::time::sleep(pace).await;
        self.deprovisioned().await?;
        self.release().await
    }
}

/// A condition as that controller writes it.
pub fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    })
}

/// The time.
#[expect(
    clippy::disallowed_methods,
    reason = "actors live in the real time of the control planes around them"
)]
pub fn now() -> Timestamp {
    Timestamp::now()
}
