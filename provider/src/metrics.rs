//! Metrics: those of the upstream controller under their names, and our own.

use std::{fmt, sync::Arc};

use prometheus_client::{encoding::text, metrics::info::Info, registry::Registry};
use testplatform_process::metrics::add_earlier_names;
use testplatform_runtime::metrics::{ControllerMetrics as _, RuntimeMetrics};

use crate::controllers::{self, for_each_controller};

/// Every metric by the name under which Prometheus has it, for rules and panels; histograms without `_bucket`, `_sum` and `_count`.
pub const EXPORTED: [&str; 43] = [
    "testplatform_build_cluster_up",
    "testplatform_bundle_duration_seconds",
    "testplatform_bundle_outcomes_total",
    "testplatform_bundles",
    "testplatform_cleanup_teardowns_total",
    "testplatform_cloud_credential_outcomes_total",
    "testplatform_cloud_credentials",
    "testplatform_clusterclaims",
    "testplatform_clusterpool_events_total",
    "testplatform_clusterpool_reconciles_total",
    "testplatform_clusterpool_refresh_remaining_clusters",
    "testplatform_clusterpools",
    "testplatform_ephemeralcluster_deprovisioning_duration_seconds",
    "testplatform_ephemeralcluster_provisioning_duration_seconds",
    "testplatform_ephemeralclusters",
    "testplatform_hub_clusters",
    "testplatform_hub_clusters_provisioning",
    "testplatform_hub_facts_reconciles_total",
    "testplatform_hub_facts_written_timestamp_seconds",
    "testplatform_hub_healthy",
    "testplatform_orphans",
    "testplatform_orphans_listed_timestamp_seconds",
    "testplatform_orphans_refused",
    "testplatform_orphans_teardowns_total",
    "testplatform_prerequisite_outcomes_total",
    "testplatform_prerequisites",
    "testplatform_provider_action_errors_total",
    "testplatform_provider_build_info",
    "testplatform_provider_kubeconfig_expires_timestamp_seconds",
    "testplatform_provider_leader",
    "testplatform_provider_queue_age_seconds",
    "testplatform_provider_queue_length",
    "testplatform_provider_queue_wait_seconds",
    "testplatform_provider_undecodable_objects",
    "testplatform_provider_watch_lag_seconds",
    "testplatform_secret_sync_claims",
    "testplatform_secret_sync_failures_total",
    "testplatform_secret_sync_reconciles_total",
    "testplatform_secret_sync_secrets_total",
    "testplatform_secret_sync_success_timestamp_seconds",
    "testplatform_space_tokens_total",
    "testplatform_spaces",
    "testplatform_template_clusters",
];

/// Metrics that had another name until 0.1, and are exported under both for one release: the earlier name, and the current one. Those that
/// begin with `ephemeralcluster_` are the upstream controller's, and stay.
pub const RENAMED: [(&str, &str); 38] = [
    ("bundle_duration_seconds", "testplatform_bundle_duration_seconds"),
    ("bundles_count", "testplatform_bundles"),
    ("bundles_outcomes_total", "testplatform_bundle_outcomes_total"),
    ("carry_count", "testplatform_secret_sync_claims"),
    ("carry_failures_total", "testplatform_secret_sync_failures_total"),
    ("carry_looks_total", "testplatform_secret_sync_reconciles_total"),
    ("carry_secrets_total", "testplatform_secret_sync_secrets_total"),
    ("carry_success_timestamp_seconds", "testplatform_secret_sync_success_timestamp_seconds"),
    ("cleanup_teardowns_total", "testplatform_cleanup_teardowns_total"),
    ("cloud_credentials_count", "testplatform_cloud_credentials"),
    ("cloud_credentials_outcomes_total", "testplatform_cloud_credential_outcomes_total"),
    ("cluster_count", "testplatform_template_clusters"),
    ("clusterclaim_count", "testplatform_clusterclaims"),
    ("clusterpool_count", "testplatform_clusterpools"),
    ("clusterpool_events_total", "testplatform_clusterpool_events_total"),
    ("clusterpool_looks_total", "testplatform_clusterpool_reconciles_total"),
    ("clusterpool_refresh_remaining", "testplatform_clusterpool_refresh_remaining_clusters"),
    ("ephemeralcluster_count", "testplatform_ephemeralclusters"),
    (
        "ephemeralcluster_deprovisioning_duration_seconds",
        "testplatform_ephemeralcluster_deprovisioning_duration_seconds",
    ),
    (
        "ephemeralcluster_provisioning_duration_seconds",
        "testplatform_ephemeralcluster_provisioning_duration_seconds",
    ),
    ("hub_clusters", "testplatform_hub_clusters"),
    ("hub_clusters_provisioning", "testplatform_hub_clusters_provisioning"),
    ("hub_facts_written_timestamp_seconds", "testplatform_hub_facts_written_timestamp_seconds"),
    ("hub_healthy", "testplatform_hub_healthy"),
    ("hub_looks_total", "testplatform_hub_facts_reconciles_total"),
    ("prerequisites_count", "testplatform_prerequisites"),
    ("prerequisites_outcomes_total", "testplatform_prerequisite_outcomes_total"),
    ("provider_action_errors_total", "testplatform_provider_action_errors_total"),
    ("provider_build_cluster_up", "testplatform_build_cluster_up"),
    ("provider_build_info", "testplatform_provider_build_info"),
    ("provider_leader", "testplatform_provider_leader"),
    ("provider_queue_age_seconds", "testplatform_provider_queue_age_seconds"),
    ("provider_queue_length", "testplatform_provider_queue_length"),
    ("provider_queue_wait_seconds", "testplatform_provider_queue_wait_seconds"),
    ("provider_undecodable_objects", "testplatform_provider_undecodable_objects"),
    ("provider_watch_lag_seconds", "testplatform_provider_watch_lag_seconds"),
    ("space_count", "testplatform_spaces"),
    ("space_tokens_total", "testplatform_space_tokens_total"),
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
                runtime.register_kubeconfigs(&mut registry);
                registry.register(
                    "testplatform_provider_build",
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
                Ok(add_earlier_names(&self.encode_current()?, &RENAMED))
            }

            /// Everything under current names alone.
            fn encode_current(&self) -> Result<String, fmt::Error> {
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
    use std::{collections::BTreeSet, fs, time::Duration};

    use jiff::Timestamp;
    use testplatform_apis::hub::Facts;
    use testplatform_process::metrics::list_families;
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

    /// Help, type and labels of every metric, from which the reference is made.
    const LISTING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/metrics.txt");

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
        "testplatform_clusterpools{state=\"refreshing\"} 1",
        "testplatform_clusterpools{state=\"steady\"} 0",
        "testplatform_clusterpool_refresh_remaining_clusters{pool=\"ns/pool\"} 3",
        "testplatform_hub_clusters{backend=\"hypershift\"} 7",
        "testplatform_hub_clusters_provisioning{backend=\"hypershift\"} 2",
        "testplatform_hub_healthy{} 1",
        "testplatform_spaces{state=\"published\"} 1",
        "testplatform_spaces{state=\"failing\"} 0",
        "testplatform_space_tokens_total 1",
        "testplatform_hub_facts_written_timestamp_seconds{} 1767225600.0",
        "testplatform_secret_sync_claims{state=\"carried\"} 1",
        "testplatform_secret_sync_claims{state=\"failing\"} 0",
        "testplatform_secret_sync_reconciles_total{outcome=\"carried\"} 1",
        "testplatform_secret_sync_reconciles_total{outcome=\"failing\"} 1",
        "testplatform_secret_sync_reconciles_total{outcome=\"waiting\"} 0",
        "testplatform_secret_sync_failures_total{reason=\"unreachable\"} 1",
        "testplatform_secret_sync_secrets_total{action=\"written\"} 1",
        "testplatform_secret_sync_secrets_total{action=\"removed\"} 0",
        "testplatform_secret_sync_success_timestamp_seconds{} 0.0",
        "testplatform_bundles{state=\"applied\"} 1",
        "testplatform_bundles{state=\"before_deletion\"} 0",
        "testplatform_bundle_outcomes_total{outcome=\"given_up\"} 1",
        "testplatform_bundle_outcomes_total{outcome=\"failed\"} 0",
        "testplatform_cloud_credentials{state=\"valid\"} 1",
        "testplatform_cloud_credential_outcomes_total{outcome=\"left_behind\"} 1",
        "testplatform_cloud_credential_outcomes_total{outcome=\"rotated\"} 0",
        "testplatform_prerequisites{state=\"leaving\"} 1",
        "testplatform_prerequisites{state=\"running\"} 0",
        "testplatform_prerequisite_outcomes_total{outcome=\"released\"} 1",
        "testplatform_prerequisite_outcomes_total{outcome=\"given_up\"} 0",
        "testplatform_bundle_duration_seconds_bucket{le=\"15.0\"} 1",
        "testplatform_cleanup_teardowns_total{outcome=\"told\"} 1",
        "testplatform_cleanup_teardowns_total{outcome=\"held\"} 0",
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
                        let told = text.lines().filter(|l| {
                            l.starts_with("testplatform_clusterpool_refresh_remaining_clusters{")
                        });
                        assert_eq!(told.count(), POOLS, "{text}");
                    }
                });
            }
        });
    }

    #[test]
    fn exported_metrics_equal_the_documented_ones() {
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
        metrics.runtime_metrics().set_kubeconfig_expiry("build01", Some(Timestamp::UNIX_EPOCH));
        let text = metrics.encode_current().unwrap();
        let listing = list_families(&text);
        if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
            fs::write(LISTING, &listing).unwrap();
        }
        assert_eq!(fs::read_to_string(LISTING).unwrap_or_default(), listing, "run `just snapshots`");
        let both = metrics.encode().unwrap();
        for (earlier, current) in RENAMED {
            for name in [earlier, current] {
                assert!(both.lines().any(|line| line.starts_with(name)), "{name}: {both}");
            }
            assert!(EXPORTED.contains(&current), "{current}");
        }
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let plain =
            |name| ["_bucket", "_sum", "_count"].iter().fold(name, |n: &str, end| n.trim_end_matches(end));
        let names: BTreeSet<&str> =
            samples.filter_map(|line| line.split(['{', ' ']).next()).map(plain).collect();
        assert_eq!(names, BTreeSet::from(EXPORTED), "{text}");
        for line in LINES {
            assert!(text.lines().any(|l| l == *line), "{line} is missing: {text}");
        }
        for name in ["carried-claims", "cleaned-claims"] {
            assert!(
                text.contains(&format!("testplatform_provider_watch_lag_seconds{{watch=\"{name}\"}} ")),
                "{text}"
            );
        }
    }
}
