//! The next call that ends an orphan, from the object as it was read right before. Pure.

use serde_json::Value;
use testplatform_apis::names::{ephemeral_cluster::KONFLUX_CLUSTER, ours};

use super::remote::RemoteObject;
use crate::config::{RemoteKind, TeardownMethod};

/// Phases in which an EphemeralCluster has nothing to tear down.
const COMPLETED: [&str; 2] = ["Deprovisioned", "Failed"];

/// The next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeardownCall {
    /// `spec.tearDownCluster` is set to true.
    SetField,
    /// The object is deleted.
    Delete,
    /// Its hub ends it already.
    AwaitHub,
    /// It is not the object that was listed any more, or bears other marks.
    Changed,
}

/// Decides the next call. `listed`: as the listing found it; `current`: as it was read right before.
pub fn next_call(listed: &RemoteObject, current: &Value) -> TeardownCall {
    let metadata = &current["metadata"];
    let annotation = |key: &str| metadata["annotations"][key].as_str();
    let is_same = metadata["uid"] == *listed.identity.uid
        && metadata["ownerReferences"].as_array().is_none_or(Vec::is_empty)
        && annotation(KONFLUX_CLUSTER) == listed.konflux_cluster.as_deref()
        && annotation(ours::KONFLUX_CLUSTER_UID) == listed.konflux_cluster_uid.as_deref();
    if !is_same {
        return TeardownCall::Changed;
    }
    if !metadata["deletionTimestamp"].is_null() {
        return TeardownCall::AwaitHub;
    }
    match listed.identity.kind.teardown_method() {
        TeardownMethod::DeleteObject => TeardownCall::Delete,
        TeardownMethod::SetField if current["spec"]["tearDownCluster"] != true => TeardownCall::SetField,
        TeardownMethod::SetField if is_completed(listed.identity.kind, &current["status"]) => {
            TeardownCall::Delete
        }
        TeardownMethod::SetField => TeardownCall::AwaitHub,
    }
}

/// Whether the teardown that was requested has come to its end.
fn is_completed(kind: RemoteKind, status: &Value) -> bool {
    match kind {
        RemoteKind::EphemeralCluster => {
            let conditions = status["conditions"].as_array().into_iter().flatten();
            let is_done =
                |condition: &Value| condition["type"] == "ProwJobCompleted" && condition["status"] == "True";
            COMPLETED.iter().any(|phase| status["phase"] == *phase) && conditions.into_iter().any(is_done)
        }
        RemoteKind::ClusterClaim | RemoteKind::Template(_) => false,
    }
}
