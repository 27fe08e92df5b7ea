//! Resources that core fetches for the choice of a hub. They are requested only while a claim has none.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use testplatform_apis::{
    claim::{self, API_VERSION},
    collect,
    foreign::{meta::Metadata, object, provider_config, provider_config::ProviderConfig},
    hub::{Hub, HubFlaw, Mirror, read_hubs},
    input::Settings,
    names::hub,
    phase::Phase,
    status::TestPlatformClusterStatus,
    test_cluster,
};

use crate::sdk::{
    composite::{Composite, Flavour},
    proto::{MatchLabels, ResourceSelector, Resources, RunFunctionRequest, resource_selector::Match},
    requirements::{RequirementNames, fetched_resources, selector},
    wire,
};

/// The ProviderConfigs of hubs.
const HUBS: RequirementNames = RequirementNames::new("hubs", None);
/// The Objects that mirror their facts.
const MIRRORS: RequirementNames = RequirementNames::new("hub-facts", None);
/// The other composites of the same tenant.
const NEIGHBOURS: RequirementNames = RequirementNames::new("neighbours", None);
/// Those of the other flavour, where both are served.
const NEIGHBOURS_BESIDE: RequirementNames = RequirementNames::new("neighbours-beside", None);
/// Under which names other composites come.
pub(super) const NEIGHBOUR_NAMES: [&str; 2] = [NEIGHBOURS.dynamic(), NEIGHBOURS_BESIDE.dynamic()];
/// Crossplane's label on composites: namespace of the claim.
const CLAIM_NAMESPACE: &str = "crossplane.io/claim-namespace";

/// The known hubs.
#[derive(Clone, Debug, Default)]
pub struct Hubs {
    /// Usable hubs.
    pub hubs: Vec<Hub>,
    /// Those that cannot.
    pub flaws: Vec<HubFlaw>,
    /// Their own reports.
    pub mirrors: Vec<Mirror>,
    /// The hubs on which the tenant has other clusters.
    pub neighbours: BTreeSet<String>,
}

/// Resources to request, by our names: a function of the claim and the input alone. `likes`: whether the claim has an affinity, which is
/// computed from the tenant's other claims.
pub fn hub_requirements(
    composite: &Composite,
    likes: bool,
    settings: &Settings,
) -> BTreeMap<String, ResourceSelector> {
    let labelled = |pairs: &[(&str, &str)]| {
        let labels =
            collect::to_map(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
        Match::MatchLabels(MatchLabels { labels })
    };
    let mut map = BTreeMap::new();
    let mut ask = |names: &RequirementNames, selector: ResourceSelector| {
        map.insert(names.dynamic().to_owned(), selector);
    };
    // A hub can be chosen only if the Objects can go by its configuration.
    let (api_version, kind) = match composite.flavour {
        Flavour::Claimed | Flavour::Homeless => (provider_config::API_VERSION, provider_config::KIND),
        Flavour::Namespaced(_) => (object::NAMESPACED_API_VERSION, provider_config::CLUSTER_KIND),
    };
    ask(&HUBS, selector(api_version, kind, labelled(&[(hub::HUB, "true")])));
    ask(&MIRRORS, selector(object::API_VERSION, object::KIND, labelled(&[(hub::FACTS, "true")])));
    if let Some(tenant) = composite.tenant().filter(|_| likes) {
        let claimed = selector(API_VERSION, claim::COMPOSITE_KIND, labelled(&[(CLAIM_NAMESPACE, tenant)]));
        let mut within = selector(API_VERSION, test_cluster::KIND, labelled(&[]));
        within.namespace = Some(tenant.to_owned());
        let (own, other) = match composite.flavour {
            Flavour::Claimed | Flavour::Homeless => (claimed, within),
            Flavour::Namespaced(_) => (within, claimed),
        };
        ask(&NEIGHBOURS, own);
        if settings.both_flavours {
            ask(&NEIGHBOURS_BESIDE, other);
        }
    }
    map
}

impl Hubs {
    /// What was fetched. None: it was not, and this answer is not the last one. `own`: the composite itself.
    pub fn decode(request: &RunFunctionRequest, own: &Composite) -> Option<Self> {
        let configs = fetched_resources(request, &HUBS)?;
        let mirrors = fetched_resources(request, &MIRRORS)?;
        let mut unreadable = Vec::new();
        let mut read = Vec::new();
        for item in &configs.items {
            match wire::from_struct::<ProviderConfig>(&item.resource) {
                Ok(config) => read.push(config),
                Err(error) => {
                    let named = wire::from_struct::<RawProviderConfig>(&item.resource).unwrap_or_default();
                    unreadable.push(HubFlaw { hub: named.metadata.name, why: error.to_string() });
                }
            }
        }
        let (hubs, flaws) = read_hubs(&read);
        Some(Self {
            hubs,
            flaws: [flaws, unreadable].concat(),
            // An unreadable mirror reports nothing, and its absence means the same.
            mirrors: decode_all(mirrors),
            neighbours: [NEIGHBOURS, NEIGHBOURS_BESIDE]
                .iter()
                .filter_map(|names| fetched_resources(request, names))
                .flat_map(|resources| tenant_hubs(resources, own))
                .collect(),
        })
    }
}

/// The hubs in a note ([`EXCLUDED`](testplatform_apis::names::hub::EXCLUDED)) on the writer.
pub fn read_excluded(note: Option<&str>) -> BTreeSet<String> {
    let names = note.unwrap_or_default().split(',').map(str::trim);
    collect::to_set(names.filter(|name| !name.is_empty()).map(str::to_owned))
}

fn decode_all<T: for<'a> Deserialize<'a>>(resources: &Resources) -> Vec<T> {
    resources.items.iter().filter_map(|item| wire::from_struct(&item.resource).ok()).collect()
}

/// Where the tenant has clusters, or is about to.
fn tenant_hubs(resources: &Resources, own: &Composite) -> BTreeSet<String> {
    let others = decode_all::<Neighbour>(resources).into_iter().filter(|n| !own.is(&n.metadata));
    let over = |phase: Option<Phase>| match phase {
        Some(Phase::Deprovisioned | Phase::Failed) => true,
        Some(
            Phase::Pending | Phase::Provisioning | Phase::Ready | Phase::Degraded | Phase::Deprovisioning,
        )
        | None => false,
    };
    let statuses = others.map(|n| TestPlatformClusterStatus::from_value(n.status));
    statuses.filter(|told| !over(told.phase)).filter_map(|told| told.hub?.name).collect()
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Neighbour {
    metadata: Metadata,
    status: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawProviderConfig {
    metadata: Name,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Name {
    name: String,
}
