//! Conditions that were True and became anything else.

use std::{collections::BTreeMap, time::Duration};

use super::watch::{Revision, Watched};
use crate::cluster::condition;

/// Conditions that clients wait for.
const WAITED_FOR: [&str; 3] = ["Ready", "ClusterReady", "CredentialsPublished"];

/// A condition that was True before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withdrawal {
    /// When.
    pub at: Duration,
    /// The object that carries it.
    pub of: String,
    /// Its type.
    pub condition: &'static str,
    /// Status and reason that it has then.
    pub became: String,
}

/// All of a claim and its composite until the cluster is gone.
pub fn withdrawals(revisions: &[Revision]) -> Vec<Withdrawal> {
    let mut last = BTreeMap::new();
    let mut found = Vec::new();
    let of_owner = |revision: &&Revision| matches!(revision.of, Watched::Claim | Watched::Composite);
    for revision in revisions.iter().filter(of_owner) {
        let deleted = revision.object["metadata"]["deletionTimestamp"].is_string();
        let phase = revision.object["status"]["phase"].as_str().unwrap_or_default();
        if deleted || phase == "Failed" {
            continue;
        }
        // A composite stays Ready with a cluster that is gone.
        let awaited = if phase == "Deprovisioned" { &WAITED_FOR[..1] } else { &WAITED_FOR[..] };
        for &type_ in awaited {
            let now = condition(&revision.object, type_);
            let is_true = now.is_some_and(|now| now["status"] == "True");
            let uid = revision.object["metadata"]["uid"].as_str().unwrap_or_default();
            let was_true = last.insert((uid, type_), is_true).unwrap_or_default();
            if was_true && !is_true {
                let text = |field: &str| now.and_then(|now| now[field].as_str()).unwrap_or("absent");
                found.push(Withdrawal {
                    at: revision.at,
                    of: revision.of.to_string(),
                    condition: type_,
                    became: format!("{}/{}", text("status"), text("reason")),
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_condition_that_was_true_is_withdrawn() {
        let revision = |at, status: &str| Revision {
            at: Duration::from_secs(at),
            of: Watched::Composite,
            composite: "c".into(),
            object: json!({ "status": { "conditions": [
                { "type": "Ready", "status": status, "reason": "Creating" },
                { "type": "Synced", "status": status, "reason": "ReconcileError" },
            ] } }),
        };
        let seen = ["False", "True", "True", "False", "True"];
        let revisions: Vec<_> = (0..).zip(seen).map(|(at, status)| revision(at, status)).collect();
        let [withdrawal] = withdrawals(&revisions).try_into().unwrap();
        assert_eq!((withdrawal.at.as_secs(), withdrawal.became.as_str()), (3, "False/Creating"));
    }
}
