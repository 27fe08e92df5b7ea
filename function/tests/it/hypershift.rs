//! Clusters of HyperShift's by template: a HostedCluster and its NodePools on a hub that is chosen once.

mod brought;
mod bundles;
mod ends;
mod hub;
mod life;
mod trouble;
mod updates;

use function_model::world::World;
use jiff::SignedDuration;
use serde_json::{Value, json};

fn minutes(count: i64) -> SignedDuration {
    SignedDuration::from_mins(count)
}

/// Manifest in the primary Object.
fn asked(world: &World) -> &Value {
    &world.objects["cluster"].object["spec"]["forProvider"]["manifest"]
}

fn level(world: &World, type_: &str) -> (String, String) {
    world.condition(type_)
}

fn is(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

/// A node group as a claim has it.
fn group(name: &str, more: &Value) -> Value {
    let mut group = json!({ "name": name, "class": "small" });
    group.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    group
}
