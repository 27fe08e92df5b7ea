//! Walks of a claim that brings its own credentials.

use function_model::{
    hypershift, templates,
    tenant_credentials::catalogue_that_takes,
    walks::{Own, walk_by_template, walk_by_template_in_namespace},
    world::World,
};
use proptest::{prelude::*, test_runner::TestCaseError};
use serde_json::Value;

use super::{Happens, ends_without_nodes};

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
        hypershift::build_hub(name)
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
            Self::Carried => world.report_copies(true, "Carried", "Carried"),
            Self::NotCarried => world.report_copies(false, "Carried", "Forbidden"),
            Self::NamespaceGone => {
                world.remove_remote();
                if world.remote.is_none() && world.reachable {
                    world.node_pools.clear();
                    world.brought.clear();
                }
            }
            Self::TakesNothing => world.templates = templates::template_catalogue(),
        }
    }
}

/// And nothing is left of what was brought along, unless somebody else has something there by now, or its writer stays to tell how it failed:
/// then it goes with the claim.
fn ends_without_secrets(world: &mut World) -> Result<(), TestCaseError> {
    ends_without_nodes(world)?;
    for _ in 0..3 {
        world.reconcile_objects();
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
fn any_walk_with_tenant_credentials_keeps_invariants() {
    walk_by_template::<Brought>(6, ends_without_secrets);
}

#[test]
fn any_walk_with_tenant_credentials_in_namespace_keeps_invariants() {
    walk_by_template_in_namespace::<Brought>(7, ends_without_secrets);
}
