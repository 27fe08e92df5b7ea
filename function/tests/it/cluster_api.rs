//! Clusters of Cluster API's by template: a Cluster with a managed topology, groups of nodes and all.

mod ahead;
mod ends;
mod life;
mod schema;
mod status;
mod updates;

use function_model::world::World;
use jiff::SignedDuration;
use serde_json::Value;

fn minutes(count: i64) -> SignedDuration {
    SignedDuration::from_mins(count)
}

/// Manifest in the primary Object.
fn asked(world: &World) -> &Value {
    &world.objects["topology"].object["spec"]["forProvider"]["manifest"]
}

/// The topology that it asks for.
fn topology(world: &World) -> &Value {
    &asked(world)["spec"]["topology"]
}

/// A variable in a list of them.
fn variable(of: &Value, name: &str) -> Value {
    let all = of.as_array().unwrap();
    all.iter().find(|v| v["name"] == name).map(|v| v["value"].clone()).unwrap_or_default()
}

fn is(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}
