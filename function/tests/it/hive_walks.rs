//! Walks of a claim for a cluster out of a Hive pool: whatever happens, in whatever order, no second cluster is taken, none is
//! left behind, and an end that is asked for is reached. The walks are the same in every run.

use function_model::{
    hive::{build_peer, holding_status, pool_catalogue},
    trouble::Trouble,
    walks::{assert_ends, run_walk},
    world::World,
};
use proptest::prelude::*;
use serde_json::json;

/// Something that happens around a claim.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Pass,
    Provider,
    Queued,
    /// Hive makes the cluster of a claim that brings its own credentials.
    Installs,
    Assigned,
    Runs,
    Published,
    Stops,
    Unassigned,
    NotReported,
    Released,
    Vanished,
    ClusterDeleted,
    DeletedByHive,
    ClaimChanged,
    CatalogueGone,
    CatalogueBroken,
    CatalogueBack,
    Cordoned,
    OtherPool,
    Crowded,
    Alone,
    /// The carrier says that it brought everything.
    Carried,
    /// The carrier says that it may not.
    NotCarried,
    /// Somebody deletes the claim's namespace on the hub: everything in it goes, the ClusterClaim too.
    NamespaceGone,
    Trouble(Trouble),
}

/// The same of a claim that brings its own credentials.
fn brought() -> impl Strategy<Value = Happens> {
    prop_oneof![
        16 => happens(), 4 => Just(Happens::Carried), 2 => Just(Happens::NotCarried),
        3 => Just(Happens::Installs), 1 => Just(Happens::NamespaceGone),
    ]
}

fn happens() -> impl Strategy<Value = Happens> {
    use Happens as H;
    let plain = prop_oneof![
        8 => Just(H::Pass), 8 => Just(H::Provider), 2 => Just(H::Queued), 3 => Just(H::Assigned), 2 => Just(H::Runs),
        4 => Just(H::Published), 1 => Just(H::Stops), 2 => Just(H::Released), 1 => Just(H::Vanished),
    ];
    let rare = prop::sample::select(vec![
        H::Unassigned,
        H::NotReported,
        H::ClusterDeleted,
        H::DeletedByHive,
        H::ClaimChanged,
        H::CatalogueGone,
        H::CatalogueBroken,
        H::CatalogueBack,
        H::Cordoned,
        H::OtherPool,
        H::Crowded,
        H::Alone,
    ]);
    prop_oneof![6 => plain, 1 => rare, 2 => Trouble::any_trouble().prop_map(H::Trouble)]
}

fn happen(world: &mut World, what: Happens) {
    match what {
        Happens::Pass => drop(world.pass()),
        Happens::Provider => world.reconcile_objects(),
        Happens::Queued => world.hive_queues(
            &json!({ "queue": { "position": 1, "depth": 2 }, "supply": "Resuming", "pool": { "found": true } }),
        ),
        Happens::Installs => world.hive_installs(),
        Happens::Assigned => world.hive_assigns(),
        Happens::Runs => world.hive_runs(),
        Happens::Published => world.hive_publishes(),
        Happens::Stops => world.hive_stops("Hibernating"),
        Happens::Unassigned => {
            // Two claims were given one cluster, and this one has to wait again.
            if let Some(remote) = world.remote.as_mut().filter(|r| !r["spec"]["namespace"].is_null()) {
                remote["spec"].as_object_mut().unwrap().remove("namespace");
                world.hive_queues(&json!({}));
            }
            // A cluster that vanishes from here on counts as never bound.
            world.taken.clear();
        }
        Happens::NotReported => world.report_status(&json!({})),
        Happens::Released => world.is_released(),
        Happens::Vanished => world.remove_remote(),
        Happens::ClusterDeleted => world.hive_loses_the_cluster(),
        Happens::DeletedByHive => {
            let now = world.now;
            if let Some(remote) = world.remote.as_mut().filter(|r| !r["spec"]["namespace"].is_null()) {
                remote["metadata"]["deletionTimestamp"] = json!(now);
            }
        }
        Happens::ClaimChanged => world.spec["clusterClaim"] = json!({ "version": "4.19" }),
        Happens::CatalogueGone => world.catalogue = None,
        Happens::CatalogueBroken => world.catalogue = Some(json!({ "pools": [{ "name": "aws-420" }] })),
        Happens::CatalogueBack => world.catalogue = Some(pool_catalogue()),
        Happens::Cordoned => {
            let mut cordoned = pool_catalogue();
            cordoned["hubs"][0]["cordon"] = json!(true);
            world.catalogue = Some(cordoned);
        }
        Happens::OtherPool => {
            // Another pool fits as well now, and is drawn in place of the first.
            let mut other = pool_catalogue();
            other["pools"][1]["labels"]["version"] = json!("4.20");
            other["pools"][1]["weight"] = json!(100);
            world.catalogue = Some(other);
        }
        Happens::Crowded => {
            if let Some(catalogue) = &mut world.catalogue {
                catalogue["quotas"] = json!([{ "tenant": "tenant-a", "maxConcurrent": 1 }]);
            }
            world.peers = vec![build_peer("older", "tenant-a", &holding_status("hive-a-config", "aws-420"))];
        }
        Happens::Alone => world.peers.clear(),
        Happens::Carried => world.report_copies(true, "Carried", "Carried"),
        Happens::NotCarried => world.report_copies(false, "Forbidden", "Carried"),
        Happens::NamespaceGone => {
            world.remove_remote();
            if world.remote.is_none() && world.reachable {
                world.brought.clear();
                world.installs = false;
            }
        }
        Happens::Trouble(trouble) => trouble.happen(world, "claim"),
    }
}

/// Every pass checks: never two bound claims, never more than two made, the writer never moves to another hub or pool. After
/// the walk the world comes to rest, and an end that is asked for is reached.
fn takes_one_cluster_at_most_and_ends(walk: Vec<Happens>) -> Result<(), TestCaseError> {
    taken(World::hive_claim(), walk)
}

fn taken(mut world: World, walk: Vec<Happens>) -> Result<(), TestCaseError> {
    for what in walk {
        happen(&mut world, what);
    }
    assert_ends(&mut world)
}

#[test]
fn any_walk_takes_one_cluster_at_most_and_ends_1() {
    run_walk(1, happens(), takes_one_cluster_at_most_and_ends);
}

#[test]
fn any_walk_takes_one_cluster_at_most_and_ends_2() {
    run_walk(2, happens(), takes_one_cluster_at_most_and_ends);
}

#[test]
fn any_walk_takes_one_cluster_at_most_and_ends_3() {
    run_walk(3, happens(), takes_one_cluster_at_most_and_ends);
}

#[test]
fn any_walk_takes_one_cluster_at_most_and_ends_4() {
    run_walk(4, happens(), takes_one_cluster_at_most_and_ends);
}

#[test]
fn any_walk_in_namespace_keeps_invariants() {
    run_walk(5, happens(), |walk| taken(World::hive_claim().in_namespace(), walk));
}

/// The same with credentials that are brought along. The model checks that no pool is asked for before they are carried, that nothing is in no
/// namespace, and that they go after the pool; here, that they go.
#[test]
fn any_walk_with_tenant_credentials_keeps_invariants() {
    run_walk(6, brought(), |walk| {
        let mut world = World::with_byoc();
        for what in walk {
            happen(&mut world, what);
        }
        assert_ends(&mut world)?;
        for _ in 0..3 {
            world.reconcile_objects();
        }
        // A cluster that belongs to somebody else by now is left alone, and so are the objects around it.
        let held = world.remote.is_some() || world.lets_go();
        prop_assert!(held || world.brought.is_empty(), "{:?} is left: {world:#?}", world.brought.keys());
        Ok(())
    });
}

/// Both copies of the kubeconfig are lost, then Hive takes the cluster back, and a restore drops the status: of all that told that
/// the tenant ever had credentials, what is noted on the writer is left. Without it what the tenant has would not be emptied.
#[test]
fn delivered_credentials_are_withdrawn_after_any_loss() {
    use Happens as H;
    let lost = H::Trouble(Trouble::SecretsLost);
    let walk =
        [H::Pass, H::Provider, H::Published, lost, H::Unassigned, H::Trouble(Trouble::StatusDropped), lost];
    takes_one_cluster_at_most_and_ends(walk.to_vec()).unwrap();
}
