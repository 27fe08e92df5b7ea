//! Real controllers of a hub, without Crossplane: what they make of the objects that our function requests.

pub mod conformance;

use std::{process::Command, time::Duration};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{At, Cluster, SOON, at, has},
    cluster_api::{ClusterApiManagers, ClusterApiPrograms, topology},
    control_plane::{ControlPlane, connect},
    hypershift::CLUSTERS,
    kinds::{NODE, SECRET},
    settings::not_run,
    tenant::decoded,
};

/// Name of the Cluster.
const NAME: &str = "made";
/// Time in which Cluster API makes or removes a cluster whose machines take no time.
const LIFE: Duration = Duration::from_mins(4);

/// Not a test by itself: another starts it in a process of its own.
pub fn find() -> anyhow::Result<()> {
    ClusterApiPrograms::find().map(|_| ())
}

pub fn a_directory_without_one_of_the_programs_is_refused() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    for present in ["cluster-api-core", "cluster-api-bootstrap"] {
        std::fs::write(directory.path().join(present), "")?;
    }
    let output = Command::new(std::env::current_exe()?)
        .env(crate::VICTIM, "hub_controllers::find")
        .env("TESTPLATFORM_CLUSTER_API", directory.path())
        .output()?;
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let missing = format!("{}, and there is no cluster-api-control-plane in it", directory.path().display());
    ensure!(!output.status.success() && message.contains(&missing), "{message}");
    Ok(())
}

/// Also shows who is named when a program dies in the middle.
pub async fn real_cluster_api_makes_a_cluster_that_is_used_and_removed() -> anyhow::Result<()> {
    let Some(programs) = ClusterApiPrograms::find()? else {
        not_run("the real Cluster API", "this machine cannot have its programs");
        return Ok(());
    };
    let plane = ControlPlane::start("hub", &Binaries::ensure()?).await?;
    let hub = plane.cluster();
    let managers = Box::pin(ClusterApiManagers::start(&programs, plane.nest(), &plane)).await?;
    eprintln!("Cluster API {}", managers.version());
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": CLUSTERS } });
    hub.apply(&namespace).await?;
    let lived = live(hub).await;
    managers.check()?;
    lived?;

    // The first of them is core.
    let core = managers.ids().first().copied().context("no managers")?;
    Command::new("kill").args(["-s", "KILL", &core.to_string()]).status()?;
    let died = async {
        while managers.check().is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(SOON, died).await.context("nobody noticed its death")?;
    let message = managers.check().err().map(|error| format!("{error:#}")).unwrap_or_default();
    ensure!(message.starts_with("cluster-api-core ended with signal: 9"), "{message}");
    ensure!(message.contains("Stopping") || message.contains("controller"), "its log is missing: {message}");
    Ok(())
}

async fn live(hub: &Cluster) -> anyhow::Result<()> {
    // The count comes up to a second after the condition.
    let is_up = |cluster: &Value| {
        has(cluster, "Available", "True", "")
            && has(cluster, "TopologyReconciled", "True", "")
            && cluster["status"]["workers"]["availableReplicas"] == 1
    };
    hub.apply(&requested(NAME, "v1.31.2", 1))
        .await
        .context("its webhooks refuse the Cluster that our function requests")?;
    let cluster = watched(hub, &topology(NAME), "Available", is_up).await?;
    let variables = cluster["spec"]["topology"]["variables"].to_string();
    ensure!(variables.contains("apiServerLoadBalancer"), "the webhook sets no default: {variables}");

    let secret = hub.get(&at(SECRET, CLUSTERS, &format!("{NAME}-kubeconfig"))).await?.context("no Secret")?;
    let kubeconfig = decoded(&secret).remove("value").context("no kubeconfig")?;
    let nodes = Cluster::new(NAME, connect(&kubeconfig).await?).list(NODE).await?;
    ensure!(nodes.len() == 2, "{} nodes", nodes.len());

    let unknown = json!({ "spec": { "topology": { "classRef": { "name": "none" } } } });
    let refused = hub.merge(&topology(NAME), &unknown).await.err().map(|error| error.to_string());
    ensure!(refused.is_some_and(|error| error.contains("denied the request")), "its webhooks are off");

    hub.delete(&topology(NAME)).await?;
    hub.until_gone(&topology(NAME), LIFE).await
}

/// Waits, and prints each report of conditions on the way.
async fn watched(hub: &Cluster, at: &At, what: &str, is: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
    let begun = std::time::Instant::now();
    let mut last = String::new();
    hub.until_is(at, LIFE, what, |cluster| {
        let conditions = cluster["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
        let short = |c: &Value| format!("{}={}/{}", c["type"], c["status"], c["reason"]).replace('"', "");
        let report: Vec<String> = conditions.iter().map(short).collect();
        let report = report.join(" ");
        if report != last {
            eprintln!("{:.1} s: {report}", begun.elapsed().as_secs_f32());
            last = report;
        }
        is(cluster)
    })
    .await
}

/// A Cluster as our function requests it with the example template.
fn requested(name: &str, version: &str, nodes: i64) -> Value {
    let timeouts = json!({
        "nodeDeletionTimeoutSeconds": 600, "nodeDrainTimeoutSeconds": 600, "nodeVolumeDetachTimeoutSeconds": 300,
    });
    let workers = json!([{
        "class": "default-worker", "name": "default-worker", "replicas": nodes, "deletion": timeouts,
        "metadata": { "annotations": { "testplatform.ci.openshift.org/node-class": "default" } },
        "healthCheck": { "enabled": true, "checks": {
            "nodeStartupTimeoutSeconds": 1800,
            "unhealthyNodeConditions": [{ "type": "Ready", "status": "False", "timeoutSeconds": 300 }],
        } },
    }]);
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": { "name": name, "namespace": CLUSTERS },
        "spec": {
            "clusterNetwork": {
                "pods": { "cidrBlocks": ["10.100.0.0/16"] }, "services": { "cidrBlocks": ["10.254.0.0/16"] },
            },
            "topology": {
                "classRef": { "name": "openstack-v3", "namespace": "magnum-system" },
                "version": version,
                "controlPlane": { "replicas": 1, "deletion": timeouts },
                "workers": { "machineDeployments": workers },
                "variables": [{ "name": "cni", "value": "calico" }],
            },
        },
    })
}
