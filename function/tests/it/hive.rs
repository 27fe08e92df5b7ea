//! Lives of a claim for a cluster out of a Hive pool, from the tenant's side: good ones, and such in which something goes
//! wrong and comes right again.

mod brought;
mod choice;
mod ends;
mod filled;
mod life;
mod lost;
mod queue;
mod unclaimed;

use function_model::world::World;
use serde_json::{Value, json};

fn is(world: &World, type_: &str, status: &str, reason: &str) {
    assert_eq!(world.condition(type_), (status.to_owned(), reason.to_owned()), "{type_}");
}

fn manifest(world: &World) -> &Value {
    &world.objects["claim"].object["spec"]["forProvider"]["manifest"]
}

fn assigned() -> World {
    let mut world = World::hive_claim();
    world.settle();
    world.hive_assigns();
    world.settle();
    world
}

fn tear_down(world: &mut World) {
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
}
