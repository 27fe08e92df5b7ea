//! Walks of a claim for a cluster of Cluster API's: whatever happens, in whatever order, nothing that exists is dropped, no second cluster
//! is made, no version is left out, and an end that is asked for is reached. The walks are the same in every run.

mod prepared;

use function_model::{
    cluster_api, templates,
    walks::{Own, assert_ends, walk_by_template, walk_by_template_in_namespace},
    world::World,
};
use proptest::{prelude::*, strategy::BoxedStrategy};
use serde_json::{Value, json};

/// Events of such a claim alone.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Installed,
    Published,
    Rolls,
    Down,
    Invalid,
    Groups,
    Scaled,
    Upgraded,
    UpgradedFar,
    Moved,
    CatalogueChanged,
}

impl Own for Happens {
    const WRITER: &'static str = "topology";

    fn world() -> World {
        let mut world = World::cluster_api_claim();
        let default = ("openstack-v3".to_owned(), json!("enabled"));
        world.classes.defaults.insert("apiServerLoadBalancer".to_owned(), default);
        world
    }

    fn catalogue() -> Vec<Value> {
        templates::template_catalogue()
    }

    fn hub(name: &str) -> Value {
        cluster_api::build_hub(name)
    }

    fn nonsense() -> Value {
        json!({ "conditions": [{ "type": 1 }], "workers": "x" })
    }

    fn usual() -> BoxedStrategy<Self> {
        prop_oneof![
            4 => Just(Self::Installed), 4 => Just(Self::Published), 2 => Just(Self::Rolls),
            2 => Just(Self::Groups), 2 => Just(Self::UpgradedFar),
        ]
        .boxed()
    }

    fn rare() -> Vec<Self> {
        vec![Self::Down, Self::Invalid, Self::Scaled, Self::Upgraded, Self::Moved, Self::CatalogueChanged]
    }

    fn happen(self, world: &mut World) {
        match self {
            Self::Installed => world.capi_installs(),
            Self::Published => {
                world.capi_installs();
                world.hypershift_publishes();
            }
            Self::Rolls => world.capi_rolls(),
            Self::Down => world.report_cluster_api(&[("ControlPlaneAvailable", "False", "Down", "")]),
            Self::Invalid => {
                world.report_cluster_api(&[(
                    "TopologyReconciled",
                    "False",
                    "ReconcileFailed",
                    "variable x is invalid",
                )]);
            }
            Self::Groups => {
                world.spec["nodeGroups"] = json!([
                    { "name": "a", "class": "default", "count": 1 },
                    { "name": "workers", "class": "default", "autoscale": { "min": 0, "max": 2 } },
                ]);
            }
            Self::Scaled => {
                world.spec["nodeGroups"] = json!([{ "name": "workers", "class": "bigger", "count": 4 }]);
            }
            Self::Upgraded => world.spec["version"] = json!("1.30"),
            Self::UpgradedFar => world.spec["version"] = json!("1.31"),
            Self::Moved => {
                world.spec.as_object_mut().unwrap().remove("version");
                world.spec["template"] = json!("topology-next");
            }
            Self::CatalogueChanged => {
                world.templates = Self::catalogue();
                world.catalogue_entry("topology")["backendRef"]["classRef"]["name"] = json!("other");
            }
        }
    }
}

#[test]
fn any_walk_makes_one_cluster_at_most_and_ends_1() {
    walk_by_template::<Happens>(1, assert_ends);
}

#[test]
fn any_walk_makes_one_cluster_at_most_and_ends_2() {
    walk_by_template::<Happens>(2, assert_ends);
}

#[test]
fn any_walk_in_namespace_keeps_invariants() {
    walk_by_template_in_namespace::<Happens>(3, assert_ends);
}
