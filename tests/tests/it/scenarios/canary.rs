//! Credentials that are nowhere else in the world go through a whole life, with every program of ours beside it. Before it, while a
//! kubeconfig that cannot be read is all there is, when it is ready, while it is torn down, when it is, and when what was asked for is
//! deleted, they lie exactly where the design says, as far as [`places::find`] looks: in no other object, log, event, metric or
//! temporary file of any process, and in none of those places too late. A log still has everything that it said in between.
//!
//! [`places::find`]: testplatform_tests::search::places::find

use std::{collections::BTreeSet, process::Command, time::Duration};

use anyhow::{Context as _, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use testplatform_apis::names::ci_operator;
use testplatform_tests::{
    carrier, cleaner,
    cluster::{At, SOON, at, at_root, has},
    crossplane::Engine,
    flavour::Flavour,
    function,
    hive::objects::{self, text},
    kinds::{CLUSTER_DEPLOYMENT, CONFIG_MAP, ENVIRONMENT_CONFIG, NAMESPACE, SECRET},
    provider,
    search::{
        Marks, Place,
        places::{differences, find},
        unique,
    },
    tenant::{Tenant, decoded},
};

/// Names of the secrets in reports.
pub(super) const KUBECONFIG: &str = "the kubeconfig";
pub(super) const PASSWORD: &str = "the password";
/// In which key of those Secrets that the design has.
const KEYS: [(&str, &str); 2] = [(KUBECONFIG, "kubeconfig"), (PASSWORD, "kubeAdminPassword")];
/// The garbage collector hears of new kinds every half a minute, and provider-kubernetes looks as often.
pub(super) const GONE: Duration = Duration::from_mins(4);
/// Whoever reads what cannot be read has said so by then.
const NOTICED: Duration = Duration::from_secs(3);

/// Unique texts, and the marks to search for.
pub(super) struct Canary {
    token: String,
    pub(super) password: String,
    marks: Marks,
}

impl Canary {
    fn new() -> anyhow::Result<Self> {
        Self::of(unique(), unique())
    }

    /// Two that somebody else made.
    pub(super) fn of(token: String, password: String) -> anyhow::Result<Self> {
        let marks = Marks::new([(KUBECONFIG, token.clone()), (PASSWORD, password.clone())])?;
        Ok(Self { token, password, marks })
    }

    fn kubeconfig(&self) -> String {
        objects::kubeconfig("canary", &self.token)
    }

    /// One that ends too early, right behind what is secret in it: whoever cannot read it has to say so without it.
    fn unfinished(&self) -> String {
        format!(
            r#"{{"apiVersion": "v1", "kind": "Config", "users": [{{"name": "admin", "user": {{"token": "{}"#,
            self.token
        )
    }

    /// Looks for both, see [`lies_in`].
    pub(super) async fn lies_in(
        &self,
        tenant: &Tenant<'_>,
        moment: &str,
        expected: &[(&str, Vec<Place>)],
    ) -> anyhow::Result<BTreeSet<Place>> {
        lies_in(tenant, &self.marks, moment, expected).await
    }

    /// The exempt places are no more than those two, and they are needed.
    fn on_disk(exempt: &BTreeSet<Place>) -> anyhow::Result<()> {
        let both = ["hub", "konflux"].map(|plane| Place::Etcd(plane.to_owned()));
        ensure!(*exempt == BTreeSet::from(both), "exempt, and needed: {exempt:?}");
        Ok(())
    }
}

/// Looks everywhere, and compares. Copies in etcd's files are exempt, and reported: etcd keeps Secrets there, and overwritten
/// values until compaction.
pub(super) async fn lies_in(
    tenant: &Tenant<'_>,
    marks: &Marks,
    moment: &str,
    expected: &[(&str, Vec<Place>)],
) -> anyhow::Result<BTreeSet<Place>> {
    let mut found = find(tenant.engine, marks).await?;
    let mut exempt = BTreeSet::new();
    for places in found.values_mut() {
        let (on_disk, others) = std::mem::take(places).into_iter().partition(|p| matches!(p, Place::Etcd(_)));
        exempt.extend::<BTreeSet<Place>>(on_disk);
        *places = others;
    }
    let wrong = differences(&found, expected);
    ensure!(wrong.is_empty(), "{moment}:\n  {}", wrong.join("\n  "));
    let count: usize = found.values().map(BTreeSet::len).sum();
    eprintln!("{}, {moment}: in {count} places, as it has to be", tenant.name);
    Ok(exempt)
}

/// Starts what runs beside claims in roles of its own, which else only those scenarios do that need it.
async fn accompany(engine: &Engine) -> anyhow::Result<()> {
    engine.carry().await?;
    engine.clean_up().await
}

/// Out of a job.
pub async fn canary_of_a_job(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    accompany(tenant.engine).await?;
    let canary = Canary::new()?;
    canary.lies_in(tenant, "before", &[]).await?;
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    controller.provision().await?;
    let job = controller.job().await?;
    let hub = tenant.engine.hub.cluster();
    let source = at(SECRET, &job.namespace(), ci_operator::TEST);
    let waits = |ec: &Value| has(ec, "ClusterReady", "False", "CredentialsPending");
    hub.until_is(&controller.at(), SOON, "waiting for credentials", waits).await?;
    let unfinished = json!({ "kubeconfig": BASE64_STANDARD.encode(canary.unfinished()) });
    job.secret(ci_operator::TEST, unfinished).await?;
    tokio::time::sleep(NOTICED).await;
    hub.until_is(&controller.at(), SOON, "waiting all the same", waits).await?;
    let made = |key: &str| vec![Place::secret("hub", &source, key)];
    canary.lies_in(tenant, "unfinished", &[(KUBECONFIG, made("kubeconfig"))]).await?;

    controller.ready(&canary.kubeconfig(), &canary.password).await?;
    tenant.until_secret(SOON, &canary.kubeconfig()).await?;
    tenant.until_condition("ClusterReady", "True", "Ready").await?;
    let published = at(SECRET, controller.at().namespace(), &controller.secret());
    let delivered = Delivered::of(tenant, published).await?;
    let everywhere =
        delivered.with(&[(KUBECONFIG, made("kubeconfig")), (PASSWORD, made("kubeadmin-password"))]);
    let exempt = canary.lies_in(tenant, "ready", &everywhere).await?;
    Canary::on_disk(&exempt)?;

    tenant.change(&json!({ "tearDownCluster": true })).await?;
    controller.until_told_to_end(SOON).await?;
    controller.deprovision().await?;
    tenant.until_phase("Deprovisioning").await?;
    canary.lies_in(tenant, "while it is torn down", &everywhere).await?;

    controller.deprovisioned().await?;
    tenant.until_phase("Deprovisioned").await?;
    hub.until_gone(&source, GONE).await?;
    delivered.until_withdrawn(tenant).await?;
    canary.lies_in(tenant, "torn down", &[]).await?;
    deleted(tenant, &canary, &delivered).await
}

/// Out of a pool.
pub async fn canary_of_a_pool(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    accompany(tenant.engine).await?;
    let canary = Canary::new()?;
    let (hub, hive) = (tenant.engine.hub.cluster(), tenant.hive()?);
    let of_pool = |cluster: &Value| {
        let ours = cluster["spec"]["clusterPoolRef"]["poolName"] == tenant.pool();
        ours && cluster["status"]["powerState"] == "Running"
    };
    let running = hub.until_some(CLUSTER_DEPLOYMENT, "", SOON, "of the pool that runs", of_pool).await?;
    let cluster = text(&running, "/metadata/name").to_owned();
    canary.lies_in(tenant, "before", &[]).await?;
    hive.rotate(&cluster, &canary.unfinished()).await?;
    hive.renew_password(&cluster, &canary.password).await?;
    tenant.ask(&json!({})).await?;
    let claimed = tenant.claimed().await?;
    claimed.until_running(SOON).await?;
    let unusable = |claim: &Value| {
        has(claim, "CredentialsPublished", "False", "") && claim["status"]["phase"] == "Provisioning"
    };
    tenant.until(SOON, "without credentials", unusable).await?;
    tokio::time::sleep(NOTICED).await;
    let source = |name: &str, key: &str| Place::secret("hub", &at(SECRET, &cluster, name), key);
    let kubeconfigs =
        vec![source("0-admin-kubeconfig", "kubeconfig"), source("0-admin-kubeconfig", "raw-kubeconfig")];
    let sources = [(KUBECONFIG, kubeconfigs), (PASSWORD, vec![source("0-admin-password", "password")])];
    canary.lies_in(tenant, "unusable", &sources).await?;

    hive.rotate(&cluster, &canary.kubeconfig()).await?;
    tenant.until_secret(GONE, &canary.kubeconfig()).await?;
    tenant.until_condition("ClusterReady", "True", "Ready").await?;
    let delivered = Delivered::of(tenant, claimed.published()).await?;
    let everywhere = delivered.with(&sources);
    let exempt = canary.lies_in(tenant, "ready", &everywhere).await?;
    Canary::on_disk(&exempt)?;

    hive.hold(&cluster);
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    claimed.until_released(GONE).await?;
    tenant.until_phase("Deprovisioning").await?;
    hub.until_gone(&claimed.published(), SOON).await?;
    // The remote cluster still exists, and its owner has the credentials until it ends.
    canary.lies_in(tenant, "while it is torn down", &delivered.without_published(&sources)).await?;

    hive.let_go(&cluster);
    tenant.until(GONE, "Deprovisioned", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    delivered.until_withdrawn(tenant).await?;
    // Hive leaves the namespace of a cluster that is gone, and what is in it, to whoever made it.
    canary.lies_in(tenant, "torn down", &sources).await?;
    hub.delete(&at_root(NAMESPACE, &cluster)).await?;
    hub.until_gone(&at_root(NAMESPACE, &cluster), GONE).await?;
    deleted(tenant, &canary, &delivered).await
}

/// The Secrets on the way from the hub to the tenant.
struct Delivered {
    published: At,
    /// Those of the Konflux cluster that go when it is over.
    going: Vec<At>,
    /// Those that stay then, with nothing in them.
    emptied: Vec<At>,
    /// The Object that reads them.
    reader: At,
    composite: At,
}

impl Delivered {
    async fn of(tenant: &Tenant<'_>, published: At) -> anyhow::Result<Self> {
        let (reader, composite) = (tenant.object("credentials").await?, tenant.composite_at().await?);
        let (going, emptied) = match tenant.flavour {
            Flavour::Claim => {
                let name = composite.name();
                let there = tenant.konflux().get(&composite).await?.context("no composite")?;
                let wanted = |field: &str| text(&there, &format!("/spec/writeConnectionSecretToRef/{field}"));
                let of_composite = at(SECRET, wanted("namespace"), wanted("name"));
                let of_reader = at(SECRET, "crossplane-connections", &format!("credentials-{name}"));
                (vec![of_reader], vec![of_composite, tenant.secret()])
            }
            // The Object writes the tenant's itself, and owns it.
            Flavour::TestCluster => (vec![tenant.secret()], Vec::new()),
        };
        Ok(Self { published, going, emptied, reader, composite })
    }

    /// All of them, and more.
    fn with(&self, more: &[(&'static str, Vec<Place>)]) -> Vec<(&'static str, Vec<Place>)> {
        let published = KEYS.map(|(name, key)| (name, vec![Place::secret("hub", &self.published, key)]));
        [self.without_published(more), published.to_vec()].concat()
    }

    /// Those of the Konflux cluster, and more.
    fn without_published(&self, more: &[(&'static str, Vec<Place>)]) -> Vec<(&'static str, Vec<Place>)> {
        let on_konflux = || self.going.iter().chain(&self.emptied);
        let of = |key: &str| on_konflux().map(|at| Place::secret("konflux", at, key)).collect();
        KEYS.map(|(name, key)| (name, of(key))).into_iter().chain(more.iter().cloned()).collect()
    }

    /// Waits until none of them has anything.
    async fn until_withdrawn(&self, tenant: &Tenant<'_>) -> anyhow::Result<()> {
        let (konflux, hub) = (tenant.konflux(), tenant.engine.hub.cluster());
        hub.until_gone(&self.published, GONE).await?;
        konflux.until_gone(&self.reader, GONE).await?;
        for secret in &self.going {
            konflux.until_gone(secret, GONE).await?;
        }
        for secret in &self.emptied {
            let emptied = |secret: &Value| decoded(secret).values().all(String::is_empty);
            konflux.until_is(secret, SOON, "emptied", emptied).await?;
        }
        Ok(())
    }
}

/// The deleted claim leaves nothing behind.
async fn deleted(tenant: &Tenant<'_>, canary: &Canary, delivered: &Delivered) -> anyhow::Result<()> {
    tenant.konflux().delete(&tenant.claim()).await?;
    tenant.konflux().until_gone(&tenant.claim(), SOON).await?;
    tenant.konflux().until_gone(&delivered.composite, GONE).await?;
    canary.lies_in(tenant, "after", &[]).await.map(|_| ())
}

/// The search itself: what lies where it must not is found, whatever kind of place that is.
pub async fn canary_planted(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let canary = Canary::new()?;
    let (engine, namespace) = (tenant.engine, tenant.namespace.as_str());
    accompany(engine).await?;
    let told: BTreeSet<&str> = engine.metrics().into_iter().map(|(program, _)| program).collect();
    let programs =
        ["crossplane", "provider-kubernetes", function::NAME, provider::NAME, carrier::NAME, cleaner::NAME];
    ensure!(told == BTreeSet::from(programs), "whose metrics are looked at: {told:?}");
    let token = canary.token.as_str();
    let note = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "planted", "namespace": "default" },
        "data": { "note": BASE64_STANDARD.encode(format!("a token: {token}")) },
    });
    engine.hub.cluster().apply(&note).await?;
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "name": "planted", "namespace": namespace },
        "involvedObject": { "kind": "Namespace", "name": namespace, "namespace": namespace },
        "message": format!("cannot use {token}"), "reason": "Planted", "type": "Warning",
    });
    tenant.konflux().apply(&event).await?;
    // A kind that has no object at the version that its group recommends.
    let configuration = json!({
        "apiVersion": ENVIRONMENT_CONFIG.api_version, "kind": ENVIRONMENT_CONFIG.kind,
        "metadata": { "name": "planted" }, "data": { "deep": { "note": token } },
    });
    tenant.konflux().apply(&configuration).await?;
    let noted =
        json!({ "metadata": { "annotations": { "testbed/planted": json!({ "x": token }).to_string() } } });
    tenant.konflux().merge(&at_root(NAMESPACE, namespace), &noted).await?;
    let nest = engine.nest();
    nest.file("tmp/planted", token)?;
    let mut program = Command::new("sh");
    // The content of a removed file can still be read.
    let script = "echo log $CANARY; exec 3>tmp/removed; echo $CANARY >&3; rm tmp/removed; exec sleep 300";
    program.args(["-c", script]);
    let mut program = nest.spawn("planted", program.env("CANARY", token))?;
    let removed = nest.directory().join("tmp/removed");
    tokio::time::sleep(NOTICED).await;
    program.check()?;
    let elsewhere = |words: String| Place::Elsewhere(words);
    let log = nest.log("planted");
    let log = log.strip_prefix(nest.directory()).unwrap_or(&log).display().to_string();
    let planted = vec![
        elsewhere("hub: ConfigMap default/planted data.note".into()),
        elsewhere("konflux: EnvironmentConfig planted data.deep.note".into()),
        // The same by two names.
        elsewhere(format!("konflux: Event {namespace}/planted message")),
        elsewhere(format!("konflux: Event {namespace}/planted note")),
        elsewhere(format!("konflux: Namespace {namespace} metadata.annotations.testbed/planted")),
        elsewhere("engine: file tmp/planted".into()),
        elsewhere(format!("engine: file {log}")),
        elsewhere("engine: environ of sleep".into()),
        elsewhere(format!("engine: {} (deleted) of sleep", removed.display())),
    ];
    canary.lies_in(tenant, "planted", &[(KUBECONFIG, planted)]).await?;
    program.kill();
    engine.hub.cluster().delete(&at(CONFIG_MAP, "default", "planted")).await?;
    tenant.konflux().delete(&at_root(ENVIRONMENT_CONFIG, "planted")).await?;
    let missed = canary.lies_in(tenant, "not looked for", &[]).await;
    ensure!(missed.is_err(), "what was planted is not missed");
    Ok(())
}
