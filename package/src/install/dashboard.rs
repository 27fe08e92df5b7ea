//! A dashboard for Grafana: waiting times of tenants, activity of function and provider.

use serde_json::{Value, json};

/// A panel of the dashboard.
#[derive(Clone, Copy, Debug)]
pub struct Panel {
    /// Title.
    pub title: &'static str,
    /// Unit in Grafana's notation.
    pub unit: &'static str,
    /// Expressions, each with the legend of its lines.
    pub queries: &'static [(&'static str, &'static str)],
}

/// All panels, two per row.
pub const PANELS: &[Panel] = &[
    Panel {
        title: "Claims by phase",
        unit: "short",
        queries: &[("sum by (phase) (testplatform_cluster_phase)", "{{phase}}")],
    },
    Panel {
        title: "Claims by tenant",
        unit: "short",
        queries: &[("topk(10, sum by (tenant) (testplatform_cluster_phase == 1))", "{{tenant}}")],
    },
    Panel {
        title: "Time to ready, of claims that there are",
        unit: "s",
        queries: &[
            (
                "quantile(0.5, testplatform_cluster_ready_timestamp_seconds - on (tenant, claim) testplatform_cluster_started_timestamp_seconds)",
                "median",
            ),
            (
                "quantile(0.9, testplatform_cluster_ready_timestamp_seconds - on (tenant, claim) testplatform_cluster_started_timestamp_seconds)",
                "9 of 10",
            ),
        ],
    },
    Panel {
        title: "Oldest claim without a cluster",
        unit: "s",
        queries: &[(
            "max(time() - testplatform_cluster_started_timestamp_seconds and on (tenant, claim) testplatform_cluster_phase{phase=~\"Pending|Provisioning\"} == 1)",
            "age",
        )],
    },
    Panel {
        title: "What claims are told",
        unit: "short",
        queries: &[(
            "count by (type, reason) (testplatform_cluster_condition_timestamp_seconds{type=~\"RequestAccepted|RemoteConsistent|ClusterReady\",status=\"False\"})",
            "{{type}} {{reason}}",
        )],
    },
    Panel {
        title: "Until the hub's kubeconfig ends",
        unit: "s",
        queries: &[(
            "testplatform_provider_config_kubeconfig_expires_timestamp_seconds - time()",
            "{{provider_config}}",
        )],
    },
    Panel {
        title: "Function: calls",
        unit: "reqps",
        // Other gRPC servers have metrics of these names too.
        queries: &[(
            r#"sum by (grpc_code) (rate(grpc_server_handled_total{grpc_service=~"apiextensions[.]fn[.]proto[.].+"}[5m]))"#,
            "{{grpc_code}}",
        )],
    },
    Panel {
        title: "Function: 99 of 100 calls take",
        unit: "s",
        queries: &[(
            r#"histogram_quantile(0.99, sum by (le) (rate(grpc_server_handling_seconds_bucket{grpc_service=~"apiextensions[.]fn[.]proto[.].+"}[5m])))"#,
            "time",
        )],
    },
    Panel {
        title: "Function: results and failures",
        unit: "ops",
        queries: &[
            ("sum by (severity) (rate(function_results_total[5m]))", "{{severity}}"),
            ("sum(rate(function_panics_total[5m]))", "panics"),
            ("sum(rate(function_tls_handshake_failures_total[5m]))", "TLS handshakes that failed"),
            (
                "sum by (outcome) (rate(function_tls_certificate_loads_total[5m]))",
                "certificates: {{outcome}}",
            ),
        ],
    },
    Panel {
        title: "Function: size of responses, 99 of 100",
        unit: "bytes",
        queries: &[(
            "histogram_quantile(0.99, sum by (le) (rate(function_response_bytes_bucket[5m])))",
            "size",
        )],
    },
    Panel {
        title: "Hub: EphemeralClusters by phase",
        unit: "short",
        queries: &[("sum by (phase) (ephemeralcluster_count)", "{{phase}}")],
    },
    Panel {
        title: "Hub: clusters by template, and ClusterClaims",
        unit: "short",
        queries: &[
            ("sum by (backend, state) (cluster_count)", "{{backend}}: {{state}}"),
            ("sum by (state) (clusterclaim_count)", "hive: {{state}}"),
        ],
    },
    Panel {
        title: "Hub: provisioning and deprovisioning, median by workflow",
        unit: "s",
        queries: &[
            (
                "histogram_quantile(0.5, sum by (le, workflow) (rate(ephemeralcluster_provisioning_duration_seconds_bucket[6h])))",
                "up: {{workflow}}",
            ),
            (
                "histogram_quantile(0.5, sum by (le, workflow) (rate(ephemeralcluster_deprovisioning_duration_seconds_bucket[6h])))",
                "down: {{workflow}}",
            ),
        ],
    },
    Panel {
        title: "Hub: how far behind the provider is",
        unit: "s",
        queries: &[
            ("max by (watch) (provider_watch_lag_seconds)", "watch {{watch}}"),
            ("max by (queue) (provider_queue_age_seconds)", "queue {{queue}}"),
        ],
    },
    Panel {
        title: "Hub: what the provider cannot do",
        unit: "ops",
        queries: &[(
            "sum by (action, reason) (rate(provider_action_errors_total[5m]))",
            "{{action}} {{reason}}",
        )],
    },
];

/// The complete dashboard. The viewer selects its data source.
pub fn build_dashboard() -> Value {
    let panels: Vec<Value> =
        PANELS.iter().enumerate().map(|(index, panel)| panel.render_json(index)).collect();
    json!({
        "uid": "testplatform",
        "title": "Test Platform clusters",
        "tags": ["testplatform"],
        "schemaVersion": 39,
        "editable": false,
        "time": { "from": "now-24h", "to": "now" },
        "refresh": "1m",
        "templating": { "list": [
            { "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus" },
        ] },
        "panels": panels,
    })
}

impl Panel {
    fn render_json(&self, index: usize) -> Value {
        let source = json!({ "type": "prometheus", "uid": "${datasource}" });
        let target = |(number, (expression, legend)): (usize, &(&str, &str))| json!({ "refId": format!("Q{number}"), "datasource": source, "expr": expression, "legendFormat": legend });
        let targets: Vec<Value> = self.queries.iter().enumerate().map(target).collect();
        json!({
            "id": index + 1,
            "type": "timeseries",
            "title": self.title,
            "datasource": source,
            "gridPos": { "x": index % 2 * 12, "y": index / 2 * 8, "w": 12, "h": 8 },
            "fieldConfig": { "defaults": { "unit": self.unit, "min": 0 }, "overrides": [] },
            "targets": targets,
        })
    }
}
