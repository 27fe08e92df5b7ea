//! The catalogue of pools → its offers: the labels by which a claim gets a pool, without the pool's name and location.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use testplatform_apis::{
    catalogue::{Catalogue, EVERYBODY, Pool},
    offer::{Block, Offer, OfferedVersion},
};

/// The labels with their own field in a claim, in the order of names.
const LABELS: [&str; 5] = ["product", "version", "architecture", "cloud", "owner"];
/// Labels that every pool needs to be found by labels. A claim that omits them gets the default, or they are required.
const REQUIRED_LABELS: [&str; 3] = ["product", "version", "architecture"];

/// Selection of a pool by claims.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PoolSelector {
    /// By these labels. All pools with these labels are one offer.
    Labels(BTreeMap<String, String>),
    /// By namespace and name.
    Name(String, String),
}

/// All offers, and the omitted pools.
pub(super) fn build_offers(catalogue: &Catalogue) -> (Vec<Offer>, Vec<String>) {
    let mut ways: BTreeMap<PoolSelector, Vec<&Pool>> = BTreeMap::new();
    let mut omitted = Vec::new();
    for pool in &catalogue.pools {
        if pool.allowed_tenants.is_empty() {
            omitted.push(format!("pool {}: no namespace may use it", pool.name));
        } else if pool.bring_your_own.is_some() {
            // It is no pool. A starter cannot fill in its requirements: a cloud account, and Secrets of the tenant.
            omitted.push(format!("pool {}: only claims with spec.byoc may use it", pool.name));
        } else {
            ways.entry(pool_selector(pool)).or_default().push(pool);
        }
    }
    let mut offers: Vec<Offer> = Vec::new();
    for (way, pools) in ways {
        let mut build_offer = offer(catalogue, &way, &pools);
        // Two spellings of a label can give the same name.
        let plain = build_offer.name.clone();
        let mut others = 1;
        while offers.iter().any(|other| other.name == build_offer.name) {
            others += 1;
            build_offer.name = format!("{plain}-{others}");
        }
        offers.push(build_offer);
    }
    (offers, omitted)
}

fn pool_selector(pool: &Pool) -> PoolSelector {
    let sayable = |value: &String| (1..=63).contains(&value.chars().count());
    let labelled = REQUIRED_LABELS.iter().all(|word| pool.labels.contains_key(*word));
    if pool.weight > 0 && labelled && pool.labels.values().all(sayable) {
        PoolSelector::Labels(pool.labels.clone())
    } else {
        PoolSelector::Name(pool.namespace.to_string(), pool.name.to_string())
    }
}

/// The common guarantees of the matching pools. Pools of some namespaces reveal nothing about pools for everyone.
fn offer(catalogue: &Catalogue, way: &PoolSelector, pools: &[&Pool]) -> Offer {
    let open = |pool: &&&Pool| pool.allowed_tenants.iter().any(|tenant| tenant == EVERYBODY);
    let restricted = !pools.iter().any(|pool| open(&pool));
    let counted = || pools.iter().filter(|pool| restricted || open(pool));
    let defaults: Vec<_> = counted().map(|pool| pool.default_lifetime).collect();
    let default_lifetime =
        defaults.first().copied().flatten().filter(|own| defaults.iter().all(|d| *d == Some(*own)));
    let version =
        pools.iter().find_map(|pool| pool.labels.get("version")).filter(|version| !version.is_empty());
    let (name, title, cluster_claim) = match way {
        PoolSelector::Labels(labels) => {
            (offer_name(labels), "Out of a pool, installed in advance", claim_by_labels(labels))
        }
        PoolSelector::Name(namespace, name) => {
            let of_name = |pool: &&Pool| pool.name.as_str() == name;
            let elsewhere =
                catalogue.pools.iter().filter(of_name).any(|pool| pool.namespace.as_str() != namespace);
            let (mut own, mut claim) = (name.clone(), json!({ "pool": { "name": name } }));
            if elsewhere {
                own = format!("{namespace}.{name}");
                claim["pool"]["namespace"] = namespace.as_str().into();
            }
            (own, "Out of a pool that claims name", claim)
        }
    };
    let mut starter = Map::from_iter([("clusterClaim".to_owned(), cluster_claim)]);
    if let Some(lifetime) = default_lifetime {
        starter.insert("lifetime".into(), super::starter::shorten_duration(&lifetime.to_string()).into());
    }
    Offer {
        name,
        block: Block::ClusterClaim,
        title: Some(title.to_owned()),
        description: None,
        deprecated: None,
        restricted,
        versions: version
            .map(|version| OfferedVersion { version: version.clone(), deprecated: None })
            .into_iter()
            .collect(),
        default_version: None,
        node_classes: BTreeMap::new(),
        control_plane_classes: vec![],
        parameters: BTreeMap::new(),
        node_parameters: BTreeMap::new(),
        default_node_groups: vec![],
        default_control_plane_replicas: None,
        limits: testplatform_apis::template::entry::Limits::default(),
        default_lifetime,
        max_lifetime: counted().filter_map(|pool| pool.max_lifetime).min(),
        timeouts: testplatform_apis::template::companions::Timeouts::default(),
        cost: counted().map(|pool| pool.cost).max().unwrap_or(1),
        starter,
        fill_in: vec![],
    }
}

/// `clusterClaim` of a claim for a pool with these labels.
fn claim_by_labels(labels: &BTreeMap<String, String>) -> Value {
    let mut claim = Map::new();
    let mut others = Map::new();
    for (key, value) in labels {
        let place = if LABELS.contains(&key.as_str()) { &mut claim } else { &mut others };
        place.insert(key.clone(), value.as_str().into());
    }
    if !others.is_empty() {
        claim.insert("labels".into(), others.into());
    }
    claim.into()
}

/// A name from labels, such as `ocp-4.20-amd64-aws`. The name of a pool may reveal its location.
fn offer_name(labels: &BTreeMap<String, String>) -> String {
    let words = LABELS.iter().filter_map(|word| labels.get(*word)).cloned();
    let others = labels.iter().filter(|(key, _)| !LABELS.contains(&key.as_str()));
    let others = others.map(|(key, value)| format!("{key}-{value}"));
    let all: Vec<String> = words.chain(others).collect();
    let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' { c } else { '-' };
    all.join("-").to_ascii_lowercase().chars().map(plain).collect()
}
