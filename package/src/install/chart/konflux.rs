//! Chart `testplatform`: the overlays of a Konflux cluster.

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{
    Chart, TemplateFile,
    manifests::Manifests,
    template::ChartTemplate,
    values::{KonfluxValues, konflux_schema},
    values_file::render_values,
};
use crate::install::alerts::SITE;

/// Namespaces of Prometheus in a NetworkPolicy that admits it last.
pub(super) const METRICS_NAMESPACES: &str =
    "/spec/ingress/{index}/from/0/namespaceSelector/matchExpressions/0/values";
/// Expression for `minAvailable` of a budget: one pod may always leave its node, and one stays if there are several.
pub(super) fn min_available(replicas: &str) -> String {
    format!("min 1 (sub (int64 {replicas}) 1)")
}

pub(super) fn build_chart(manifests: &Manifests) -> anyhow::Result<Chart> {
    let schema = konflux_schema()?;
    let defaults = serde_json::to_value(KonfluxValues::default())?;
    Ok(Chart {
        name: "testplatform",
        description: "Claims of ephemeral OpenShift clusters on a Konflux cluster with Crossplane",
        values: render_values(&schema, &defaults, &[])?,
        schema,
        templates: build_templates(manifests)?,
    })
}

fn build_templates(manifests: &Manifests) -> anyhow::Result<Vec<TemplateFile>> {
    let mut api = manifests.render(&["install/api"], &[])?;
    let test_clusters = manifests.render(&["install/api"], &["install/components/test-clusters"])?;
    let test_clusters: Vec<ChartTemplate> = test_clusters
        .into_iter()
        .filter(|object| !api.iter().any(|known| known.is_same_object(object)))
        .collect();
    let composition = find(&mut api, "Composition")?;
    composition.add_if(
        "/spec/pipeline/0/input",
        ".Values.testClusters.enabled",
        &json!({ "apiVersion": "testplatform.fn.crossplane.io/v1beta1", "kind": "Input", "bothFlavours": true }),
    )?;
    let component = |name: &str| manifests.render(&[], &[&format!("install/components/{name}")]);
    let (xrds, api) = split_definitions(api);
    let (xrds_of_test_clusters, test_clusters) = split_definitions(test_clusters);
    let mut files = vec![
        file("xrds", None, xrds),
        file("xrds-test-clusters", Some(".Values.testClusters.enabled"), xrds_of_test_clusters),
        file("api", None, api),
        file("function", None, function(manifests)?),
        file("tenants", None, manifests.render(&["install/tenants"], &[])?),
        file(
            "namespaces",
            Some(".Values.namespaces.create"),
            manifests.render(&["install/namespaces"], &[])?,
        ),
        file("environment", Some(".Values.environment.create"), environment(manifests)?),
        file("hub-access", Some("eq .Values.hub.access \"Secret\""), component("hub-access")?),
        file("hub-access-injected", Some("eq .Values.hub.access \"InjectedIdentity\""), injected(manifests)?),
        file(
            "external-secret",
            Some(".Values.hub.externalSecret.enabled"),
            external_secret(component("external-secret")?)?,
        ),
        file("monitoring", Some(".Values.monitoring.enabled"), fill_monitoring(component("monitoring")?)?),
        file("test-clusters", Some(".Values.testClusters.enabled"), test_clusters),
    ];
    for (name, condition) in [
        ("cluster-pools", ".Values.clusterPools.enabled"),
        ("kube-state-metrics", ".Values.kubeStateMetrics.enabled"),
        ("offers", ".Values.offers.enabled"),
        ("spaces", ".Values.spaces.enabled"),
    ] {
        let (xrds, others) = split_definitions(component(name)?);
        if !xrds.is_empty() {
            files.push(file(&format!("xrds-{name}"), Some(condition), xrds));
        }
        files.push(file(name, Some(condition), others));
    }
    Ok(files)
}

/// XRDs, and everything else: an upgrade applies the XRDs before the release, by the names of their files.
fn split_definitions(objects: Vec<ChartTemplate>) -> (Vec<ChartTemplate>, Vec<ChartTemplate>) {
    objects.into_iter().partition(|object| object.kind() == "CompositeResourceDefinition")
}

/// A file of templates.
pub(super) fn file(name: &str, condition: Option<&str>, objects: Vec<ChartTemplate>) -> TemplateFile {
    TemplateFile { name: name.to_owned(), condition: condition.map(str::to_owned), objects }
}

/// The first object of a kind.
pub(super) fn find<'a>(
    objects: &'a mut [ChartTemplate],
    kind: &str,
) -> anyhow::Result<&'a mut ChartTemplate> {
    let found = objects.iter_mut().find(|object| object.kind() == kind);
    found.with_context(|| format!("the manifests of the charts have no {kind}"))
}

/// Labels by which the Prometheus operator selects monitors and rules, and the address of the documentation site in the rules.
pub(super) fn fill_monitoring(mut objects: Vec<ChartTemplate>) -> anyhow::Result<Vec<ChartTemplate>> {
    for object in
        objects.iter_mut().filter(|object| ["PodMonitor", "PrometheusRule"].contains(&object.kind()))
    {
        object.fill_if(
            "/metadata/labels",
            ".Values.monitoring.labels",
            "toJson .Values.monitoring.labels",
        )?;
        for (pointer, page) in runbook_pages(object) {
            let url =
                format!("printf \"%s%s\" (trimSuffix \"/\" .Values.monitoring.docs) \"{page}\" | quote");
            object.fill(&pointer, &url)?;
        }
    }
    Ok(objects)
}

/// JSON pointers of the runbook addresses of a `PrometheusRule`, each with its path below the documentation site.
fn runbook_pages(rule: &ChartTemplate) -> Vec<(String, String)> {
    let mut pages = Vec::new();
    let groups = rule.value_at("/spec/groups").and_then(Value::as_array).into_iter().flatten();
    for (group, rules) in groups.enumerate() {
        for (index, alert) in rules["rules"].as_array().into_iter().flatten().enumerate() {
            let url = alert["annotations"]["runbook_url"].as_str();
            if let Some(page) = url.and_then(|url| url.strip_prefix(SITE)) {
                let pointer = format!("/spec/groups/{group}/rules/{index}/annotations/runbook_url");
                pages.push((pointer, page.to_owned()));
            }
        }
    }
    pages
}

fn function(manifests: &Manifests) -> anyhow::Result<Vec<ChartTemplate>> {
    let mut objects = manifests.render(&["install/function"], &[])?;
    find(&mut objects, "Function")?.fill("/spec/package", "quote .Values.function.package")?;
    let runtime = find(&mut objects, "DeploymentRuntimeConfig")?;
    runtime.fill("/spec/deploymentTemplate/spec/replicas", "int64 .Values.function.replicas")?;
    for field in ["runAsGroup", "runAsUser"] {
        let pointer = format!("/spec/deploymentTemplate/spec/template/spec/securityContext/{field}");
        runtime.keep_if(&pointer, "not .Values.openshift.enabled")?;
    }
    let budget = find(&mut objects, "PodDisruptionBudget")?;
    budget.fill("/spec/minAvailable", &min_available(".Values.function.replicas"))?;
    let policy = find(&mut objects, "NetworkPolicy")?;
    let namespaces = METRICS_NAMESPACES.replace("{index}", "1");
    policy.fill(&namespaces, "toJson .Values.monitoring.namespaces")?;
    Ok(objects)
}

fn environment(manifests: &Manifests) -> anyhow::Result<Vec<ChartTemplate>> {
    let mut objects = manifests.read_file("install/overlays/crossplane/environment-config.yaml")?;
    let config = find(&mut objects, "EnvironmentConfig")?;
    config.fill("/data/clusterName", "quote .Values.environment.clusterName")?;
    config.fill_if(
        "/data/provisionP90",
        ".Values.environment.provisionP90",
        "toJson .Values.environment.provisionP90",
    )?;
    Ok(objects)
}

/// The hub is this cluster: its ProviderConfig, and the rights of provider-kubernetes.
fn injected(manifests: &Manifests) -> anyhow::Result<Vec<ChartTemplate>> {
    let mut objects = manifests.read_file("install/overlays/development/provider-config.yaml")?;
    objects.extend(manifests.read_file("install/overlays/development/provider-kubernetes-rbac.yaml")?);
    Ok(objects)
}

fn external_secret(mut objects: Vec<ChartTemplate>) -> anyhow::Result<Vec<ChartTemplate>> {
    let secret = find(&mut objects, "ExternalSecret")?;
    secret.fill("/spec/dataFrom/0/extract/key", "quote .Values.hub.externalSecret.key")?;
    secret.fill("/spec/secretStoreRef/kind", "quote .Values.hub.externalSecret.store.kind")?;
    secret.fill("/spec/secretStoreRef/name", "quote .Values.hub.externalSecret.store.name")?;
    Ok(objects)
}
