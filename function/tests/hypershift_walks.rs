//! Walks of a claim for a cluster of HyperShift's: whatever happens, in whatever order, nothing that exists is dropped, no second cluster
//! is made, none is left behind, and an end that is asked for is reached. The walks are the same in every run.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on says so")]

mod support;

use proptest::{prelude::*, strategy::BoxedStrategy};
use serde_json::{Value, json};
use support::{
    brought::catalogue_that_takes,
    hypershift, templates,
    walks::{Own, ends, walk_by_template, walk_by_template_in_namespace},
    world::World,
};

/// What happens around such a claim alone.
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
    CatalogueChanged,
    PoolVanished,
}

impl Own for Happens {
    const WRITER: &'static str = "cluster";

    fn world() -> World {
        World::hosted()
    }

    fn catalogue() -> Vec<Value> {
        templates::catalogue()
    }

    fn hub(name: &str) -> Value {
        hypershift::hub(name)
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
            Self::Down => world.hypershift_says(&[("Available", "False", "Down")]),
            Self::Invalid => world.hypershift_says(&[("ValidConfiguration", "False", "Invalid")]),
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
            Self::CatalogueChanged => {
                world.templates = Self::catalogue();
                world.entry("hosted")["backendRef"]["hostedCluster"] =
                    json!({ "pullSecret": { "name": "other" } });
            }
            Self::PoolVanished => world.node_pools.clear(),
        }
    }
}

/// The same where something is set up inside the cluster, and something done before it goes.
#[derive(Clone, Copy, Debug)]
enum Bundled {
    Plain(Happens),
    Applied,
    Failed,
    Undone,
    Done,
    Forgotten,
}

impl Own for Bundled {
    const WRITER: &'static str = "cluster";

    fn world() -> World {
        World::bundled()
    }

    fn catalogue() -> Vec<Value> {
        World::bundled().templates
    }

    fn hub(name: &str) -> Value {
        hypershift::hub(name)
    }

    fn nonsense() -> Value {
        Happens::nonsense()
    }

    fn usual() -> BoxedStrategy<Self> {
        prop_oneof![
            4 => Happens::usual().prop_map(Self::Plain), 3 => Just(Self::Applied), 1 => Just(Self::Undone),
            1 => Just(Self::Done),
        ]
        .boxed()
    }

    fn rare() -> Vec<Self> {
        let plain = Happens::rare().into_iter().map(Self::Plain);
        plain.chain([Self::Failed, Self::Forgotten]).collect()
    }

    fn happen(self, world: &mut World) {
        match self {
            // The other catalogue has none, and that changes no cluster.
            Self::Plain(happens) => happens.happen(world),
            Self::Applied => world.bundles_applied(),
            Self::Failed => {
                world.bundles_say(&json!({ "state": "SetupFailed", "bundle": "postInstall/base" }));
            }
            Self::Undone => world.undone = true,
            Self::Done => world.undone = false,
            Self::Forgotten => world.bundles_say(&json!({ "state": 7 })),
        }
    }
}

/// And nothing is left of what told the hub.
fn ends_untold(world: &mut World) -> Result<(), TestCaseError> {
    world.undone = false;
    ends_without_nodes(world)?;
    prop_assert!(world.bundles.is_none(), "the hub is still told: {world:#?}");
    let told = ["bundles", "bundles-undone"].iter().find(|name| world.refs.contains(**name));
    prop_assert!(told.is_none(), "{told:?} is still desired");
    Ok(())
}

#[test]
fn any_walk_with_bundles_makes_one_cluster_at_most_and_ends() {
    walk_by_template::<Bundled>(4, ends_untold);
}

#[test]
fn any_walk_with_bundles_in_a_namespace_makes_one_cluster_at_most_and_ends() {
    walk_by_template_in_namespace::<Bundled>(5, ends_untold);
}

/// The same of one that brings its own credentials.
#[derive(Clone, Copy, Debug)]
enum Brought {
    Plain(Happens),
    /// The carrier says that it brought everything.
    Carried,
    /// The carrier says that it may not.
    NotCarried,
    /// Somebody deletes the claim's namespace on the hub: everything in it goes, the cluster too.
    NamespaceGone,
    /// The template takes nothing any more.
    TakesNothing,
}

impl Own for Brought {
    const WRITER: &'static str = "cluster";

    fn world() -> World {
        World::brought_by_template()
    }

    fn catalogue() -> Vec<Value> {
        catalogue_that_takes()
    }

    fn hub(name: &str) -> Value {
        hypershift::hub(name)
    }

    fn nonsense() -> Value {
        Happens::nonsense()
    }

    fn usual() -> BoxedStrategy<Self> {
        prop_oneof![
            4 => Happens::usual().prop_map(Self::Plain), 5 => Just(Self::Carried), 1 => Just(Self::NotCarried),
        ]
        .boxed()
    }

    fn rare() -> Vec<Self> {
        let plain = Happens::rare().into_iter().map(Self::Plain);
        plain.chain([Self::NamespaceGone, Self::TakesNothing]).collect()
    }

    fn happen(self, world: &mut World) {
        match self {
            Self::Plain(happens) => happens.happen(world),
            Self::Carried => world.answers(true, "Carried", "Carried"),
            Self::NotCarried => world.answers(false, "Carried", "Forbidden"),
            Self::NamespaceGone => {
                world.vanishes();
                if world.remote.is_none() && world.reachable {
                    world.node_pools.clear();
                    world.brought.clear();
                }
            }
            Self::TakesNothing => world.templates = templates::catalogue(),
        }
    }
}

/// And nothing is left of what was brought along, unless somebody else has something there by now, or its writer stays to tell how it failed:
/// then it goes with the claim.
fn ends_without_secrets(world: &mut World) -> Result<(), TestCaseError> {
    ends_without_nodes(world)?;
    for _ in 0..3 {
        world.provider();
    }
    let replaced = world.lets_go();
    let depends = world.objects.get("cluster").is_some_and(|w| w.object["spec"]["references"].is_array());
    prop_assert!(
        replaced || depends || world.brought.is_empty(),
        "{:?} is left: {world:#?}",
        world.brought.keys()
    );
    let desired = world.refs.iter().find(|name| name.starts_with("byoc-"));
    prop_assert!(replaced || desired.is_none(), "{desired:?} is still desired: {world:#?}");
    Ok(())
}

#[test]
fn any_walk_with_brought_credentials_makes_one_cluster_at_most_and_leaves_nothing() {
    walk_by_template::<Brought>(6, ends_without_secrets);
}

#[test]
fn any_walk_with_brought_credentials_in_a_namespace_makes_one_cluster_at_most_and_leaves_nothing() {
    walk_by_template_in_namespace::<Brought>(7, ends_without_secrets);
}

/// And no nodes are left.
fn ends_without_nodes(world: &mut World) -> Result<(), TestCaseError> {
    ends(world)?;
    prop_assert!(world.node_pools.is_empty(), "nodes run on: {world:#?}");
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
fn any_walk_in_a_namespace_makes_one_cluster_at_most_and_ends() {
    walk_by_template_in_namespace::<Happens>(3, ends_without_nodes);
}
