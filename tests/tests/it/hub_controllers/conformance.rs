//! Conformance of the fake of Cluster API. One Cluster lives through creation, a resize, an upgrade and its deletion on the fake and on the real
//! controllers, and one table of observations holds for both lives.
//!
//! Times are not compared: the fake is faster. An observation is about states that somebody who watches sees, and about their order.

mod observations;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{Cluster, SOON, at, has},
    cluster_api::{ClusterApiManagers, ClusterApiPrograms, FakeClusterApi, definitions, topology},
    control_plane::ControlPlane,
    hub,
    hypershift::CLUSTERS,
    kinds::SECRET,
    settings::not_run,
    witness::Witness,
};

use super::requested;

/// Name of the Cluster.
const NAME: &str = "observed";
/// Version at its creation, and after the upgrade.
const VERSIONS: [&str; 2] = ["v1.31.2", "v1.32.0"];
/// Time for one stage of its life. An upgrade takes the real controllers about a minute.
const STAGE: Duration = Duration::from_mins(5);

/// Stage of the life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Creation,
    Resize,
    Upgrade,
    Deletion,
}

/// What somebody saw who watched.
#[derive(Clone, Debug)]
enum Sighting {
    /// A state of the Cluster.
    Cluster(Box<Value>),
    /// Whether the Secret with its kubeconfig exists.
    Kubeconfig(bool),
}

/// A life, as it was seen.
#[derive(Debug)]
struct Story {
    sightings: Vec<(Stage, Sighting)>,
    /// Secrets of the Cluster when it was ready.
    secrets: Vec<Value>,
    /// Secrets of the Cluster when it was gone.
    secrets_left: Vec<Value>,
}

impl Story {
    /// States of the Cluster in a stage.
    fn clusters(&self, stage: Stage) -> impl Iterator<Item = &Value> {
        self.sightings.iter().filter_map(move |(at, sighting)| match sighting {
            Sighting::Cluster(cluster) if *at == stage => Some(&**cluster),
            Sighting::Cluster(_) | Sighting::Kubeconfig(_) => None,
        })
    }

    /// Position of the first state of the Cluster of which something holds.
    fn first(&self, is: impl Fn(&Value) -> bool) -> Option<usize> {
        self.sightings.iter().position(|(_, sighting)| match sighting {
            Sighting::Cluster(cluster) => is(cluster),
            Sighting::Kubeconfig(_) => false,
        })
    }

    /// Position at which the Secret with the kubeconfig was first seen.
    fn first_kubeconfig(&self) -> Option<usize> {
        self.sightings.iter().position(|(_, sighting)| matches!(sighting, Sighting::Kubeconfig(true)))
    }
}

/// The stage under way, and what was seen in each.
type Course = (Stage, Vec<(Stage, Sighting)>);

/// Records sightings.
#[derive(Clone)]
struct Recorder {
    begun: Instant,
    known: Arc<Mutex<Course>>,
}

impl Recorder {
    fn new() -> Self {
        Self { begun: Instant::now(), known: Arc::new(Mutex::new((Stage::Creation, vec![]))) }
    }

    fn begin(&self, stage: Stage) {
        eprintln!("{:.1} s: {stage:?}", self.begun.elapsed().as_secs_f32());
        self.known.lock().unwrap_or_else(PoisonError::into_inner).0 = stage;
    }

    fn record(&self, sighting: Sighting) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let at = self.begun.elapsed().as_secs_f32();
        match &sighting {
            Sighting::Cluster(cluster) => eprintln!("{at:.1} s: {}", summary(cluster)),
            Sighting::Kubeconfig(exists) => eprintln!("{at:.1} s: kubeconfig: {exists}"),
        }
        let stage = known.0;
        known.1.push((stage, sighting));
    }
}

/// Phase, generations, counts and conditions in one line.
fn summary(cluster: &Value) -> String {
    let conditions = cluster["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let short =
        |c: &Value| format!("{}={}/{}@{}", c["type"], c["status"], c["reason"], c["observedGeneration"]);
    let conditions: Vec<String> = conditions.iter().map(short).collect();
    let status = &cluster["status"];
    let counts = |of: &str| {
        let of = &status[of];
        let versions: Vec<&str> =
            of["versions"].as_array().into_iter().flatten().filter_map(|v| v["version"].as_str()).collect();
        format!("{}/{}/{} {versions:?}", of["availableReplicas"], of["replicas"], of["desiredReplicas"])
    };
    let line = format!(
        "{} generation {}/{} control plane {} workers {} {}",
        status["phase"],
        status["observedGeneration"],
        cluster["metadata"]["generation"],
        counts("controlPlane"),
        counts("workers"),
        conditions.join(" ")
    );
    line.replace('"', "")
}

/// The fake, on a hub of its own.
pub async fn the_fake_of_cluster_api_conforms() -> anyhow::Result<()> {
    let plane = ControlPlane::start("hub", &Binaries::ensure()?).await?;
    for definition in definitions()? {
        hub::define(plane.cluster(), &definition).await?;
    }
    let _fake = FakeClusterApi::start(plane.cluster());
    check(&live(plane.cluster()).await?, "the fake")
}

/// The real controllers, on a hub of their own.
pub async fn the_real_cluster_api_conforms() -> anyhow::Result<()> {
    let Some(programs) = ClusterApiPrograms::find()? else {
        not_run("the real Cluster API", "this machine cannot have its programs");
        return Ok(());
    };
    let plane = ControlPlane::start("hub", &Binaries::ensure()?).await?;
    let managers = Box::pin(ClusterApiManagers::start(&programs, plane.nest(), &plane)).await?;
    let story = live(plane.cluster()).await;
    managers.check()?;
    check(&story?, &format!("Cluster API {}", managers.version()))
}

/// Every observation, or those that do not hold, with their sources.
fn check(story: &Story, who: &str) -> anyhow::Result<()> {
    let mut failed = Vec::new();
    for observation in observations::ALL {
        if let Err(error) = (observation.holds)(story) {
            failed.push(format!("{}: {error} (source: {})", observation.name, observation.source));
        }
    }
    eprintln!(
        "{who}: {} of {} observations hold",
        observations::ALL.len() - failed.len(),
        observations::ALL.len()
    );
    if failed.is_empty() { Ok(()) } else { bail!("{who}:\n{}", failed.join("\n")) }
}

/// From creation to the end.
async fn live(hub: &Cluster) -> anyhow::Result<Story> {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": CLUSTERS } });
    hub.apply(&namespace).await?;
    let recorder = Recorder::new();
    let of_cluster = recorder.clone();
    let watched = Witness::of(hub, &topology(NAME), move |cluster| {
        if let Some(cluster) = cluster {
            of_cluster.record(Sighting::Cluster(Box::new(cluster.clone())));
        }
        true
    })
    .await?;
    let of_secret = recorder.clone();
    let _watched_secret =
        Witness::of(hub, &at(SECRET, CLUSTERS, &format!("{NAME}-kubeconfig")), move |secret| {
            of_secret.record(Sighting::Kubeconfig(secret.is_some()));
            true
        })
        .await?;

    let [first, second] = VERSIONS;
    hub.apply(&requested(NAME, first, 1)).await.context("the Cluster is refused")?;
    until_settled(hub, first, 1).await?;
    let secrets = secrets_of_cluster(hub).await?;
    watched.verdict().await?;
    recorder.begin(Stage::Resize);
    hub.apply(&requested(NAME, first, 2)).await?;
    until_settled(hub, first, 2).await?;
    watched.verdict().await?;
    recorder.begin(Stage::Upgrade);
    hub.apply(&requested(NAME, second, 2)).await?;
    until_settled(hub, second, 2).await?;
    watched.verdict().await?;
    recorder.begin(Stage::Deletion);
    hub.delete(&topology(NAME)).await?;
    hub.until_gone(&topology(NAME), STAGE).await?;
    watched.verdict().await?;
    // The garbage collector deletes what the control plane owned.
    let gone = async {
        while !secrets_of_cluster(hub).await?.is_empty() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        anyhow::Ok(())
    };
    let _ = tokio::time::timeout(SOON, gone).await;
    let secrets_left = secrets_of_cluster(hub).await?;
    let sightings = recorder.known.lock().unwrap_or_else(PoisonError::into_inner).1.clone();
    Ok(Story { sightings, secrets, secrets_left })
}

/// Waits until everything reports that the request is fulfilled.
async fn until_settled(hub: &Cluster, version: &str, nodes: i64) -> anyhow::Result<()> {
    let is_settled = |cluster: &Value| {
        let status = &cluster["status"];
        let runs = |of: &str| {
            let versions = status[of]["versions"].as_array().map_or(&[][..], Vec::as_slice);
            !versions.is_empty() && versions.iter().all(|running| running["version"] == version)
        };
        ["Available", "TopologyReconciled"].iter().all(|type_| has(cluster, type_, "True", ""))
            && ["RollingOut", "ScalingUp", "ScalingDown"].iter().all(|type_| has(cluster, type_, "False", ""))
            && status["observedGeneration"] == cluster["metadata"]["generation"]
            && status["workers"]["availableReplicas"] == nodes
            && status["workers"]["replicas"] == nodes
            && runs("controlPlane")
            && runs("workers")
    };
    let what = format!("settled at {version} with {nodes} nodes");
    hub.until_is(&topology(NAME), STAGE, &what, is_settled).await.map(|_| ())
}

/// Secrets that are named after the Cluster.
async fn secrets_of_cluster(hub: &Cluster) -> anyhow::Result<Vec<Value>> {
    let all = hub.list(SECRET).await?.into_iter();
    let is_of_cluster = |secret: &Value| {
        let name = secret["metadata"]["name"].as_str().unwrap_or_default();
        secret["metadata"]["namespace"] == CLUSTERS && name.starts_with(&format!("{NAME}-"))
    };
    Ok(all.filter(is_of_cluster).collect())
}
