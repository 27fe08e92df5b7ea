//! Checks of rendered overlays without an API server: the order in which they are applied, kept objects, the owners of the pods, and
//! that the guide's additions do not collide with them.

use anyhow::{Context as _, ensure};
use serde_json::Value;
use testplatform_tests::{binaries::Binaries, manifests};

use super::overlays::render;

/// The overlays that are shipped.
pub const OVERLAYS: [&str; 4] = ["hub", "crossplane", "konflux", "development"];

pub fn overlays_are_in_order() -> anyhow::Result<()> {
    let kubectl = Binaries::ensure()?.kubectl;
    for overlay in OVERLAYS {
        let all = render(&kubectl, &format!("package/install/overlays/{overlay}"))?;
        order(&all).with_context(|| format!("order of {overlay}"))?;
        users(overlay, &all)?;
        drains(&all).with_context(|| format!("nodes under {overlay}"))?;
        walled(&all).with_context(|| format!("network policies of {overlay}"))?;
    }
    for component in ["tests/hub-facts", "tests/cluster-pools"] {
        order(&render(&kubectl, component)?).with_context(|| format!("order of {component}"))?;
    }
    for file in super::overlays::OF_OTHER_OPERATORS {
        order(&manifests::package(file)?).with_context(|| format!("order of {file}"))?;
    }
    order(&manifests::package("install/examples/hub.yaml")?).context("order of the example of a hub")
}

/// The Secret by which clusters are torn down outlives the object that brings it.
pub fn the_kubeconfig_of_the_hub_belongs_to_nobody() -> anyhow::Result<()> {
    let secret = manifests::package_one("install/components/external-secret/external-secret.yaml")?;
    let target = &secret["spec"]["target"];
    // An owner would take it along; what is lost in the vault takes nothing.
    ensure!(target["creationPolicy"] == "Orphan" && target["deletionPolicy"] == "Retain", "{target}");
    Ok(())
}

/// A hub with another configuration has its rights in place of those that are shipped.
pub fn a_hub_has_rights_of_its_own() -> anyhow::Result<()> {
    let kubectl = Binaries::ensure()?.kubectl;
    let all = render(&kubectl, "tests/own-rights")?;
    let shipped = render(&kubectl, "package/install/overlays/hub")?;
    let own = manifests::read(
        &testplatform_tests::settings::repository().join("tests/own-rights/rights/rbac.yaml"),
    )?;
    // kustomize changes a name in a rule that is also that of a ConfigMap it makes.
    let of_provider = manifests::package("install/hub/provider-rbac.yaml")?;
    for (rendered, rights) in [(&all, &own), (&shipped, &of_provider)] {
        for object in rights {
            let there: Vec<_> = rendered.iter().filter(|other| id(other) == id(object)).collect();
            ensure!(there.len() == 1 && there[0]["rules"] == object["rules"], "{object}: {there:?}");
        }
    }
    // Nothing else comes or goes. The ConfigMap has a name by what is in it.
    let others = |all: &[Value], rights: &[Value]| -> Vec<Id> {
        let mut ids: Vec<Id> = all.iter().filter(|object| object["kind"] != "ConfigMap").map(id).collect();
        ids.retain(|one| !rights.iter().any(|right| id(right) == *one));
        ids.sort();
        ids
    };
    ensure!(others(&all, &own) == others(&shipped, &of_provider), "{:?}", others(&all, &own));
    let config = all.iter().find(|o| o["kind"] == "ConfigMap" && !o["data"]["config.yaml"].is_null());
    let text = config.and_then(|config| config["data"]["config.yaml"].as_str()).unwrap_or_default();
    ensure!(text.contains("clusterClaim"), "{text}");
    Ok(())
}

/// On a cluster with components `cleanup` and `carrier`, for TestClusters too; and rules on claims where kube-state-metrics is.
pub fn what_is_added_on_a_konflux_cluster_goes_beside_the_rest() -> anyhow::Result<()> {
    let all = render(&Binaries::ensure()?.kubectl, "tests/additions")?;
    let configs: Vec<_> = all.iter().filter_map(|object| object["data"]["config.yaml"].as_str()).collect();
    ensure!(configs.iter().any(|text| text.contains("flavours: [claims, testClusters]")), "{configs:?}");
    for kind in ["testplatformclusters", "testclusters"] {
        let name = format!("provider-testplatform-cleanup-{kind}");
        ensure!(all.iter().filter(|object| object["metadata"]["name"] == *name).count() == 2, "{name}");
    }
    for kind in ["xtestplatformclusters", "testclusters"] {
        let name = format!("provider-testplatform-carry-{kind}");
        ensure!(all.iter().filter(|object| object["metadata"]["name"] == *name).count() == 2, "{name}");
    }
    let mut rules: Vec<_> = all.iter().filter(|object| object["kind"] == "PrometheusRule").map(id).collect();
    rules.sort();
    let rule =
        |namespace: &str, name: &str| ("PrometheusRule".to_owned(), namespace.to_owned(), name.to_owned());
    ensure!(
        rules
            == [
                rule("crossplane-system", "testplatform"),
                rule("kube-state-metrics", "testplatform-claims"),
                rule("testplatform-carrier", "testplatform-carrier"),
                rule("testplatform-orphans", "testplatform-orphans"),
            ],
        "{rules:?}"
    );
    orphans_are_searched_for_with_their_rights(&all)
}

/// kustomize changes no name in the rights of component `orphans`, and the pod has its configuration.
fn orphans_are_searched_for_with_their_rights(all: &[Value]) -> anyhow::Result<()> {
    for right in manifests::package("install/components/orphans/rbac.yaml")? {
        let rendered: Vec<_> = all.iter().filter(|object| id(object) == id(&right)).collect();
        ensure!(rendered.len() == 1 && rendered[0]["rules"] == right["rules"], "{right}: {rendered:?}");
    }
    let one = |kind: &str| {
        let named = ("testplatform-orphans", "testplatform-orphans");
        let is_named =
            |(of, namespace, name): &Id| of == kind && (namespace.as_str(), name.as_str()) == named;
        all.iter().find(|object| is_named(&id(object))).with_context(|| format!("no {kind}"))
    };
    let volumes = &one("Deployment")?["spec"]["template"]["spec"]["volumes"];
    let config = volumes[0]["configMap"]["name"].as_str().unwrap_or_default();
    let map = all.iter().find(|object| object["kind"] == "ConfigMap" && object["metadata"]["name"] == config);
    let text = map.and_then(|map| map["data"]["config.yaml"].as_str()).unwrap_or_default();
    ensure!(text.contains("mode: report"), "{config}: {text}");
    ensure!(one("NetworkPolicy")?["spec"]["policyTypes"] == serde_json::json!(["Ingress"]));
    Ok(())
}

/// By what kustomize tells objects apart.
type Id = (String, String, String);

fn id(object: &Value) -> Id {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    (text(&object["kind"]), text(&metadata["namespace"]), text(&metadata["name"]))
}

/// Every Deployment has a policy that finds its pods by the labels that kustomize leaves them.
fn walled(all: &[Value]) -> anyhow::Result<()> {
    for deployment in all.iter().filter(|object| object["kind"] == "Deployment") {
        let labels = &deployment["spec"]["template"]["metadata"]["labels"];
        let finds = |policy: &&Value| {
            policy["kind"] == "NetworkPolicy"
                && policy["metadata"]["namespace"] == deployment["metadata"]["namespace"]
                && policy["spec"]["podSelector"]["matchLabels"] == *labels
        };
        ensure!(all.iter().any(|object| finds(&object)), "none for {}", deployment["metadata"]["name"]);
    }
    Ok(())
}

/// A budget that no pod may leave keeps a node from being drained for ever.
fn drains(all: &[Value]) -> anyhow::Result<()> {
    for budget in all.iter().filter(|object| object["kind"] == "PodDisruptionBudget") {
        let name = &budget["metadata"]["name"];
        let runs = |object: &&Value| {
            object["metadata"]["name"] == *name
                && ["Deployment", "DeploymentRuntimeConfig"].iter().any(|kind| object["kind"] == *kind)
        };
        let runs = all.iter().find(runs).with_context(|| format!("nothing has the pods of {name}"))?;
        let spec = runs["spec"].get("deploymentTemplate").map_or(&runs["spec"], |template| &template["spec"]);
        let (pods, stay) = (&spec["replicas"], &budget["spec"]["minAvailable"]);
        ensure!(
            pods.as_u64().context("no replicas")? > stay.as_u64().context("no budget")?,
            "{name}: {pods}"
        );
    }
    Ok(())
}

/// OpenShift gives a user id itself and refuses any other; elsewhere the image's has to be named, or the package manager names
/// one that the image does not have.
fn users(overlay: &str, all: &[Value]) -> anyhow::Result<()> {
    let config = all.iter().find(|object| object["kind"] == "DeploymentRuntimeConfig");
    let Some(config) = config else {
        ensure!(overlay == "hub", "{overlay} does not say how the function runs");
        return Ok(());
    };
    ensure!(all.iter().any(|object| object["kind"] == "Function"), "{overlay} has no function");
    let context = &config["spec"]["deploymentTemplate"]["spec"]["template"]["spec"]["securityContext"];
    let expected = if overlay == "konflux" { Value::Null } else { 65532.into() };
    ensure!(context["runAsNonRoot"] == true && context["fsGroup"].is_null(), "{overlay}: {context}");
    ensure!(context["runAsUser"] == expected && context["runAsGroup"] == expected, "{overlay}: {context}");
    Ok(())
}

/// Waves that Argo CD follows, and what no prune may take.
fn order(all: &[Value]) -> anyhow::Result<()> {
    for object in all {
        let annotations = &object["metadata"]["annotations"];
        let wave = annotations["argocd.argoproj.io/sync-wave"].as_str().map(str::parse::<i32>).transpose()?;
        let options = annotations["argocd.argoproj.io/sync-options"].as_str().unwrap_or_default();
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let kind = object["kind"].as_str().unwrap_or_default();
        let (expected, kept) = match (kind, name) {
            // Policies before there is anything to judge, and as long as there is.
            ("Namespace" | "ValidatingAdmissionPolicy" | "ValidatingAdmissionPolicyBinding", _) => {
                (Some(-2), true)
            }
            // Definitions before the function: of a status with a field that they do not declare an API server takes nothing.
            ("ExternalSecret" | "CompositeResourceDefinition", _) => (Some(-1), true),
            // Claims that stay without it are looked after by nobody.
            ("Function" | "DeploymentRuntimeConfig", _) => (Some(0), true),
            ("ProviderConfig", _) => (Some(1), true),
            ("EnvironmentConfig", _) => (Some(1), false),
            ("Composition", _) => (Some(3), true),
            // A mirror is not synced while its hub is away, and a wave that is not healthy holds back those after it.
            ("Object" | "PodMonitor" | "PrometheusRule", _) => (Some(4), false),
            // An account made anew is another one, and no token of before is good.
            ("CustomResourceDefinition", _) | ("ServiceAccount", "konflux") => (None, true),
            _ => continue,
        };
        ensure!(wave == expected, "{kind} {name} is in wave {wave:?}, not {expected:?}");
        let prune = options.contains("Prune=false") && options.contains("Delete=false");
        ensure!(prune == kept, "{kind} {name} has the options {options:?}");
        let foreign = object["apiVersion"]
            .as_str()
            .is_some_and(|v| v.contains("crossplane.io") || v.contains("coreos"));
        ensure!(
            !foreign || options.contains("SkipDryRunOnMissingResource=true"),
            "{kind} {name}: {options:?}"
        );
    }
    Ok(())
}
