//! What core fetches for the choice of a hub. Asked for only while a claim has none.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use testplatform_apis::{
    claim::{API_VERSION, COMPOSITE_KIND},
    foreign::{object, provider_config, provider_config::ProviderConfig},
    hub::{Flaw, Hub, Mirror, hubs},
    names::hub,
    phase::Phase,
    status::TestPlatformClusterStatus,
};

use crate::{
    observed::{Names, fetched, selector},
    proto::{MatchLabels, ResourceSelector, Resources, RunFunctionRequest, resource_selector::Match},
    wire,
};

/// The ProviderConfigs of hubs.
const HUBS: Names = Names::new("hubs", None);
/// The Objects that mirror their facts.
const MIRRORS: Names = Names::new("hub-facts", None);
/// The other composites of the same tenant.
const NEIGHBOURS: Names = Names::new("neighbours", None);
/// Crossplane's label on composites: namespace of the claim.
const CLAIM_NAMESPACE: &str = "crossplane.io/claim-namespace";

/// What is known of hubs.
#[derive(Clone, Debug, Default)]
pub struct Hubs {
    /// Those that can be used.
    pub hubs: Vec<Hub>,
    /// Those that cannot.
    pub flaws: Vec<Flaw>,
    /// What they tell of themselves.
    pub mirrors: Vec<Mirror>,
    /// The hubs on which the tenant has other clusters.
    pub neighbours: BTreeSet<String>,
}

/// What to ask for, by our names: a function of the claim alone. `tenant`: given where the claim has an affinity, which is counted
/// by the tenant's other claims.
pub fn requirements(tenant: Option<&str>) -> BTreeMap<String, ResourceSelector> {
    let labelled = |pairs: &[(&str, &str)]| {
        let labels = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Match::MatchLabels(MatchLabels { labels })
    };
    let mut map = BTreeMap::new();
    let mut ask = |names: &Names, api_version: &str, kind: &str, matching: Match| {
        map.insert(names.dynamic().to_owned(), selector(api_version, kind, matching));
    };
    ask(&HUBS, provider_config::API_VERSION, provider_config::KIND, labelled(&[(hub::HUB, "true")]));
    ask(&MIRRORS, object::API_VERSION, object::KIND, labelled(&[(hub::FACTS, "true")]));
    if let Some(tenant) = tenant {
        ask(&NEIGHBOURS, API_VERSION, COMPOSITE_KIND, labelled(&[(CLAIM_NAMESPACE, tenant)]));
    }
    map
}

impl Hubs {
    /// What was fetched. None: it was not, and this answer is not the last one. `own`: name of the composite itself.
    pub fn decode(request: &RunFunctionRequest, own: &str) -> Option<Self> {
        let configs = fetched(request, &HUBS)?;
        let mirrors = fetched(request, &MIRRORS)?;
        let mut unreadable = Vec::new();
        let mut read = Vec::new();
        for item in &configs.items {
            match wire::from_struct::<ProviderConfig>(&item.resource) {
                Ok(config) => read.push(config),
                Err(error) => {
                    let named = wire::from_struct::<Named>(&item.resource).unwrap_or_default();
                    unreadable.push(Flaw { hub: named.metadata.name, why: error.to_string() });
                }
            }
        }
        let (hubs, flaws) = hubs(&read);
        Some(Self {
            hubs,
            flaws: [flaws, unreadable].concat(),
            // One that cannot be read tells nothing, which is what is made of it.
            mirrors: decoded(mirrors),
            neighbours: fetched(request, &NEIGHBOURS).map(|n| neighbours(n, own)).unwrap_or_default(),
        })
    }
}

fn decoded<T: for<'a> Deserialize<'a>>(resources: &Resources) -> Vec<T> {
    resources.items.iter().filter_map(|item| wire::from_struct(&item.resource).ok()).collect()
}

/// Where the tenant has clusters, or is about to.
fn neighbours(resources: &Resources, own: &str) -> BTreeSet<String> {
    let others = decoded::<Neighbour>(resources).into_iter().filter(|n| n.metadata.name != own);
    let over = |phase: Option<Phase>| match phase {
        Some(Phase::Deprovisioned | Phase::Failed) => true,
        Some(
            Phase::Pending | Phase::Provisioning | Phase::Ready | Phase::Degraded | Phase::Deprovisioning,
        )
        | None => false,
    };
    let told = others.map(|n| TestPlatformClusterStatus::read(n.status));
    told.filter(|told| !over(told.phase)).filter_map(|told| told.hub?.name).collect()
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Neighbour {
    metadata: Name,
    status: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    metadata: Name,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Name {
    name: String,
}
