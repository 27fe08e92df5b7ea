//! A claim that is deleted while the hub refuses a change of its cluster. provider-kubernetes tries that change before it deletes anything, so the
//! cluster runs on without a claim, until the search for orphans ends it.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use provider_testplatform::{
    config::{KubeconfigSecretRef, OrphanHub, OrphanMode, Orphans, RemoteKind},
    controllers::orphans::controller::{Options, run},
    metrics::Metrics,
};
use serde_json::{Value, json};
use testplatform_apis::{duration::GoDuration, names::ours, template::Backend};
use testplatform_tests::{
    actors::Fulfilled,
    cluster::{SOON, at_root, has},
    cluster_api::{self, topology},
    hive::objects::text,
    hypershift::CLUSTERS,
    kinds::PROVIDER_CONFIG,
    tenant::Tenant,
};
use tokio::{sync::oneshot, task::JoinHandle};

use super::{
    cluster_api::{got, nothing_left},
    hive::GONE,
    hub_policy,
    templates::Entry,
};

/// A variable that no class defines.
const UNDEFINED: &str = "undefinedVariable";
const UNDEFINED_POLICY: &str = "undefined-variables";
/// Several times the interval at which provider-kubernetes tries again.
const TRIED_AGAIN: Duration = Duration::from_secs(10);

pub async fn cluster_api_deleted_while_a_change_is_refused(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (konflux, hub) = (tenant.konflux(), tenant.engine.hub.cluster());
    if !tenant.engine.cluster_api().await?.is_real() {
        refuse_undefined_variables(tenant).await?;
    }
    // Without any composite the search ends nothing.
    let other = tenant.also("other", Fulfilled::ByClusterApi).await?;
    other.ask(&json!({})).await?;
    let mut old = Entry::new(tenant, cluster_api::template()?, "-old");
    old.offer(|_| ()).await?;
    let mut new = Entry::new(tenant, cluster_api::template()?, "-new");
    let from = old.name().to_owned();
    let undefined = json!({ "name": UNDEFINED, "value": "x" });
    new.offer(|data| {
        data["upgradesFrom"] = json!([from]);
        let variables = &mut data["backendRef"]["cluster"]["topology"]["variables"];
        if let Some(variables) = variables.as_array_mut() {
            variables.push(undefined);
        }
    })
    .await?;
    let name = got(tenant, &json!({ "template": old.name() })).await?;
    let claim = tenant.until_phase("Ready").await?;
    let hub_name = text(&claim, "/status/hub/name");
    let search = Search::start(tenant, hub_name).await?;
    let is_recorded =
        |cluster: &Value| cluster["metadata"]["annotations"][ours::KONFLUX_CLUSTER_UID].is_string();
    hub.until_is(&topology(&name), SOON, "recorded", is_recorded).await?;
    let (object, composite) = (tenant.object("managed").await?, tenant.composite_at().await?);
    // Until its end is looked at.
    search.end().await?;

    tenant.change(&json!({ "template": new.name() })).await?;
    let claim = tenant.until_condition("SpecApplied", "False", "Rejected").await?;
    ensure!(claim["status"]["phase"] == "Ready", "{}", claim["status"]);
    konflux.delete(&tenant.claim()).await?;
    konflux.until_gone(&tenant.claim(), GONE).await?;
    konflux.until_gone(&composite, GONE).await?;
    let is_stuck = |object: &Value| {
        object["metadata"]["deletionTimestamp"].is_string()
            && has(object, "Synced", "False", "ReconcileError")
    };
    konflux.until_is(&object, SOON, "stuck", is_stuck).await?;
    tokio::time::sleep(TRIED_AGAIN).await;
    let cluster = hub.get(&topology(&name)).await?.context("the Cluster is gone")?;
    ensure!(cluster["metadata"]["deletionTimestamp"].is_null(), "provider-kubernetes deletes it: {cluster}");

    let search = Search::start(tenant, hub_name).await?;
    hub.until_gone(&topology(&name), GONE).await.context("nobody ends the Cluster")?;
    search.end().await?;
    konflux.until_gone(&object, GONE).await?;
    nothing_left(tenant, &name).await?;
    let left = hub.get(&topology(&other.composite().await?)).await?;
    ensure!(
        left.is_some_and(|cluster| cluster["metadata"]["deletionTimestamp"].is_null()),
        "another was ended"
    );
    other.konflux().delete(&other.claim()).await?;
    other.konflux().until_gone(&other.claim(), GONE).await?;
    hub_policy::remove(hub, UNDEFINED_POLICY).await?;
    for entry in [old, new] {
        konflux.delete(&entry.at()).await?;
    }
    Ok(())
}

/// The webhook of the real Cluster API refuses them.
async fn refuse_undefined_variables(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let variables = "object.spec.topology.variables";
    let expression =
        format!("!has({variables}) || !{variables}.exists(variable, variable.name == '{UNDEFINED}')");
    let clusters = ["cluster.x-k8s.io", "clusters"];
    let hub = tenant.engine.hub.cluster();
    hub_policy::add(hub, UNDEFINED_POLICY, clusters, &expression, "variable is not defined").await
}

/// Component `orphans`, with times that a configuration file could not name.
struct Search {
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Search {
    async fn start(tenant: &Tenant<'_>, hub: &str) -> anyhow::Result<Self> {
        let konflux = tenant.konflux();
        let hub = hub.to_owned();
        let config = konflux.get(&at_root(PROVIDER_CONFIG, &hub)).await?.context("no ProviderConfig")?;
        let reference = &config["spec"]["credentials"]["secretRef"];
        let of = |field: &str| reference[field].as_str().unwrap_or_default().to_owned();
        let kubeconfig = KubeconfigSecretRef { namespace: of("namespace"), name: of("name"), key: of("key") };
        let listed = OrphanHub {
            kubeconfig_secret_ref: kubeconfig,
            kinds: vec![RemoteKind::Template(Backend::ClusterApi)],
            namespaces: vec![CLUSTERS.to_owned()],
        };
        let config = Orphans {
            mode: OrphanMode::Teardown,
            namespace: "default".into(),
            hubs: [(hub, listed)].into(),
            poll: GoDuration::from_secs(1),
            grace: GoDuration::from_secs(2),
            ..Orphans::default()
        };
        let options = Options::new(konflux.client(), config, now);
        let (stop, stopped) = oneshot::channel::<()>();
        let stop_signal = Box::pin(async {
            let _ = stopped.await;
        });
        let running = tokio::spawn(run(options, Metrics::default().orphans(), stop_signal));
        Ok(Self { stop, running })
    }

    async fn end(self) -> anyhow::Result<()> {
        let _ = self.stop.send(());
        tokio::time::timeout(SOON, self.running).await.context("the search does not end")??;
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock of a test")]
fn now() -> Timestamp {
    Timestamp::now()
}
