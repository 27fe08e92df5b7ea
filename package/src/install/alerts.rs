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
        expression: r#"sum(rate(function_results_total{severity="fatal"}[10m])) > 0
  or sum(rate(grpc_server_handled_total{grpc_service=~"apiextensions[.]fn[.]proto[.].+",grpc_code!="OK"}[10m])) > 0
  or sum(rate(function_panics_total[10m])) > 0"#,
        lasts: "10m",
        severity: AlertSeverity::Critical,
        summary: "The function refuses to answer for some claim; nothing of it changes until it does.",
    },
    Alert {
        name: "FunctionDown",
        // The only metric that exists before the first call. No labels: each of them may differ on other clusters.
        expression: "absent(function_build_info)",
        lasts: "5m",
        severity: AlertSeverity::Critical,
        summary: "The function does not run, or is not measured: no claim moves, and what is given back costs money.",
    },
    Alert {
        name: "CircuitBreakerOpens",
        // Crossplane's own metric, of the controllers of our composites. A breaker that opens once closes by itself.
        expression: r#"sum by (controller) (increase(circuit_breaker_opens_total{controller=~"composite/(xtestplatformclusters|testclusters|xtestplatformclusterpools|xnamespaces)[.].*"}[30m])) > 5"#,
        lasts: "5m",
        severity: AlertSeverity::Warning,
        summary: "Crossplane's circuit breaker opened {{ $value | humanize }} times in half an hour for {{ $labels.controller }}; such composites wait for up to half a minute.",
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
        summary: "Crossplane gets through no pass for {{ $value }} claims; the function cannot be reached, or what it wants is refused.",
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
        summary: "The cluster of claim {{ $labels.tenant }}/{{ $labels.claim }} is up, but its kubeconfig does not arrive.",
    },
    Alert {
        name: "TeardownStuck",
        // A Failed claim stays so during teardown of its remaining objects.
        expression: r#"max by (tenant, claim) (testplatform_cluster_phase{phase="Deprovisioning"} == 1
  or testplatform_cluster_phase{phase="Failed"} == 1
    and on (tenant, claim) testplatform_cluster_condition_timestamp_seconds{type="ProwJobCompleted",status="False"})"#,
        lasts: "2h",
        severity: AlertSeverity::Critical,
        summary: "The cluster of claim {{ $labels.tenant }}/{{ $labels.claim }} is not gone two hours after it should be, and costs money.",
    },
    // A deleted claim disappears at once, and so does its composite; only Objects remain. Objects of pools are excluded: the deletion of a
    // pool waits for its claims, however long they live.
    Alert {
        name: "DeletionStuck",
        expression: r#"max by (tenant, claim, composite) (time() - testplatform_object_deletion_timestamp_seconds{composite_kind="XTestPlatformCluster"}) > 2 * 3600
  or max by (tenant, claim, composite) (time() - testplatform_namespaced_object_deletion_timestamp_seconds{composite_kind="TestCluster"}) > 2 * 3600"#,
        lasts: "5m",
        severity: AlertSeverity::Critical,
        summary: "What was made for {{ $labels.composite }} of tenant {{ $labels.tenant }} is not gone two hours after its deletion, and may cost money.",
    },
    Alert {
        name: "ClusterOutlivesItsLifetime",
        expression: r#"max by (tenant, claim) (testplatform_cluster_phase{phase=~"Ready|Degraded"} == 1
  and on (tenant, claim) time() - testplatform_cluster_expires_timestamp_seconds > 900)"#,
        lasts: "5m",
        severity: AlertSeverity::Critical,
        summary: "The lifetime of claim {{ $labels.tenant }}/{{ $labels.claim }} is over, and nothing tears its cluster down.",
    },
    Alert {
        name: "RemoteKubeconfigExpiring",
        expression: "min by (provider_config) (testplatform_provider_config_kubeconfig_expires_timestamp_seconds - time()) < 14 * 86400",
        lasts: "1h",
        severity: AlertSeverity::Critical,
        summary: "The token behind ProviderConfig {{ $labels.provider_config }} ends within 14 days.",
    },
    Alert {
        name: "RemoteUnreachable",
        expression: r#"count(testplatform_cluster_condition_timestamp_seconds{type="RemoteConsistent",status="False",reason=~"HubUnreachable|HubFailing|KindNotServed"}) > 0"#,
        lasts: "10m",
        severity: AlertSeverity::Critical,
        summary: "The hub does nothing for {{ $value }} claims.",
    },
    Alert {
        name: "SchemaDrift",
        expression: r#"count by (reason) (testplatform_cluster_condition_timestamp_seconds{type=~"RequestAccepted|RemoteConsistent",reason=~"UnknownField|UnknownFieldForwarded"}) > 0"#,
        lasts: "5m",
        severity: AlertSeverity::Warning,
        summary: "{{ $value }} claims have fields that one side does not know ({{ $labels.reason }}).",
    },
    Alert {
        name: "EnvironmentConfigMissing",
        expression: r#"count(testplatform_cluster_condition_timestamp_seconds{type="RequestAccepted",status="False",reason=~"EnvironmentConfigMissing|EnvironmentConfigInvalid"}) > 0"#,
        lasts: "5m",
        severity: AlertSeverity::Critical,
        summary: "{{ $value }} claims get no cluster because the EnvironmentConfig is missing or names no cluster.",
    },
];

/// Alerts on a hub, from the provider's own metrics.
pub const HUB: &[Alert] = &[
    Alert {
        name: "ProviderNotLeading",
        // Carrier, cleaner and orphan search are the same program, and may be scraped too.
        expression: r#"absent(provider_leader{namespace!="testplatform-carrier",namespace!="testplatform-cleanup",namespace!="testplatform-orphans"})
  or max(provider_leader{namespace!="testplatform-carrier",namespace!="testplatform-cleanup",namespace!="testplatform-orphans"}) == 0"#,
        lasts: "5m",
        severity: AlertSeverity::Critical,
        summary: "No replica of the provider acts: clusters are neither made nor torn down.",
    },
    Alert {
        name: "ProviderErrors",
        // The retry interval of a failing object grows to at most five minutes, that of prerequisites to ten. A permanent failure has to
        // fire at that rate. The alert stops if the last retry is older than the interval.
        expression: r#"(sum by (action, reason) (increase(provider_action_errors_total{reason=~"forbidden|not_found|refused|foreign|bug"}[1h])) > 4
    and sum by (action, reason) (increase(provider_action_errors_total[12m])) > 0)
  or sum by (action, reason) (rate(provider_action_errors_total[15m])) > 0.05"#,
        lasts: "15m",
        severity: AlertSeverity::Warning,
        summary: "The provider keeps failing at {{ $labels.action }} ({{ $labels.reason }}).",
    },
    Alert {
        name: "ProviderBehind",
        expression: "max by (watch) (provider_watch_lag_seconds) > 300 or max by (queue) (provider_queue_age_seconds) > 300",
        lasts: "5m",
        severity: AlertSeverity::Warning,
        summary: "The provider acts on what was five minutes ago ({{ $labels.watch }}{{ $labels.queue }}).",
    },
    Alert {
        name: "BuildClusterDown",
        expression: "min by (cluster) (provider_build_cluster_up) == 0",
        lasts: "10m",
        severity: AlertSeverity::Critical,
        summary: "Build cluster {{ $labels.cluster }} cannot be watched: kubeconfigs made there are not published.",
    },
    Alert {
        name: "HubFactsOld",
        expression: "time() - max(hub_facts_written_timestamp_seconds) > 600",
        lasts: "5m",
        severity: AlertSeverity::Warning,
        summary: "This hub has not told of itself for more than ten minutes; whoever chooses among hubs knows nothing of it.",
    },
    Alert {
        name: "SpaceCredentialsFailing",
        expression: "sum(space_count{state=~\"failing|blocked\"}) > 0",
        lasts: "15m",
        severity: AlertSeverity::Critical,
        summary: "Credentials of {{ $value }} spaces cannot be published or replaced; tokens end.",
    },
    Alert {
        name: "UndecodableObjects",
        expression: "max by (kind) (provider_undecodable_objects) > 0",
        lasts: "5m",
        severity: AlertSeverity::Warning,
        summary: "{{ $value }} objects of kind {{ $labels.kind }} cannot be understood.",
    },
];

/// Alerts on a Konflux cluster, from the metrics of component `orphans`.
pub const ORPHANS: &[Alert] = &[
    Alert {
        name: "OrphansFound",
        expression: "max by (hub, remote_kind) (testplatform_orphans) > 0",
        lasts: "5m",
        severity: AlertSeverity::Critical,
        summary: "{{ $value }} objects of kind {{ $labels.remote_kind }} on hub {{ $labels.hub }} have no composite on this Konflux cluster, and cost money.",
    },
    Alert {
        name: "OrphansNotListed",
        // The hour before counts too: a process that restarts repeatedly before its first list exports 0, with gaps.
        expression: r"time() - max by (hub) (max_over_time(testplatform_orphans_listed_timestamp_seconds[1h])) > 3600
  or absent(testplatform_orphans_listed_timestamp_seconds)",
        lasts: "15m",
        severity: AlertSeverity::Warning,
        summary: "Orphans on hub {{ $labels.hub }} cannot be found: it, or this Konflux cluster, was not listed completely for an hour.",
    },
];

impl Alert {
    /// The page of the runbook with its entry, from the root of the repository.
    fn page(&self) -> &'static str {
        if HUB.iter().any(|alert| alert.name == self.name) {
            "docs/runbook/alerts-hub.md"
        } else {
            "docs/runbook/alerts-konflux.md"
        }
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
                "runbook": format!("{}#{}", self.page(), self.name.to_lowercase()),
            },
        })
    }
}
