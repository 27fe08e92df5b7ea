//! Where a campaign is fought: an engine whose parts are connected by wires that can be bad, and that are started again when they
//! end, as kubelets would.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};
use tokio::{
    task::{JoinHandle, block_in_place},
    time::{Instant, sleep, timeout},
};

use super::{
    ballast::Ballast,
    clock::Skewed,
    fault::{Fault, Part, Plane, Wire},
};
use crate::{
    control_plane::ControlPlane,
    crossplane::{BEHIND, Engine},
    hub::{self, Credential},
    patience::longer,
    pki::Authority,
    proxy::Proxy,
    skew,
};

/// The most that etcd may have on its disk. It needs a tenth of that.
const QUOTA: u64 = 96 << 20;
/// Limits of one try, and of all tries together. Everything that they need is back by then.
const TRY: Duration = Duration::from_secs(10);
const TRIES: Duration = Duration::from_secs(90);

/// An engine that can be struck.
pub struct Field {
    /// Its tasks end before the engine does.
    pub(super) guests: Mutex<BTreeMap<Fault, Vec<JoinHandle<()>>>>,
    pub(super) wires: BTreeMap<Wire, Proxy>,
    /// Parts that are down on purpose: nobody starts them on sight.
    down: Mutex<BTreeSet<Part>>,
    /// How many seconds a part's clock is ahead.
    pub(super) clocks: Mutex<BTreeMap<Part, i64>>,
    /// Where in its log a part began that has such a clock.
    pub(super) skewed: Mutex<BTreeMap<Part, Skewed>>,
    /// The parts that ended by themselves, and what they said last.
    endings: Mutex<Vec<(Part, String)>>,
    /// The composites that core forgot.
    excused: Mutex<BTreeSet<String>>,
    /// The faults that nobody met with.
    pub(super) unmet: Mutex<Vec<Fault>>,
    /// A function before ours, while it is in the way. It is there as long as this is.
    _ballast: Ballast,
    /// One that nobody trusts.
    pub(super) another: Authority,
    /// As whom provider-kubernetes reaches the hub.
    pub(super) credential: Credential,
    /// As whom the provider reaches hub and build cluster.
    pub(super) kubeconfigs: [Value; 2],
    /// Engine of the whole campaign.
    pub engine: Engine,
}

impl Field {
    /// Starts everything, and puts the wires between.
    pub async fn start() -> anyhow::Result<Self> {
        // Of a thousand connections both ends are counted.
        let most = getrlimit(Resource::Nofile).maximum;
        setrlimit(Resource::Nofile, rustix::process::Rlimit { current: most, maximum: most })?;
        let engine = Box::pin(Engine::start()).await?;
        let (konflux, hub) = (&engine.konflux, &engine.hub);
        let servers = [
            (Wire::Function, engine.function.port()),
            (Wire::Konflux, konflux.port()),
            (Wire::Objects, konflux.port()),
            (Wire::Hub, hub.port()),
            (Wire::Provider, hub.port()),
            (Wire::Site, hub.port()),
            (Wire::Etcd(Plane::Konflux), konflux.etcd_port()),
            (Wire::Etcd(Plane::Hub), hub.etcd_port()),
        ];
        let mut wires = BTreeMap::new();
        for (wire, server) in servers {
            wires.insert(wire, Proxy::to(server).await?);
        }
        let through = |wire: Wire, kubeconfig: &Value| {
            let mut kubeconfig = kubeconfig.clone();
            let server = format!("https://127.0.0.1:{}", wires[&wire].port());
            kubeconfig["clusters"][0]["cluster"]["server"] = server.into();
            kubeconfig
        };
        let administrator: Value = serde_saphyr::from_str(&std::fs::read_to_string(konflux.kubeconfig())?)?;
        let way = |name: &str, wire: Wire| {
            engine.nest().file(&format!("{name}.kubeconfig"), through(wire, &administrator).to_string())
        };
        engine.lead([&way("way-of-core", Wire::Konflux)?, &way("way-of-objects", Wire::Objects)?]);
        for (of, plane) in [(konflux, Plane::Konflux), (hub, Plane::Hub)] {
            of.lead_to_etcd(wires[&Wire::Etcd(plane)].port());
        }
        let mut credential = hub::issue(hub, hub::IDENTITY, "wired").await?;
        credential.kubeconfig = through(Wire::Hub, &credential.kubeconfig);
        engine.use_credential(BEHIND, &credential).await?;
        engine.function.register_at(konflux.cluster(), wires[&Wire::Function].port()).await?;
        let ballast = Ballast::start(&engine).await?;
        let [to_hub, to_site] = engine.fulfiller.kubeconfigs()?;
        let kubeconfigs = [through(Wire::Provider, &to_hub), through(Wire::Site, &to_site)];
        let field = Self {
            guests: Mutex::default(),
            wires,
            down: Mutex::default(),
            clocks: Mutex::default(),
            skewed: Mutex::default(),
            endings: Mutex::default(),
            excused: Mutex::default(),
            unmet: Mutex::default(),
            _ballast: ballast,
            another: Authority::new("nobody's")?,
            credential,
            kubeconfigs,
            engine,
        };
        // Whoever comes after it need not wait.
        field.engine.fulfiller.stop();
        field.lead_provider(false)?;
        // It is killed often, and whoever comes after it has to wait for its Lease. Nothing that is slow is given up here.
        field.engine.fulfiller.configure(&json!({
            "ephemeralCluster": { "deprovisionTimeout": "10m" },
            "leaderElection": { "leaseDuration": "8s", "renewDeadline": "6s", "retryPeriod": "1s" },
        }))?;
        field.rewire().await?;
        Ok(field)
    }

    /// Lets everything end and begin again by the wires that it has now: who needs an API server comes after it.
    async fn rewire(&self) -> anyhow::Result<()> {
        for plane in [Plane::Konflux, Plane::Hub] {
            self.kill(Part::ApiServer(plane));
            self.kill(Part::Etcd(plane));
            self.start_part(Part::Etcd(plane))?;
            self.start_part(Part::ApiServer(plane))?;
        }
        for plane in [&self.engine.konflux, &self.engine.hub] {
            insist("its API server answers again", || async {
                anyhow::ensure!(plane.cluster().answers().await, "{} does not answer", plane.name());
                Ok(())
            })
            .await?;
        }
        for part in [Part::Core, Part::ProviderKubernetes, Part::Provider] {
            self.kill(part);
            self.start_part(part)?;
        }
        Ok(())
    }

    /// Gives the provider its kubeconfigs, with the right authority or another.
    pub(super) fn lead_provider(&self, wrong: bool) -> anyhow::Result<()> {
        let [hub, site] = &self.kubeconfigs;
        if wrong {
            let hub = self.another.instead(hub.clone());
            return self.engine.fulfiller.lead([&hub, site]);
        }
        self.engine.fulfiller.lead([hub, site])
    }

    /// A control plane.
    pub fn plane(&self, plane: Plane) -> &ControlPlane {
        match plane {
            Plane::Konflux => &self.engine.konflux,
            Plane::Hub => &self.engine.hub,
        }
    }

    /// The directory of core's certificate.
    pub(super) fn client_certificates(&self) -> PathBuf {
        self.engine.client_certificates()
    }

    /// Kills a part, and keeps it from being started by whoever sees that it is gone.
    pub(super) fn kill(&self, part: Part) {
        lock(&self.down).insert(part);
        match part {
            Part::Function => self.engine.function.kill(),
            Part::Provider => self.engine.fulfiller.kill(),
            Part::Core => self.engine.kill_core(),
            Part::ProviderKubernetes => self.engine.kill_provider(),
            Part::ApiServer(plane) => self.plane(plane).stop_api_server(),
            Part::Etcd(plane) => self.plane(plane).kill_etcd(),
            Part::Controllers(plane) => self.plane(plane).kill_controllers(),
        }
    }

    /// Starts a part, with the clock that it has.
    pub(super) fn start_part(&self, part: Part) -> anyhow::Result<()> {
        let nest = self.engine.nest();
        let clock = match lock(&self.clocks).get(&part) {
            Some(seconds) => skew::by(nest, *seconds)?,
            None => Vec::new(),
        };
        match part {
            Part::Function => self.engine.function.start_in(nest, &self.engine.program, &clock)?,
            Part::Provider => self.engine.fulfiller.start_in(nest, &clock)?,
            Part::Core => self.engine.start_core()?,
            Part::ProviderKubernetes => self.engine.start_provider()?,
            Part::ApiServer(plane) => self.plane(plane).spawn_api_server()?,
            Part::Etcd(plane) => self.plane(plane).start_etcd(Some(QUOTA))?,
            Part::Controllers(plane) => self.plane(plane).start_controllers()?,
        }
        lock(&self.down).remove(&part);
        Ok(())
    }

    /// Lets the provider end in order, so that whoever comes after it need not wait for its Lease.
    pub(super) fn dismiss_provider(&self) {
        lock(&self.down).insert(Part::Provider);
        // Others go on on other threads meanwhile.
        block_in_place(|| self.engine.fulfiller.stop());
    }

    /// Kills a part, and starts it with a clock that is right.
    pub(super) fn restart(&self, part: Part) -> anyhow::Result<()> {
        self.kill(part);
        lock(&self.clocks).remove(&part);
        self.start_part(part)
    }

    /// Starts whatever ended by itself again, for as long as it is polled.
    pub async fn supervise(&self) -> anyhow::Result<Infallible> {
        loop {
            for part in Part::ALL {
                if lock(&self.down).contains(&part) {
                    continue;
                }
                if let Some(words) = self.ended(part) {
                    lock(&self.endings).push((part, words));
                    self.start_part(part)?;
                }
            }
            sleep(Duration::from_millis(500)).await;
        }
    }

    fn ended(&self, part: Part) -> Option<String> {
        let [core, provider_kubernetes] = self.engine.ended();
        let of = |plane| self.plane(plane).ended();
        match part {
            Part::Function => self.engine.function.ended(),
            Part::Provider => self.engine.fulfiller.ended(),
            Part::Core => core,
            Part::ProviderKubernetes => provider_kubernetes,
            Part::Etcd(plane) => of(plane)[0].take(),
            Part::ApiServer(plane) => of(plane)[1].take(),
            Part::Controllers(plane) => of(plane)[2].take(),
        }
    }

    /// The parts that ended by themselves, as far as nobody took them down.
    pub fn seen(&self) -> Vec<(Part, String)> {
        lock(&self.endings).clone()
    }

    /// Remembers a composite that core forgot.
    pub(super) fn excuse(&self, name: &str) {
        lock(&self.excused).insert(name.to_owned());
    }

    /// How many composites core forgot since this was last asked.
    pub(super) fn excused(&self) -> usize {
        std::mem::take(&mut *lock(&self.excused)).len()
    }

    /// The faults that nobody met with since this was last asked.
    pub(super) fn unmet(&self) -> Vec<Fault> {
        std::mem::take(&mut *lock(&self.unmet))
    }

    /// The parts that ended by themselves since this was last asked.
    pub fn endings(&self) -> Vec<(Part, String)> {
        std::mem::take(&mut *lock(&self.endings))
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        lock(&self.guests).values().flatten().for_each(JoinHandle::abort);
    }
}

/// Tries something until it is done: what it needs may be down.
pub async fn insist<T>(what: &str, attempt: impl AsyncFn() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let within = longer(TRIES);
    let end = Instant::now() + within;
    loop {
        let error = match timeout(longer(TRY), attempt()).await {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(error)) => error,
            Err(late) => late.into(),
        };
        if Instant::now() > end {
            return Err(error).with_context(|| format!("not within {within:?}: {what}"));
        }
        sleep(Duration::from_millis(300)).await;
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
