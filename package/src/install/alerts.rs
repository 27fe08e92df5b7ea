//! Alerts, each with an entry in the runbook.

use serde_json::{Value, json};

/// Severity of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertSeverity {
    /// Claims of several tenants are stuck, or clusters cost money without use.
    Critical,
    /// One claim is affected, or will be.
    Warning,
}

/// A Prometheus alert.
#[derive(Clone, Copy, Debug)]
pub struct Alert {
    /// Its name, and in lower case its anchor in the runbook.
    pub name: &'static str,
    /// The expression.
    pub expression: &'static str,
    /// Minimum duration of the condition.
    pub lasts: &'static str,
    /// Its severity.
    pub severity: AlertSeverity,
    /// One sentence; Prometheus inserts labels of the result.
    pub summary: &'static str,
}

/// Alerts on a Konflux cluster, from the function's own metrics. They are separate from those on claims: if monitoring is divided by
/// namespace, these metrics are in another one than those of kube-state-metrics.
pub const FUNCTION: &[Alert] = &[
    Alert {
        name: "FunctionErrors",
        expression: r#"sum(rate(testplatform_function_results_total{severity="fatal"}[10m])) > 0
  or sum(rate(grpc_server_handled_total{grpc_service=~"apiextensions[.]fn[.]proto[.].+",grpc_code!="OK"}[10m])) > 0
  or sum(rate(testplatform_function_panics_total[10m])) > 0"#,
        lasts: "10m",
        severity: AlertSeverity::Critical,
        summary: "The function returns errors for some claims. These claims do not change until it answers.",
    },
    Alert {
        name: "FunctionDown",
        // The only metric that exists before the first call. No labels: each of them may differ on other clusters.
        expression: "absent(testplatform_function_build_info)",
        lasts: "5m",
        severity: AlertSeverity::Critical,
        summary: "The function is down or not being scraped. No claim changes, and clusters that should end keep costing money.",
    },
    Alert {
        name: "CircuitBreakerOpens",
        // Crossplane's own metric, of the controllers of our composites. A breaker that opens once closes by itself.
        expression: r#"sum by (controller) (increase(circuit_breaker_opens_total{controller=~"composite/(xtestplatformclusters|testclusters|xtestplatformclusterpools|xnamespaces)[.].*"}[30m])) > 5"#,
        lasts: "5m",
        severity: AlertSeverity::Warning,
        summary: "Crossplane's circuit breaker opened {{ $value | humanize }} times in half an hour for {{ $labels.controller }}. Each affected composite waits up to 30 s.",
    },
];

/// Alerts on a Konflux cluster, from kube-state-metrics' metrics of claims.
pub const CLAIMS: &[Alert] = &[
    Alert {
        name: "PassesFail",
        // Crossplane's condition, which the next successful reconcile resets. Crossplane keeps the previous transition time, so the value
        // is meaningless. A FATAL response repeats the condition instead.
        expression: r#"count(testplatform_cluster_condition_timestamp_seconds{type="ClusterReady",status="Unknown",reason="FatalError"}) > 0"#,
        lasts: "10m",
        severity: AlertSeverity::Critical,
        summary: "Crossplane cannot reconcile {{ $value }} claims: the function is unreachable, or an API server refuses its resources.",
    },
    Alert {
        name: "ClaimStuckProvisioning",
        // Without the labels of the scrape target, here as below: another pod of kube-state-metrics would create a new series and restart
        // the time.
        expression: r#"max by (tenant, claim) (testplatform_cluster_phase{phase=~"Pending|Provisioning"} == 1
  and on (tenant, claim) time() - testplatform_cluster_started_timestamp_seconds > 3 * 3600)"#,
        lasts: "5m",
        severity: AlertSeverity::Warning,
        summary: "Claim {{ $labels.tenant }}/{{ $labels.claim }} has had no cluster for more than three hours.",
    },
    Alert {
        name: "CredentialsLate",
        expression: r#"max by (tenant, claim) (time() - testplatform_cluster_condition_timestamp_seconds{type="ClusterReady",status="False",reason="WaitingForCredentials"}) > 300"#,
        lasts: "1m",
        severity: AlertSeverity::Warning,
        summary: "The cluster of claim {{ $labels.tenant }}/{{ $labels.claim }} is running, but its kubeconfig has not arrived for five minutes.",
    },
    Alert {
        name: "ReadinessWithdrawn",
        // A withdrawal can be over within a second, so most scrapes miss it. The time of the transition stays.
        expression: r#"max by (tenant, claim) (changes(testplatform_cluster_condition_timestamp_seconds{type="ClusterReady",status="True",reason="Ready"}[1h])) > 2"#,
        lasts: "1m",
        severity: AlertSeverity::Warning,
        summary: "ClusterReady of claim {{ $labels.tenant }}/{{ $labels.claim }} was withdrawn and given again {{ $value }} times within an hour.",
    },
    Alert {
        name: "TeardownStuck",
        // A Failed claim stays so during teardown of its remaining objects.
        expression: r#"max by (tenant, claim) (testplatform_cluster_phase{phase="Deprovisioning"} == 1
  or testplatform_cluster_phase{phase="Failed"} == 1
    and on (tenant, claim) testplatform_cluster_condition_timestamp_seconds{type="ProwJobCompleted",status="False"})"#,
        lasts: "2h",
        severity: AlertSeverity::Critical,
        summary: "Teardown of the cluster of claim {{ $labels.tenant }}/{{ $labels.claim }} has taken more than two hours. The cluster still costs money.",
    },
    // A deleted claim disappears at once, and so does its composite; only Objects remain. Objects of pools are excluded: the deletion of a
    // pool waits for its claims, however long they live.
    Alert {
        name: "DeletionStuck",
        expression: r#"max by (tenant, claim, composite) (time() - testplatform_object_deletion_timestamp_seconds{composite_kind="XTestPlatformCluster"}) > 2 * 3600
  or max by (tenant, claim, composite) (time() - testplatform_namespaced_object_deletion_timestamp_seconds{composite_kind="TestCluster"}) > 2 * 3600"#,
        lasts: "5m",
        severity: AlertSeverity::Critical,
        summary: "Objects of {{ $labels.composite }} (tenant {{ $labels.tenant }}) still exist two hours after their deletion, and may cost money.",
    },
    Alert {
        name: "ClusterOutlivesItsLifetime",
        expression: r#"max by (tenant, claim) (testplatform_cluster_phase{phase=~"Ready|Degraded"} == 1
  and on (tenant, claim) time() - testplatform_cluster_expires_timestamp_seconds > 900)"#,
        lasts: "5m",
        severity: AlertSeverity::Critical,
        summary: "The lifetime of claim {{ $labels.tenant }}/{{ $labels.claim }} has ended, but teardown of its cluster has not started.",
    },
    Alert {
        name: "RemoteKubeconfigExpiring",
        expression: "min by (provider_config) (testplatform_provider_config_kubeconfig_expires_timestamp_seconds - time()) < 14 * 86400",
        lasts: "1h",
        severity: AlertSeverity::Critical,
        summary: "The token of ProviderConfig {{ $labels.provider_config }} expires within 14 days.",
    },
    Alert {
        name: "RemoteUnreachable",
        expression: r#"count(testplatform_cluster_condition_timestamp_seconds{type="RemoteConsistent",status="False",reason=~"HubUnreachable|HubFailing|KindNotServed"}) > 0"#,
        lasts: "10m",
        severity: AlertSeverity::Critical,
        summary: "provider-kubernetes cannot change the objects of {{ $value }} claims on the hub.",
    },
    Alert {
        name: "SchemaDrift",
        expression: r#"count by (reason) (testplatform_cluster_condition_timestamp_seconds{type=~"RequestAccepted|RemoteConsistent",reason=~"UnknownField|UnknownFieldForwarded"}) > 0"#,
        lasts: "5m",
        severity: AlertSeverity::Warning,
        summary: "{{ $value }} claims have fields that the function or the hub does not know ({{ $labels.reason }}).",
    },
    Alert {
        name: "EnvironmentConfigMissing",
        expression: r#"count(testplatform_cluster_condition_timestamp_seconds{type="RequestAccepted",status="False",reason=~"EnvironmentConfigMissing|EnvironmentConfigInvalid"}) > 0"#,
        lasts: "5m",
        severity: AlertSeverity::Critical,
        summary: "{{ $value }} claims get no cluster because the EnvironmentConfig is missing or invalid.",
    },
];

/// Alerts on a hub, from the provider's own metrics.
pub const HUB: &[Alert] = &[
    Alert {
        name: "ProviderNotLeading",
        // Carrier, cleaner and orphan search are the same program, and may be scraped too.
        expression: r#"absent(testplatform_provider_leader{namespace!="testplatform-carrier",namespace!="testplatform-cleanup",namespace!="testplatform-orphans"})
  or max(testplatform_provider_leader{namespace!="testplatform-carrier",namespace!="testplatform-cleanup",namespace!="testplatform-orphans"}) == 0"#,
        lasts: "5m",
        severity: AlertSeverity::Critical,
        summary: "No replica of the provider is the leader. Clusters are neither created nor torn down.",
    },
    Alert {
        name: "ProviderErrors",
        // The retry interval of a failing object grows to at most five minutes, that of prerequisites to ten. A permanent failure has to
        // fire at that rate. The alert stops if the last retry is older than the interval.
        expression: r#"(sum by (action, reason) (increase(testplatform_provider_action_errors_total{reason=~"forbidden|not_found|refused|foreign|bug"}[1h])) > 4
    and sum by (action, reason) (increase(testplatform_provider_action_errors_total[12m])) > 0)
  or sum by (action, reason) (rate(testplatform_provider_action_errors_total[15m])) > 0.05"#,
        lasts: "15m",
        severity: AlertSeverity::Warning,
        summary: "Action {{ $labels.action }} of the provider fails repeatedly ({{ $labels.reason }}).",
    },
    Alert {
        name: "ProviderBehind",
        expression: "max by (watch) (testplatform_provider_watch_lag_seconds) > 300 or max by (queue) (testplatform_provider_queue_age_seconds) > 300",
        lasts: "5m",
        severity: AlertSeverity::Warning,
        summary: "The provider is more than five minutes behind ({{ $labels.watch }}{{ $labels.queue }}).",
    },
    Alert {
        name: "BuildClusterDown",
        expression: "min by (cluster) (testplatform_build_cluster_up) == 0",
        lasts: "10m",
        severity: AlertSeverity::Critical,
        summary: "The provider cannot watch build cluster {{ $labels.cluster }}. Kubeconfigs of clusters created there are not published.",
    },
    Alert {
        name: "BuildClusterTokenExpiring",
        // The same program has the kubeconfigs of hubs in its roles on a Konflux cluster.
        expression: r#"min by (cluster) (testplatform_provider_kubeconfig_expires_timestamp_seconds{namespace!="testplatform-carrier",namespace!="testplatform-orphans"} - time()) < 14 * 86400"#,
        lasts: "1h",
        severity: AlertSeverity::Critical,
        summary: "The token for build cluster {{ $labels.cluster }} expires within 14 days.",
    },
    Alert {
        name: "BundlesFailing",
        // A cluster whose preDelete bundles were given up is gone, so its outcome alone remains.
        expression: r#"sum(testplatform_bundles{state="failed"}) > 0
  or sum(increase(testplatform_bundle_outcomes_total{outcome="given_up"}[1h])) > 0"#,
        lasts: "15m",
        severity: AlertSeverity::Warning,
        summary: "Bundles of {{ $value | humanize }} clusters are not ready within their timeout.",
    },
    Alert {
        name: "PrerequisitesFailing",
        expression: r#"sum(testplatform_prerequisites{state="failed"}) > 0
  or sum(increase(testplatform_prerequisite_outcomes_total{outcome="given_up"}[1h])) > 0"#,
        lasts: "15m",
        severity: AlertSeverity::Warning,
        summary: "Prerequisites of {{ $value | humanize }} clusters are not ready or not removed within their timeout.",
    },
    Alert {
        name: "CloudCredentialInvalid",
        expression: r#"sum(testplatform_cloud_credentials{state="owner_invalid"}) > 0"#,
        lasts: "10m",
        severity: AlertSeverity::Critical,
        summary: "{{ $value }} clusters have no valid cloud credential. Their machines can be neither changed nor deleted.",
    },
    Alert {
        name: "CloudCredentialNotRotated",
        expression: r#"sum by (state) (testplatform_cloud_credentials{state=~"rotation_failed|unreachable|blocked"}) > 0"#,
        lasts: "1h",
        severity: AlertSeverity::Warning,
        summary: "The cloud credentials of {{ $value }} clusters cannot be created or rotated ({{ $labels.state }}).",
    },
    Alert {
        name: "HubFactsOld",
        expression: "time() - max(testplatform_hub_facts_written_timestamp_seconds) > 600",
        lasts: "5m",
        severity: AlertSeverity::Warning,
        summary: "The facts of this hub are older than ten minutes. The function selects hubs without them.",
    },
    Alert {
        name: "SpaceCredentialsFailing",
        expression: "sum(testplatform_spaces{state=~\"failing|blocked\"}) > 0",
        lasts: "15m",
        severity: AlertSeverity::Critical,
        summary: "The provider cannot publish or replace the credentials of {{ $value }} spaces. Their tokens expire.",
    },
    Alert {
        name: "UndecodableObjects",
        expression: "max by (kind) (testplatform_provider_undecodable_objects) > 0",
        lasts: "5m",
        severity: AlertSeverity::Warning,
        summary: "The provider cannot read {{ $value }} objects of kind {{ $labels.kind }}, and skips them.",
    },
];

/// Alerts on a Konflux cluster, from the metrics of component `carrier`.
pub const SECRET_SYNC: &[Alert] = &[
    Alert {
        name: "SecretSyncFailing",
        // Secrets that a tenant has to correct are states `incomplete` and `outdated`, and the claim reports them.
        expression: r#"sum(testplatform_secret_sync_claims{state="failing"}) > 0"#,
        lasts: "15m",
        severity: AlertSeverity::Warning,
        summary: "The Secrets of {{ $value }} claims cannot be copied to their hubs. New clusters of these claims wait.",
    },
    Alert {
        name: "HubTokenExpiring",
        expression: r#"min by (cluster) (testplatform_provider_kubeconfig_expires_timestamp_seconds{namespace="testplatform-carrier"} - time()) < 14 * 86400"#,
        lasts: "1h",
        severity: AlertSeverity::Critical,
        summary: "The token with which Secrets are copied to hub {{ $labels.cluster }} expires within 14 days.",
    },
];

/// Alerts on a Konflux cluster, from the metrics of component `orphans`.
pub const ORPHANS: &[Alert] = &[
    Alert {
        name: "OrphansFound",
        expression: "max by (hub, remote_kind) (testplatform_orphans) > 0",
        lasts: "5m",
        severity: AlertSeverity::Critical,
        summary: "{{ $value }} objects of kind {{ $labels.remote_kind }} on hub {{ $labels.hub }} have no composite on this Konflux cluster. They still cost money.",
    },
    Alert {
        name: "OrphansNotListed",
        // The hour before counts too: a process that restarts repeatedly before its first list exports 0, with gaps.
        expression: r"time() - max by (hub) (max_over_time(testplatform_orphans_listed_timestamp_seconds[1h])) > 3600
  or absent(testplatform_orphans_listed_timestamp_seconds)",
        lasts: "15m",
        severity: AlertSeverity::Warning,
        summary: "Orphans on hub {{ $labels.hub }} cannot be found. The hub or this Konflux cluster was not listed completely for an hour.",
    },
];

/// Lists of all alerts.
pub const LISTS: [&[Alert]; 5] = [FUNCTION, CLAIMS, HUB, SECRET_SYNC, ORPHANS];

/// Address of the documentation in the generated rules. An overlay replaces it by that of its own site.
pub const SITE: &str = "https://docs.example.org/testplatform";

impl Alert {
    /// The page of the runbook with its entry, below the root of the documentation and without an ending.
    pub fn page(&self) -> &'static str {
        if HUB.iter().any(|alert| alert.name == self.name) {
            "runbook/alerts-hub"
        } else {
            "runbook/alerts-konflux"
        }
    }

    /// Its entry in the runbook, below the root of the site.
    pub fn entry(&self) -> String {
        format!("{}.html#{}", self.page(), self.name.to_lowercase())
    }

    /// The rule for the Prometheus operator.
    pub fn to_rule(&self) -> Value {
        let severity = match self.severity {
            AlertSeverity::Critical => "critical",
            AlertSeverity::Warning => "warning",
        };
        json!({
            "alert": self.name,
            "expr": self.expression,
            "for": self.lasts,
            "labels": { "severity": severity },
            "annotations": {
                "summary": self.summary,
                "runbook_url": format!("{SITE}/{}", self.entry()),
            },
        })
    }
}
