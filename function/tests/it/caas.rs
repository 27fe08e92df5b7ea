//! Clusters of CaaS by template: a ClusterTemplateInstance, and the HostedCluster behind it.

mod ends;
mod life;
mod status;

use function_model::world::World;
use jiff::SignedDuration;
use serde_json::Value;

fn minutes(count: i64) -> SignedDuration {
    SignedDuration::from_mins(count)
}

/// Manifest in the primary Object.
fn asked(world: &World) -> &Value {
    &world.objects["instance"].object["spec"]["forProvider"]["manifest"]
}

fn is(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}
