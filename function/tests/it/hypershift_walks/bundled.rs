//! Walks of a claim whose template does something inside its cluster.

use function_model::{
    hypershift,
    walks::{Own, walk_by_template, walk_by_template_in_namespace},
    world::World,
};
use proptest::{prelude::*, test_runner::TestCaseError};
use serde_json::{Value, json};

use super::{Happens, ends_without_nodes};

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
        // In this world the fewest possible objects hold the cluster.
        World { unreferred: true, ..World::with_bundles() }
    }

    fn catalogue() -> Vec<Value> {
        World::with_bundles().templates
    }

    fn hub(name: &str) -> Value {
        hypershift::build_hub(name)
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
                world.report_bundles(&json!({ "state": "SetupFailed", "bundle": "postInstall/base" }));
            }
            Self::Undone => world.undone = true,
            Self::Done => world.undone = false,
            Self::Forgotten => world.report_bundles(&json!({ "state": 7 })),
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
fn any_walk_with_bundles_in_namespace_keeps_invariants() {
    walk_by_template_in_namespace::<Bundled>(5, ends_untold);
}
