//! Walks of a claim for a cluster of OSAC's: whatever happens, in whatever order, nothing that exists is dropped, no second order is made,
//! nothing behind it is ever written, and an end that is asked for is reached. The walks are the same in every run.

use function_model::{
    osac,
    walks::{Own, assert_ends, walk_by_template, walk_by_template_in_namespace},
    world::World,
};
use proptest::{prelude::*, strategy::BoxedStrategy};
use serde_json::{Value, json};

/// Events of such a claim alone.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Runs,
    Named,
    Made,
    Published,
    JobFails(u8),
    FailsForNow(u8),
    Down,
    GoneBehind,
    Groups,
    Scaled,
    NodeSets,
    WorkerFails,
    Upgraded,
    Moved,
    CatalogueChanged,
}

impl Own for Happens {
    const WRITER: &'static str = "order";

    fn world() -> World {
        World::osac_claim()
    }

    fn catalogue() -> Vec<Value> {
        osac::osac_catalogue()
    }

    fn hub(name: &str) -> Value {
        osac::build_hub(name)
    }

    fn nonsense() -> Value {
        json!({ "conditions": [{ "type": 1 }], "provisioningJobs": "x" })
    }

    fn usual() -> BoxedStrategy<Self> {
        prop_oneof![
            2 => Just(Self::Runs), 2 => Just(Self::Named), 4 => Just(Self::Made),
            4 => Just(Self::Published), 2 => Just(Self::Groups), 2 => Just(Self::Upgraded),
            2 => (0u8..5).prop_map(Self::FailsForNow), 1 => (0u8..5).prop_map(Self::JobFails),
        ]
        .boxed()
    }

    fn rare() -> Vec<Self> {
        vec![
            Self::Down,
            Self::GoneBehind,
            Self::Scaled,
            Self::NodeSets,
            Self::WorkerFails,
            Self::Moved,
            Self::CatalogueChanged,
        ]
    }

    fn happen(self, world: &mut World) {
        match self {
            Self::Runs => world.osac_runs("job-1"),
            Self::Named => world.osac_names(),
            Self::Made => world.osac_makes(),
            Self::Published => {
                world.osac_makes();
                world.publish_credentials();
            }
            Self::JobFails(id) => {
                world.report_osac("Failed", &["Accepted"]);
                world.osac_job(&format!("failed-{id}"), "provision", "Failed", "no host is free");
            }
            Self::FailsForNow(id) => {
                world.osac_job(&format!("failed-{id}"), "provision", "Failed", "no host is free");
            }
            Self::Down => world.set_hosted_condition("Available", "False", "down"),
            Self::GoneBehind => world.node_pools.clear(),
            Self::Groups => {
                world.spec["nodeGroups"] = json!([
                    { "name": "a", "class": "bare", "count": 1 }, { "name": "workers", "class": "metal", "count": 3 },
                ]);
            }
            Self::Scaled => {
                world.spec["nodeGroups"] = json!([{ "name": "workers", "class": "large", "count": 4 }]);
            }
            Self::NodeSets => {
                world.spec["nodeGroups"] = json!([
                    { "name": "b", "class": "set", "count": 2 }, { "name": "a", "class": "set", "count": 1 },
                ]);
            }
            Self::WorkerFails => {
                let Some(remote) = &mut world.remote else { return };
                let Some(workers) = remote["status"]["workers"].as_array_mut() else { return };
                workers[0]["phase"] = json!("Failed");
            }
            Self::Upgraded => world.spec["version"] = json!("4.20.9"),
            Self::Moved => {
                world.spec.as_object_mut().unwrap().remove("version");
                world.spec["template"] = json!("order-fixed");
            }
            Self::CatalogueChanged => {
                world.templates = Self::catalogue();
                let entry = world.catalogue_entry("order-tuned");
                entry["backendRef"]["templateID"] = json!("osac.templates.other");
                entry["allowedNodeClasses"]["metal"]["machine"] = json!({ "instanceType": "bm-standard" });
            }
        }
    }
}

/// And nothing is watched any more.
fn ends_unwatched(world: &mut World) -> Result<(), TestCaseError> {
    assert_ends(world)?;
    let watched = |name: &&String| *name == "hosted" || name.starts_with("pool-");
    prop_assert!(world.objects.keys().find(watched).is_none(), "still watched: {world:#?}");
    Ok(())
}

#[test]
fn any_walk_makes_one_cluster_at_most_and_ends_1() {
    walk_by_template::<Happens>(1, ends_unwatched);
}

#[test]
fn any_walk_makes_one_cluster_at_most_and_ends_2() {
    walk_by_template::<Happens>(2, ends_unwatched);
}

#[test]
fn any_walk_in_namespace_keeps_invariants() {
    walk_by_template_in_namespace::<Happens>(3, ends_unwatched);
}
