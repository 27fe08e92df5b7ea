//! Values of charts: each is data, and a wrong one is refused in one sentence.

use rstest::rstest;
use serde_json::{Value, json};

use super::support::{Chart, read_by_go, template, values_file};

/// Text that would be something else in a template, in YAML 1.1 or in a shell.
const TEXTS: [&str; 14] = [
    "{{ .Values | toJson }}",
    "a\nb: c",
    "yes",
    "1e3",
    "0x10",
    "null",
    "it's \"quoted\" \\ $(id) `id`",
    "- x",
    "#c",
    "*a",
    "b\u{2028}cd\u{9}e\u{a0}é€😀",
    " spaces around ",
    "<&>",
    "a: b",
];

#[test]
fn text_is_data() {
    for text in TEXTS {
        let values = json!({
            "environment": { "clusterName": text },
            "hub": { "externalSecret": { "enabled": true, "key": text, "store": { "name": text } } },
        });
        let output = template(Chart::Konflux, &[values_file(&values).argument()]);
        assert!(output.succeeded, "{text:?}: {}", output.stderr);
        let rendered = read_by_go(&output.stdout);
        let at = |kind: &str, pointer: &str| {
            let object = rendered.values().find(|object| object["kind"] == kind).unwrap();
            object.pointer(pointer).unwrap_or_else(|| panic!("{kind} has no {pointer}")).clone()
        };
        for (kind, pointer, expected) in [
            ("EnvironmentConfig", "/data/clusterName", json!(text)),
            ("ExternalSecret", "/spec/dataFrom/0/extract/key", json!(text)),
            ("ExternalSecret", "/spec/secretStoreRef/name", json!(text)),
        ] {
            assert_eq!(at(kind, pointer), expected, "{kind} {pointer}");
        }
    }
}

/// Readers of YAML in Go take these for a line break and for an error. kustomize, which reads the other texts here, loses both.
#[test]
fn control_characters_are_escaped() {
    let values = json!({ "environment": { "clusterName": "a\u{85}b\u{7f}c" } });
    let output = template(Chart::Konflux, &[values_file(&values).argument()]);
    assert!(output.stdout.contains(r#"clusterName: "a\u0085b\x7fc""#), "{}{}", output.stdout, output.stderr);
}

/// The provider's configuration arrives with every text as it is.
#[test]
fn configuration_of_the_provider_is_data() {
    for text in TEXTS {
        let values = json!({ "provider": { "config": { "buildClusters": { "directory": text } } } });
        let output = template(Chart::Hub, &[values_file(&values).argument()]);
        assert!(output.succeeded, "{text:?}: {}", output.stderr);
        let rendered = read_by_go(&output.stdout);
        let config = rendered.values().find(|object| object["data"]["config.yaml"].is_string()).unwrap();
        let config: Value = serde_saphyr::from_str(config["data"]["config.yaml"].as_str().unwrap()).unwrap();
        assert_eq!(config["buildClusters"]["directory"], *text);
    }
}

#[rstest]
#[case(Chart::Konflux, json!({ "functoin": {} }), "additional properties 'functoin' not allowed")]
#[case(Chart::Konflux, json!({ "function": { "pakage": "a:b" } }), "at '/function': additional properties 'pakage' not allowed")]
#[case(Chart::Konflux, json!({ "function": { "package": "no reference" } }), "at '/function/package': 'no reference' does not match pattern")]
#[case(Chart::Konflux, json!({ "function": { "package": "" } }), "at '/function/package': '' does not match pattern")]
#[case(Chart::Konflux, json!({ "function": { "package": null } }), "at '/function': missing property 'package'")]
#[case(Chart::Konflux, json!({ "function": { "replicas": 0 } }), "at '/function/replicas': minimum: got 0, want 1")]
#[case(Chart::Konflux, json!({ "function": { "replicas": "2" } }), "at '/function/replicas': got string, want integer")]
#[case(Chart::Konflux, json!({ "hub": { "access": "secret" } }), "at '/hub/access': value must be one of 'Secret', 'InjectedIdentity', 'None'")]
#[case(Chart::Konflux, json!({ "environment": { "clusterName": "" } }), "at '/environment/clusterName': minLength: got 0, want 1")]
#[case(Chart::Konflux, json!({ "environment": { "provisionP90": { "a": "2 hours" } } }), "at '/environment/provisionP90/a': '2 hours' does not match pattern")]
#[case(Chart::Konflux, json!({ "monitoring": { "enabled": "yes" } }), "at '/monitoring/enabled': got string, want boolean")]
#[case(Chart::Konflux, json!({ "monitoring": { "labels": { "a b": "c" } } }), "at '/monitoring/labels': additional properties 'a b' not allowed")]
#[case(Chart::Konflux, json!({ "monitoring": { "labels": { "a": "b\nc" } } }), "at '/monitoring/labels/a'")]
#[case(Chart::Konflux, json!({ "monitoring": { "namespaces": ["a\u{85}b"] } }), "at '/monitoring/namespaces/0'")]
#[case(Chart::Konflux, json!({ "openshift": true }), "at '/openshift': got boolean, want object")]
#[case(Chart::Hub, json!({ "provider": { "config": { "ephemeralClusters": {} } } }), "at '/provider/config': additional properties 'ephemeralClusters' not allowed")]
#[case(Chart::Hub, json!({ "provider": { "config": { "ephemeralCluster": { "mode": "on" } } } }), "at '/provider/config/ephemeralCluster/mode'")]
#[case(Chart::Hub, json!({ "konflux": { "rights": ["hypershfit"] } }), "at '/konflux/rights/0': value must be one of")]
#[case(Chart::Hub, json!({ "provider": { "image": 7 } }), "at '/provider/image': got number, want string")]
fn wrong_values_are_refused_in_one_sentence(
    #[case] chart: Chart,
    #[case] values: Value,
    #[case] expected: &str,
) {
    let output = template(chart, &[values_file(&values).argument()]);
    assert!(!output.succeeded, "{values} is accepted");
    let problems: Vec<&str> = output.stderr.lines().filter(|line| line.starts_with("- ")).collect();
    assert!(problems.len() == 1 && problems[0].contains(expected), "{values}: {}", output.stderr);
}

/// Kinds of a cluster with everything but one operator, and the sentence about it.
#[rstest]
#[case(
    "apiextensions.crossplane.io",
    "Crossplane is not installed on this cluster: install it, and then this chart."
)]
#[case(
    "kubernetes.crossplane.io",
    "provider-kubernetes is not installed on this cluster: install it, and then this chart."
)]
#[case("kubernetes.m.crossplane.io", "TestClusters need provider-kubernetes 1.0 or newer")]
#[case("external-secrets.io", "The External Secrets Operator is not installed on this cluster")]
#[case("monitoring.coreos.com", "The Prometheus operator is not installed on this cluster")]
#[case("", "")]
fn missing_operators_are_named(#[case] missing: &str, #[case] expected: &str) {
    let kinds = [
        "apiregistration.k8s.io/v1",
        "apiextensions.crossplane.io/v1/Composition",
        "kubernetes.crossplane.io/v1alpha1/ProviderConfig",
        "kubernetes.m.crossplane.io/v1alpha1/ClusterProviderConfig",
        "external-secrets.io/v1/ExternalSecret",
        "monitoring.coreos.com/v1/PrometheusRule",
    ];
    let served = kinds.iter().filter(|kind| !kind.starts_with(&format!("{missing}/")));
    let mut arguments: Vec<String> = served.map(|kind| format!("--api-versions={kind}")).collect();
    for part in ["hub.externalSecret", "monitoring", "testClusters"] {
        arguments.push(format!("--set={part}.enabled=true"));
    }
    let output = template(Chart::Konflux, &arguments);
    assert_eq!(output.succeeded, missing.is_empty(), "{}", output.stderr);
    assert!(output.stderr.contains(expected), "{}", output.stderr);
}

#[test]
fn kubernetes_that_is_too_old_is_refused() {
    for chart in [Chart::Konflux, Chart::Hub] {
        let output = template(chart, &["--kube-version=1.29.9".to_owned()]);
        assert!(
            !output.succeeded && output.stderr.contains("requires kubeVersion: >=1.30.0-0"),
            "{}",
            output.stderr
        );
        assert!(template(chart, &["--kube-version=v1.30.4-eks-1".to_owned()]).succeeded);
    }
}
