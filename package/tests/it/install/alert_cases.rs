//! Series for the alerts of a Konflux cluster, and the minutes at which they fire.

/// An alert on series, and the labels of what fires at some minutes.
pub struct Case {
    /// Name of the alert.
    pub alert: &'static str,
    /// Series and their values, one each minute, in the notation of promtool.
    pub series: &'static [(&'static str, &'static str)],
    /// Minutes, and the labels of the alerts that fire then.
    pub expected: &'static [(u32, &'static [&'static str])],
}

pub const fn case(
    alert: &'static str,
    series: &'static [(&'static str, &'static str)],
    expected: &'static [(u32, &'static [&'static str])],
) -> Case {
    Case { alert, series, expected }
}

/// A claim in promtool's notation of labels.
const CLAIM: &str = r#"{claim="c",tenant="t"}"#;
const PHASE_PENDING: &str = r#"testplatform_cluster_phase{claim="c",tenant="t",phase="Pending"}"#;
const PHASE_READY: &str = r#"testplatform_cluster_phase{claim="c",tenant="t",phase="Ready"}"#;
const PHASE_FAILED: &str = r#"testplatform_cluster_phase{claim="c",tenant="t",phase="Failed"}"#;
const STARTED: &str = r#"testplatform_cluster_started_timestamp_seconds{claim="c",tenant="t"}"#;
const EXPIRES: &str = r#"testplatform_cluster_expires_timestamp_seconds{claim="c",tenant="t"}"#;
/// Two weeks and an hour.
const LONG: &str = "1213200x70";

pub const FUNCTION_CASES: &[Case] = &[
    case(
        "FunctionErrors",
        &[(r#"testplatform_function_results_total{severity="fatal"}"#, "0 0+1x40")],
        &[(11, &[]), (12, &["{}"]), (40, &["{}"])],
    ),
    case("FunctionErrors", &[("testplatform_function_panics_total", "0x5 1x40")], &[(15, &[]), (45, &[])]),
    case("FunctionErrors", &[("testplatform_function_panics_total", "0+1x40")], &[(11, &["{}"])]),
    case(
        "FunctionErrors",
        &[
            (r#"testplatform_function_results_total{severity="warning"}"#, "0+1x40"),
            (
                r#"grpc_server_handled_total{grpc_service="grpc.health.v1.Health",grpc_code="NotFound"}"#,
                "0+1x40",
            ),
            (
                r#"grpc_server_handled_total{grpc_service="apiextensions.fn.proto.v1.FunctionRunnerService",grpc_code="OK"}"#,
                "0+1x40",
            ),
        ],
        &[(40, &[])],
    ),
    case(
        "FunctionErrors",
        &[(
            r#"grpc_server_handled_total{grpc_service="apiextensions.fn.proto.v1.FunctionRunnerService",grpc_code="Internal"}"#,
            "0+1x40",
        )],
        &[(40, &["{}"])],
    ),
    // A series is stale five minutes after its last sample, and the alert waits five more. Versions of Prometheus differ in the minute between.
    case(
        "FunctionDown",
        &[(r#"testplatform_function_build_info{version="1"}"#, "1x10")],
        &[(10, &[]), (19, &[]), (21, &["{}"])],
    ),
    case(
        "CircuitBreakerOpens",
        &[(r#"circuit_breaker_opens_total{controller="composite/testclusters.ci.openshift.org"}"#, "0+1x60")],
        &[(5, &[]), (40, &[r#"{controller="composite/testclusters.ci.openshift.org"}"#])],
    ),
    case(
        "CircuitBreakerOpens",
        &[
            (r#"circuit_breaker_opens_total{controller="composite/buckets.example.org"}"#, "0+1x60"),
            (
                r#"circuit_breaker_opens_total{controller="composite/xnamespaces.eaas.konflux-ci.dev"}"#,
                "0x9 1x50",
            ),
        ],
        &[(40, &[])],
    ),
];

pub const CLAIM_CASES: &[Case] = &[
    case(
        "PassesFail",
        &[(
            r#"testplatform_cluster_condition_timestamp_seconds{claim="c",tenant="t",type="ClusterReady",status="Unknown",reason="FatalError"}"#,
            "0x30",
        )],
        &[(9, &[]), (10, &["{}"])],
    ),
    case(
        "PassesFail",
        &[(
            r#"testplatform_cluster_condition_timestamp_seconds{claim="c",tenant="t",type="ClusterReady",status="False",reason="Pending"}"#,
            "0x30",
        )],
        &[(30, &[])],
    ),
    case(
        "ClaimStuckProvisioning",
        &[(PHASE_PENDING, "1x200"), (STARTED, "0x200")],
        &[(185, &[]), (186, &[CLAIM])],
    ),
    case(
        "ClaimStuckProvisioning",
        &[(PHASE_PENDING, "0x200"), (PHASE_READY, "1x200"), (STARTED, "0x200")],
        &[(200, &[])],
    ),
    case(
        "CredentialsLate",
        &[(
            r#"testplatform_cluster_condition_timestamp_seconds{claim="c",tenant="t",type="ClusterReady",status="False",reason="WaitingForCredentials"}"#,
            "0x30",
        )],
        &[(6, &[]), (7, &[CLAIM])],
    ),
    case(
        "CredentialsLate",
        &[(
            r#"testplatform_cluster_condition_timestamp_seconds{claim="c",tenant="t",type="ClusterReady",status="False",reason="Provisioning"}"#,
            "0x30",
        )],
        &[(30, &[])],
    ),
    case(
        "ReadinessWithdrawn",
        &[(
            r#"testplatform_cluster_condition_timestamp_seconds{claim="c",tenant="t",type="ClusterReady",status="True",reason="Ready"}"#,
            "0x9 600x9 1200x9 1800x70",
        )],
        &[(29, &[]), (32, &[CLAIM])],
    ),
    // The end of a lifetime comes near, and an extension takes the reason back.
    case(
        "ReadinessWithdrawn",
        &[(
            r#"testplatform_cluster_condition_timestamp_seconds{claim="c",tenant="t",type="ClusterReady",status="True",reason="Ready"}"#,
            "0x9 _x9 1200x60",
        )],
        &[(40, &[]), (70, &[])],
    ),
    // It stays given from then on.
    case(
        "ReadinessWithdrawn",
        &[(
            r#"testplatform_cluster_condition_timestamp_seconds{claim="c",tenant="t",type="ClusterReady",status="True",reason="Ready"}"#,
            "0x9 600x9 1200x9 1800x70",
        )],
        &[(80, &[])],
    ),
    case(
        "TeardownStuck",
        &[(r#"testplatform_cluster_phase{claim="c",tenant="t",phase="Deprovisioning"}"#, "1x130")],
        &[(119, &[]), (120, &[CLAIM])],
    ),
    case(
        "TeardownStuck",
        &[
            (PHASE_FAILED, "1x130"),
            (
                r#"testplatform_cluster_condition_timestamp_seconds{claim="c",tenant="t",type="ProwJobCompleted",status="False",reason="NotCompleted"}"#,
                "0x130",
            ),
        ],
        &[(120, &[CLAIM])],
    ),
    case(
        "TeardownStuck",
        &[
            (PHASE_FAILED, "1x130"),
            (
                r#"testplatform_cluster_condition_timestamp_seconds{claim="c",tenant="t",type="ProwJobCompleted",status="True",reason="Succeeded"}"#,
                "0x130",
            ),
        ],
        &[(130, &[])],
    ),
    case(
        "DeletionStuck",
        &[(
            r#"testplatform_object_deletion_timestamp_seconds{claim="c",tenant="t",composite="x",object="o",composite_kind="XTestPlatformCluster"}"#,
            "0x130",
        )],
        &[(125, &[]), (126, &[r#"{claim="c",composite="x",tenant="t"}"#])],
    ),
    case(
        "DeletionStuck",
        &[(
            r#"testplatform_namespaced_object_deletion_timestamp_seconds{tenant="t",composite="x",object="o",composite_kind="TestCluster"}"#,
            "0x130",
        )],
        &[(126, &[r#"{composite="x",tenant="t"}"#])],
    ),
    case(
        "DeletionStuck",
        &[(
            r#"testplatform_object_deletion_timestamp_seconds{composite="x",object="o",composite_kind="XTestPlatformClusterPool"}"#,
            "0x130",
        )],
        &[(130, &[])],
    ),
    case(
        "ClusterOutlivesItsLifetime",
        &[(PHASE_READY, "1x40"), (EXPIRES, "0x40")],
        &[(20, &[]), (21, &[CLAIM])],
    ),
    case("ClusterOutlivesItsLifetime", &[(PHASE_READY, "1x40"), (EXPIRES, "3600x40")], &[(40, &[])]),
    case(
        "ClusterOutlivesItsLifetime",
        &[(PHASE_READY, "0x40"), (PHASE_FAILED, "1x40"), (EXPIRES, "0x40")],
        &[(40, &[])],
    ),
    case(
        "RemoteKubeconfigExpiring",
        &[(
            r#"testplatform_provider_config_kubeconfig_expires_timestamp_seconds{provider_config="hub"}"#,
            "1209000x70",
        )],
        &[(59, &[]), (60, &[r#"{provider_config="hub"}"#])],
    ),
    case(
        "RemoteKubeconfigExpiring",
        &[(
            r#"testplatform_provider_config_kubeconfig_expires_timestamp_seconds{provider_config="hub"}"#,
            LONG,
        )],
        &[(60, &[])],
    ),
    case(
        "RemoteUnreachable",
        &[(
            r#"testplatform_cluster_condition_timestamp_seconds{claim="c",tenant="t",type="RemoteConsistent",status="False",reason="HubUnreachable"}"#,
            "0x30",
        )],
        &[(9, &[]), (10, &["{}"])],
    ),
    case(
        "RemoteUnreachable",
        &[(
            r#"testplatform_cluster_condition_timestamp_seconds{claim="c",tenant="t",type="RemoteConsistent",status="False",reason="Paused"}"#,
            "0x30",
        )],
        &[(30, &[])],
    ),
    case(
        "SchemaDrift",
        &[(
            r#"testplatform_cluster_condition_timestamp_seconds{claim="c",tenant="t",type="RequestAccepted",status="True",reason="UnknownFieldForwarded"}"#,
            "0x30",
        )],
        &[(4, &[]), (5, &[r#"{reason="UnknownFieldForwarded"}"#])],
    ),
    case(
        "SchemaDrift",
        &[(
            r#"testplatform_cluster_condition_timestamp_seconds{claim="c",tenant="t",type="RequestAccepted",status="True",reason="Accepted"}"#,
            "0x30",
        )],
        &[(30, &[])],
    ),
    case(
        "EnvironmentConfigMissing",
        &[(
            r#"testplatform_cluster_condition_timestamp_seconds{claim="c",tenant="t",type="RequestAccepted",status="False",reason="EnvironmentConfigMissing"}"#,
            "0x30",
        )],
        &[(4, &[]), (5, &["{}"])],
    ),
    case(
        "EnvironmentConfigMissing",
        &[(
            r#"testplatform_cluster_condition_timestamp_seconds{claim="c",tenant="t",type="RequestAccepted",status="False",reason="QuotaExceeded"}"#,
            "0x30",
        )],
        &[(30, &[])],
    ),
];

pub const SECRET_AND_ORPHAN_CASES: &[Case] = &[
    case(
        "SecretSyncFailing",
        &[(r#"testplatform_secret_sync_claims{state="failing"}"#, "2x30")],
        &[(14, &[]), (15, &["{}"])],
    ),
    case(
        "SecretSyncFailing",
        &[
            (r#"testplatform_secret_sync_claims{state="failing"}"#, "1x10 0x30"),
            (r#"testplatform_secret_sync_claims{state="incomplete"}"#, "3x40"),
        ],
        &[(30, &[])],
    ),
    case(
        "HubTokenExpiring",
        &[(
            r#"testplatform_provider_kubeconfig_expires_timestamp_seconds{cluster="hub",namespace="testplatform-carrier"}"#,
            "0x70",
        )],
        &[(59, &[]), (60, &[r#"{cluster="hub"}"#])],
    ),
    case(
        "HubTokenExpiring",
        &[
            (
                r#"testplatform_provider_kubeconfig_expires_timestamp_seconds{cluster="hub",namespace="testplatform-carrier"}"#,
                LONG,
            ),
            (
                r#"testplatform_provider_kubeconfig_expires_timestamp_seconds{cluster="build01",namespace="provider-testplatform"}"#,
                "0x70",
            ),
        ],
        &[(60, &[])],
    ),
    case(
        "OrphansFound",
        &[(r#"testplatform_orphans{hub="h",remote_kind="EphemeralCluster"}"#, "1x30")],
        &[(4, &[]), (5, &[r#"{hub="h",remote_kind="EphemeralCluster"}"#])],
    ),
    case(
        "OrphansFound",
        &[(r#"testplatform_orphans{hub="h",remote_kind="EphemeralCluster"}"#, "0x30")],
        &[(30, &[])],
    ),
    case("OrphansNotListed", &[], &[(14, &[]), (15, &["{}"])]),
    case(
        "OrphansNotListed",
        &[(r#"testplatform_orphans_listed_timestamp_seconds{hub="h"}"#, "0x90")],
        &[(75, &[]), (76, &[r#"{hub="h"}"#])],
    ),
    // A process that restarts before its first list has zeros and gaps.
    case(
        "OrphansNotListed",
        &[(r#"testplatform_orphans_listed_timestamp_seconds{hub="h"}"#, "0x50 _x4 0x20 _x3 0x20")],
        &[(90, &[r#"{hub="h"}"#])],
    ),
    case(
        "OrphansNotListed",
        &[(r#"testplatform_orphans_listed_timestamp_seconds{hub="h"}"#, "0+60x90")],
        &[(90, &[])],
    ),
];
