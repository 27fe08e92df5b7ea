//! Gathers status writes that follow one another closely.
//!
//! Each write of a status is read by provider-kubernetes and by Crossplane, and counts to the circuit breaker of the composite. A job reports its
//! name, URL, build cluster and namespace one after the other, so such a change waits until half a second after the last write. A change that users
//! wait for does not.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    conditions::{CLUSTER_READY, CREDENTIALS_IN_SYNC, PROW_JOB_COMPLETED, find},
    object::EphemeralCluster,
    operation::Plan,
    status::{Condition, Status, differs},
};

/// Least time between two writes of a status, unless users wait for the second one.
const INTERVAL: Duration = Duration::from_millis(500);

/// Times of the last status writes, by name of the EphemeralCluster. A restart of the process loses at most one pause.
#[derive(Default)]
pub struct StatusWrites(Mutex<HashMap<String, Instant>>);

impl StatusWrites {
    /// Takes the status out of a plan that does nothing else, if it has to wait. Returns how long.
    pub fn postpone(&self, object: &EphemeralCluster, plan: &mut Plan) -> Option<Duration> {
        let stored = &object.status.value;
        let desired = plan.status.as_ref()?;
        let is_alone = plan.actions.is_empty() && plan.afterwards.is_empty();
        if !is_alone || !differs(stored, desired) || is_awaited(stored, desired) {
            return None;
        }
        let remaining = self.remaining(object.name())?;
        // Its events belong to it, and are planned again with it.
        plan.status = None;
        plan.events.clear();
        Some(remaining)
    }

    /// Notes that a status was written now.
    pub fn record(&self, name: &str) {
        let now = Instant::now();
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.retain(|_, at| now.duration_since(*at) < INTERVAL);
        times.insert(name.to_owned(), now);
    }

    fn remaining(&self, name: &str) -> Option<Duration> {
        let times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = times.get(name)?.elapsed();
        INTERVAL.checked_sub(elapsed).filter(|remaining| !remaining.is_zero())
    }
}

/// Whether users wait for the change: another phase, a Secret, an end that is promised, or a condition that becomes or was True. The rest is
/// progress on the way there.
fn is_awaited(stored: &Status, desired: &Status) -> bool {
    let is_true =
        |status: &Status, type_: &str| find(&status.conditions, type_).is_some_and(Condition::is_true);
    // A definition without the generation has no end either, and would differ each time.
    let keeps_end = stored.observed_generation.is_some();
    stored.phase != desired.phase
        || stored.secret_ref != desired.secret_ref
        || keeps_end && stored.expires_at != desired.expires_at
        || [CLUSTER_READY, CREDENTIALS_IN_SYNC, PROW_JOB_COMPLETED]
            .into_iter()
            .any(|type_| is_true(stored, type_) != is_true(desired, type_))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::controllers::ephemeral_cluster::operation::Operation;

    fn status(status: &Value) -> Status {
        serde_json::from_value(status.clone()).unwrap()
    }

    fn plan(desired: &Value) -> Plan {
        Plan { status: Some(status(desired)), ..Plan::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn progress_waits_for_half_a_second_after_the_last_write() {
        let stored = json!({ "phase": "Provisioning", "conditions": [
            { "type": "ClusterReady", "status": "False", "reason": "NamespacePending" },
        ] });
        let object: EphemeralCluster =
            serde_json::from_value(json!({ "metadata": { "name": "one" }, "spec": {}, "status": stored }))
                .unwrap();
        let writes = StatusWrites::default();
        let mut progress = stored.clone();
        progress["prowJobURL"] = json!("https://prow.example.org/view/1");
        assert_eq!(writes.postpone(&object, &mut plan(&progress)), None, "nothing was written before");

        writes.record("one");
        writes.record("other");
        tokio::time::advance(Duration::from_millis(200)).await;
        let mut postponed = plan(&progress);
        assert_eq!(writes.postpone(&object, &mut postponed), Some(Duration::from_millis(300)));
        assert_eq!(postponed, Plan::default());
        assert_eq!(writes.postpone(&object, &mut plan(&stored)), None, "nothing is to be written");

        let mut acting = plan(&progress);
        acting.actions.push(Operation::WithdrawCredentials);
        assert_eq!(writes.postpone(&object, &mut acting), None, "the status is that of an action");
        for (pointer, value) in [
            ("/phase", json!("Failed")),
            ("/secretRef", json!("one-credentials")),
            ("/conditions/0/status", json!("True")),
        ] {
            let mut awaited = stored.clone();
            match awaited.pointer_mut(pointer) {
                Some(field) => *field = value,
                None => awaited["secretRef"] = value,
            }
            assert_eq!(writes.postpone(&object, &mut plan(&awaited)), None, "{pointer}");
        }

        let mut pruned = progress.clone();
        pruned["expiresAt"] = json!("2026-01-01T00:00:00Z");
        let remaining = Some(Duration::from_millis(300));
        assert_eq!(
            writes.postpone(&object, &mut plan(&pruned)),
            remaining,
            "the definition has no such field"
        );

        tokio::time::advance(Duration::from_millis(300)).await;
        assert_eq!(writes.postpone(&object, &mut plan(&progress)), None);
    }
}
