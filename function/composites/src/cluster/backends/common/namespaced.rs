//! Objects of composites in a namespace. Backends write every Object for a claim's composite; here it becomes one of the namespaced API
//! group. Only the differences between the two groups are changed, so both flavours request the same from a hub.

use serde_json::{Value, json};
use testplatform_apis::{
    collect,
    foreign::{object::NAMESPACED_API_VERSION, provider_config::CLUSTER_KIND},
    names::{ObjectName, crossplane, ours},
    test_cluster::default_secret,
};

use super::object::provider_config_name;
use crate::{
    cluster::{
        backends::intent::PlannedRequest,
        observed::{ENDED, OURS, Observed},
    },
    objects::build_object,
    sdk::{composite::Flavour, response::DesiredResource},
};

/// The same resources, where the composite can have them: core takes nothing for a composite in a namespace that is not in it too.
pub(crate) fn adapt_to_namespace(
    mut resources: Vec<DesiredResource>,
    request: &PlannedRequest,
    observed: &Observed,
) -> Vec<DesiredResource> {
    match &observed.composite.flavour {
        Flavour::Claimed | Flavour::Homeless => {}
        Flavour::Namespaced(namespace) => {
            let secret = secret_name(observed);
            let remembered = resources.iter().any(|desired| OURS.contains(&desired.name.as_ref()));
            if observed.completion_record.is_some() || (request.intent.completion.is_some() && !remembered) {
                resources.push(build_completion_record(request, observed));
            }
            for desired in &mut resources {
                move_to_namespace(&mut desired.object, namespace, &secret);
            }
        }
    }
    resources
}

/// Into which Secret the credentials are written: where they were first, whatever the spec says by now.
pub(crate) fn secret_name(observed: &Observed) -> String {
    let composite = &observed.composite;
    let before = observed.credentials.as_ref();
    let before = before.map(|c| c.object.spec.write_connection_secret_to_ref.name.as_str());
    let requested = || composite.spec["writeConnectionSecretToRef"]["name"].as_str();
    let named = before.filter(|name| !name.is_empty()).or_else(requested);
    // The schema holds what is no name; a file has not passed it.
    let legal = named.and_then(|name| ObjectName::try_from(name).ok());
    legal.map_or_else(|| default_secret(&composite.metadata.name), String::from)
}

/// Record of an end after which no other Object of ours is left. Status alone is not enough: a restore drops it, and only the composite of
/// a claim also has its emptied keys. It does nothing: it is paused from creation, provider-kubernetes never reconciles it, and it goes
/// with the composite.
fn build_completion_record(request: &PlannedRequest, observed: &Observed) -> DesiredResource {
    let intent = &request.intent;
    let recorded =
        |key: &str, now: Option<String>| now.or_else(|| observed.annotation(key).map(str::to_owned));
    let notes = collect::to_text_object([
        (crossplane::PAUSED, Some("true".to_owned())),
        (ours::OVER, recorded(ours::OVER, intent.completion.clone())),
        (ours::FAILED, recorded(ours::FAILED, intent.failure.map(|f| f.as_str().to_owned()))),
        (ours::READY_AT, recorded(ours::READY_AT, intent.ready_at.map(|at| at.to_string()))),
    ]);
    let spec = json!({
        "managementPolicies": ["Observe"],
        "forProvider": { "manifest": {
            "apiVersion": "v1", "kind": "Secret", "metadata": {
                "name": format!("{}-credentials", request.name),
                "namespace": request.settings.credentials_namespace,
            },
        } },
        "providerConfigRef": { "name": provider_config_name(request, observed) },
    });
    let mut object = build_object(&format!("{ENDED}-{}", request.name), notes, spec);
    object["metadata"]["labels"] = json!({ ours::COMPONENT: ENDED });
    DesiredResource { name: ENDED.into(), object, ready: true }
}

fn move_to_namespace(object: &mut Value, namespace: &str, secret: &str) {
    object["apiVersion"] = NAMESPACED_API_VERSION.into();
    object["metadata"]["namespace"] = namespace.into();
    let spec = &mut object["spec"];
    spec["providerConfigRef"]["kind"] = CLUSTER_KIND.into();
    // A Secret of the Object's own namespace, always.
    if !spec["writeConnectionSecretToRef"].is_null() {
        spec["writeConnectionSecretToRef"] = json!({ "name": secret });
    }
    for reference in spec.get_mut("references").and_then(Value::as_array_mut).into_iter().flatten() {
        reference["dependsOn"]["apiVersion"] = NAMESPACED_API_VERSION.into();
        reference["dependsOn"]["namespace"] = namespace.into();
    }
}
