//! Walks of a claim for a cluster out of a Hive pool: whatever happens, in whatever order, no second cluster is taken, none is
//! left behind, and an end that is asked for is reached. The walks are the same in every run.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on says so")]

mod support;

use jiff::SignedDuration;
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::json;
use support::{
    hive::{catalogue, holding, peer},
    world::World,
};

/// Something that happens around a claim.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Pass,
    Provider,
    Queued,
    Assigned,
    Runs,
    Published,
    Stops,
    Unassigned,
    NotReported,
    Released,
    Vanished,
    Replaced,
    ClusterDeleted,
    DeletedByHive,
    TearDown,
    TearDownTakenBack,
    ClaimChanged,
    Lifetime,
    CatalogueGone,
    CatalogueBroken,
    CatalogueBack,
    Cordoned,
    OtherPool,
    Crowded,
    Alone,
    EnvironmentGone,
    EnvironmentBack,
    HubGone,
    HubBack,
    Refuses,
    RefusesNoMore,
    Ambiguous,
    StatusDropped,
    SecretsLost,
    WriterUnseen,
    WriterLost,
    FatalPass,
    Minutes(i64),
}

fn happens() -> impl Strategy<Value = Happens> {
    use Happens as H;
    let plain = prop_oneof![
        8 => Just(H::Pass), 8 => Just(H::Provider), 2 => Just(H::Queued), 3 => Just(H::Assigned), 2 => Just(H::Runs),
        4 => Just(H::Published), 1 => Just(H::Stops), 2 => Just(H::Released), 1 => Just(H::Vanished), 1 => Just(H::TearDown),
        1 => Just(H::StatusDropped), 1 => Just(H::WriterLost),
    ];
    let rare = prop::sample::select(vec![
        H::Unassigned,
        H::NotReported,
        H::Replaced,
        H::ClusterDeleted,
        H::DeletedByHive,
        H::TearDownTakenBack,
        H::ClaimChanged,
        H::Lifetime,
        H::CatalogueGone,
        H::CatalogueBroken,
        H::CatalogueBack,
        H::Cordoned,
        H::OtherPool,
        H::Crowded,
        H::Alone,
        H::EnvironmentGone,
        H::EnvironmentBack,
        H::HubGone,
        H::HubBack,
        H::Refuses,
        H::RefusesNoMore,
        H::Ambiguous,
        H::SecretsLost,
        H::WriterUnseen,
        H::FatalPass,
    ]);
    prop_oneof![6 => plain, 2 => rare, 1 => (1i64..90).prop_map(H::Minutes)]
}

/// Until it was observed once, nothing can pin it, and provider-kubernetes makes what vanishes anew.
fn seen(world: &mut World) {
    for _ in 0..3 {
        world.pass();
        world.provider();
    }
    world.pass();
}

fn deleting(world: &World) -> bool {
    let claim = world.objects.get("claim");
    claim.is_some_and(|c| !c.object["metadata"]["deletionTimestamp"].is_null())
}

fn happen(world: &mut World, what: Happens) {
    match what {
        Happens::Pass => drop(world.pass()),
        Happens::Provider => world.provider(),
        Happens::Queued => world.hive_queues(
            &json!({ "queue": { "position": 1, "depth": 2 }, "supply": "Resuming", "pool": { "found": true } }),
        ),
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
            // What vanishes now counts as never bound.
            world.taken.clear();
        }
        Happens::NotReported => world.reports(&json!({})),
        Happens::Released => {
            seen(world);
            if world.pinned() {
                world.hive_is_done();
            }
        }
        Happens::Vanished => {
            seen(world);
            if world.pinned() && world.reachable {
                world.remote = None;
            }
        }
        Happens::Replaced => {
            if let Some(remote) = &mut world.remote {
                remote["metadata"]["uid"] = json!("somebody-elses");
            }
        }
        Happens::ClusterDeleted => world.hive_loses_the_cluster(),
        Happens::DeletedByHive => {
            let now = world.now;
            if let Some(remote) = world.remote.as_mut().filter(|r| !r["spec"]["namespace"].is_null()) {
                remote["metadata"]["deletionTimestamp"] = json!(now);
            }
        }
        Happens::TearDown => world.spec["tearDownCluster"] = json!(true),
        Happens::TearDownTakenBack => world.spec["tearDownCluster"] = json!(false),
        Happens::ClaimChanged => world.spec["clusterClaim"] = json!({ "version": "4.19" }),
        Happens::Lifetime => world.spec["lifetime"] = json!("1h"),
        Happens::CatalogueGone => world.catalogue = None,
        Happens::CatalogueBroken => world.catalogue = Some(json!({ "pools": [{ "name": "aws-420" }] })),
        Happens::CatalogueBack => world.catalogue = Some(catalogue()),
        Happens::Cordoned => {
            let mut cordoned = catalogue();
            cordoned["hubs"][0]["cordon"] = json!(true);
            world.catalogue = Some(cordoned);
        }
        Happens::OtherPool => {
            // Another pool fits as well now, and is drawn in place of the first.
            let mut other = catalogue();
            other["pools"][1]["labels"]["version"] = json!("4.20");
            other["pools"][1]["weight"] = json!(100);
            world.catalogue = Some(other);
        }
        Happens::Crowded => {
            if let Some(catalogue) = &mut world.catalogue {
                catalogue["quotas"] = json!([{ "tenant": "tenant-a", "maxConcurrent": 1 }]);
            }
            world.peers = vec![peer("older", "tenant-a", &holding("hive-a-config", "aws-420"))];
        }
        Happens::Alone => world.peers.clear(),
        Happens::EnvironmentGone => world.environment = None,
        Happens::EnvironmentBack => world.environment = Some(json!({ "clusterName": "back" })),
        Happens::HubGone => world.reachable = false,
        Happens::HubBack => world.reachable = true,
        Happens::Refuses => world.refuses = Some("admission webhook denied the request".into()),
        Happens::RefusesNoMore => world.refuses = None,
        Happens::Ambiguous => world.refuses = Some("Patch \"https://hub\": context deadline exceeded".into()),
        Happens::StatusDropped => world.drop_status(),
        // With the hub's own Secret gone at the same time nothing could ever bring them back.
        Happens::SecretsLost if world.reachable && !world.secrets.is_empty() => {
            world.details.clear();
            if let Some(credentials) = world.objects.get_mut("credentials") {
                credentials.details.clear();
            }
            world.settle();
        }
        // Without status, too, nothing tells that there ever was one.
        Happens::WriterUnseen if world.phase().is_empty() => {}
        Happens::WriterUnseen => {
            let claim = world.objects.remove("claim");
            world.pass();
            if let Some(claim) = claim {
                world.objects.insert("claim".into(), claim);
            }
        }
        // Before it was pinned nothing remembers what an Object without its finalizer leaves behind; and who takes the
        // finalizer from one that is being deleted says that it is done.
        Happens::WriterLost if world.pinned() && !deleting(world) => drop(world.objects.remove("claim")),
        Happens::SecretsLost | Happens::WriterLost => {}
        Happens::FatalPass => world.fatal(),
        Happens::Minutes(minutes) => world.later(SignedDuration::from_mins(minutes)),
    }
}

/// Every pass checks: never two bound claims, never more than two made, the writer never moves to another hub or pool. After
/// the walk the world comes to rest, and an end that is asked for is reached.
fn takes_one_cluster_at_most_and_ends(walk: Vec<Happens>) -> Result<(), TestCaseError> {
    let mut world = World::hive();
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

/// A quarter of the thousand, so that they are walked side by side.
fn quarter(seed: u64) {
    let config = ProptestConfig {
        cases: 250,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(seed),
        ..ProptestConfig::default()
    };
    let walks = prop::collection::vec(happens(), 1..40);
    let walked = TestRunner::new(config).run(&walks, takes_one_cluster_at_most_and_ends);
    walked.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn any_walk_takes_one_cluster_at_most_and_ends_1() {
    quarter(1);
}

#[test]
fn any_walk_takes_one_cluster_at_most_and_ends_2() {
    quarter(2);
}

#[test]
fn any_walk_takes_one_cluster_at_most_and_ends_3() {
    quarter(3);
}

#[test]
fn any_walk_takes_one_cluster_at_most_and_ends_4() {
    quarter(4);
}
