//! A scenario, the ways in which it runs, and one run.

use std::time::Duration;

use libtest_mimic::Failed;
use testplatform_tests::{
    actors::Fulfilled,
    crossplane::Engine,
    flavour::Flavour,
    invariants::{self, Bounds},
    tenant::Tenant,
};
use tokio::sync::OnceCell;

use crate::harness::{Outcome, Shared, Tier, repeat};

/// Limit for one of them before it counts as hung.
const TIMEOUT: Duration = Duration::from_mins(10);

/// Controllers of the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HubControllers {
    /// Their fakes.
    Fake,
    /// The real ones, as far as this machine can run them.
    Real,
}

#[derive(Clone, Copy)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) run: for<'t> fn(&'t Tenant<'t>) -> Outcome<'t>,
    /// Bounds of its course.
    pub(super) bounds: Bounds,
    /// It must run alone, because others would notice it.
    pub(super) alone: bool,
    /// Who fulfils what it asks for. It runs once with each.
    pub(super) by: &'static [Fulfilled],
    /// How its tenant asks. It runs once with each.
    pub(super) asking: &'static [Flavour],
    /// Which controllers of the hub it runs on. It runs once on each.
    pub(super) on: &'static [HubControllers],
    /// Time limit.
    pub(super) timeout: Duration,
    /// Why its first way is in the quick tier: what only a real engine shows.
    pub(super) shows: Option<&'static str>,
}

macro_rules! scenario {
    ($module:ident::$name:ident) => {
        Scenario::new(stringify!($name), |tenant| Box::pin($module::$name(tenant)))
    };
}
pub(super) use scenario;

impl Scenario {
    /// One that the real provider fulfils, for a claim, in the whole tier.
    pub(super) const fn new(name: &'static str, run: for<'t> fn(&'t Tenant<'t>) -> Outcome<'t>) -> Self {
        Self {
            name,
            run,
            bounds: Bounds { remotes: 1, undelivered: false },
            alone: false,
            by: &[Fulfilled::ByProvider],
            asking: &[Flavour::Claim],
            on: &[HubControllers::Fake],
            timeout: TIMEOUT,
            shows: None,
        }
    }
}

pub(super) const fn remotes(remotes: usize, scenario: Scenario) -> Scenario {
    Scenario { bounds: Bounds { remotes, ..scenario.bounds }, ..scenario }
}

pub(super) const fn undelivered(scenario: Scenario) -> Scenario {
    Scenario { bounds: Bounds { undelivered: true, ..scenario.bounds }, ..scenario }
}

pub(super) const fn acted(scenario: Scenario) -> Scenario {
    Scenario { by: &[Fulfilled::ByActor], ..scenario }
}

pub(super) const fn both(scenario: Scenario) -> Scenario {
    Scenario { by: &[Fulfilled::ByProvider, Fulfilled::ByActor], ..scenario }
}

pub(super) const fn pooled(scenario: Scenario) -> Scenario {
    Scenario { by: &[Fulfilled::ByHive], ..scenario }
}

pub(super) const fn hosted(scenario: Scenario) -> Scenario {
    Scenario { by: &[Fulfilled::ByHyperShift], ..scenario }
}

pub(super) const fn topology(scenario: Scenario) -> Scenario {
    Scenario { by: &[Fulfilled::ByClusterApi], ..scenario }
}

pub(super) const fn order(scenario: Scenario) -> Scenario {
    Scenario { by: &[Fulfilled::ByOsac], ..scenario }
}

pub(super) const fn charted(scenario: Scenario) -> Scenario {
    Scenario { by: &[Fulfilled::ByCaas], ..scenario }
}

pub(super) const fn alone(scenario: Scenario) -> Scenario {
    Scenario { alone: true, ..scenario }
}

/// Where an actor fulfils it, only a claim asks: the Composition for actors is one of claims.
pub(super) const fn everywhere(scenario: Scenario) -> Scenario {
    Scenario { asking: &[Flavour::Claim, Flavour::TestCluster], ..scenario }
}

pub(super) const fn in_namespace(scenario: Scenario) -> Scenario {
    Scenario { asking: &[Flavour::TestCluster], ..scenario }
}

/// Runs on fakes and on the real controllers: it holds neither at a step.
pub(super) const fn on_either(scenario: Scenario) -> Scenario {
    Scenario { on: &[HubControllers::Fake, HubControllers::Real], ..scenario }
}

/// Runs on the real controllers only: it changes objects that their fakes do not make.
pub(super) const fn on_real(scenario: Scenario) -> Scenario {
    Scenario { on: &[HubControllers::Real], ..scenario }
}

/// Waits for a poll that comes every ten minutes.
pub(super) const fn long(scenario: Scenario) -> Scenario {
    Scenario { timeout: TIMEOUT.saturating_mul(4), ..scenario }
}

/// A scenario of the quick tier, in its first way.
pub(super) const fn quick(shows: &'static str, scenario: Scenario) -> Scenario {
    Scenario { shows: Some(shows), ..scenario }
}

/// One of the ways in which a scenario runs.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) scenario: &'static Scenario,
    pub(super) by: Fulfilled,
    pub(super) asking: Flavour,
    pub(super) on: HubControllers,
    pub(super) tier: Tier,
}

impl Way {
    fn name(self) -> String {
        let name = self.scenario.name;
        let acted = match self.by {
            Fulfilled::ByProvider
            | Fulfilled::ByHive
            | Fulfilled::ByHyperShift
            | Fulfilled::ByClusterApi
            | Fulfilled::ByOsac
            | Fulfilled::ByCaas => "",
            Fulfilled::ByActor | Fulfilled::ByActorAlone => "_acted",
        };
        format!("{name}{acted}{}", self.asking.suffix())
    }

    pub(super) fn title(self) -> String {
        let group = match self.on {
            HubControllers::Fake => "scenarios",
            HubControllers::Real => "real",
        };
        format!("{group}::{}", self.name())
    }
}

/// All that there are of a scenario. Where an actor fulfils it, only a claim asks: the Composition for actors is one of claims.
pub(super) fn ways(scenario: &'static Scenario) -> Vec<Way> {
    let all = scenario.by.iter().flat_map(|by| scenario.asking.iter().map(move |asking| (*by, *asking)));
    let legal = |way: &(Fulfilled, Flavour)| {
        !matches!(way, (Fulfilled::ByActor | Fulfilled::ByActorAlone, Flavour::TestCluster))
    };
    let ways = all.filter(legal).enumerate().flat_map(|(nth, (by, asking))| {
        scenario.on.iter().map(move |on| {
            let quick = nth == 0 && *on == HubControllers::Fake && scenario.shows.is_some();
            let tier = if quick { Tier::Quick } else { Tier::Whole };
            Way { scenario, by, asking, on: *on, tier }
        })
    });
    ways.collect()
}

pub(super) async fn run(shared: &Shared<Engine>, way: Way) -> Result<(), Failed> {
    let Way { scenario, by, asking, on, .. } = way;
    let start = async || match on {
        HubControllers::Fake => Box::pin(Engine::start()).await,
        HubControllers::Real => Box::pin(Engine::start_with_real_controllers()).await,
    };
    // Before the engine is awaited, which wakes those that wait for it in any order: one that is alone would then wait for the longest of the
    // others, and all that come after it too.
    let (_alone, _beside) = if scenario.alone {
        (Some(shared.quiet.write().await), None)
    } else {
        (None, Some(shared.quiet.read().await))
    };
    let engine = shared.engine(start).await?;
    let name = way.name();
    let tenant = OnceCell::new();
    let tried = async {
        let begun = async || {
            let tenant = Tenant::new(engine, &name.replace('_', "-"), by).await?;
            anyhow::Ok(tenant.asking(asking))
        };
        let tenant: &Tenant<'_> = tenant.get_or_try_init(begun).await?;
        if by == Fulfilled::ByClusterApi {
            eprintln!("{}: on {}", way.title(), engine.cluster_api().await?);
        }
        (scenario.run)(tenant).await?;
        invariants::hold(tenant, scenario.bounds)?;
        engine.check()?;
        tenant.leave().await
    };
    let Err(error) = shared.trials.run(&way.title(), scenario.timeout, tried).await else { return Ok(()) };
    let story = match tenant.get() {
        Some(tenant) => tenant.story().await,
        None => String::new(),
    };
    let again = repeat(&way.title());
    // A program that has ended explains the rest.
    let ended = engine.check().err().map(|ended| format!("{ended:#}\n")).unwrap_or_default();
    // The error is last, where it is found also in an excerpt.
    Err(format!("{story}\n{}\n{again}\n{ended}{error:#}", engine.words()).into())
}
