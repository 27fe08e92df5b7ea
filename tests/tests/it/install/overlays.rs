//! Every overlay renders without a network, and a real API server accepts all of it. Kinds that it does not know are checked here.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use testplatform_package::check;
use testplatform_tests::{
    cluster::Cluster, control_plane::ControlPlane, crossplane::until_offered, kinds, manifests, prow,
    settings,
};

/// Manifests of components for clusters with another operator, whose kinds the API server here does not know.
pub const OF_OTHER_OPERATORS: [&str; 3] = [
    "install/components/external-secret/external-secret.yaml",
    "install/components/hub-monitoring/pod-monitor.yaml",
    "install/components/hub-monitoring/prometheus-rule.yaml",
];

/// Objects that kustomize renders from a directory of this repository.
pub fn render(kubectl: &Path, directory: &str) -> anyhow::Result<Vec<Value>> {
    let path = settings::repository().join(directory);
    let rendered = Command::new(kubectl).arg("kustomize").arg(&path).output()?;
    let words = String::from_utf8_lossy(&rendered.stderr);
    // Warnings too: what is deprecated today does not render tomorrow.
    ensure!(rendered.status.success() && words.is_empty(), "{directory} does not render: {words}");
    let all: Vec<Value> = serde_saphyr::from_multiple(std::str::from_utf8(&rendered.stdout)?)?;
    ensure!(!all.is_empty(), "{directory} is empty");
    Ok(all)
}

/// As an administrator would, with every field looked at.
pub fn apply(plane: &ControlPlane, kubectl: &Path, objects: &[Value]) -> anyhow::Result<()> {
    apply_with(plane, kubectl, objects, &[])
}

/// As [`apply`], with further flags.
pub fn apply_with(
    plane: &ControlPlane,
    kubectl: &Path,
    objects: &[Value],
    flags: &[&str],
) -> anyhow::Result<()> {
    let mut command = Command::new(kubectl);
    command.arg("--kubeconfig").arg(plane.kubeconfig());
    command.args(["apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-"]).args(flags);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    child.stdin.take().context("no input")?.write_all(list.to_string().as_bytes())?;
    let applied = child.wait_with_output()?;
    ensure!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    Ok(())
}

/// One after the other on one cluster, which is what they have in common with an upgrade.
pub async fn every_overlay_is_admitted(plane: &ControlPlane, kubectl: &Path) -> anyhow::Result<()> {
    let jobs = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": prow::JOBS } });
    plane.cluster().apply(&jobs).await?;
    for overlay in super::rendered::OVERLAYS {
        let all = render(kubectl, &format!("package/install/overlays/{overlay}"))?;
        missing_programs_are_named(plane, overlay, &all).await?;
        let (foreign, known): (Vec<Value>, Vec<Value>) = all.into_iter().partition(|object| {
            let group = object["apiVersion"].as_str().unwrap_or_default();
            group.starts_with("monitoring.coreos.com/") || group.starts_with("external-secrets.io/")
        });
        // OpenShift always has the Prometheus operator. Elsewhere it and External Secrets are components.
        ensure!(overlay == "konflux" || foreign.is_empty(), "{overlay} needs another operator: {foreign:?}");
        for object in &foreign {
            structure(object).with_context(|| format!("{overlay}: {object}"))?;
        }
        apply(plane, kubectl, &known).with_context(|| format!("{overlay} is refused"))?;
    }
    for file in OF_OTHER_OPERATORS {
        for object in manifests::package(file)? {
            structure(&object).with_context(|| file)?;
        }
    }
    let mirror = render(kubectl, "tests/hub-facts")?;
    ensure!(mirror.len() == 1 && mirror[0]["spec"]["providerConfigRef"]["name"] == "hub-east", "{mirror:?}");
    let examples = manifests::package("install/examples/hub.yaml")?;
    let pools = render(kubectl, "tests/cluster-pools")?;
    ensure!(pools.len() == 2, "{pools:?}");
    for (what, objects) in [("a hub", mirror), ("the example of a hub", examples), ("pools", pools)] {
        apply(plane, kubectl, &objects).with_context(|| format!("{what} is refused"))?;
    }
    beside_the_incumbent(&render(kubectl, "tests/incumbent/before")?, &render(kubectl, "tests/incumbent")?)?;
    let argo = render(kubectl, "package/install/argocd")?;
    apply(plane, kubectl, &argo.into_iter().map(|c| in_namespace(c, "default")).collect::<Vec<_>>())?;
    let operator = manifests::package_one("install/argocd/argocd-cr.yaml")?;
    let checks = operator["spec"]["resourceHealthChecks"].as_array().context("no checks")?;
    ensure!(checks.iter().all(|c| c["group"].is_string() && c["kind"].is_string() && c["check"].is_string()));
    until_offered(plane.cluster()).await
}

/// The check before an installation names the operator whose kinds this API server does not serve, and nothing else.
async fn missing_programs_are_named(
    plane: &ControlPlane,
    overlay: &str,
    all: &[Value],
) -> anyhow::Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    for object in all {
        writeln!(file.as_file(), "---\n{object}")?;
    }
    let kubeconfig = plane.kubeconfig().display().to_string();
    let manifests = file.path().display().to_string();
    let line = ["cluster", "--kubeconfig", &kubeconfig, "--manifests", &manifests];
    let (text, clean) = super::xpkg::<check::command::CheckArgs, _>(&line, |arguments, out| {
        check::command::run(arguments, out, jiff::Timestamp::UNIX_EPOCH)
    })
    .await?;
    let expected = match overlay {
        "konflux" => {
            "missing: the Prometheus operator is not installed (PodMonitor, PrometheusRule): install it, "
        }
        _ => "the cluster serves the kinds of all ",
    };
    ensure!(text.starts_with(expected) && text.lines().count() == 1, "{overlay}: {text}");
    ensure!(clean == (overlay != "konflux"), "{overlay}: {text}");
    Ok(())
}

/// On a cluster that pins the incumbent's whole directory, its definitions and Compositions make room for ours, and what its
/// functions mount stays: it is the same for both kinds, and what a switch back needs.
fn beside_the_incumbent(before: &[Value], all: &[Value]) -> anyhow::Result<()> {
    fn of<'o>(all: &'o [Value], kind: &str, name: &str) -> Vec<&'o Value> {
        all.iter().filter(|o| o["kind"] == kind && o["metadata"]["name"] == name).collect()
    }
    // The function comes first, and is the same one then.
    let ours = of(before, "Function", "function-testplatform");
    ensure!(ours.len() == 1 && ours == of(all, "Function", "function-testplatform"), "{ours:?}");
    let theirs = of(before, "Composition", "testplatform-ephemeral-cluster");
    ensure!(theirs.len() == 1 && theirs[0]["metadata"]["labels"]["made-by"] == "incumbent", "{theirs:?}");
    let named = |kind: &str, name: &str| of(all, kind, name);
    for (definition, composition) in [
        ("xtestplatformclusters.ci.openshift.org", "testplatform-ephemeral-cluster"),
        ("xnamespaces.eaas.konflux-ci.dev", "eaas-namespace"),
    ] {
        for found in [named("CompositeResourceDefinition", definition), named("Composition", composition)] {
            ensure!(found.len() == 1 && !found[0]["spec"].is_null(), "{definition}: {found:?}");
            ensure!(found[0]["metadata"]["labels"]["made-by"].is_null(), "the incumbent's: {found:?}");
        }
    }
    for name in ["xtestplatformcluster-templates", "xnamespace-templates"] {
        ensure!(
            named("ConfigMap", name).len() == 1,
            "{name} is gone, and the incumbent's functions mount it"
        );
    }
    ensure!(named("Function", "function-go-templating").len() == 1, "the incumbent's function is gone");
    let arguments = of(all, "Deployment", "crossplane")
        .first()
        .map(|core| core["spec"]["template"]["spec"]["containers"][0]["args"].clone());
    let advised = json!(["core", "start", "--max-concurrent-reconciles=10"]);
    ensure!(arguments.as_ref() == Some(&advised), "the arguments of Crossplane: {arguments:?}");
    let ours = named("Function", "function-testplatform");
    let package = ours.first().and_then(|function| function["spec"]["package"].as_str());
    ensure!(
        package.is_some_and(|p| p.starts_with("quay.io/konflux-ci/")),
        "the cluster's patch: {package:?}"
    );
    Ok(())
}

fn in_namespace(mut object: Value, namespace: &str) -> Value {
    object["metadata"]["namespace"] = namespace.into();
    object
}

/// Checks the structure of kinds that this API server does not have.
fn structure(object: &Value) -> anyhow::Result<()> {
    let spec = &object["spec"];
    let all = |value: &Value, is: &dyn Fn(&Value) -> bool| {
        value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(is))
    };
    let right = match object["kind"].as_str().unwrap_or_default() {
        "PodMonitor" => {
            object["apiVersion"] == "monitoring.coreos.com/v1"
                && spec["selector"]["matchLabels"].is_object()
                && all(&spec["podMetricsEndpoints"], &|end| {
                    end["port"] == "metrics" && end["path"] == "/metrics"
                })
        }
        "PrometheusRule" => {
            object["apiVersion"] == "monitoring.coreos.com/v1"
                && all(&spec["groups"], &|group| {
                    group["name"].is_string()
                        && all(&group["rules"], &|rule| {
                            ["alert", "expr", "for"].iter().all(|key| rule[key].is_string())
                                && rule["labels"]["severity"].is_string()
                                && rule["annotations"]["runbook_url"].as_str().is_some_and(|url| {
                                    url.starts_with("https://docs.example.org/testplatform/runbook/")
                                })
                        })
                })
        }
        "ExternalSecret" => {
            object["apiVersion"] == "external-secrets.io/v1"
                && spec["secretStoreRef"]["kind"] == "ClusterSecretStore"
                && spec["target"]["name"] == "testplatform-appci-cluster"
                && all(&spec["dataFrom"], &|from| from["extract"]["key"].is_string())
        }
        kind => bail!("nobody has said what a {kind} looks like"),
    };
    ensure!(right, "it is not what its kind should be");
    Ok(())
}

/// Pods of function and provider, as the package manager and the Deployment make them, in a namespace where the strictest
/// standard is enforced.
pub async fn pods_are_as_restricted_as_can_be(konflux: &Cluster) -> anyhow::Result<()> {
    let namespace = "restricted";
    let labels = json!({ "pod-security.kubernetes.io/enforce": "restricted" });
    let own = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace, "labels": labels } });
    konflux.apply(&own).await?;
    let runtime = manifests::package_one("install/function/runtime-config.yaml")?;
    let mut function = runtime["spec"]["deploymentTemplate"]["spec"]["template"].clone();
    let container = &mut function["spec"]["containers"][0];
    ensure!(
        container["name"] == "package-runtime",
        "the package manager patches another container: {container}"
    );
    container["image"] = "function".into();
    let provider = manifests::package("install/hub/deployment.yaml")?;
    let provider = provider.into_iter().find(|o| o["kind"] == "Deployment").context("no Deployment")?;
    let templates = [("function", function), ("provider", provider["spec"]["template"].clone())];
    for (name, mut pod) in templates {
        let container = &pod["spec"]["containers"][0];
        for probe in ["readinessProbe", "livenessProbe"] {
            let path = container[probe]["httpGet"]["path"].as_str().unwrap_or_default();
            ensure!(["/readyz", "/healthz"].contains(&path), "{name}: {probe} asks {path}");
        }
        ensure!(container["securityContext"]["readOnlyRootFilesystem"] == true, "{name}: {container}");
        ensure!(container["resources"]["limits"]["memory"].is_string(), "{name}: {container}");
        pod["apiVersion"] = "v1".into();
        pod["kind"] = "Pod".into();
        pod["metadata"]["name"] = name.into();
        pod["metadata"]["namespace"] = namespace.into();
        konflux.create(&pod).await.with_context(|| format!("{name} is refused"))?;
        // Whoever is less careful is refused, or this would say nothing.
        pod["metadata"]["name"] = format!("{name}-careless").into();
        pod["spec"]["containers"][0]["securityContext"] = json!({});
        pod["spec"]["securityContext"] = json!({});
        ensure!(konflux.create(&pod).await.is_err(), "the standard is not enforced");
    }
    konflux.delete(&testplatform_tests::cluster::at_root(kinds::NAMESPACE, namespace)).await
}
