//! Chart `testplatform-hub`: the overlay of a hub.

use super::{
    Chart, TemplateFile,
    konflux::{METRICS_NAMESPACES, file, fill_monitoring, find, min_available},
    manifests::Manifests,
    template::{ChartTemplate, RESOURCE_POLICY},
    values::{HubValues, available_rights, hub_schema},
    values_file::{Verbatim, render_values},
};

/// The provider's configuration of a hub of its own.
const CONFIGURATION: &str = "install/hub/provider-config.yaml";
/// Name of the ConfigMap, by its content: a change restarts the provider, which reads its configuration once.
const CONFIG_NAME: &str = "include \"testplatform-hub.configName\" .";

pub(super) fn build_chart(manifests: &Manifests) -> anyhow::Result<Chart> {
    let configuration = manifests.text(CONFIGURATION)?;
    let schema = hub_schema()?;
    let defaults = serde_json::to_value(HubValues::new(serde_saphyr::from_str(configuration)?))?;
    let verbatim = [Verbatim { path: "provider.config", text: configuration }];
    Ok(Chart {
        name: "testplatform-hub",
        description: "The provider that makes ephemeral OpenShift clusters on a hub",
        values: render_values(&schema, &defaults, &verbatim)?,
        schema,
        templates: build_templates(manifests)?,
    })
}

fn build_templates(manifests: &Manifests) -> anyhow::Result<Vec<TemplateFile>> {
    let read = |name: &str| manifests.read_file(&format!("install/hub/{name}.yaml"));
    let mut identity = read("konflux-identity")?;
    identity.extend(read("konflux-identity-rbac")?);
    let mut policy = read("network-policy")?;
    let namespaces = METRICS_NAMESPACES.replace("{index}", "0");
    find(&mut policy, "NetworkPolicy")?.fill(&namespaces, "toJson .Values.monitoring.namespaces")?;
    let monitoring = manifests.render(&[], &["install/components/hub-monitoring"])?;
    let mut files = vec![
        file("definition", Some(".Values.definition.create"), manifests.render(&["crds"], &[])?),
        file("konflux-identity", None, identity),
        file("monitoring", Some(".Values.monitoring.enabled"), fill_monitoring(monitoring)?),
        file("namespaces", Some(".Values.namespaces.create"), read("namespaces")?),
        file("network-policy", None, policy),
        file("provider", None, provider(read("deployment")?)?),
        file("provider-rights", Some(".Values.rights.create"), read("provider-rbac")?),
    ];
    // Rights for further kinds of claims, each in a file of its own.
    for right in available_rights() {
        let mut objects = read(&format!("konflux-identity-{right}-rbac"))?;
        if right == "spaces" {
            objects.extend(read("namespace-spaces")?);
        }
        let condition = format!("has \"{right}\" .Values.konflux.rights");
        files.push(file(&format!("konflux-identity-{right}"), Some(&condition), objects));
    }
    Ok(files)
}

/// The Deployment with its budget, and the ConfigMap that kustomize generates in the overlay.
fn provider(mut objects: Vec<ChartTemplate>) -> anyhow::Result<Vec<ChartTemplate>> {
    let deployment = find(&mut objects, "Deployment")?;
    deployment.fill("/spec/replicas", "int64 .Values.provider.replicas")?;
    deployment.fill("/spec/template/spec/containers/0/image", "quote .Values.provider.image")?;
    deployment.fill("/spec/template/spec/volumes/0/configMap/name", CONFIG_NAME)?;
    let budget = find(&mut objects, "PodDisruptionBudget")?;
    budget.fill("/spec/minAvailable", &min_available(".Values.provider.replicas"))?;
    let mut config = ChartTemplate::new(serde_json::json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "", "namespace": "provider-testplatform",
            // A pod of the version before may start again until the rollout has succeeded, and needs its configuration.
            "annotations": { (RESOURCE_POLICY): "keep" },
        },
        "data": { "config.yaml": "" },
    }));
    config.fill("/metadata/name", CONFIG_NAME)?;
    config.fill("/data/config.yaml", "include \"testplatform-hub.config\" . | quote")?;
    objects.push(config);
    Ok(objects)
}
