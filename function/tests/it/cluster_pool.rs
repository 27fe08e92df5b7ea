//! Lives of a pool in Git, from the administrators' side.

mod pool;
mod renewal;
mod size;
mod trouble;

use function_model::pool::PoolWorld;
use serde_json::Value;
use testplatform_apis::names::ours;
use testplatform_apis::pool_report::PoolRequest;

fn is(world: &PoolWorld, type_: &str, status: &str, reason: &str) {
    assert_eq!(
        world.condition(type_),
        (status.to_owned(), reason.to_owned()),
        "{type_}: {}",
        world.condition_message(type_)
    );
}

fn made(changes: &Value) -> PoolWorld {
    let mut world = PoolWorld::with(changes);
    world.settle();
    assert_eq!(world.phase(), "Ready", "{}", world.status["message"]);
    world
}

fn sizes(world: &PoolWorld) -> (Value, Value, Value) {
    let spec = &world.manifest()["spec"];
    (spec["size"].clone(), spec["runningCount"].clone(), spec["maxSize"].clone())
}

fn asked(world: &PoolWorld) -> PoolRequest {
    serde_json::from_str(world.manifest()["metadata"]["annotations"][ours::POOL_REQUEST].as_str().unwrap())
        .unwrap()
}
