//! Giving a cluster back.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    actors::{Controller, condition},
    cluster::{SOON, at_root},
    kinds::ADMISSION_POLICY,
    patience::{self, longer},
    tenant::PASSWORD,
};

use super::{call::LONG, stage::Stage};

/// A cluster that is ready.
async fn ready(stage: &Stage<'_>) -> anyhow::Result<Controller> {
    let run = stage.provision().start()?;
    let controller = stage.tenant.controller().await?;
    controller.until_asked(SOON).await?;
    controller.provision().await?;
    controller.ready(testplatform_tests::tenant::KUBECONFIG, PASSWORD).await?;
    run.ended(LONG).await?.with(0)?;
    Ok(controller)
}

pub async fn ends_well(stage: &Stage<'_>) -> anyhow::Result<()> {
    let controller = ready(stage).await?;
    let mut end = stage.deprovision().tools(&stage.tools.oc).with("ownerUid", &stage.owner).start()?;
    controller.until_told_to_end(SOON).await?;
    controller.deprovision().await?;
    end.until_says("Deprovisioning: the cluster is being torn down", SOON).await?;
    end.runs()?;
    controller.deprovisioned().await?;
    end.ended(LONG).await?.with(0)?.saying("The cluster is gone: ProwJobCompleted")?;
    // Once more, as when a pipeline ends what its test ended already.
    stage.deprovision().run(LONG).await?.with(0)?.saying("The cluster is gone")?;
    Ok(())
}

pub async fn ends_badly(stage: &Stage<'_>) -> anyhow::Result<()> {
    let controller = ready(stage).await?;
    let end = stage.deprovision().start()?;
    controller.until_told_to_end(SOON).await?;
    controller.fail().await?;
    let ended = end.ended(LONG).await?.with(1)?;
    ended.saying("ended badly")?.saying("ProwJobFailure: prowjob state: failure")?;
    Ok(())
}

/// As our provider says it: the job was told to tear down, and failed at that.
pub async fn leaves_something(stage: &Stage<'_>) -> anyhow::Result<()> {
    let controller = ready(stage).await?;
    let end = stage.deprovision().start()?;
    controller.until_told_to_end(SOON).await?;
    let words = "ProwJob x ended as failure after the signal; something may be left behind";
    let failed = condition("ProwJobCompleted", "True", "DeprovisionFailed", words);
    controller.status(json!({ "phase": "Failed", "conditions": [failed] })).await?;
    end.ended(LONG).await?.with(1)?.saying("DeprovisionFailed: ProwJob x ended as failure")?;
    Ok(())
}

/// As our provider says it: nobody had asked for the end of a job that ended badly.
pub async fn ended_by_itself(stage: &Stage<'_>) -> anyhow::Result<()> {
    let controller = ready(stage).await?;
    let words = "ProwJob x ended as error, nobody had asked for it";
    let failed = condition("ProwJobCompleted", "True", "EndedWithoutSignal", words);
    controller.status(json!({ "phase": "Failed", "conditions": [failed] })).await?;
    let end = stage.deprovision().start()?;
    end.ended(LONG).await?.with(1)?.saying("EndedWithoutSignal: ProwJob x ended as error")?;
    Ok(())
}

pub async fn nothing_there(stage: &Stage<'_>) -> anyhow::Result<()> {
    stage.deprovision().run(LONG).await?.with(0)?.saying("there is nothing to tear down")?;
    // Somebody else's has our name.
    stage.tenant.ask(&json!({})).await?;
    for owners in [json!([]), stage.owned_by_another().await?] {
        let owned = json!({ "metadata": { "ownerReferences": owners } });
        stage.tenant.konflux().merge(&stage.tenant.claim(), &owned).await?;
        let ended = stage.deprovision().with("ownerUid", &stage.owner).run(LONG).await?.with(0)?;
        ended.saying("belongs to somebody else and is left alone")?;
        let claim = stage.tenant.konflux().get(&stage.tenant.claim()).await?.context("no claim")?;
        ensure!(claim["spec"]["tearDownCluster"].is_null(), "{claim}");
    }
    stage.deprovision().with("wait", "maybe").run(LONG).await?.with(1)?.saying("parameter wait")?;
    stage.deprovision().with("timeout", "soon").run(LONG).await?.with(1)?.saying("parameter timeout")?;
    Ok(())
}

pub async fn not_in_time_either(stage: &Stage<'_>) -> anyhow::Result<()> {
    let controller = ready(stage).await?;
    let time = longer(Duration::from_secs(15)).as_secs().to_string();
    let end = stage.deprovision().with("timeout", &time).start()?;
    controller.until_told_to_end(SOON).await?;
    controller.deprovision().await?;
    let ended = end.ended(LONG).await?.with(1)?;
    ended.saying(&format!("not torn down within {time}, which goes on: Deprovisioning"))?;
    // Cancelled is no failure of the teardown either.
    let mut end = stage.deprovision().start()?;
    end.until_says("Deprovisioning: ", SOON).await?;
    end.cancelled().await?.with(143)?.saying("what was asked for goes on")?;
    Ok(())
}

pub async fn without_waiting(stage: &Stage<'_>) -> anyhow::Result<()> {
    let controller = ready(stage).await?;
    let ended = stage.deprovision().with("wait", "false").run(LONG).await?;
    ended.with(0)?.saying("is asked for")?.not_saying("gone")?;
    controller.until_told_to_end(SOON).await?;
    Ok(())
}

pub async fn deleted_while_waiting(stage: &Stage<'_>) -> anyhow::Result<()> {
    let controller = ready(stage).await?;
    let mut end = stage.deprovision().start()?;
    controller.until_told_to_end(SOON).await?;
    end.until_says("is asked for", SOON).await?;
    stage.tenant.konflux().delete(&stage.tenant.claim()).await?;
    end.ended(LONG).await?.with(0)?.saying("was deleted, which tears down what it had")?;
    let told = |ec: Option<&Value>| ec.is_none_or(|ec| ec["metadata"]["deletionTimestamp"].is_string());
    stage.tenant.engine.hub.cluster().until(&controller.at(), SOON, "deleted too", told).await?;
    Ok(())
}

/// The script does not repeat a request that the API server refuses for good.
pub async fn refused_for_good(stage: &Stage<'_>) -> anyhow::Result<()> {
    const WORDS: &str = "clusters of this namespace are ended by hand";
    let (konflux, claim) = (stage.tenant.konflux(), stage.tenant.claim());
    stage.tenant.ask(&json!({})).await?;
    let name = format!("by-hand-{}", stage.tenant.name);
    let api = "admissionregistration.k8s.io/v1";
    let here = json!({ "matchLabels": { "kubernetes.io/metadata.name": stage.tenant.namespace } });
    let policy = json!({
        "apiVersion": api, "kind": ADMISSION_POLICY.kind, "metadata": { "name": name },
        "spec": {
            "matchConstraints": { "resourceRules": [{
                "apiGroups": ["ci.openshift.org"], "apiVersions": ["v1alpha1"],
                "resources": ["testplatformclusters"], "operations": ["UPDATE"],
            }] },
            "validations": [
                { "expression": "!has(object.spec.tearDownCluster) || !object.spec.tearDownCluster", "message": WORDS },
                { "expression": "!has(object.metadata.labels) || !('probe' in object.metadata.labels)" },
            ],
        },
    });
    let binding = json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": { "name": name },
        "spec": { "policyName": name, "validationActions": ["Deny"], "matchResources": { "namespaceSelector": here } },
    });
    konflux.apply_all(&[policy, binding]).await?;
    // It takes a while until a policy is in force.
    let probe = |value: Value| json!({ "metadata": { "labels": { "probe": value } } });
    let in_force = async {
        while konflux.merge(&claim, &probe("x".into())).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    };
    patience::timeout(SOON, in_force).await.context("the policy never is in force")?;
    konflux.merge(&claim, &probe(Value::Null)).await?;

    let ended = stage.deprovision().run(LONG).await?.with(1)?;
    ended.saying("trying again")?.saying("Error: the end of the cluster is refused")?.saying(WORDS)?;
    konflux.delete(&at_root(ADMISSION_POLICY, &name)).await
}
