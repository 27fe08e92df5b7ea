//! Metrics of remote objects that no composite owns.

use std::{collections::BTreeMap, sync::atomic::AtomicU64};

use jiff::Timestamp;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};
use testplatform_runtime::metrics::{ControllerMetrics, RuntimeMetrics, set_gauge};

use super::plan::{OrphanPlan, OrphanState};
use crate::config::RemoteKind;

/// Hubs and kinds are words of the configuration.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OrphanLabels {
    hub: String,
    remote_kind: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RefusalLabels {
    hub: String,
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct HubLabel {
    hub: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// Outcome of a teardown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrphanTeardown {
    /// A call that ends it was accepted.
    Requested,
    /// It could not be made, or its owner exists by now.
    Failed,
}

impl OrphanTeardown {
    const ALL: [Self; 2] = [Self::Requested, Self::Failed];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Failed => "failed",
        }
    }
}

/// The self.
#[derive(Default)]
pub struct OrphanMetrics {
    runtime: RuntimeMetrics,
    orphans: Family<OrphanLabels, Gauge>,
    refused: Family<RefusalLabels, Gauge>,
    listed: Family<HubLabel, Gauge<f64, AtomicU64>>,
    teardowns: Family<OutcomeLabel, Counter>,
}

impl ControllerMetrics for OrphanMetrics {
    fn new(runtime: RuntimeMetrics) -> Self {
        Self { runtime, ..Self::default() }
    }

    fn register_metrics(&self, registry: &mut Registry) {
        registry.register(
            "testplatform_orphans",
            "Remote objects that no composite has owned for the grace period",
            self.orphans.clone(),
        );
        registry.register(
            "testplatform_orphans_refused",
            "Orphans that the configuration would end and a safeguard keeps",
            self.refused.clone(),
        );
        registry.register_with_unit(
            "testplatform_orphans_listed_timestamp",
            "Last complete listing of a hub and of this Konflux cluster",
            Unit::Seconds,
            self.listed.clone(),
        );
        registry.register(
            "testplatform_orphans_teardowns",
            "Calls that end an orphan",
            self.teardowns.clone(),
        );
    }
}

impl OrphanMetrics {
    /// Metrics that every controller shares.
    pub fn runtime_metrics(&self) -> &RuntimeMetrics {
        &self.runtime
    }

    /// Orphans are searched for on these hubs from now on. The time of the last complete listing is 0 until the first: a process that starts again and
    /// again before it has listed anything must not look as if it had.
    pub fn attach_orphans<'h>(&self, hubs: impl Iterator<Item = (&'h String, &'h [RemoteKind])>) {
        for (hub, kinds) in hubs {
            for kind in kinds {
                let labels = OrphanLabels { hub: hub.clone(), remote_kind: kind.as_str() };
                self.orphans.get_or_create(&labels).set(0);
            }
            self.listed.get_or_create(&HubLabel { hub: hub.clone() }).set(0.0);
        }
        for outcome in OrphanTeardown::ALL {
            drop(self.teardowns.get_or_create(&OutcomeLabel { outcome: outcome.as_str() }));
        }
    }

    /// One reconcile has this outcome.
    pub fn report_orphans(&self, plan: &OrphanPlan, now: Timestamp) {
        let _telling = self.runtime.lock_gauges();
        let mut counts: BTreeMap<(&str, &'static str), usize> = BTreeMap::new();
        let mut refusals: BTreeMap<(&str, &'static str), usize> = BTreeMap::new();
        // A deletion is under way already, as of any claim whose cluster takes long to go. If it hangs, the hub's own alerts ring.
        let counted = |state: &OrphanState| state.is_orphan() && *state != OrphanState::Deleting;
        for (identity, state) in plan.states.iter().filter(|(_, state)| counted(state)) {
            *counts.entry((&identity.hub, identity.kind.as_str())).or_default() += 1;
            if let OrphanState::Refused(refusal) = state {
                *refusals.entry((&identity.hub, refusal.as_str())).or_default() += 1;
            }
        }
        for hub in &plan.hubs {
            for kind in RemoteKind::ALL {
                let labels = OrphanLabels { hub: hub.hub.clone(), remote_kind: kind.as_str() };
                if let Some(count) = counts.get(&(hub.hub.as_str(), kind.as_str())) {
                    set_gauge(&self.orphans, &labels, *count);
                } else if let Some(gauge) = self.orphans.get(&labels) {
                    gauge.set(0);
                }
            }
            if hub.error.is_none() {
                let label = HubLabel { hub: hub.hub.clone() };
                self.listed.get_or_create(&label).set(now.as_duration().as_secs_f64());
            }
        }
        self.refused.clear();
        for ((hub, reason), count) in refusals {
            set_gauge(&self.refused, &RefusalLabels { hub: hub.to_owned(), reason }, count);
        }
    }

    /// A call that ends an orphan had this outcome.
    pub fn count_orphan_teardown(&self, outcome: OrphanTeardown) {
        self.teardowns.get_or_create(&OutcomeLabel { outcome: outcome.as_str() }).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        controllers::orphans::{plan::HubSummary, remote::RemoteRef},
        metrics::Metrics,
    };

    /// Nobody is called for the cluster of a deleted claim that takes more than an hour to go.
    #[test]
    fn an_orphan_that_is_being_deleted_rings_no_bell() {
        let kind = RemoteKind::EphemeralCluster;
        for (state, count) in [(OrphanState::Reported, 1), (OrphanState::Deleting, 0)] {
            let metrics = Metrics::default();
            let hub = "h".to_owned();
            metrics.orphans().attach_orphans([(&hub, [kind].as_slice())].into_iter());
            let [namespace, name, uid] = ["ns", "lost", "u"].map(str::to_owned);
            let remote = RemoteRef { hub: hub.clone(), kind, namespace, name, uid };
            let plan = OrphanPlan {
                states: [(remote, state)].into(),
                hubs: vec![HubSummary { hub, ..HubSummary::default() }],
                ..OrphanPlan::default()
            };
            metrics.orphans().report_orphans(&plan, "2026-01-01T00:00:00Z".parse().unwrap());
            let line = format!("testplatform_orphans{{hub=\"h\",remote_kind=\"{}\"}} {count}", kind.as_str());
            assert!(metrics.encode().unwrap().lines().any(|found| found == line), "{line}");
        }
    }

    #[test]
    fn a_hub_is_listed_when_it_was_listed_completely() {
        let metrics = Metrics::default();
        let hub = "h".to_owned();
        metrics.orphans().attach_orphans([(&hub, [RemoteKind::EphemeralCluster].as_slice())].into_iter());
        let listed = |seconds: &str| {
            let line = format!("testplatform_orphans_listed_timestamp_seconds{{hub=\"h\"}} {seconds}");
            metrics.encode().unwrap().lines().any(|found| found == line)
        };
        assert!(listed("0.0"));
        for (error, seconds) in [(Some("timeout".to_owned()), "0.0"), (None, "1767225600.0")] {
            let summary = HubSummary { hub: hub.clone(), error, ..HubSummary::default() };
            let plan = OrphanPlan { hubs: vec![summary], ..OrphanPlan::default() };
            metrics.orphans().report_orphans(&plan, "2026-01-01T00:00:00Z".parse().unwrap());
            assert!(listed(seconds), "{seconds}");
        }
    }
}
