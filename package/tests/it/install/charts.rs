//! Charts, rendered by helm: the objects of the overlays, refused values, and text as data.
//!
//! helm and kustomize are the real programs. kubectl has kustomize in it.

pub mod support;
mod values;

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};
use testplatform_package::install::chart;

use support::{
    Chart, assert_same_objects, kustomize, kustomize_directory, render, repository_path, run_helm,
    values_file,
};

/// Each overlay with its chart and the values that stand for it.
#[rstest]
#[case::crossplane(Chart::Konflux, None, "crossplane")]
#[case::konflux(Chart::Konflux, Some("values-konflux.yaml"), "konflux")]
#[case::development(Chart::Konflux, Some("values-development.yaml"), "development")]
#[case::hub(Chart::Hub, None, "hub")]
fn objects_are_those_of_the_overlay(
    #[case] chart: Chart,
    #[case] values: Option<&str>,
    #[case] overlay: &str,
) {
    let arguments = values.map(|file| format!("--values={}", chart.directory().join(file).display()));
    let rendered = render(chart, arguments.as_slice());
    assert_same_objects(&rendered, &kustomize(&format!("package/install/overlays/{overlay}")));
}

/// Parts that no overlay has, and every value that changes a manifest.
#[test]
fn objects_of_optional_parts_are_those_of_the_components() {
    let values = json!({
        "clusterPools": { "enabled": true },
        "environment": { "clusterName": "kflux-1", "provisionP90": { "ipi-aws": "2h30m" } },
        "function": { "package": format!("quay.io/a/f@sha256:{}", "0".repeat(64)), "replicas": 3 },
        "hub": { "externalSecret": {
            "enabled": true, "key": "a/b", "store": { "kind": "SecretStore", "name": "vault" },
        } },
        "monitoring": { "enabled": true, "labels": { "release": "prom" }, "namespaces": ["prom"] },
        "offers": { "enabled": true },
        "spaces": { "enabled": true },
        "testClusters": { "enabled": true },
    });
    let kustomization = format!(
        "components:\n{}patches:\n{}",
        ["external-secret", "monitoring", "offers", "spaces", "test-clusters", "cluster-pools"]
            .map(|name| format!("- INSTALL/components/{name}\n"))
            .concat(),
        [
            ("Function", "/spec/package", json!(values["function"]["package"])),
            ("DeploymentRuntimeConfig", "/spec/deploymentTemplate/spec/replicas", json!(3)),
            ("EnvironmentConfig", "/data/clusterName", json!("kflux-1")),
            ("EnvironmentConfig", "/data/provisionP90", json!({ "ipi-aws": "2h30m" })),
            ("ExternalSecret", "/spec/dataFrom/0/extract/key", json!("a/b")),
            ("ExternalSecret", "/spec/secretStoreRef", json!({ "kind": "SecretStore", "name": "vault" })),
            ("(PodMonitor|PrometheusRule)", "/metadata/labels", json!({ "release": "prom" })),
            (
                "NetworkPolicy",
                "/spec/ingress/1/from/0/namespaceSelector/matchExpressions/0/values",
                json!(["prom"]),
            ),
        ]
        .map(|(kind, path, value)| {
            let patch = json!([{ "op": "add", "path": path, "value": value }]);
            format!("- target: {{ kind: {kind} }}\n  patch: '{patch}'\n")
        })
        .concat(),
    );
    let rendered = render(Chart::Konflux, &[values_file(&values).argument()]);
    let expected = kustomize_directory(&["INSTALL/overlays/crossplane"], &kustomization);
    assert_same_objects(&rendered, &expected);
}

/// Rights for every kind of claims, and no part of another owner.
#[test]
fn objects_of_a_hub_are_those_of_its_manifests() {
    let rights = ["hypershift", "cluster-api", "caas", "osac", "clusterclaims", "clusterpools", "hub-facts"];
    let values = json!({
        "definition": { "create": false },
        "konflux": { "rights": rights.iter().chain(&["spaces"]).collect::<Vec<_>>() },
        "monitoring": { "enabled": true },
        "provider": { "image": "quay.io/a/p:v2", "replicas": 1 },
    });
    let mut resources: Vec<String> =
        rights.map(|right| format!("FILES/hub/konflux-identity-{right}-rbac.yaml")).into();
    resources.extend(
        ["konflux-identity-spaces-rbac", "namespace-spaces"].map(|name| format!("FILES/hub/{name}.yaml")),
    );
    resources.push("INSTALL/hub".to_owned());
    let resources: Vec<&str> = resources.iter().map(String::as_str).collect();
    let kustomization = "components:\n- INSTALL/components/hub-monitoring\n\
        images:\n- { name: provider-testplatform, newName: quay.io/a/p, newTag: v2 }\n\
        patches:\n\
        - target: { kind: PodDisruptionBudget }\n  patch: '[{ \"op\": \"replace\", \"path\": \"/spec/minAvailable\", \"value\": 0 }]'\n\
        - target: { kind: Deployment }\n  patch: '[{ \"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": 1 }]'\n";
    let rendered = render(Chart::Hub, &[values_file(&values).argument()]);
    assert_same_objects(&rendered, &kustomize_directory(&resources, kustomization));
}

/// A pod reads its configuration once, so another configuration has to be another ConfigMap.
#[test]
fn changed_configuration_of_the_provider_restarts_it() {
    let name = |rendered: &support::Objects| {
        let deployment = rendered.values().find(|object| object["kind"] == "Deployment").unwrap();
        let volume = &deployment["spec"]["template"]["spec"]["volumes"][0];
        let name = volume["configMap"]["name"].as_str().unwrap().to_owned();
        let config = rendered.values().find(|object| object["metadata"]["name"] == *name).unwrap();
        let text = config["data"]["config.yaml"].as_str().unwrap();
        (name, serde_saphyr::from_str::<Value>(text).unwrap())
    };
    let (default, _) = name(&render(Chart::Hub, &[]));
    let values = json!({ "provider": { "config": { "ephemeralCluster": { "mode": "off" } } } });
    let (other, config) = name(&render(Chart::Hub, &[values_file(&values).argument()]));
    assert_ne!(default, other);
    assert_eq!(config["ephemeralCluster"]["mode"], "off");
}

/// A release that is a part of another one. Helm adds `global` to its values.
#[test]
fn charts_are_parts_of_other_charts() {
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join("Chart.yaml"), "apiVersion: v2\nname: platform\nversion: 1.0.0\n").unwrap();
    fs::write(
        parent.path().join("values.yaml"),
        "global: { team: a }\ntestplatform: { environment: { clusterName: kflux-1 } }\n",
    )
    .unwrap();
    let charts = parent.path().join("charts");
    fs::create_dir(&charts).unwrap();
    std::os::unix::fs::symlink(Chart::Konflux.directory(), charts.join("testplatform")).unwrap();
    let output = run_helm(&["template", "platform", parent.path().to_str().unwrap()]);
    assert!(output.succeeded, "{}", output.stderr);
    let objects = support::read_objects(&output.stdout);
    let config = objects.values().find(|object| object["kind"] == "EnvironmentConfig").unwrap();
    assert_eq!(config["data"]["clusterName"], "kflux-1");
}

#[rstest]
#[case(Chart::Konflux)]
#[case(Chart::Hub)]
fn helm_lint_is_content(#[case] chart: Chart) {
    let output = run_helm(&["lint", "--strict", chart.directory().to_str().unwrap()]);
    assert!(output.succeeded, "{}{}", output.stdout, output.stderr);
}

/// The notes say the next step, as far as it is not done.
#[test]
fn notes_name_the_next_step() {
    let notes = support::render_notes(Chart::Konflux, &[]);
    for words in ["cargo xpkg push", "create secret generic testplatform-appci-cluster", "kubectl wait"] {
        assert!(notes.contains(words), "{words}: {notes}");
    }
    let notes = support::render_notes(
        Chart::Konflux,
        &["--set=function.package=quay.io/a/f:v1", "--set=hub.access=None"],
    );
    assert!(!notes.contains("xpkg push") && !notes.contains("create secret"), "{notes}");
    let notes = support::render_notes(Chart::Hub, &[]);
    assert!(notes.contains("cluster-profiles") && notes.contains("hub-kubeconfig"), "{notes}");
    let notes =
        support::render_notes(Chart::Hub, &["--set-string=provider.config.ephemeralCluster.mode=off"]);
    assert!(!notes.contains("cluster-profiles"), "{notes}");
}

/// A file that the generator no longer writes would be installed for ever.
#[test]
fn files_of_charts_are_generated_or_listed() {
    let generated = testplatform_package::generate_files().unwrap();
    let package = repository_path("package");
    for chart in [Chart::Konflux, Chart::Hub] {
        let mut hand_written: Vec<String> = chart::HAND_WRITTEN.map(str::to_owned).into();
        hand_written.extend(chart.overlays().iter().map(|name| format!("values-{name}.yaml")));
        for file in support::list_files(&chart.directory()) {
            let path = chart.directory().join(&file);
            let path = path.strip_prefix(&package).unwrap().to_str().unwrap().to_owned();
            let known = hand_written.contains(&file) || generated.iter().any(|known| known.path == path);
            assert!(known, "{path} is generated by nothing");
        }
    }
}
