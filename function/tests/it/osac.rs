//! Clusters of OSAC's by template: a ClusterOrder, and what is watched behind it.

mod behind;
mod ends;
mod life;
mod node_sets;
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
    &world.objects["order"].object["spec"]["forProvider"]["manifest"]
}

/// An annotation of the writer.
fn noted<'a>(world: &'a World, key: &str) -> &'a Value {
    &world.objects["order"].object["metadata"]["annotations"][format!("testplatform.ci.openshift.org/{key}")]
}

fn is(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}
