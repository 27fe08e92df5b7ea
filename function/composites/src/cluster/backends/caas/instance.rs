//! The requested ClusterTemplateInstance. It is composed once and repeated from then on, because a webhook refuses every change.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use testplatform_apis::{collect, template::kind::ChartValue};

use super::{CaasRequest, chart, facts};
use crate::cluster::{backends::common::templated::PreviousSpec, observed::Observed};

/// Its spec.
pub(super) fn build_spec(observed: &Observed, wanted: Option<CaasRequest<'_>>) -> Map<String, Value> {
    match (previous_spec(observed), wanted) {
        (Some(before), _) => before.into_owned(),
        (None, Some(wanted)) => initial_spec(wanted),
        // A manifest that only searches has no known spec.
        (None, None) => Map::new(),
    }
}

/// Spec of the previous request.
fn previous_spec(observed: &Observed) -> Option<Cow<'_, Map<String, Value>>> {
    let hub_spec = facts::observed_instance(observed).map(|remote| &remote.spec);
    Some(PreviousSpec::of(observed, hub_spec, |spec| spec.contains_key("clusterTemplateRef"))?.spec)
}

/// At birth. Parameters are in the order of their charts and names, so that it is the same in every pass.
fn initial_spec(wanted: CaasRequest<'_>) -> Map<String, Value> {
    let CaasRequest { spec: resolved, backend_spec: order, .. } = wanted;
    let base = &order.base;
    let own = |name: &Option<String>, value: Option<String>| Some(((None, name.clone()?), value?));
    let version = resolved.release.version.as_ref().map(ToString::to_string);
    let settings = order.parameters.iter().map(|setting| {
        let ChartValue { name, setup } = setting.target.clone();
        ((setup, name), chart::helm_value(&setting.value))
    });
    let mut values = collect::to_map(settings);
    values.extend(own(&base.version_parameter, version));
    values.extend(own(&base.image_parameter, resolved.release.image.clone()));
    let parameters: Vec<Value> = values
        .into_iter()
        .map(|((setup, name), value)| {
            let mut parameter = json!({ "name": name, "value": value });
            if let Some(setup) = setup {
                parameter["clusterSetup"] = setup.into();
            }
            parameter
        })
        .collect();
    let mut spec = Map::new();
    spec.insert("clusterTemplateRef".into(), base.cluster_template.to_string().into());
    if !parameters.is_empty() {
        spec.insert("parameters".into(), parameters.into());
    }
    spec
}
