//! Recovery from trouble elsewhere: lost primary Objects, lost Secrets, a hub that forgets, a create whose result nobody
//! knows. None of it may lose a cluster, create it twice, or leave it running without a report.

mod forgotten;
mod hub;
mod secrets;
mod stale;
mod writer;

use function_model::world::World;
use serde_json::json;

fn is(world: &World, type_: &str, status: &str, reason: &str) {
    assert_eq!(world.condition(type_), (status.to_owned(), reason.to_owned()), "{type_}");
}

fn told_to_end(world: &World) -> bool {
    world.remote.as_ref().unwrap()["spec"]["tearDownCluster"] == json!(true)
}

fn provisioning() -> World {
    let mut world = World::default();
    world.settle();
    world.report_phase("Provisioning", &[]);
    world.settle();
    world
}
