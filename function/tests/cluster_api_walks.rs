//! Walks of a claim for a cluster of Cluster API's: whatever happens, in whatever order, nothing that exists is dropped, no second cluster
//! is made, no version is left out, and an end that is asked for is reached. The walks are the same in every run.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on says so")]

mod support;

use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::json;
use support::{cluster_api::hub, templates::catalogue, trouble::Trouble, world::World};

/// Something that happens around a claim.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Pass,
    Provider,
    Installed,
    Published,
    Rolls,
    Down,
    Invalid,
    NotReported,
    Released,
    Vanished,
    Deleted,
    Groups,
    Scaled,
    Upgraded,
    UpgradedFar,
    Moved,
    Nonsense,
    CatalogueGone,
    CatalogueChanged,
    CatalogueBack,
    OtherHubs,
    NoHubs,
    Trouble(Trouble),
}

fn happens() -> impl Strategy<Value = Happens> {
    use Happens as H;
    let plain = prop_oneof![
        8 => Just(H::Pass), 8 => Just(H::Provider), 4 => Just(H::Installed), 4 => Just(H::Published), 2 => Just(H::Rolls),
        2 => Just(H::Released), 1 => Just(H::Vanished), 2 => Just(H::Groups), 2 => Just(H::UpgradedFar),
    ];
    let rare = prop::sample::select(vec![
        H::Down,
        H::Invalid,
        H::NotReported,
        H::Deleted,
        H::Scaled,
        H::Upgraded,
        H::Moved,
        H::Nonsense,
        H::CatalogueGone,
        H::CatalogueChanged,
        H::CatalogueBack,
        H::OtherHubs,
        H::NoHubs,
    ]);
    prop_oneof![6 => plain, 2 => rare, 2 => Trouble::any().prop_map(H::Trouble)]
}

fn happen(world: &mut World, what: Happens) {
    match what {
        Happens::Pass => drop(world.pass()),
        Happens::Provider => world.provider(),
        Happens::Installed => world.capi_installs(),
        Happens::Published => {
            world.capi_installs();
            world.hypershift_publishes();
        }
        Happens::Rolls => world.capi_rolls(),
        Happens::Down => world.capi_says(&[("ControlPlaneAvailable", "False", "Down", "")]),
        Happens::Invalid => {
            world.capi_says(&[("TopologyReconciled", "False", "ReconcileFailed", "variable x is invalid")]);
        }
        Happens::NotReported => world.reports(&json!({})),
        Happens::Released => {
            world.seen();
            if world.pinned() {
                world.hive_is_done();
            }
        }
        Happens::Vanished => {
            world.seen();
            if world.pinned() && world.reachable {
                world.remote = None;
            }
        }
        Happens::Deleted => {
            let now = world.now;
            if let Some(remote) = &mut world.remote {
                remote["metadata"]["deletionTimestamp"] = json!(now);
            }
        }
        Happens::Groups => {
            world.spec["nodeGroups"] = json!([
                { "name": "a", "class": "default", "count": 1 },
                { "name": "workers", "class": "default", "autoscale": { "min": 0, "max": 2 } },
            ]);
        }
        Happens::Scaled => {
            world.spec["nodeGroups"] = json!([{ "name": "workers", "class": "bigger", "count": 4 }]);
        }
        Happens::Upgraded => world.spec["version"] = json!("1.30"),
        Happens::UpgradedFar => world.spec["version"] = json!("1.31"),
        Happens::Moved => {
            world.spec.as_object_mut().unwrap().remove("version");
            world.spec["template"] = json!("topology-next");
        }
        Happens::Nonsense => {
            if let Some(remote) = &mut world.remote {
                remote["status"] = json!({ "conditions": [{ "type": 1 }], "workers": "x" });
            }
        }
        Happens::CatalogueGone => world.templates.clear(),
        Happens::CatalogueChanged => {
            world.templates = catalogue();
            world.entry("topology")["backendRef"]["classRef"]["name"] = json!("other");
        }
        Happens::CatalogueBack => world.templates = catalogue(),
        Happens::OtherHubs => world.hubs = Some(vec![hub("hub-2"), hub("hub-3")]),
        Happens::NoHubs => world.hubs = None,
        Happens::Trouble(trouble) => trouble.happen(world, "topology"),
    }
}

/// Every pass checks: never two clusters that were taken up, never more than two made, the writer never moves to another hub or name,
/// and every change is one that Cluster API takes. After the walk the world comes to rest, and an end that is asked for is reached.
fn makes_one_cluster_at_most_and_ends(walk: Vec<Happens>) -> Result<(), TestCaseError> {
    let mut world = World::topology();
    for what in walk {
        happen(&mut world, what);
    }
    world.reachable = true;
    world.settle();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.hive_is_done();
    world.settle();
    prop_assert!(matches!(world.phase().as_str(), "Deprovisioned" | "Failed"), "{}", world.phase());
    prop_assert_eq!(world.condition("ProwJobCompleted").0, "True");
    let left = world.remote.as_ref().filter(|r| r["metadata"]["uid"] != json!("somebody-elses"));
    prop_assert!(left.is_none(), "it runs on: {world:#?}");
    Ok(())
}

/// A half of the walks, so that they are walked side by side.
fn half(seed: u64) {
    let config = ProptestConfig {
        cases: 250,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(seed),
        ..ProptestConfig::default()
    };
    let walks = prop::collection::vec(happens(), 1..40);
    let walked = TestRunner::new(config).run(&walks, makes_one_cluster_at_most_and_ends);
    walked.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn any_walk_makes_one_cluster_at_most_and_ends_1() {
    half(1);
}

#[test]
fn any_walk_makes_one_cluster_at_most_and_ends_2() {
    half(2);
}
