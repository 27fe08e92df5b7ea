//! The table: each row is a habit of Cluster API that our function or provider relies on, or that once hid a defect, and its source. Paths are those
//! of cluster-api v1.14.

use std::collections::BTreeSet;

use serde_json::Value;
use testplatform_tests::cluster::{condition, has};

use super::{NAME, Stage, Story, VERSIONS};

/// A habit.
pub(super) struct Observation {
    /// The habit.
    pub name: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Whether a life shows it.
    pub holds: fn(&Story) -> Result<(), String>,
}

const STATUS: &str = "core/reconcilers/cluster/cluster_controller_status.go";
const PHASES: &str = "core/reconcilers/cluster/cluster_controller_phases.go";
const TOPOLOGY: &str = "core/reconcilers/topology/cluster/status.go";
const DELETION: &str = "core/reconcilers/cluster/cluster_controller.go";
const CONTROL_PLANE: &str = "controlplane/kubeadm/reconcilers/kubeadmcontrolplane/helpers.go";

/// Every habit.
pub(super) const ALL: &[Observation] = &[
    Observation {
        name: "the topology is reported first, as reconciled, and nothing else is true",
        source: TOPOLOGY,
        holds: |story| {
            let mut reports = story.clusters(Stage::Creation).filter(|cluster| has_conditions(cluster));
            let first = reports.next().ok_or("nothing was reported")?;
            let of_topology = has(first, "TopologyReconciled", "True", "ReconcileSucceeded");
            let others = true_conditions(first).filter(|type_| *type_ != "TopologyReconciled").count();
            ensure(of_topology && others == 0, || super::summary(first))
        },
    },
    Observation {
        name: "phase Provisioned comes before the control plane is available",
        source: PHASES,
        holds: |story| {
            let provisioned = story.first(|cluster| cluster["status"]["phase"] == "Provisioned");
            precedes(provisioned, story.first(|cluster| has(cluster, "ControlPlaneAvailable", "True", "")))
        },
    },
    Observation {
        name: "the endpoint comes before the control plane is available",
        source: PHASES,
        holds: |story| {
            let endpoint = story.first(|cluster| cluster["spec"]["controlPlaneEndpoint"]["host"].is_string());
            precedes(endpoint, story.first(|cluster| has(cluster, "ControlPlaneAvailable", "True", "")))
        },
    },
    Observation {
        name: "the kubeconfig comes before the control plane is initialized",
        source: CONTROL_PLANE,
        holds: |story| {
            let initialized = story.first(|cluster| has(cluster, "ControlPlaneInitialized", "True", ""));
            precedes(story.first_kubeconfig(), initialized)
        },
    },
    Observation {
        name: "the infrastructure comes before the control plane, and that before the whole",
        source: STATUS,
        holds: |story| {
            let at = |type_: &'static str| story.first(move |cluster| has(cluster, type_, "True", ""));
            let order = ["InfrastructureReady", "ControlPlaneInitialized", "Available"].map(at);
            order.windows(2).try_for_each(|pair| precedes(pair[0], pair[1]))
        },
    },
    Observation {
        name: "ControlPlaneInitialized never becomes False again",
        source: STATUS,
        holds: |story| {
            let mut initialized = false;
            for stage in [Stage::Creation, Stage::Resize, Stage::Upgrade] {
                for cluster in story.clusters(stage) {
                    let is_true = has(cluster, "ControlPlaneInitialized", "True", "");
                    ensure(is_true || !initialized, || super::summary(cluster))?;
                    initialized |= is_true;
                }
            }
            ensure(initialized, || "it never was True".to_owned())
        },
    },
    Observation {
        name: "each condition names the generation that it is about",
        source: STATUS,
        holds: |story| {
            let without = |cluster: &&Value| {
                let mut all = cluster["status"]["conditions"].as_array().into_iter().flatten();
                all.any(|condition| !condition["observedGeneration"].is_i64())
            };
            let found = story.clusters(Stage::Resize).find(without);
            found.map_or(Ok(()), |cluster| Err(super::summary(cluster)))
        },
    },
    Observation {
        name: "the status and each condition note a change at different times",
        source: TOPOLOGY,
        holds: |story| {
            some(story, Stage::Resize, |cluster| {
                let of_status = cluster["status"]["observedGeneration"].as_i64();
                let of_topology = condition(cluster, "TopologyReconciled").map(|c| &c["observedGeneration"]);
                of_status != of_topology.and_then(Value::as_i64)
            })
        },
    },
    Observation {
        name: "while nodes are added, machines scale up, and neither the workers nor the whole are available",
        source: STATUS,
        holds: |story| {
            some(story, Stage::Resize, |cluster| {
                has(cluster, "ScalingUp", "True", "ScalingUp")
                    && has(cluster, "WorkersAvailable", "False", "NotAvailable")
                    && has(cluster, "Available", "False", "NotAvailable")
            })
        },
    },
    Observation {
        name: "the nodes are counted when the workers are available",
        source: STATUS,
        holds: |story| {
            let last = story.clusters(Stage::Resize).last().ok_or("nothing was seen")?;
            let counts = &last["status"]["workers"];
            let all =
                ["desiredReplicas", "replicas", "readyReplicas", "availableReplicas", "upToDateReplicas"];
            ensure(all.iter().all(|count| counts[count] == 2), || counts.to_string())
        },
    },
    Observation {
        name: "an upgrade is reported by the topology and by the rollout",
        source: TOPOLOGY,
        holds: |story| {
            some(story, Stage::Upgrade, |cluster| {
                has(cluster, "TopologyReconciled", "False", "ClusterUpgrading")
            })?;
            some(story, Stage::Upgrade, |cluster| has(cluster, "RollingOut", "True", "RollingOut"))
        },
    },
    Observation {
        name: "the versions lag behind the request of an upgrade",
        source: STATUS,
        holds: |story| {
            some(story, Stage::Upgrade, |cluster| {
                let requested = &cluster["spec"]["topology"]["version"];
                *requested == VERSIONS[1] && has_version(cluster, "controlPlane", VERSIONS[0])
            })?;
            some(story, Stage::Upgrade, |cluster| {
                has_version(cluster, "controlPlane", VERSIONS[1])
                    && has_version(cluster, "workers", VERSIONS[0])
            })
        },
    },
    Observation {
        name: "an upgrade has one machine more",
        source: STATUS,
        holds: |story| {
            some(story, Stage::Upgrade, |cluster| {
                let workers = &cluster["status"]["workers"];
                workers["replicas"].as_i64() > workers["desiredReplicas"].as_i64()
            })
        },
    },
    // Not here: during an upgrade the fake's control plane is not available for a while. The real one shows that in most runs, but not if the new
    // machine joins before the next status.
    Observation {
        name: "the Secret of the kubeconfig has its type, its label and key value",
        source: "util/kubeconfig/kubeconfig.go",
        holds: |story| {
            let name = format!("{NAME}-kubeconfig");
            let secret = story.secrets.iter().find(|secret| secret["metadata"]["name"] == *name);
            let secret = secret.ok_or("there is none")?;
            let label = &secret["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"];
            let is_typed = secret["type"] == "cluster.x-k8s.io/secret";
            ensure(is_typed && *label == NAME && secret["data"]["value"].is_string(), || {
                format!("type {}, label {label}", secret["type"])
            })
        },
    },
    Observation {
        name: "four Secrets with keys are beside that of the kubeconfig",
        source: "util/secret/certificates.go",
        holds: |story| {
            let names = story.secrets.iter().filter_map(|secret| secret["metadata"]["name"].as_str());
            let found: BTreeSet<&str> = names.filter_map(|name| name.strip_prefix(NAME)).collect();
            let expected = ["-ca", "-etcd", "-kubeconfig", "-proxy", "-sa"];
            ensure(expected.iter().all(|name| found.contains(name)), || format!("{found:?}"))
        },
    },
    Observation {
        name: "a deletion reports phase Deleting and its reasons in order",
        source: DELETION,
        holds: |story| {
            let known = [
                "WaitingForWorkersDeletion",
                "WaitingForControlPlaneDeletion",
                "WaitingForInfrastructureDeletion",
                "DeletionCompleted",
            ];
            let deleting = |cluster: &Value| -> Option<String> {
                let deleting = condition(cluster, "Deleting").filter(|c| c["status"] == "True")?;
                deleting["reason"].as_str().map(str::to_owned)
            };
            let mut seen: Vec<String> = story.clusters(Stage::Deletion).filter_map(deleting).collect();
            seen.dedup();
            let places: Option<Vec<usize>> =
                seen.iter().map(|reason| known.iter().position(|known| known == reason)).collect();
            let in_order = places.is_some_and(|places| places.is_sorted() && places.contains(&1));
            some(story, Stage::Deletion, |cluster| cluster["status"]["phase"] == "Deleting")?;
            ensure(in_order, || format!("{seen:?}"))
        },
    },
    Observation {
        name: "a cluster whose workers are gone reports NoWorkers, as one that never had any",
        source: STATUS,
        holds: |story| {
            some(story, Stage::Deletion, |cluster| has(cluster, "WorkersAvailable", "True", "NoWorkers"))
        },
    },
    Observation {
        name: "no Secret stays",
        source: DELETION,
        holds: |story| {
            let names: Vec<&str> =
                story.secrets_left.iter().filter_map(|secret| secret["metadata"]["name"].as_str()).collect();
            ensure(names.is_empty(), || format!("{names:?}"))
        },
    },
];

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Whether a state of a stage shows something.
fn some(story: &Story, stage: Stage, is: impl Fn(&Value) -> bool) -> Result<(), String> {
    let states = story.clusters(stage).count();
    ensure(story.clusters(stage).any(is), || format!("none of {states} states of stage {stage:?} shows it"))
}

/// Whether both were seen, and the first not later.
fn precedes(first: Option<usize>, second: Option<usize>) -> Result<(), String> {
    ensure(first.is_some() && second.is_some() && first <= second, || {
        format!("seen at {first:?} and {second:?}")
    })
}

fn has_conditions(cluster: &Value) -> bool {
    cluster["status"]["conditions"].as_array().is_some_and(|all| !all.is_empty())
}

fn true_conditions(cluster: &Value) -> impl Iterator<Item = &str> {
    let all = cluster["status"]["conditions"].as_array().into_iter().flatten();
    all.filter(|condition| condition["status"] == "True").filter_map(|condition| condition["type"].as_str())
}

/// Whether a part of the cluster still runs a version.
fn has_version(cluster: &Value, of: &str, version: &str) -> bool {
    let mut versions = cluster["status"][of]["versions"].as_array().into_iter().flatten();
    versions.any(|running| running["version"] == version)
}
