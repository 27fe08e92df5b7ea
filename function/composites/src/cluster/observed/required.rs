//! Resources that core fetches for this function: their names, and the selectors.

use std::collections::BTreeMap;

use testplatform_apis::{claim::API_VERSION, collect, foreign::object, input::Settings, names::ours};

use super::{Observed, claim_secret};
use crate::sdk::{
    composite::Flavour,
    proto::{MatchLabels, Requirements, ResourceSelector, RunFunctionRequest, resource_selector::Match},
    requirements::{RequirementNames, selector},
};

/// apiVersion and kind of what administrators configure.
const ENVIRONMENT_CONFIG: (&str, &str) = ("apiextensions.crossplane.io/v1beta1", "EnvironmentConfig");

/// The EnvironmentConfig that names this Konflux cluster.
pub(super) const ENVIRONMENT: RequirementNames = RequirementNames::new("envcfg", Some("environment-config"));
/// The EnvironmentConfig with the catalogue of pools.
pub(super) const POOLS: RequirementNames = RequirementNames::new("pools", Some("pool-catalogue"));
/// The EnvironmentConfigs that are the catalogue of templates.
pub(super) const TEMPLATES: RequirementNames = RequirementNames::new("templates", Some("template-catalogue"));
/// All composites. Never bootstrapped: it would be fetched in every pass of every claim.
pub(super) const PEERS: RequirementNames = RequirementNames::new("clusters", None);
/// All composites of the other flavour, where both are served.
pub(super) const PEERS_OTHER_FLAVOUR: RequirementNames = RequirementNames::new("clusters-beside", None);
/// Under which names other composites come.
pub(super) const PEER_NAMES: [&str; 2] = [PEERS.dynamic(), PEERS_OTHER_FLAVOUR.dynamic()];
/// The primary Object, by its name.
pub(super) const PRIMARY_OBJECT: RequirementNames = RequirementNames::new("writer", None);

/// Requirements of a claim besides the name of this Konflux cluster.
#[derive(Clone, Debug, Default)]
pub struct RequirementOptions {
    /// The pool catalogue, which also has the quotas, and the counted composites, while nothing was requested from a hub.
    pub pools: bool,
    /// The template catalogue, always: a changed entry may belong to an existing cluster.
    pub templates: bool,
    /// Resources for the choice of a hub, for a claim without one.
    pub hubs: BTreeMap<String, ResourceSelector>,
    /// The primary Object of this name, while the composite does not refer to it.
    pub primary_object: Option<String>,
}

/// Resources to request from core. They depend on the claim, the Composition and observed state alone, never on fetched resources, or core
/// ≤ 2.3 never settles. Cores that announce no capabilities may be so old that they know only the old map.
///
/// The catalogue of pools, and the composites that count for quota and for the load of hubs, are requested only while the choice is open: a
/// requested cluster stays where it is, and an ended claim requests nothing.
pub fn requirements(
    request: &RunFunctionRequest,
    observed: &Observed,
    settings: &Settings,
    wants: RequirementOptions,
) -> Option<Requirements> {
    let mut map = BTreeMap::new();
    let mut ask = |names: &RequirementNames, selector: ResourceSelector| {
        if names.bootstrap().is_none_or(|name| !request.required_resources.contains_key(name)) {
            map.insert(names.dynamic().to_owned(), selector);
        }
    };
    ask(&ENVIRONMENT, environment_config_selector(&settings.environment_config));
    if wants.templates {
        let catalogue = Match::MatchLabels(MatchLabels {
            labels: collect::to_map([(ours::CATALOGUE.to_owned(), "true".to_owned())]),
        });
        ask(&TEMPLATES, selector(ENVIRONMENT_CONFIG.0, ENVIRONMENT_CONFIG.1, catalogue));
    }
    if wants.pools && observed.is_unplaced() {
        ask(&POOLS, environment_config_selector(&settings.pools));
        // No labels: core gives all of them to all cores, which a selector without a match does not.
        let all = Match::MatchLabels(MatchLabels::default());
        let (own, other) = observed.composite.kinds();
        ask(&PEERS, selector(API_VERSION, own, all.clone()));
        // A kind that core does not know fails the whole pass, so it is requested only if the input declares it.
        if settings.both_flavours {
            ask(&PEERS_OTHER_FLAVOUR, selector(API_VERSION, other, all));
        }
    }
    if let Some(name) = wants.primary_object {
        ask(&PRIMARY_OBJECT, primary_object_selector(&observed.composite.flavour, name));
    }
    map.extend(wants.hubs);
    map.extend(claim_secret::claim_requirement(&observed.composite, settings, observed.now));
    if map.is_empty() {
        return None;
    }
    Some(Requirements::asking(request, map))
}

fn primary_object_selector(flavour: &Flavour, name: String) -> ResourceSelector {
    let (api_version, namespace) = match flavour {
        Flavour::Claimed | Flavour::Homeless => (object::API_VERSION, None),
        Flavour::Namespaced(namespace) => (object::NAMESPACED_API_VERSION, Some(namespace.clone())),
    };
    ResourceSelector { namespace, ..selector(api_version, object::KIND, Match::MatchName(name)) }
}

fn environment_config_selector(name: &str) -> ResourceSelector {
    let named = Match::MatchName(name.to_owned());
    selector(ENVIRONMENT_CONFIG.0, ENVIRONMENT_CONFIG.1, named)
}
