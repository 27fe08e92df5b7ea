//! Walks of a claim for a cluster of HyperShift's: whatever happens, in whatever order, nothing that exists is dropped, no second cluster
//! is made, none is left behind, and an end that is asked for is reached. The walks are the same in every run.

mod brought;
mod bundled;

use function_model::{
    hypershift, templates,
    walks::{Own, assert_ends, walk_by_template, walk_by_template_in_namespace},
    world::{Composed, World},
};
use proptest::{prelude::*, strategy::BoxedStrategy};
use serde_json::{Value, json};

/// Events of such a claim alone.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Installed,
    Published,
    Down,
    Invalid,
    Scaled,
    OtherGroups,
    NoGroups,
    Upgraded,
    RolledOut,
    ImageRefused,
    TakenBack,
    CatalogueChanged,
    PoolVanished,
}

impl Own for Happens {
    const WRITER: &'static str = "cluster";

    fn world() -> World {
        World::hypershift_claim()
    }

    fn catalogue() -> Vec<Value> {
        templates::template_catalogue()
    }

    fn hub(name: &str) -> Value {
        hypershift::build_hub(name)
    }

    fn nonsense() -> Value {
        json!({ "conditions": [{ "type": 1 }], "version": "x" })
    }

    fn usual() -> BoxedStrategy<Self> {
        prop_oneof![
            3 => Just(Self::Installed), 4 => Just(Self::Published), 1 => Just(Self::Down),
            2 => Just(Self::Scaled), 2 => Just(Self::OtherGroups),
        ]
        .boxed()
    }

    fn rare() -> Vec<Self> {
        vec![
            Self::Invalid,
            Self::NoGroups,
            Self::Upgraded,
            Self::RolledOut,
            Self::ImageRefused,
            Self::TakenBack,
            Self::CatalogueChanged,
            Self::PoolVanished,
        ]
    }

    fn happen(self, world: &mut World) {
        match self {
            Self::Installed => world.hypershift_installs(),
            Self::Published => {
                world.hypershift_installs();
                world.hypershift_publishes();
            }
            Self::Down => world.report_hypershift(&[("Available", "False", "Down")]),
            Self::Invalid => world.report_hypershift(&[("ValidConfiguration", "False", "Invalid")]),
            Self::Scaled => {
                world.spec["nodeGroups"] = json!([{ "name": "workers", "class": "small", "count": 4 }]);
            }
            Self::OtherGroups => {
                world.spec["nodeGroups"] = json!([
                    { "name": "a", "class": "small", "count": 1 },
                    { "name": "b", "class": "large", "autoscale": { "min": 0, "max": 2 } },
                ]);
            }
            Self::NoGroups => {
                world.spec["nodeGroups"] = json!([{ "name": "x", "class": "nothing", "count": 1 }]);
            }
            Self::Upgraded => world.spec["version"] = json!("4.20.9"),
            Self::RolledOut => world.hypershift_rolls_out("Partial"),
            Self::ImageRefused => world.hypershift_rejects_the_image(),
            Self::TakenBack => world.spec["version"] = json!("4.20.3"),
            Self::CatalogueChanged => {
                world.templates = Self::catalogue();
                world.catalogue_entry("hosted")["backendRef"]["hostedCluster"] =
                    json!({ "pullSecret": { "name": "other" } });
                world.catalogue_entry("hosted")["backendRef"]["nodePool"] =
                    json!({ "nodeLabels": { "a": "{name}" } });
            }
            Self::PoolVanished => world.node_pools.clear(),
        }
    }
}

/// And no nodes are left, unless they are somebody else's by now, as the HostedCluster is.
fn ends_without_nodes(world: &mut World) -> Result<(), TestCaseError> {
    assert_ends(world)?;
    let policies = |of: &Composed| of.object["spec"]["managementPolicies"] == json!(["Observe"]);
    let let_go = world.objects.get("cluster").is_some_and(policies);
    let theirs = world.remote.as_ref().is_some_and(|r| r["metadata"]["uid"] == "somebody-elses");
    prop_assert!(let_go || theirs || world.node_pools.is_empty(), "nodes run on: {world:#?}");
    Ok(())
}

#[test]
fn any_walk_makes_one_cluster_at_most_and_ends_1() {
    walk_by_template::<Happens>(1, ends_without_nodes);
}

#[test]
fn any_walk_makes_one_cluster_at_most_and_ends_2() {
    walk_by_template::<Happens>(2, ends_without_nodes);
}

#[test]
fn any_walk_in_namespace_keeps_invariants() {
    walk_by_template_in_namespace::<Happens>(3, ends_without_nodes);
}
