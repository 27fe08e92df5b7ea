//! Clusters of Cluster API's by template: a Cluster with a managed topology, groups of nodes and all.

mod ahead;
mod ends;
mod life;
mod moves;
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

/// A group of nodes of that topology.
fn group<'a>(world: &'a World, name: &str) -> &'a Value {
    let groups = topology(world)["workers"]["machineDeployments"].as_array().unwrap();
    groups.iter().find(|g| g["name"] == name).unwrap_or_else(|| panic!("{groups:?}"))
}

/// Version and the end of the image: they go together.
fn release(world: &World) -> (String, String) {
    let image = variable(&topology(world)["variables"], "imageUUID");
    let version = topology(world)["version"].as_str().unwrap().to_owned();
    (version, image.as_str().unwrap()[33..].to_owned())
}

fn of(version: &str, image: &str) -> (String, String) {
    (version.to_owned(), image.to_owned())
}
