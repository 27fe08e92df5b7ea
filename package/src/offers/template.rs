//! An entry of the catalogue of templates → its offer.

use std::collections::BTreeMap;

use testplatform_apis::{
    catalogue::EVERYBODY,
    offer::{Block, Offer, OfferedClass, OfferedVersion},
    template::{
        entry::{Entry, Limits},
        parameter::Rule,
    },
};

use super::starter;

/// The offer of an entry; else the reason for its omission.
pub(super) fn build_offer(entry: &Entry) -> Result<Offer, &'static str> {
    let document = &entry.document;
    let tenants = document.allowed_tenants.as_deref().unwrap_or_default();
    if !entry.is_enabled() {
        return Err("it is not enabled");
    }
    if tenants.is_empty() {
        return Err("no namespace may use it");
    }
    let offer = entry.made.as_offer();
    let can = entry.backend().capabilities();
    let takes_versions = offer.takes_versions();
    let enabled = entry.releases.iter().filter(|release| release.enabled && takes_versions);
    let version = |release: &testplatform_apis::template::entry::Release| OfferedVersion {
        version: release.version.to_string(),
        deprecated: release.deprecated.clone(),
    };
    let default_version =
        entry.default_release().filter(|_| takes_versions).map(|release| release.version.to_string());
    let class = |name: &str| {
        let description = document.allowed_node_classes.get(name).and_then(|class| class.description.clone());
        OfferedClass { description, scale_to_zero: offer.scales_to_zero(name) == Some(true) }
    };
    let replicas = document.limits.control_plane_replicas.clone();
    let limits = Limits {
        control_plane_replicas: Some(replicas.unwrap_or_else(|| can.control_planes.to_vec()))
            .filter(|numbers| !numbers.is_empty()),
        ..document.limits.clone()
    };
    let (starter, fill_in) = starter::template_starter(entry, default_version.as_deref());
    Ok(Offer {
        name: entry.name.clone(),
        block: Block::Template,
        title: document.title.clone(),
        description: document.description.clone(),
        deprecated: document.deprecated.clone(),
        restricted: !tenants.iter().any(|tenant| tenant == EVERYBODY),
        versions: enabled.map(version).collect(),
        default_version,
        node_classes: offer.class_names().into_iter().map(|name| (name.to_owned(), class(name))).collect(),
        control_plane_classes: offer.control_plane_classes().into_iter().map(str::to_owned).collect(),
        parameters: public_rules(&offer.parameters()),
        node_parameters: public_rules(&offer.node_parameters()),
        default_node_groups: document.default_node_groups.clone(),
        default_control_plane_replicas: document.default_control_plane_replicas,
        limits,
        default_lifetime: document.default_lifetime,
        max_lifetime: document.max_lifetime,
        timeouts: document.timeouts,
        cost: entry.quota_cost(),
        starter,
        fill_in,
    })
}

/// Rules without their targets. A rule for the name of a Secret also loses allowed values, pattern and default, because these could be such
/// a name.
fn public_rules(rules: &[(&str, &Rule)]) -> BTreeMap<String, Rule> {
    let public_rule = |rule: &Rule| {
        let rule = Rule { target: None, ..rule.clone() };
        if rule.secret { Rule { allowed: vec![], pattern: None, default: None, ..rule } } else { rule }
    };
    rules.iter().map(|(name, rule)| ((*name).to_owned(), public_rule(rule))).collect()
}
