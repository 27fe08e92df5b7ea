//! Walks of a claim for whose cluster something comes ahead: prerequisites on the hub, and a credential of the cloud.

use function_model::{
    cluster_api,
    prerequisites::AHEAD,
    walks::{Own, assert_ends, walk_by_template, walk_by_template_in_namespace},
    world::World,
};
use proptest::{prelude::*, test_runner::TestCaseError};
use serde_json::{Value, json};
use testplatform_apis::names::ours;

use super::Happens;

/// Events of such a claim.
#[derive(Clone, Copy, Debug)]
enum Prepared {
    Plain(Happens),
    There,
    NotReady,
    Invalid,
    Forgotten,
    Rotated,
    /// Somebody deletes an Object.
    Deleted(usize),
}

impl Own for Prepared {
    const WRITER: &'static str = "topology";

    fn world() -> World {
        World::with_prerequisites()
    }

    fn catalogue() -> Vec<Value> {
        World::with_prerequisites().templates
    }

    fn hub(name: &str) -> Value {
        cluster_api::build_hub(name)
    }

    fn nonsense() -> Value {
        Happens::nonsense()
    }

    fn usual() -> BoxedStrategy<Self> {
        prop_oneof![
            4 => Happens::usual().prop_map(Self::Plain), 4 => Just(Self::There), 1 => Just(Self::Rotated),
        ]
        .boxed()
    }

    fn rare() -> Vec<Self> {
        let own = [Self::NotReady, Self::Invalid, Self::Forgotten, Self::Deleted(0), Self::Deleted(1)];
        Happens::rare().into_iter().map(Self::Plain).chain(own).collect()
    }

    fn happen(self, world: &mut World) {
        match self {
            // Another catalogue has nothing ahead, and that changes no cluster.
            Self::Plain(happens) => happens.happen(world),
            Self::There => world.complete_prerequisites(),
            Self::NotReady => world.report_prerequisite(
                "prerequisites",
                &json!({ "state": "SetupFailed", "bundle": "prerequisites/trust", "object": "ConfigMap clusters/x" }),
            ),
            Self::Invalid => world.report_prerequisite("cloud-credential", &json!({ "state": "OwnerInvalid" })),
            Self::Forgotten => AHEAD.iter().for_each(|(name, ..)| world.report_prerequisite(name, &json!({ "state": 7 }))),
            Self::Rotated => {
                let generation = world.annotations[ours::CLOUD_CREDENTIAL_GENERATION].as_str();
                let next = generation.and_then(|text| text.parse().ok()).unwrap_or(0) + 1;
                world.annotations[ours::CLOUD_CREDENTIAL_GENERATION] = json!(next.to_string());
            }
            Self::Deleted(which) => {
                if let Some(told) = world.objects.get_mut(AHEAD[which].0) {
                    told.object["metadata"]["deletionTimestamp"] = json!(world.now);
                }
            }
        }
    }
}

/// And nothing is left of what came ahead.
fn ends_unprepared(world: &mut World) -> Result<(), TestCaseError> {
    assert_ends(world)?;
    // Whose cluster has the name by now the provider on the hub does not ask: it may be in need of what came ahead.
    world.remote = None;
    world.settle();
    prop_assert!(world.ahead.is_empty(), "the hub is still told: {world:#?}");
    let told = AHEAD.iter().find(|(name, ..)| world.refs.contains(*name));
    prop_assert!(told.is_none(), "{told:?} is still desired");
    Ok(())
}

#[test]
fn any_walk_makes_prerequisites_first_and_deletes_them_last() {
    walk_by_template::<Prepared>(4, ends_unprepared);
}

#[test]
fn any_walk_in_namespace_creates_prerequisites_first() {
    walk_by_template_in_namespace::<Prepared>(5, ends_unprepared);
}
