//! Series for the alerts of a hub, and the minutes at which they fire.

use super::alert_cases::{Case, case};

pub const HUB_CASES: &[Case] = &[
    case(
        "ProviderNotLeading",
        &[(r#"testplatform_provider_leader{namespace="provider-testplatform",pod="a"}"#, "0x30")],
        &[(4, &[]), (5, &["{}"])],
    ),
    // The carrier leads, and the provider is not scraped.
    case(
        "ProviderNotLeading",
        &[(r#"testplatform_provider_leader{namespace="testplatform-carrier",pod="a"}"#, "1x30")],
        &[(5, &["{}"])],
    ),
    case(
        "ProviderNotLeading",
        &[
            (r#"testplatform_provider_leader{namespace="provider-testplatform",pod="a"}"#, "1x30"),
            (r#"testplatform_provider_leader{namespace="provider-testplatform",pod="b"}"#, "0x30"),
        ],
        &[(30, &[])],
    ),
    // One object that is retried every ten minutes, and will never succeed.
    case(
        "ProviderErrors",
        &[(
            r#"testplatform_provider_action_errors_total{action="apply",reason="forbidden"}"#,
            "0x9 1x9 2x9 3x9 4x9 5x9 6x9 7x9",
        )],
        &[(30, &[]), (79, &[r#"{action="apply",reason="forbidden"}"#])],
    ),
    case(
        "ProviderErrors",
        &[(
            r#"testplatform_provider_action_errors_total{action="apply",reason="timeout"}"#,
            "0x9 1x9 2x9 3x9 4x9 5x9 6x9 7x9",
        )],
        &[(79, &[])],
    ),
    case(
        "ProviderErrors",
        &[(r#"testplatform_provider_action_errors_total{action="apply",reason="timeout"}"#, "0+6x40")],
        &[(15, &[]), (40, &[r#"{action="apply",reason="timeout"}"#])],
    ),
    case(
        "ProviderBehind",
        &[(r#"testplatform_provider_watch_lag_seconds{watch="jobs"}"#, "301x30")],
        &[(4, &[]), (5, &[r#"{watch="jobs"}"#])],
    ),
    case(
        "ProviderBehind",
        &[(r#"testplatform_provider_queue_age_seconds{queue="jobs"}"#, "301x30")],
        &[(5, &[r#"{queue="jobs"}"#])],
    ),
    case(
        "ProviderBehind",
        &[
            (r#"testplatform_provider_watch_lag_seconds{watch="jobs"}"#, "200x30"),
            (r#"testplatform_provider_queue_age_seconds{queue="jobs"}"#, "301x3 10x30"),
        ],
        &[(5, &[]), (30, &[])],
    ),
    case(
        "BuildClusterDown",
        &[(r#"testplatform_build_cluster_up{cluster="build01"}"#, "0x30")],
        &[(9, &[]), (10, &[r#"{cluster="build01"}"#])],
    ),
    case(
        "BuildClusterDown",
        &[(r#"testplatform_build_cluster_up{cluster="build01"}"#, "0x5 1x30")],
        &[(30, &[])],
    ),
    case(
        "BuildClusterTokenExpiring",
        &[(
            r#"testplatform_provider_kubeconfig_expires_timestamp_seconds{cluster="build01",namespace="provider-testplatform"}"#,
            "1209000x70",
        )],
        &[(59, &[]), (60, &[r#"{cluster="build01"}"#])],
    ),
    case(
        "BuildClusterTokenExpiring",
        &[
            (
                r#"testplatform_provider_kubeconfig_expires_timestamp_seconds{cluster="build01",namespace="provider-testplatform"}"#,
                "1300000x70",
            ),
            (
                r#"testplatform_provider_kubeconfig_expires_timestamp_seconds{cluster="hub",namespace="testplatform-carrier"}"#,
                "0x70",
            ),
        ],
        &[(60, &[])],
    ),
    case(
        "BundlesFailing",
        &[(r#"testplatform_bundles{state="failed"}"#, "1x30")],
        &[(14, &[]), (15, &["{}"])],
    ),
    // Counted once, for an hour.
    case(
        "BundlesFailing",
        &[(r#"testplatform_bundle_outcomes_total{outcome="given_up"}"#, "0x5 1x90")],
        &[(20, &[]), (21, &["{}"]), (70, &[])],
    ),
    case(
        "BundlesFailing",
        &[
            (r#"testplatform_bundles{state="failed"}"#, "0x30"),
            (r#"testplatform_bundles{state="running"}"#, "4x30"),
            (r#"testplatform_bundle_outcomes_total{outcome="applied"}"#, "0+1x30"),
        ],
        &[(30, &[])],
    ),
    case(
        "PrerequisitesFailing",
        &[(r#"testplatform_prerequisites{state="failed"}"#, "1x30")],
        &[(14, &[]), (15, &["{}"])],
    ),
    case(
        "PrerequisitesFailing",
        &[(r#"testplatform_prerequisite_outcomes_total{outcome="given_up"}"#, "0x5 1x90")],
        &[(21, &["{}"]), (70, &[])],
    ),
    case(
        "PrerequisitesFailing",
        &[
            (r#"testplatform_prerequisites{state="running"}"#, "4x30"),
            (r#"testplatform_prerequisite_outcomes_total{outcome="released"}"#, "0+1x30"),
        ],
        &[(30, &[])],
    ),
    case(
        "CloudCredentialInvalid",
        &[(r#"testplatform_cloud_credentials{state="owner_invalid"}"#, "1x30")],
        &[(9, &[]), (10, &["{}"])],
    ),
    case(
        "CloudCredentialInvalid",
        &[
            (r#"testplatform_cloud_credentials{state="valid"}"#, "7x30"),
            (r#"testplatform_cloud_credentials{state="owner_invalid"}"#, "0x30"),
        ],
        &[(30, &[])],
    ),
    case(
        "CloudCredentialNotRotated",
        &[(r#"testplatform_cloud_credentials{state="rotation_failed"}"#, "1x70")],
        &[(59, &[]), (60, &[r#"{state="rotation_failed"}"#])],
    ),
    case(
        "CloudCredentialNotRotated",
        &[(r#"testplatform_cloud_credentials{state="unreachable"}"#, "1x30 0x40")],
        &[(60, &[]), (70, &[])],
    ),
    case(
        "HubFactsOld",
        &[("testplatform_hub_facts_written_timestamp_seconds", "0x30")],
        &[(15, &[]), (16, &["{}"])],
    ),
    case("HubFactsOld", &[("testplatform_hub_facts_written_timestamp_seconds", "0+60x30")], &[(30, &[])]),
    case(
        "SpaceCredentialsFailing",
        &[(r#"testplatform_spaces{state="blocked"}"#, "1x30")],
        &[(14, &[]), (15, &["{}"])],
    ),
    case("SpaceCredentialsFailing", &[(r#"testplatform_spaces{state="published"}"#, "1x30")], &[(30, &[])]),
    case(
        "UndecodableObjects",
        &[(r#"testplatform_provider_undecodable_objects{kind="ProwJob"}"#, "1x30")],
        &[(4, &[]), (5, &[r#"{kind="ProwJob"}"#])],
    ),
    case(
        "UndecodableObjects",
        &[(r#"testplatform_provider_undecodable_objects{kind="ProwJob"}"#, "0x30")],
        &[(30, &[])],
    ),
];
