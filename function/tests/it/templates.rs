//! Claims with a template: what is asked for with every default filled in, what may change afterwards, who counts for quotas, and
//! what happens when the catalogue is broken or gone.

mod changes;
pub mod depth;
pub mod every;
mod first;
mod hostile;
mod live;
mod lost;
mod quota;

use function_model::world::{Composed, World};
use serde_json::{Value, json};
use testplatform_apis::{ci_operator, foreign::object, names::ours};
use testplatform_composites::cluster::{
    ClusterEvaluation, evaluate,
    request::{Resolution, Templated},
};

/// Something that happens to a world.
type Change = fn(&mut World);

fn is(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

fn judged(world: &World) -> ClusterEvaluation {
    evaluate(&world.request(), world.now, ci_operator::xrd_schema()).unwrap()
}

fn templated(world: &World) -> Templated {
    judged(world).plan.request.unwrap().templated().unwrap().clone()
}

/// The value of `status.effective`.
fn effective(world: &World) -> Value {
    serde_json::to_value(templated(world).effective).unwrap()
}

/// A world in which a cluster was asked for, and only status remembers what.
fn made(template: &str, spec: &Value) -> World {
    let mut world = World::with_template(template);
    world.spec.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    world.settle();
    assert!(matches!(templated(&world).resolution, Resolution::Resolved(_)), "{}", world.refusal_message());
    world.status["backend"] = json!({ "kind": "X", "uid": "remote-1", "name": "x", "namespace": "x" });
    world
}

/// The same, and only the `credentials` Object remembers it.
fn noted(mut world: World) -> World {
    let effective = world.status["effective"].to_string();
    world.drop_status();
    let credentials = json!({ "apiVersion": object::API_VERSION, "kind": object::KIND, "metadata": {
        "name": "credentials-x", "generation": 1,
        "annotations": { ours::REMOTE_UID: "remote-1", ours::EFFECTIVE: effective },
    }, "spec": {}, "status": {} });
    world.objects.insert("credentials".into(), Composed { object: credentials, ..Composed::default() });
    world.refs.insert("credentials".into());
    world
}

/// Reason of `SpecApplied` and its message, where the cluster stays as requested.
fn kept(world: &World) -> Option<(String, String)> {
    let request = judged(world).plan.request.ok()?;
    match &request.templated()?.resolution {
        Resolution::Frozen { reason, message } => Some((reason.as_str().to_owned(), message.clone())),
        Resolution::Resolved(_) | Resolution::Blocked => None,
    }
}
