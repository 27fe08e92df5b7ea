//! The ClusterOrder as we ask for it.
//!
//! It is composed once, from the catalogue and the claim, and from then on repeated as it was asked for, with what the claim may change in
//! it: a catalogue that changes changes no cluster.

use serde_json::{Map, Value};
use testplatform_apis::{
    json,
    template::{effective::Effective, version::Version},
    yaml::sorted,
};

use super::{Wanted, facts, nodes::resized};
use crate::{
    backend::{
        hypershift,
        templated::{Before, members::set},
    },
    observed::{Observed, PrimaryObject},
};

/// What is left of the spec as the hub has it, should the writer be lost: the rest is others'.
const OURS: [&str; 5] = ["network", "nodeRequests", "releaseImage", "templateID", "templateParameters"];

/// Its spec.
pub(super) fn spec(observed: &Observed, wanted: Option<Wanted<'_>>) -> Map<String, Value> {
    let standing = || wanted.and_then(|wanted| wanted.standing(observed));
    match (standing().or_else(|| before(observed)), wanted) {
        (Some(before), Some(wanted)) if waits(observed) => resized(before, observed, wanted),
        (Some(before), Some(wanted)) => resized(tuned(before, wanted), observed, wanted),
        (Some(before), None) => before,
        (None, Some(wanted)) => resized(begun(wanted), observed, wanted),
        // Of what is only looked for nothing is known.
        (None, None) => Map::new(),
    }
}

/// Whether a change waits for the job that runs: jobs of one order hold the same lock, and numbers of nodes alone may overtake.
pub(super) fn holds_back(observed: &Observed, wanted: Wanted<'_>) -> bool {
    waits(observed) && before(observed).is_some_and(|before| tuned(before.clone(), wanted) != before)
}

/// Whether a job runs.
pub(in crate::backend) fn waits(observed: &Observed) -> bool {
    let job = facts::remote(observed).and_then(|remote| facts::newest(&remote.status.value));
    job.is_some_and(|job| !job.is_done() && !job.has_failed())
}

/// The version of the release that the order has, where the hub refuses the one that was last asked for.
pub(in crate::backend) fn left_at(observed: &Observed) -> Option<Version> {
    if !observed.primary.as_ref().is_some_and(PrimaryObject::is_refused) {
        return None;
    }
    let there = of_hub(observed)?;
    let asked = before(observed)?.get("releaseImage")?.as_str().map(str::to_owned);
    let hosted = || hypershift::rollout::completed(&observed.hosted.as_ref()?.current_remote()?.status.value);
    let known = || hosted().filter(|update| update.image == there).map(|update| update.version.clone());
    let version = || known().and_then(|known| Version::try_from(known).ok());
    (asked.as_deref() != Some(there)).then(|| version().or_else(|| Version::of_tag(there))).flatten()
}

/// The groups of nodes that are node sets of the order, in its order.
pub(in crate::backend) fn node_sets(observed: &Observed) -> Vec<String> {
    let spec = before(observed).unwrap_or_default();
    let requests = spec.get("nodeRequests").and_then(Value::as_array);
    let names = requests.into_iter().flatten().filter_map(|request| request["nodeSet"].as_str());
    names.map(str::to_owned).collect()
}

/// Whether the order has the release of what was asked for.
pub(in crate::backend) fn is_at(observed: &Observed, asked: &Effective) -> bool {
    facts::remote(observed).is_some() && of_hub(observed) == asked.release_image.as_deref()
}

fn of_hub(observed: &Observed) -> Option<&str> {
    facts::remote(observed)?.spec["releaseImage"].as_str()
}

/// What was asked for before.
fn before(observed: &Observed) -> Option<Map<String, Value>> {
    let seen = facts::remote(observed).map(|remote| &remote.spec);
    Some(Before::of(observed, seen, |spec| spec.contains_key("templateID"))?.own(&OURS))
}

/// At birth, but for the nodes.
fn begun(wanted: Wanted<'_>) -> Map<String, Value> {
    let mut spec = Map::new();
    spec.insert("templateID".into(), wanted.order.base.template_id.as_str().into());
    let network = &wanted.whole.network;
    for (member, cidr) in [("podCIDR", &network.pod_cidr), ("serviceCIDR", &network.service_cidr)] {
        if let Some(cidr) = cidr {
            set(&mut spec, &["network", member], cidr.as_str().into());
        }
    }
    settings(&mut spec, wanted);
    spec
}

/// With the release and the parameters that are wanted, where OSAC's template can change them.
fn tuned(mut spec: Map<String, Value>, wanted: Wanted<'_>) -> Map<String, Value> {
    if wanted.order.base.upgradeable {
        settings(&mut spec, wanted);
    }
    spec
}

fn settings(spec: &mut Map<String, Value>, wanted: Wanted<'_>) {
    if let Some(image) = &wanted.whole.release.image {
        spec.insert("releaseImage".into(), image.as_str().into());
    }
    let before = spec.get("templateParameters").and_then(Value::as_str);
    let mut parameters: Map<String, Value> =
        before.and_then(|text| json::read_text(text).ok()).unwrap_or_default();
    parameters.extend(wanted.order.parameters.iter().map(|s| (s.target.0.clone(), s.value.clone())));
    // The automation reads it whether there is anything in it or not. Sorted: the same bytes in every pass.
    let text = sorted(&Value::Object(parameters)).to_string();
    spec.insert("templateParameters".into(), text.into());
}
