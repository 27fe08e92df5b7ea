//! Metrics: those of the upstream controller under their names, and our own.

use std::{fmt, sync::Arc};

use prometheus_client::{encoding::text, metrics::info::Info, registry::Registry};
use testplatform_runtime::metrics::{ControllerMetrics as _, RuntimeMetrics};

use crate::controllers::{self, for_each_controller};

/// Every metric by the name under which Prometheus has it, for rules and panels; histograms without `_bucket`, `_sum` and `_count`.
pub const EXPORTED: [&str; 42] = [
    "bundle_duration_seconds",
    "bundles_count",
    "bundles_outcomes_total",
    "carry_count",
    "carry_failures_total",
    "carry_looks_total",
    "carry_secrets_total",
    "carry_success_timestamp_seconds",
    "cleanup_teardowns_total",
    "cloud_credentials_count",
    "cloud_credentials_outcomes_total",
    "cluster_count",
    "clusterclaim_count",
    "clusterpool_count",
    "clusterpool_events_total",
    "clusterpool_looks_total",
    "clusterpool_refresh_remaining",
    "ephemeralcluster_count",
    "ephemeralcluster_deprovisioning_duration_seconds",
    "ephemeralcluster_provisioning_duration_seconds",
    "hub_clusters",
    "hub_clusters_provisioning",
    "hub_facts_written_timestamp_seconds",
    "hub_healthy",
    "hub_looks_total",
    "prerequisites_count",
    "prerequisites_outcomes_total",
    "provider_action_errors_total",
    "provider_build_cluster_up",
    "provider_build_info",
    "provider_leader",
    "provider_queue_age_seconds",
    "provider_queue_length",
    "provider_queue_wait_seconds",
    "provider_undecodable_objects",
    "provider_watch_lag_seconds",
    "space_count",
    "space_tokens_total",
    "testplatform_orphans",
    "testplatform_orphans_listed_timestamp_seconds",
    "testplatform_orphans_refused",
    "testplatform_orphans_teardowns_total",
];

/// Handles to all metrics; clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

/// Defines the metrics of all controllers.
macro_rules! define_metrics {
    ($($module:ident, $name:ident: $type:ident;)+) => {
        struct Inner {
            $($name: Arc<controllers::$module::metrics::$type>,)+
            runtime: RuntimeMetrics,
            registry: Registry,
        }

        impl Default for Metrics {
            fn default() -> Self {
                let (mut registry, runtime) = (Registry::default(), RuntimeMetrics::default());
                $(
                    let $name = Arc::new(controllers::$module::metrics::$type::new(runtime.clone()));
                    $name.register_metrics(&mut registry);
                )+
                runtime.register_metrics(&mut registry);
                runtime.register_undecodable(&mut registry);
                registry.register(
                    "provider_build",
                    "The version that is running",
                    Info::new([("version", env!("CARGO_PKG_VERSION"))]),
                );
                Self(Arc::new(Inner { $($name,)+ runtime, registry }))
            }
        }

        impl Metrics {
            $(
                #[doc = concat!("Metrics of controller `", stringify!($module), "`.")]
                pub fn $name(&self) -> Arc<controllers::$module::metrics::$type> {
                    Arc::clone(&self.0.$name)
                }
            )+

            /// Everything in the text format of `OpenMetrics`.
            pub fn encode(&self) -> Result<String, fmt::Error> {
                let inner = &*self.0;
                let _gauges = inner.runtime.lock_gauges();
                $(inner.$name.refresh_gauges();)+
                let mut out = String::new();
                text::encode(&mut out, &inner.registry)?;
                Ok(out)
            }
        }
    };
}
for_each_controller!(define_metrics);

impl Metrics {
    /// Metrics that every controller shares.
    pub fn runtime_metrics(&self) -> &RuntimeMetrics {
        &self.0.runtime
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, time::Duration};

    use jiff::Timestamp;
    use testplatform_apis::hub::Facts;
    use testplatform_runtime::{error::Reason, metrics::QueueAge, watch::Health};

    use super::*;
    use crate::{
        config::Carried,
        controllers::{
            bundles::{self, metrics::BundleOutcome},
            cleanup::metrics::Teardown,
            cloud_credentials,
            cluster_pool::state::{PoolGauge, PoolProgress, PoolState},
            prerequisites,
            secret_sync::{self, metrics::SecretAction, state::SecretSyncState as Carry},
            spaces,
        },
    };

    fn of_clouds(metrics: &Metrics) -> Arc<cloud_credentials::gauge::CredentialGauge> {
        let seen = Arc::new(cloud_credentials::gauge::new_gauge(0));
        metrics.cloud().attach_cloud(&seen);
        seen.record("clusters/one-cloud-credential", Some(testplatform_apis::cloud::CredentialPhase::Valid));
        metrics.cloud().cloud_came_to(cloud_credentials::metrics::CredentialOutcome::LeftBehind);
        seen
    }

    fn of_prerequisites(metrics: &Metrics) -> Arc<prerequisites::state::PrerequisiteGauge> {
        let seen = Arc::new(prerequisites::state::new_gauge(0));
        metrics.prerequisites().attach_prerequisites(&seen);
        seen.record("clusters/one-prerequisites", Some(prerequisites::state::PrerequisiteState::Leaving));
        metrics.prerequisites().prerequisites_came_to(prerequisites::metrics::PrerequisiteOutcome::Released);
        seen
    }

    fn of_orphans(metrics: &Metrics) {
        use crate::{
            config::RemoteKind,
            controllers::orphans::{
                plan::{HubSummary, OrphanPlan, OrphanState, TeardownRefusal},
                remote::RemoteRef,
            },
        };
        let hub = "hub".to_owned();
        let at: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        metrics.orphans().attach_orphans([(&hub, [RemoteKind::EphemeralCluster].as_slice())].into_iter());
        let identity = RemoteRef {
            hub: hub.clone(),
            kind: RemoteKind::EphemeralCluster,
            namespace: "ns".into(),
            name: "one".into(),
            uid: "u".into(),
        };
        let refused = OrphanState::Refused(TeardownRefusal::Unverified);
        let plan = OrphanPlan {
            states: [(identity, refused)].into(),
            hubs: vec![HubSummary { hub, ..HubSummary::default() }],
            ..OrphanPlan::default()
        };
        metrics.orphans().report_orphans(&plan, at);
    }

    /// Some of what is told then.
    const LINES: &[&str] = &[
        "testplatform_orphans{hub=\"hub\",remote_kind=\"EphemeralCluster\"} 1",
        "testplatform_orphans_refused{hub=\"hub\",reason=\"unverified\"} 1",
        "testplatform_orphans_listed_timestamp_seconds{hub=\"hub\"} 1767225600.0",
        "testplatform_orphans_teardowns_total{outcome=\"requested\"} 0",
        "clusterpool_count{state=\"refreshing\"} 1",
        "clusterpool_count{state=\"steady\"} 0",
        "clusterpool_refresh_remaining{pool=\"ns/pool\"} 3",
        "hub_clusters{backend=\"hypershift\"} 7",
        "hub_clusters_provisioning{backend=\"hypershift\"} 2",
        "hub_healthy{} 1",
        "space_count{state=\"published\"} 1",
        "space_count{state=\"failing\"} 0",
        "space_tokens_total 1",
        "hub_facts_written_timestamp_seconds{} 1767225600.0",
        "carry_count{state=\"carried\"} 1",
        "carry_count{state=\"failing\"} 0",
        "carry_looks_total{outcome=\"carried\"} 1",
        "carry_looks_total{outcome=\"failing\"} 1",
        "carry_looks_total{outcome=\"waiting\"} 0",
        "carry_failures_total{reason=\"unreachable\"} 1",
        "carry_secrets_total{action=\"written\"} 1",
        "carry_secrets_total{action=\"removed\"} 0",
        "carry_success_timestamp_seconds{} 0.0",
        "bundles_count{state=\"applied\"} 1",
        "bundles_count{state=\"before_deletion\"} 0",
        "bundles_outcomes_total{outcome=\"given_up\"} 1",
        "bundles_outcomes_total{outcome=\"failed\"} 0",
        "cloud_credentials_count{state=\"valid\"} 1",
        "cloud_credentials_outcomes_total{outcome=\"left_behind\"} 1",
        "cloud_credentials_outcomes_total{outcome=\"rotated\"} 0",
        "prerequisites_count{state=\"leaving\"} 1",
        "prerequisites_count{state=\"running\"} 0",
        "prerequisites_outcomes_total{outcome=\"released\"} 1",
        "prerequisites_outcomes_total{outcome=\"given_up\"} 0",
        "bundle_duration_seconds_bucket{le=\"15.0\"} 1",
        "cleanup_teardowns_total{outcome=\"told\"} 1",
        "cleanup_teardowns_total{outcome=\"held\"} 0",
    ];

    /// Two replicas of Prometheus ask when they like.
    #[test]
    fn who_asks_at_the_same_time_is_told_the_same() {
        const POOLS: usize = 40;
        let (metrics, seen) = (Metrics::default(), Arc::new(PoolGauge::default()));
        metrics.pools().attach_pools(&seen);
        for number in 0..POOLS {
            let looked = PoolProgress { state: PoolState::Refreshing, remaining: Some(1) };
            seen.record(&("ns".into(), format!("pool-{number}")), Some(looked));
        }
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let text = metrics.encode().unwrap();
                        let told = text.lines().filter(|l| l.starts_with("clusterpool_refresh_remaining{"));
                        assert_eq!(told.count(), POOLS, "{text}");
                    }
                });
            }
        });
    }

    #[test]
    fn what_is_exported_is_what_is_said_to_be() {
        let metrics = Metrics::default();
        let inner = &*metrics.0;
        // A family without a value is not exported.
        inner.jobs.count_one();
        metrics.runtime_metrics().failed("action", "reason");
        inner.claims.count_one();
        inner.clusters.count_one();
        metrics.pools().count_pool_reconcile("annotated");
        metrics.pools().count_pool_event("Refreshed");
        let seen = Arc::new(PoolGauge::default());
        metrics.pools().attach_pools(&seen);
        seen.record(
            &("ns".into(), "pool".into()),
            Some(PoolProgress { state: PoolState::Refreshing, remaining: Some(3) }),
        );
        metrics.spaces().issued_token();
        let spaces = Arc::new(spaces::state::new_gauge());
        metrics.spaces().attach_spaces(&spaces);
        spaces.record("space", Some(spaces::state::SpaceState::Published));
        spaces.record("another", Some(spaces::state::SpaceState::Failing));
        spaces.record("another", None);
        let carries = Arc::new(secret_sync::state::new_gauge(&[Carried::Claims]));
        metrics.carries().attach_carries(&carries);
        carries.record("claim", Some(Carry::Carried));
        carries.record("another", Some(Carry::Failing));
        carries.record("another", None);
        metrics.carries().count_sync(Carry::Carried, Timestamp::UNIX_EPOCH);
        metrics.carries().count_failed_sync(Reason::Unreachable);
        metrics.carries().count_secret_action(SecretAction::Written);
        let watches = Arc::new(vec![Health::new("cleaned-claims")]);
        metrics.cleanups().attach_cleanups(&watches);
        metrics.cleanups().decided_teardown(Teardown::Told);
        let bundles = Arc::new(bundles::state::new_gauge(1));
        metrics.bundles().attach_bundles(&bundles);
        bundles.record("clusters/one-bundles", Some(bundles::state::BundleState::Applied));
        metrics.bundles().bundles_came_to(BundleOutcome::GivenUp);
        let _seen = (of_clouds(&metrics), of_prerequisites(&metrics));
        metrics.bundles().bundle_took(jiff::SignedDuration::from_secs(7));
        let queue = QueueAge { queue: "", age: Duration::ZERO, length: 0 };
        metrics.runtime_metrics().refresh_loops(&[queue], &[Health::new("")]);
        inner.runtime.set_undecodable("", 0);
        of_orphans(&metrics);
        metrics.hub().count_hub_reconcile("told");
        let told = r#"{"writtenAt":"2026-01-01T00:00:00Z","health":{"ready":true},
            "backends":{"hypershift":{"clusters":7,"provisioning":2},"osac":{}}}"#;
        metrics.hub().set_hub_facts(Some(&Facts::from_json(told).unwrap()));
        let text = metrics.encode().unwrap();
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let plain = |name| {
            // These end like a part of a histogram and are none.
            if [
                "bundles_count",
                "carry_count",
                "cloud_credentials_count",
                "cluster_count",
                "clusterclaim_count",
                "clusterpool_count",
                "ephemeralcluster_count",
                "prerequisites_count",
                "space_count",
            ]
            .contains(&name)
            {
                return name;
            }
            ["_bucket", "_sum", "_count"].iter().fold(name, |n: &str, end| n.trim_end_matches(end))
        };
        let names: BTreeSet<&str> =
            samples.filter_map(|line| line.split(['{', ' ']).next()).map(plain).collect();
        assert_eq!(names, BTreeSet::from(EXPORTED), "{text}");
        for line in LINES {
            assert!(text.lines().any(|l| l == *line), "{line} is missing: {text}");
        }
        for name in ["carried-claims", "cleaned-claims"] {
            assert!(text.contains(&format!("provider_watch_lag_seconds{{watch=\"{name}\"}} ")), "{text}");
        }
    }
}
