//! Walks of a claim whose cluster ends with its remote object: what happens around it, in any order.

use std::fmt::Debug;

use proptest::{prelude::*, strategy::BoxedStrategy, test_runner::TestRunner};
use serde_json::{Value, json};

use super::{trouble::Trouble, world::World};

/// Events around a claim for a cluster by template, as one backend has them.
pub trait Own: Clone + Debug + 'static {
    /// The composed resource that writes its remote object.
    const WRITER: &'static str;

    /// A claim for one of its clusters, and the world around it.
    fn world() -> World;

    /// The catalogue that this world has.
    fn catalogue() -> Vec<Value>;

    /// One of its hubs.
    fn hub(name: &str) -> Value;

    /// A status that makes no sense.
    fn nonsense() -> Value;

    /// Events of a normal cluster life.
    fn usual() -> BoxedStrategy<Self>;

    /// Events that happen rarely.
    fn rare() -> Vec<Self>;

    /// Lets it happen.
    fn happen(self, world: &mut World);
}

/// Something that happens around a claim for a cluster by template.
#[derive(Clone, Debug)]
pub enum Happens<O> {
    Pass,
    Provider,
    NotReported,
    Released,
    Vanished,
    Deleted,
    Nonsense,
    CatalogueGone,
    CatalogueBack,
    OtherHubs,
    NoHubs,
    /// The hub lets nobody change anything of what is there.
    Fixed,
    FixedNoMore,
    Trouble(Trouble),
    Own(O),
}

/// Anything that may happen, each as often as a walk needs that is to get somewhere.
fn happens<O: Own>() -> impl Strategy<Value = Happens<O>> {
    use Happens as H;
    let usual = prop_oneof![
        8 => Just(H::Pass), 8 => Just(H::Provider), 2 => Just(H::Released), 1 => Just(H::Vanished),
        14 => O::usual().prop_map(H::Own),
    ];
    let everywhere = [
        H::NotReported,
        H::Deleted,
        H::Nonsense,
        H::CatalogueGone,
        H::CatalogueBack,
        H::OtherHubs,
        H::NoHubs,
        H::Fixed,
        H::FixedNoMore,
    ];
    let own = O::rare().into_iter().map(H::Own);
    let rare = prop::sample::select(everywhere.into_iter().chain(own).collect::<Vec<_>>());
    prop_oneof![6 => usual, 2 => rare, 2 => Trouble::any_trouble().prop_map(H::Trouble)]
}

impl<O: Own> Happens<O> {
    fn happen(self, world: &mut World) {
        match self {
            Self::Pass => drop(world.pass()),
            Self::Provider => world.reconcile_objects(),
            Self::NotReported => world.report_status(&json!({})),
            Self::Released => world.is_released(),
            Self::Vanished => world.remove_remote(),
            Self::Deleted => world.deleted_by_others(),
            Self::Nonsense => {
                if let Some(remote) = &mut world.remote {
                    remote["status"] = O::nonsense();
                }
            }
            Self::CatalogueGone => world.templates.clear(),
            Self::CatalogueBack => world.templates = O::catalogue(),
            Self::OtherHubs => world.hubs = Some(vec![O::hub("hub-2"), O::hub("hub-3")]),
            Self::NoHubs => world.hubs = None,
            Self::Fixed => {
                world.fixed.insert(String::new());
                world.fixed_of_pools.insert(String::new());
            }
            Self::FixedNoMore => {
                world.fixed.clear();
                world.fixed_of_pools.clear();
            }
            Self::Trouble(trouble) => trouble.happen(world, O::WRITER),
            Self::Own(own) => own.happen(world),
        }
    }
}

/// Takes walks of a claim for a cluster by template. Every pass checks: never two clusters that were taken up, never more than two made,
/// the writer never moves to another hub or name, and every change is one that the backend takes. `ends` looks at how each ends.
pub fn walk_by_template<O: Own>(seed: u64, ends: impl Fn(&mut World) -> Result<(), TestCaseError>) {
    run_walk(seed, happens::<O>(), |taken| {
        let mut world = O::world();
        for what in taken {
            what.happen(&mut world);
        }
        ends(&mut world)
    });
}

/// The same of a composite in the tenant's namespace.
pub fn walk_by_template_in_namespace<O: Own>(
    seed: u64,
    ends: impl Fn(&mut World) -> Result<(), TestCaseError>,
) {
    run_walk(seed, happens::<O>(), |taken| {
        let mut world = O::world().in_namespace();
        for what in taken {
            what.happen(&mut world);
        }
        ends(&mut world)
    });
}

/// Walks of each kind in the quick tier.
const QUICK: u32 = 5;
/// Walks of each kind in the whole tier, which sets `TESTPLATFORM_WALKS`.
const FULL: u32 = 250;

#[expect(clippy::disallowed_methods, reason = "tests have no command line of their own")]
fn walks() -> u32 {
    std::env::var("TESTPLATFORM_WALKS").ok().and_then(|walks| walks.parse().ok()).unwrap_or(QUICK)
}

/// Number of cases of another property test: a fifth of those of the whole tier in the quick tier.
#[must_use]
pub fn bounded_cases(whole: u32) -> u32 {
    if walks() < FULL { whole.div_ceil(5) } else { whole }
}

/// Takes as many walks as the tier has, or `TESTPLATFORM_WALKS`, of 1 to 39 things that happen. They are the same in every run; other seeds have
/// others, side by side.
pub fn run_walk<H: Clone + Debug>(
    seed: u64,
    happens: impl Strategy<Value = H>,
    taken: impl Fn(Vec<H>) -> Result<(), TestCaseError>,
) {
    let config = ProptestConfig {
        cases: walks(),
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(seed),
        ..ProptestConfig::default()
    };
    let walked = TestRunner::new(config).run(&prop::collection::vec(happens, 1..40), taken);
    walked.unwrap_or_else(|failure| panic!("{failure}"));
}

/// The world comes to rest, and an end that is asked for is reached.
pub fn assert_ends(world: &mut World) -> Result<(), TestCaseError> {
    world.reachable = true;
    world.settle();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.hive_is_done();
    world.settle();
    prop_assert!(matches!(world.phase().as_str(), "Deprovisioned" | "Failed"), "{}", world.phase());
    prop_assert_eq!(world.condition("ProwJobCompleted").0, "True");
    let remaining = world.remote.as_ref().filter(|r| r["metadata"]["uid"] != json!("somebody-elses"));
    prop_assert!(remaining.is_none(), "it runs on: {world:#?}");
    Ok(())
}

impl World {
    /// A torn down cluster has ended. Until its first observation nothing can pin it, and provider-kubernetes recreates a vanished object:
    /// so it is observed first.
    pub fn is_released(&mut self) {
        self.observe_all();
        if self.is_pinned() {
            self.hive_is_done();
        }
    }

    /// Somebody takes the remote object away, and it is gone at once.
    pub fn remove_remote(&mut self) {
        self.observe_all();
        if self.is_pinned() && self.reachable {
            self.remote = None;
        }
    }

    /// Somebody deletes the remote object, which lasts.
    pub fn deleted_by_others(&mut self) {
        let now = self.now;
        if let Some(remote) = &mut self.remote {
            remote["metadata"]["deletionTimestamp"] = json!(now);
        }
    }
}
