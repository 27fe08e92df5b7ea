//! Random walks: whatever happens in whatever order, a space is never half known and nothing of it is dropped.

use function_model::walks::bounded_cases;
use proptest::{prelude::*, test_runner::RngSeed};
use serde_json::json;

use crate::space::world::{SpaceWorld, token};

#[derive(Clone, Copy, Debug)]
enum Move {
    Pass,
    Look(usize),
    LookAtAll,
    Away(usize),
    Publish(bool),
    StatusLost,
    ConditionsFailed,
    StatusOfObjectLost(usize),
    DetailsLost,
    NamespaceDeleted,
    Input(u8),
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        6 => Just(Move::Pass),
        4 => (0..12usize).prop_map(Move::Look),
        3 => Just(Move::LookAtAll),
        1 => (0..12usize).prop_map(Move::Away),
        2 => any::<bool>().prop_map(Move::Publish),
        1 => Just(Move::StatusLost),
        1 => Just(Move::ConditionsFailed),
        1 => (0..12usize).prop_map(Move::StatusOfObjectLost),
        1 => Just(Move::DetailsLost),
        1 => Just(Move::NamespaceDeleted),
        1 => (0..4u8).prop_map(Move::Input),
    ]
}

fn make(world: &mut SpaceWorld, step: Move) {
    let named = |world: &SpaceWorld, n: usize| world.names().into_iter().cycle().nth(n);
    match step {
        // Its invariants are checked in every one.
        Move::Pass => drop(world.pass()),
        Move::Look(n) => {
            if let Some(name) = named(world, n) {
                world.look(&name);
            }
        }
        Move::LookAtAll => world.names().iter().for_each(|name| world.look(name)),
        Move::Away(n) => {
            if let Some(name) = named(world, n) {
                world.fail(&name, "observe failed: cannot get object: Unauthorized");
            }
        }
        Move::Publish(again) => world.publish(again),
        Move::StatusLost => (world.status, world.conditions) = (json!({}), [].into()),
        Move::ConditionsFailed => {
            for condition in world.conditions.values_mut() {
                condition["status"] = "Unknown".into();
                condition["reason"] = "FatalError".into();
            }
        }
        Move::StatusOfObjectLost(n) => {
            if let Some(name) = named(world, n) {
                world.objects.get_mut(&name).unwrap().as_object_mut().unwrap().remove("status");
            }
        }
        Move::DetailsLost => world.details.clear(),
        Move::NamespaceDeleted => world.hub.clear(),
        Move::Input(n) => {
            world.input = match n {
                0 => None,
                1 => Some(json!({})),
                2 => Some(json!({ "spaces": { "quotas": { "all": { "count/pods": 1 } } } })),
                _ => Some(json!({ "spaces": {
                    "quotas": { "all": {}, "terminating": {}, "notTerminating": {} },
                    "limits": { "default": {}, "defaultRequest": {} }, "providerConfig": "other",
                } })),
            };
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: bounded_cases(100), failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Every pass checks: same bytes, nothing dropped or renamed, all keys or none, ready with them alone and never unready after.
    #[test]
    fn any_walk_ends_in_a_space_with_credentials(steps in prop::collection::vec(moves(), 1..80)) {
        ends_with_credentials(&steps);
    }
}

/// A walk that a model once took for settled too early: all that the last look brought were the credentials.
#[test]
fn credentials_that_are_read_once_more_are_given() {
    use Move::{DetailsLost, Look, LookAtAll, Pass, Publish};
    let begin = [Pass, Look(0), Pass, LookAtAll, Pass, LookAtAll, Pass, LookAtAll];
    let end = [Publish(false), LookAtAll, Pass, Look(2), DetailsLost];
    ends_with_credentials(&[&begin[..], &end].concat());
}

fn ends_with_credentials(steps: &[Move]) {
    let mut world = SpaceWorld::default();
    for step in steps {
        make(&mut world, *step);
    }
    // All is put right again.
    world.noise.clear();
    world.look("namespace");
    world.publish(false);
    world.settle();
    assert!(world.ready);
    assert_eq!(world.reason(), "SpaceAvailable");
    assert_eq!(world.given["token"], token(world.issued));
}
