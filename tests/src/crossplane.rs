//! The engine: two control planes, and Crossplane core, provider-kubernetes and our function between them.

mod compositions;
mod hub_controllers;
mod programs;

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::future::{BoxFuture, try_join_all};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

pub use compositions::composition;

use crate::{
    binaries::Binaries,
    caas::Caas,
    cluster::{Cluster, SOON, at_root, has},
    cluster_api::{ClusterApi, ClusterApiManagers, ClusterApiPrograms},
    companion::Companion,
    control_plane::{ControlPlane, Extras},
    exclusive::{only_one, require_port},
    flavour,
    function::{self, Function},
    hive::offer::Offer,
    hub::{self, Credential, another::AnotherHub},
    hypershift::HyperShift,
    keystone::Keystone,
    kinds::{CRD, XRD},
    manifests,
    nest::{Nest, Process},
    osac::Osac,
    pki::Authority,
    ports::free_ports,
    program,
    provider::Provider,
    recorder::Recorder,
    space,
};

/// Ports that provider-kubernetes v1.2.1 takes and nobody can change: metrics and webhook.
const FIXED_PORTS: [u16; 2] = [8080, 9443];
/// How long the definitions may take to become usable.
const PATIENCE: Duration = Duration::from_mins(1);
/// The Secret behind our ProviderConfig.
pub const BEHIND: &str = "testplatform-appci-cluster";
/// The first step of [`Engine::start_and_tell`] after programs are built and the machine is free.
pub const FIRST_STEP: &str = "control planes: konflux and hub";
/// Name of the XRD.
pub const XRD_NAME: &str = "xtestplatformclusters.ci.openshift.org";
/// Name of the XRD of pools.
const POOL_XRD_NAME: &str = "xtestplatformclusterpools.ci.openshift.org";
/// Name of their Composition.
const POOL_COMPOSITION: &str = "testplatform-cluster-pool";

/// Name of the claim's CRD, which core makes.
pub const CLAIMS: &str = "testplatformclusters.ci.openshift.org";

/// Everything that runs.
pub struct Engine {
    core: Mutex<Option<Process>>,
    core_metrics: u16,
    core_arguments: Vec<String>,
    provider: Mutex<Option<Process>>,
    /// With which kubeconfigs core and provider-kubernetes reach konflux.
    ways: Mutex<[PathBuf; 2]>,
    /// The provider under test.
    pub fulfiller: Provider,
    /// The function under test.
    pub function: Function,
    /// Its program.
    pub program: PathBuf,
    /// Every object that ever existed.
    pub recorder: Recorder,
    /// The pools on the hub, and Hive.
    pub offer: Offer,
    nest: Nest,
    authority: Authority,
    /// The control plane that tenants use.
    pub konflux: ControlPlane,
    /// The control plane on which clusters are asked for.
    pub hub: ControlPlane,
    binaries: Binaries,
    acted: OnceCell<()>,
    pooled: OnceCell<()>,
    hosted: OnceCell<HyperShift>,
    cluster_api: OnceCell<ClusterApi>,
    /// The programs of the real one, where that makes clusters.
    cluster_api_programs: Option<ClusterApiPrograms>,
    another_hub: OnceCell<AnotherHub>,
    orders: OnceCell<Osac>,
    instances: OnceCell<Caas>,
    identities: OnceCell<Keystone>,
    spaces: OnceCell<()>,
    carrier: OnceCell<Companion>,
    cleaner: OnceCell<Companion>,
}

impl Engine {
    /// Starts everything and waits until claims can be made. There is one engine on a machine at a time: a second one
    /// waits for the first to end.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_and_tell(&|_| ()).await
    }

    /// As [`Self::start`], with the real controllers in place of their fakes wherever this machine can run them.
    pub async fn start_with_real_controllers() -> anyhow::Result<Self> {
        // Before the machine's lock is taken: building them takes minutes, once.
        let cluster_api_programs = ClusterApiPrograms::find()?;
        Ok(Self { cluster_api_programs, ..Box::pin(Self::start()).await? })
    }

    /// As [`Self::start`]. Tells what is being done, as each step of it begins.
    pub async fn start_and_tell(tell: &(dyn Fn(&'static str) + Sync)) -> anyhow::Result<Self> {
        let engine = Self::start_without_provider(tell).await?;
        engine.fulfiller.start(&engine.nest)?;
        Ok(engine)
    }

    /// As [`Self::start_and_tell`]; our provider stays away, and an actor fulfils everything in its place.
    pub async fn start_without_provider(tell: &(dyn Fn(&'static str) + Sync)) -> anyhow::Result<Self> {
        Self::start_with(Extras::default(), wide_breaker(), tell).await
    }

    /// As [`Self::start_and_tell`]; both control planes write down who calls them.
    pub async fn start_audited(tell: &(dyn Fn(&'static str) + Sync)) -> anyhow::Result<Self> {
        let engine =
            Self::start_with(Extras { audited: true, ..Extras::default() }, wide_breaker(), tell).await?;
        engine.fulfiller.start(&engine.nest)?;
        Ok(engine)
    }

    /// As [`Self::start_audited`], with these arguments for core, or none for its defaults.
    pub async fn start_audited_with_core_arguments(
        arguments: Vec<String>,
        tell: &(dyn Fn(&'static str) + Sync),
    ) -> anyhow::Result<Self> {
        let extras = Extras { audited: true, ..Extras::default() };
        let engine = Self::start_with(extras, arguments, tell).await?;
        engine.fulfiller.start(&engine.nest)?;
        Ok(engine)
    }

    /// Boxed as what it is, so that it is compiled here, and not in each program that has an engine.
    fn start_with(
        extras: Extras,
        core_arguments: Vec<String>,
        tell: &(dyn Fn(&'static str) + Sync),
    ) -> BoxFuture<'_, anyhow::Result<Self>> {
        Box::pin(Self::start_step_by_step(extras, core_arguments, tell))
    }

    async fn start_step_by_step(
        extras: Extras,
        core_arguments: Vec<String>,
        tell: &(dyn Fn(&'static str) + Sync),
    ) -> anyhow::Result<Self> {
        tell("programs: control planes, Crossplane, provider");
        let binaries = Binaries::ensure()?;
        tell("programs: function and provider");
        let program = program::function()?.to_owned();
        // Needed later. It takes minutes to build, and this is what is said of them.
        program::provider()?;
        tell("a free machine");
        let lock = only_one()?;
        let nest = Nest::new("engine", Some(&lock))?;
        drop(lock);
        FIXED_PORTS.into_iter().try_for_each(require_port)?;
        tell(FIRST_STEP);
        let (konflux, hub) = tokio::try_join!(
            ControlPlane::start_with("konflux", &binaries, extras),
            ControlPlane::start_with("hub", &binaries, Extras { controllers: space::CONTROLLERS, ..extras })
        )?;
        tell("definitions of Crossplane, provider and hub");
        let prepare_hub = async {
            hub::prepare(hub.cluster()).await?;
            hub::issue(&hub, hub::IDENTITY, "0").await
        };
        let (credential, ()) = tokio::try_join!(prepare_hub, prepare_konflux(konflux.cluster(), &binaries))?;
        tell("Crossplane, provider and function, until claims are served");
        let authority = Authority::new("crossplane")?;
        for (directory, leaf) in [
            ("core-client", authority.client("crossplane", None)?),
            ("core-server", authority.server("crossplane")?),
            ("provider-server", authority.server("provider-kubernetes")?),
        ] {
            authority.publish(&nest.directory().join(directory), &leaf)?;
        }
        let function = Function::new(function::NAME, &nest, &authority)?;
        function.start(&nest, &program)?;
        let [core_metrics] = free_ports()?;
        let core = start_core(&nest, &binaries, konflux.kubeconfig(), core_metrics, &core_arguments)?;
        let fulfiller = Box::pin(Provider::new(&nest, &hub, &hub, &json!({}))).await?;
        let engine = Self {
            fulfiller,
            core: Mutex::new(Some(core)),
            core_metrics,
            core_arguments,
            provider: Mutex::new(None),
            ways: Mutex::new([konflux.kubeconfig().to_owned(), konflux.kubeconfig().to_owned()]),
            function,
            program,
            recorder: Recorder::start(konflux.cluster(), hub.cluster()),
            offer: Offer::new(konflux.cluster(), hub.cluster()),
            nest,
            authority,
            konflux,
            hub,
            binaries,
            acted: OnceCell::new(),
            pooled: OnceCell::new(),
            hosted: OnceCell::new(),
            cluster_api: OnceCell::new(),
            cluster_api_programs: None,
            another_hub: OnceCell::new(),
            orders: OnceCell::new(),
            instances: OnceCell::new(),
            identities: OnceCell::new(),
            spaces: OnceCell::new(),
            carrier: OnceCell::new(),
            cleaner: OnceCell::new(),
        };
        engine.start_provider()?;
        engine.function.register(engine.konflux.cluster()).await?;
        engine.use_credential(BEHIND, &credential).await?;
        engine.install().await.with_context(|| engine.words())?;
        // As on a cluster that was there before today: see there.
        engine.konflux.start_controllers()?;
        Ok(engine)
    }

    /// Starts provider-kubernetes as the Konflux clusters run it.
    pub fn start_provider(&self) -> anyhow::Result<()> {
        let [health] = free_ports()?;
        let [_, way_of_provider] = self.ways();
        let mut command = Command::new(&self.binaries.provider_kubernetes);
        command
            .env("KUBECONFIG", way_of_provider)
            .env("TLS_SERVER_CERTS_DIR", self.nest.directory().join("provider-server"))
            .args(["--sanitize-secrets", "--enable-watches", "--debug"])
            .arg(format!("--health-probe-bind-addr=127.0.0.1:{health}"));
        let process = self.nest.spawn("provider-kubernetes", &mut command)?;
        *self.provider.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
        Ok(())
    }

    /// The function's other programs run in here too.
    pub fn nest(&self) -> &Nest {
        &self.nest
    }

    /// Starts the function again after it was stopped.
    pub fn start_function(&self) -> anyhow::Result<()> {
        self.function.start(&self.nest, &self.program)
    }

    /// Serves another program as a function of its own, beside ours.
    pub async fn beside(&self, name: &str, program: &Path) -> anyhow::Result<Function> {
        let function = Function::new(name, &self.nest, &self.authority)?;
        function.start(&self.nest, program)?;
        function.register(self.konflux.cluster()).await?;
        Ok(function)
    }

    /// Puts a kubeconfig of the hub into the Secret behind a ProviderConfig.
    pub async fn use_credential(&self, secret: &str, credential: &Credential) -> anyhow::Result<()> {
        let kubeconfig = BASE64_STANDARD.encode(credential.kubeconfig.to_string());
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": secret, "namespace": "crossplane-system" },
            "data": { "kubeconfig": kubeconfig },
        });
        self.konflux.cluster().apply(&secret).await?;
        Ok(())
    }

    /// Applies what this repository ships and waits until claims can be made.
    async fn install(&self) -> anyhow::Result<()> {
        let konflux = self.konflux.cluster();
        konflux.apply_all(&manifests::package("install/components/hub-access/provider-config.yaml")?).await?;
        konflux
            .apply_all(&manifests::package("install/overlays/development/environment-config.yaml")?)
            .await?;
        for policy in ["crossplane-fields", "size"] {
            let file = format!("install/tenants/{policy}-policy.yaml");
            konflux.apply_all(&manifests::package(&file)?).await?;
        }
        konflux.apply(&xrd()?).await?;
        konflux.apply(&composition()?).await?;
        flavour::serve(konflux).await?;
        until_offered(konflux).await?;
        self.until_revised("testplatform-ephemeral-cluster").await?;
        self.until_revised(flavour::COMPOSITION).await?;
        self.check()
    }

    /// Fails if one of the programs ended.
    pub fn check(&self) -> anyhow::Result<()> {
        for program in [&self.core, &self.provider] {
            if let Some(program) = program.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                program.check()?;
            }
        }
        self.fulfiller.check()?;
        self.another_hub.get().map_or(Ok(()), AnotherHub::check)?;
        self.cluster_api.get().map_or(Ok(()), ClusterApi::check)?;
        for beside in [&self.carrier, &self.cleaner] {
            beside.get().map_or(Ok(()), Companion::check)?;
        }
        self.function.check()
    }

    /// Last log lines of the programs, for the report of a failure.
    pub fn words(&self) -> String {
        let tail = |name: &str| crate::nest::tail(&self.nest.log(name), 3000);
        let real = self.cluster_api.get().filter(|it| it.is_real()).map(|_| ClusterApiManagers::names());
        let names = self.metrics().into_iter().map(|(name, _)| name).chain(real.into_iter().flatten());
        let all: Vec<String> =
            names.map(|name| format!("--- the end of {name}'s log\n{}", tail(name))).collect();
        all.join("\n")
    }
}

/// Waits until core serves claims of the XRD as it is now.
pub async fn until_offered(konflux: &Cluster) -> anyhow::Result<()> {
    let offered = |xrd: &Value| has(xrd, "Established", "True", "") && has(xrd, "Offered", "True", "");
    konflux.until_is(&at_root(XRD, XRD_NAME), PATIENCE, "established and offered", offered).await?;
    for name in [CLAIMS, XRD_NAME] {
        let established = |crd: &Value| has(crd, "Established", "True", "");
        konflux.until_is(&at_root(CRD, name), PATIENCE, "established", established).await?;
    }
    Ok(())
}

/// Our XRD.
pub fn xrd() -> anyhow::Result<Value> {
    manifests::package_one(&format!("xrds/{XRD_NAME}.yaml"))
}

pub(crate) async fn prepare_konflux(konflux: &Cluster, binaries: &Binaries) -> anyhow::Result<()> {
    for directory in &binaries.crds {
        let crds = manifests::crds(directory)?;
        try_join_all(crds.iter().map(|crd| konflux.apply(crd))).await?;
        for crd in &crds {
            let name = crd["metadata"]["name"].as_str().unwrap_or_default();
            konflux
                .until_is(&at_root(CRD, name), SOON, "established", |c| has(c, "Established", "True", ""))
                .await?;
        }
    }
    for name in ["crossplane-system", "crossplane-connections"] {
        konflux
            .apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }))
            .await?;
    }
    Ok(())
}

/// Core lets a composite have 100 events at once and one more each second, an update counting twice, and then looks only every 30 s for five minutes.
/// The life of a cluster takes more than 100, which is fine for an hour; in most scenarios it lasts ten seconds. [`crate::ledger`] measures
/// a life at core's default.
fn wide_breaker() -> Vec<String> {
    vec!["--circuit-breaker-burst=2000".to_owned()]
}

/// Core without packages and without webhooks.
pub(crate) fn start_core(
    nest: &Nest,
    binaries: &Binaries,
    kubeconfig: &Path,
    metrics: u16,
    arguments: &[String],
) -> anyhow::Result<Process> {
    let [health] = free_ports()?;
    let directory = |name: &str| nest.directory().join(name).display().to_string();
    // Core does not make it, and without it no package can be read: "io: read/write on closed pipe".
    std::fs::create_dir_all(nest.directory().join("xpkg"))?;
    let mut command = Command::new(&binaries.crossplane);
    command.env("KUBECONFIG", kubeconfig).args(["core", "start", "--debug"]);
    command.args(["--package-runtime=External", "--enable-webhooks=false"]).args(arguments);
    command.args([
        format!("--xpkg-cache-dir={}", directory("xpkg")),
        format!("--metrics-port={metrics}"),
        format!("--health-probe-port={health}"),
        format!("--tls-client-certs-dir={}", directory("core-client")),
        format!("--tls-server-certs-dir={}", directory("core-server")),
    ]);
    nest.spawn("crossplane", &mut command)
}
