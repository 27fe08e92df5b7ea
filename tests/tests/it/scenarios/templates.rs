//! The catalogue's effect on clusters by template: a message names each mistake, a corrected entry continues by itself, and existing
//! clusters stay whatever happens to the entry.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_apis::condition::TemplateConditionType;
use testplatform_tests::{
    actors::Fulfilled,
    cluster::{At, SOON, at_root, condition, has},
    cluster_api::{self, topology},
    hive::objects::text,
    hub::own::KNOWN,
    hypershift::{self, CLUSTERS, hosted::Hosted},
    kinds::{COMPOSITE, ENVIRONMENT_CONFIG, HOSTED_CLUSTER},
    patience::longer,
    tenant::Tenant,
    witness::Witness,
};

use super::hive::GONE;

/// Mistakes in a claim for such a cluster, field by field.
const WRONG: [&str; 4] =
    ["spec.version ", "spec.parameters.fips ", "spec.parameters.flavour ", "spec.nodeGroups[0].class "];

/// An entry of the scenario's own, after an example of ours.
pub struct Entry<'t> {
    tenant: &'t Tenant<'t>,
    manifest: Value,
}

impl<'t> Entry<'t> {
    pub fn new(tenant: &'t Tenant<'t>, example: Value, suffix: &str) -> Self {
        let mut manifest = example;
        manifest["metadata"]["name"] = format!("{}{suffix}", tenant.name).into();
        manifest["data"]["allowedTenants"] = json!([tenant.namespace]);
        Self { tenant, manifest }
    }

    pub fn name(&self) -> &str {
        self.manifest["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// Puts it into the catalogue with a change, which stays.
    pub async fn offer(&mut self, change: impl FnOnce(&mut Value)) -> anyhow::Result<()> {
        change(&mut self.manifest["data"]);
        self.tenant.konflux().apply(&self.manifest).await.map(|_| ())
    }

    pub fn at(&self) -> At {
        at_root(ENVIRONMENT_CONFIG, self.name())
    }
}

/// Messages to a claim until nothing is wrong any more, and messages that it must not get.
pub async fn hypershift_catalogue(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let mut entry = Entry::new(tenant, hypershift::template()?, "");
    first_response(tenant, entry.name()).await?;

    tenant.ask(&json!({ "template": entry.name() })).await?;
    tenant.until_condition("RequestAccepted", "False", "TemplateNotFound").await?;
    tenant.until_phase("Pending").await?;
    // Version and image of a release must agree.
    entry.offer(|data| data["releases"][0]["version"] = "4.20.4".into()).await?;
    tenant.nudge("broken").await?;
    let claim = tenant.until_condition("RequestAccepted", "False", "CatalogueInvalid").await?;
    let words = refusal(&claim);
    ensure!(words.contains("data.releases[0]"), "it does not say where: {words}");
    // Put right, it goes on by itself.
    entry
        .offer(|data| {
            data["releases"][0]["version"] = "4.20.3".into();
            data["limits"]["releaseImages"] = json!(["quay.io/ours/"]);
        })
        .await?;
    tenant.nudge("whole").await?;
    tenant.until_phase("Ready").await?;

    // All that is wrong with a claim is said at once, and nothing is asked of a hub.
    let wrong = tenant.also("wrong", Fulfilled::ByHyperShift).await?;
    wrong
        .ask(&json!({
            "template": entry.name(), "version": "4.11", "parameters": { "fips": "maybe", "flavour": "sweet" },
            "nodeGroups": [{ "name": "workers", "class": "gigantic", "count": 1 }],
        }))
        .await?;
    let refused = |claim: &Value| has(claim, "RequestAccepted", "False", "VersionUnsupported");
    let words = refusal(&wrong.until(SOON, "refused", refused).await?);
    for field in WRONG {
        ensure!(words.contains(field), "{field}is not in: {words}");
    }
    ensure!(words.contains("4.20.3"), "no version is offered: {words}");
    let hosted = Hosted::new(tenant.engine.hub.cluster(), &wrong.composite().await?);
    ensure!(tenant.engine.hub.cluster().get(&hosted.at()).await?.is_none(), "it was asked for all the same");

    // An image that it brings along, where the entry lets it.
    let brings = tenant.also("brings", Fulfilled::ByHyperShift).await?;
    let image =
        "quay.io/ours/release@sha256:0d5b1c4c7f720f698946c7f6ab08f687f4a1ac8f0d5b1c4c7f720f698946c7f6";
    brings.ask(&json!({ "template": entry.name(), "releaseImage": image })).await?;
    let hosted = Hosted::new(tenant.engine.hub.cluster(), &brings.composite().await?);
    let asked = hosted.until_asked(SOON).await?;
    ensure!(text(&asked, "/spec/release/image") == image, "{}", asked["spec"]["release"]);

    tenant.konflux().delete(&entry.at()).await
}

/// An old version is deprecated in words, then switched off; the cluster that has it stays as it is, also without the entry.
pub async fn hypershift_version_retired(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let mut entry = Entry::new(tenant, hypershift::template()?, "");
    entry.offer(|_| ()).await?;
    tenant.ask(&json!({ "template": entry.name(), "version": "4.19" })).await?;
    let claim = tenant.until_phase("Ready").await?;
    let said = claim["status"].to_string();
    ensure!(said.contains("4.19 goes at the end of the year"), "it is not told: {said}");
    let hosted = Hosted::new(tenant.engine.hub.cluster(), &tenant.composite().await?);
    let spec = |cluster: Option<&Value>| cluster.map(|cluster| cluster["spec"].clone());
    let before = spec(tenant.engine.hub.cluster().get(&hosted.at()).await?.as_ref());
    let stays =
        Witness::of(tenant.engine.hub.cluster(), &hosted.at(), move |now| spec(now) == before).await?;
    let ready = super::hypershift::stays_ready(tenant).await?;

    entry.offer(|data| data["releases"][1]["enabled"] = false.into()).await?;
    tenant.nudge("switched-off").await?;
    // Core reads the catalogue from its cache, which may be behind: who comes at once may be served by the old one.
    tokio::time::sleep(longer(KNOWN)).await;
    let late = tenant.also("late", Fulfilled::ByHyperShift).await?;
    late.ask(&json!({ "template": entry.name(), "version": "4.19" })).await?;
    let claim = late.until_condition("RequestAccepted", "False", "VersionUnsupported").await?;
    ensure!(refusal(&claim).contains("4.20.3"), "no other is named: {}", refusal(&claim));

    tenant.konflux().delete(&entry.at()).await?;
    tenant.nudge("no-entry").await?;
    tenant.until_condition("SpecApplied", "False", "TemplateNotFound").await?;
    stays.verdict().await?;
    ready.verdict().await
}

/// An object of somebody else under the cluster's name on the hub is neither changed nor deleted.
pub async fn hypershift_name_taken(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let mut entry = Entry::new(tenant, hypershift::template()?, "");
    // Its name is known before it is asked for.
    tenant.ask(&json!({ "template": entry.name() })).await?;
    tenant.until_condition("RequestAccepted", "False", "TemplateNotFound").await?;
    let hosted = Hosted::new(hub, &tenant.composite().await?);
    let services = ["APIServer", "OAuthServer", "Konnectivity", "Ignition"]
        .map(|service| json!({ "service": service, "servicePublishingStrategy": { "type": "Route" } }));
    let theirs = json!({
        "apiVersion": "hypershift.openshift.io/v1beta1", "kind": HOSTED_CLUSTER.kind,
        "metadata": { "name": hosted.name(), "namespace": CLUSTERS, "labels": { "of": "somebody-else" } },
        "spec": {
            "platform": { "type": "None" }, "pullSecret": { "name": "theirs" },
            "networking": { "clusterNetwork": [{ "cidr": "10.132.0.0/14" }] },
            "release": { "image": "quay.io/theirs:4.18.1" },
            "etcd": { "managementType": "Unmanaged", "unmanaged": {
                "endpoint": "https://theirs:2379", "tls": { "clientSecret": { "name": "theirs" } },
            } },
            "services": services,
        },
    });
    hub.create(&theirs).await?;
    let theirs = |cluster: Option<&Value>| {
        cluster.is_some_and(|cluster| {
            let metadata = &cluster["metadata"];
            text(cluster, "/spec/release/image") == "quay.io/theirs:4.18.1"
                && metadata["annotations"]["testplatform.ci.openshift.org/composite-uid"].is_null()
                && metadata["deletionTimestamp"].is_null()
        })
    };
    let untouched = Witness::of(hub, &hosted.at(), theirs).await?;
    entry.offer(|_| ()).await?;
    tenant.nudge("entry").await?;
    tenant.until(GONE, "Failed", |claim| claim["status"]["phase"] == "Failed").await?;
    tenant.until_condition("RemoteConsistent", "False", "RemoteReplaced").await?;
    let composite = at_root(COMPOSITE, hosted.name());
    tenant.konflux().delete(&tenant.claim()).await?;
    tenant.konflux().until_gone(&composite, GONE).await?;
    untouched.verdict().await?;
    hosted.lose().await?;
    tenant.konflux().delete(&entry.at()).await
}

/// The claim names a newer entry: class, version and image follow, and the cluster is the same.
pub async fn cluster_api_template_moved(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let mut old = Entry::new(tenant, cluster_api::template()?, "-old");
    old.offer(|_| ()).await?;
    let mut new = Entry::new(tenant, cluster_api::template()?, "-new");
    let from = old.name().to_owned();
    new.offer(|data| {
        data["upgradesFrom"] = json!([from]);
        data["backendRef"]["classRef"]["name"] = "openstack-v4".into();
    })
    .await?;
    let mut other = Entry::new(tenant, cluster_api::template()?, "-other");
    other.offer(|data| data["upgradesFrom"] = json!([])).await?;
    tenant.ask(&json!({ "template": old.name(), "version": "v1.30.6" })).await?;
    tenant.until_phase("Ready").await?;
    let name = tenant.composite().await?;
    let served = super::hypershift::stays_ready(tenant).await?;

    // One that does not name the old one changes nothing.
    tenant.change(&json!({ "template": other.name() })).await?;
    let claim = tenant.until_condition("SpecApplied", "False", "Immutable").await?;
    let words = condition(&claim, "SpecApplied").map(|c| c["message"].clone()).unwrap_or_default();
    ensure!(words.as_str().is_some_and(|words| words.contains("spec.template")), "{words}");
    let class = |cluster: &Value| text(cluster, "/spec/topology/classRef/name").to_owned();
    let cluster = hub.get(&topology(&name)).await?.context("no Cluster")?;
    ensure!(class(&cluster) == "openstack-v3", "{}", cluster["spec"]["topology"]["classRef"]);

    tenant.change(&json!({ "template": new.name(), "version": "v1.31.2" })).await?;
    let moved = |cluster: &Value| {
        class(cluster) == "openstack-v4" && text(cluster, "/spec/topology/version") == "v1.31.2"
    };
    hub.until_is(&topology(&name), SOON, "moved", moved).await?;
    let told = |claim: &Value| {
        text(claim, "/status/version").ends_with("1.31.2") && has(claim, "SpecApplied", "True", "UpToDate")
    };
    tenant.until(SOON, "told", told).await?;
    served.verdict().await?;
    ensure!(tenant.remotes_made() == 1, "another Cluster was asked for");
    for entry in [old, new, other] {
        tenant.konflux().delete(&entry.at()).await?;
    }
    Ok(())
}

/// The webhook adds a variable that has a default in the class. No request has it, so it stays, and the next class does not define it.
pub async fn cluster_api_moved_to_a_class_without_a_variable(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let is_real = tenant.engine.cluster_api().await?.is_real();
    let mut old = Entry::new(tenant, cluster_api::template()?, "-old");
    old.offer(|_| ()).await?;
    let mut new = Entry::new(tenant, cluster_api::template()?, "-new");
    let from = old.name().to_owned();
    new.offer(|data| {
        data["upgradesFrom"] = json!([from]);
        data["backendRef"]["classRef"]["name"] = "openstack-v4".into();
    })
    .await?;
    let has_variable = |cluster: &Value| {
        let mut variables = cluster["spec"]["topology"]["variables"].as_array().into_iter().flatten();
        variables.any(|variable| variable["name"] == cluster_api::DEFAULTED_VARIABLE)
    };
    tenant.ask(&json!({ "template": old.name() })).await?;
    tenant.until_phase("Ready").await?;
    let at = topology(&tenant.composite().await?);
    let cluster = hub.get(&at).await?.context("no Cluster")?;
    ensure!(has_variable(&cluster) == is_real, "{}", cluster["spec"]["topology"]["variables"]);

    tenant.change(&json!({ "template": new.name() })).await?;
    let moved = |cluster: &Value| text(cluster, "/spec/topology/classRef/name") == "openstack-v4";
    let cluster = hub.until_is(&at, SOON, "moved", moved).await?;
    ensure!(!has_variable(&cluster), "{}", cluster["spec"]["topology"]["variables"]);
    let told = |claim: &Value| has(claim, "SpecApplied", "True", "UpToDate");
    tenant.until(SOON, "told", told).await?;
    ensure!(tenant.remotes_made() == 1, "another Cluster was asked for");
    for entry in [old, new] {
        tenant.konflux().delete(&entry.at()).await?;
    }
    Ok(())
}

/// Tools wait for conditions; one that is not created yet is an error to some. Shown with a composite without a claim: its name is known
/// before it is there.
async fn first_response(tenant: &Tenant<'_>, template: &str) -> anyhow::Result<()> {
    let konflux = tenant.konflux();
    let name = format!("{}-of-an-administrator", tenant.name);
    let composite = at_root(COMPOSITE, &name);
    let all = |object: Option<&Value>| {
        let Some(object) = object.filter(|object| condition(object, "RequestAccepted").is_some()) else {
            return true;
        };
        let of_all =
            |type_: &&TemplateConditionType| **type_ != TemplateConditionType::PlatformCredentialsValid;
        let mut types = TemplateConditionType::ALL.iter().filter(of_all);
        types.all(|type_| condition(object, type_.as_str()).is_some())
            && condition(object, "ClusterReady").is_some()
    };
    let witness = Witness::of(konflux, &composite, all).await?;
    let claim = tenant.manifest(&json!({}));
    let manifest = json!({
        "apiVersion": claim["apiVersion"], "kind": COMPOSITE.kind, "metadata": { "name": name },
        "spec": { "compositionRef": claim["spec"]["compositionRef"], "template": template },
    });
    konflux.create(&manifest).await?;
    let refused = |object: &Value| has(object, "RequestAccepted", "False", "TemplateNotFound");
    konflux.until_is(&composite, SOON, "told", refused).await?;
    witness.verdict().await?;
    konflux.delete(&composite).await?;
    konflux.until_gone(&composite, GONE).await
}

fn refusal(claim: &Value) -> String {
    let accepted = condition(claim, "RequestAccepted");
    accepted.and_then(|c| c["message"].as_str()).unwrap_or_default().to_owned()
}
