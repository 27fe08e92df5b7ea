//! The requested ClusterOrder.
//!
//! It is composed once, from the catalogue and the claim. From then on it is repeated with the claim's changes: a catalogue change affects
//! no existing cluster.

use serde_json::{Map, Value};
use testplatform_apis::{
    json,
    template::{effective::Effective, kind::Host, version::Version},
    yaml::sort_keys,
};

use super::{
    Osac, OsacRequest,
    nodes::{self, RequestName, apply_nodes},
    remote::{newest_job, observed_order},
};
use crate::cluster::{
    backends::{
        common::templated::{PreviousSpec, members::set},
        hosted_cluster::completed_update,
    },
    catalog::templates::{NumberedRequest, Rollout},
    observed::{Observed, PrimaryObject},
};

/// Members of the hub's spec that belong to this function, should the primary Object be lost. Others own the rest.
const OURS: [&str; 5] = ["network", "nodeRequests", "releaseImage", "templateID", "templateParameters"];

/// Its spec.
pub(super) fn build_spec(observed: &Observed, wanted: Option<OsacRequest<'_>>) -> Map<String, Value> {
    let standing = || wanted.and_then(|wanted| wanted.accepted_spec(observed));
    match (standing().or_else(|| previous_spec(observed)), wanted) {
        (Some(before), Some(wanted)) if is_job_running(observed) => apply_nodes(before, observed, wanted),
        (Some(before), Some(wanted)) => apply_nodes(apply_changes(before, wanted), observed, wanted),
        (Some(before), None) => before,
        (None, Some(wanted)) => apply_nodes(initial_spec(wanted), observed, wanted),
        // A manifest that only searches has no known spec.
        (None, None) => Map::new(),
    }
}

/// Whether a change waits for the job that runs: jobs of one order hold the same lock, and numbers of nodes alone may overtake.
pub(super) fn defers_change(observed: &Observed, wanted: OsacRequest<'_>) -> bool {
    is_job_running(observed)
        && previous_spec(observed).is_some_and(|before| apply_changes(before.clone(), wanted) != before)
}

/// Whether a job runs.
fn is_job_running(observed: &Observed) -> bool {
    let job = observed_order(observed).and_then(|remote| newest_job(&remote.status.value));
    job.is_some_and(|job| !job.is_done() && !job.has_failed())
}

impl Rollout for Osac {
    fn blocked_at_version(&self, observed: &Observed) -> Option<Version> {
        blocked_at_version(observed)
    }

    fn has_release(&self, observed: &Observed, requested: &Effective) -> bool {
        has_release(observed, requested)
    }

    fn is_fully_requested(&self, observed: &Observed) -> bool {
        !is_job_running(observed)
    }

    fn numbered_requests(&self, observed: &Observed) -> Vec<NumberedRequest> {
        numbered_requests(observed)
    }
}

/// The version of the release that the order has, where the hub refuses the one that was last asked for.
fn blocked_at_version(observed: &Observed) -> Option<Version> {
    if !observed.primary.as_ref().is_some_and(PrimaryObject::is_refused) {
        return None;
    }
    let current = hub_image(observed)?;
    let requested = previous_spec(observed)?.get("releaseImage")?.as_str().map(str::to_owned);
    let hosted = || completed_update(&observed.hosted.as_ref()?.current_remote()?.status.value);
    let known = || hosted().filter(|update| update.image == current).map(|update| update.version.clone());
    let version = || known().and_then(|known| Version::try_from(known).ok());
    (requested.as_deref() != Some(current)).then(|| version().or_else(|| Version::of_tag(current))).flatten()
}

/// The requests for nodes in the order. OSAC numbers node sets always, and resource classes where no NodePool without a number was seen.
fn numbered_requests(observed: &Observed) -> Vec<NumberedRequest> {
    let spec = previous_spec(observed).unwrap_or_default();
    let requests = spec.get("nodeRequests").and_then(Value::as_array);
    let hosts = nodes::recorded_classes(observed);
    let are_plain = || {
        let order = observed_order(observed).map(|order| order.metadata.name.as_str()).unwrap_or_default();
        nodes::numbers_classes(observed, order) == Some(false)
    };
    let classes_of = |resource: &str| {
        let is_its = |host: &Host| host.resource_class() == Some(resource);
        hosts.iter().filter(|(_, host)| is_its(host)).map(|(class, _)| class.clone()).collect()
    };
    let numbered = |request: &Value| match RequestName::of(request)? {
        RequestName::NodeSet(set) => Some(NumberedRequest::Group(set.to_owned())),
        RequestName::ResourceClass(class) => Some(NumberedRequest::Classes(classes_of(class))),
    };
    let is_class = |request: &Value| matches!(RequestName::of(request), Some(RequestName::ResourceClass(_)));
    let requests = || requests.into_iter().flatten();
    if requests().any(is_class) && are_plain() {
        return vec![];
    }
    requests().filter_map(numbered).collect()
}

/// Whether the order has the release of what was asked for.
fn has_release(observed: &Observed, requested: &Effective) -> bool {
    observed_order(observed).is_some() && hub_image(observed) == requested.release_image.as_deref()
}

fn hub_image(observed: &Observed) -> Option<&str> {
    observed_order(observed)?.spec["releaseImage"].as_str()
}

/// Spec of the previous request.
fn previous_spec(observed: &Observed) -> Option<Map<String, Value>> {
    let hub_spec = observed_order(observed).map(|remote| &remote.spec);
    Some(PreviousSpec::of(observed, hub_spec, |spec| spec.contains_key("templateID"))?.own_members(&OURS))
}

/// At birth, but for the nodes.
fn initial_spec(wanted: OsacRequest<'_>) -> Map<String, Value> {
    let mut spec = Map::new();
    spec.insert("templateID".into(), wanted.backend_spec.base.template_id.as_str().into());
    let network = &wanted.spec.network;
    for (member, cidr) in [("podCIDR", &network.pod_cidr), ("serviceCIDR", &network.service_cidr)] {
        if let Some(cidr) = cidr {
            set(&mut spec, &["network", member], cidr.as_str().into());
        }
    }
    apply_settings(&mut spec, wanted);
    spec
}

/// With the release and the parameters that are wanted, where OSAC's template can change them.
fn apply_changes(mut spec: Map<String, Value>, wanted: OsacRequest<'_>) -> Map<String, Value> {
    if wanted.backend_spec.base.upgradeable {
        apply_settings(&mut spec, wanted);
    }
    spec
}

fn apply_settings(spec: &mut Map<String, Value>, wanted: OsacRequest<'_>) {
    if let Some(image) = &wanted.spec.release.image {
        spec.insert("releaseImage".into(), image.as_str().into());
    }
    let before = spec.get("templateParameters").and_then(Value::as_str);
    let mut parameters: Map<String, Value> =
        before.and_then(|text| json::read_text(text).ok()).unwrap_or_default();
    parameters.extend(wanted.backend_spec.parameters.iter().map(|s| (s.target.0.clone(), s.value.clone())));
    // The automation reads it whether there is anything in it or not. Sorted: the same bytes in every pass.
    let text = sort_keys(&Value::Object(parameters)).to_string();
    spec.insert("templateParameters".into(), text.into());
}
