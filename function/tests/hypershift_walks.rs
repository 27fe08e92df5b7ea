//! Walks of a claim for a cluster of HyperShift's: whatever happens, in whatever order, nothing that exists is dropped, no second cluster
//! is made, none is left behind, and an end that is asked for is reached. The walks are the same in every run.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on says so")]

mod support;

use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::json;
use support::{hypershift::hub, templates::catalogue, trouble::Trouble, world::World};

/// Something that happens around a claim.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Pass,
    Provider,
    Installed,
    Published,
    Down,
    Invalid,
    NotReported,
    Released,
    Vanished,
    Deleted,
    Scaled,
    OtherGroups,
    NoGroups,
    Upgraded,
    RolledOut,
    Nonsense,
    CatalogueGone,
    CatalogueChanged,
    CatalogueBack,
    OtherHubs,
    NoHubs,
    PoolVanished,
    Trouble(Trouble),
}

fn happens() -> impl Strategy<Value = Happens> {
    use Happens as H;
    let plain = prop_oneof![
        8 => Just(H::Pass), 8 => Just(H::Provider), 3 => Just(H::Installed), 4 => Just(H::Published), 1 => Just(H::Down),
        2 => Just(H::Released), 1 => Just(H::Vanished), 2 => Just(H::Scaled), 2 => Just(H::OtherGroups),
    ];
    let rare = prop::sample::select(vec![
        H::Invalid,
        H::NotReported,
        H::Deleted,
        H::NoGroups,
        H::Upgraded,
        H::RolledOut,
        H::Nonsense,
        H::CatalogueGone,
        H::CatalogueChanged,
        H::CatalogueBack,
        H::OtherHubs,
        H::NoHubs,
        H::PoolVanished,
    ]);
    prop_oneof![6 => plain, 2 => rare, 2 => Trouble::any().prop_map(H::Trouble)]
}

fn happen(world: &mut World, what: Happens) {
    match what {
        Happens::Pass => drop(world.pass()),
        Happens::Provider => world.provider(),
        Happens::Installed => world.hypershift_installs(),
        Happens::Published => {
            world.hypershift_installs();
            world.hypershift_publishes();
        }
        Happens::Down => world.hypershift_says(&[("Available", "False", "Down")]),
        Happens::Invalid => world.hypershift_says(&[("ValidConfiguration", "False", "Invalid")]),
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
        Happens::Scaled => {
            world.spec["nodeGroups"] = json!([{ "name": "workers", "class": "small", "count": 4 }]);
        }
        Happens::OtherGroups => {
            world.spec["nodeGroups"] = json!([
                { "name": "a", "class": "small", "count": 1 },
                { "name": "b", "class": "large", "autoscale": { "min": 0, "max": 2 } },
            ]);
        }
        Happens::NoGroups => {
            world.spec["nodeGroups"] = json!([{ "name": "x", "class": "nothing", "count": 1 }]);
        }
        Happens::Upgraded => world.spec["version"] = json!("4.20.9"),
        Happens::RolledOut => world.hypershift_rolls_out("Partial"),
        Happens::Nonsense => {
            if let Some(remote) = &mut world.remote {
                remote["status"] = json!({ "conditions": [{ "type": 1 }], "version": "x" });
            }
        }
        Happens::CatalogueGone => world.templates.clear(),
        Happens::CatalogueChanged => {
            world.templates = catalogue();
            world.entry("hosted")["backendRef"]["hostedCluster"] =
                json!({ "pullSecret": { "name": "other" } });
        }
        Happens::CatalogueBack => world.templates = catalogue(),
        Happens::OtherHubs => world.hubs = Some(vec![hub("hub-2"), hub("hub-3")]),
        Happens::NoHubs => world.hubs = None,
        Happens::PoolVanished => world.node_pools.clear(),
        Happens::Trouble(trouble) => trouble.happen(world, "cluster"),
    }
}

/// Every pass checks: never two clusters that were taken up, never more than two made, the writer never moves to another hub or name.
/// After the walk the world comes to rest, and an end that is asked for is reached.
fn makes_one_cluster_at_most_and_ends(walk: Vec<Happens>) -> Result<(), TestCaseError> {
    let mut world = World::hosted();
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
    prop_assert!(world.node_pools.is_empty(), "nodes run on: {world:#?}");
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
