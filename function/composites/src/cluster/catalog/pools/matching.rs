//! Pools that match a claim, in ci-operator's terms, and the message if none does.

use testplatform_apis::{
    catalogue::{Catalogue, CatalogueFlaw, Pool},
    claim::ClusterClaimSpec,
    condition::Request,
    text::bounded,
};

use crate::cluster::{observed::Pools, request::AdmissionIssue};

/// The most pools that a refusal names.
const MAX_NAMED: usize = 10;

/// The pools that fit and are offered to the tenant. Without one for `multi`, those for amd64. One of weight 0 is offered by its
/// name only.
pub(super) fn find_candidates<'a>(
    catalogue: &'a Catalogue,
    wanted: &ClusterClaimSpec,
    brings: bool,
    tenant: Option<&str>,
) -> Vec<&'a Pool> {
    let offered = |architecture: Option<&str>| -> Vec<&Pool> {
        let fit = catalogue.pools.iter().filter(|p| is_match(p, (wanted, brings), architecture));
        fit.filter(|p| p.is_allowed_for(tenant) && is_drawable(p, wanted)).collect()
    };
    let requested = requested_architecture(wanted);
    let found = offered(requested);
    if found.is_empty() && requested == Some("multi") { offered(Some("amd64")) } else { found }
}

/// Whether a claim may get it.
fn is_drawable(pool: &Pool, wanted: &ClusterClaimSpec) -> bool {
    pool.weight > 0 || wanted.pool.is_some()
}

/// Any, where a pool is named.
fn requested_architecture(wanted: &ClusterClaimSpec) -> Option<&str> {
    let own = wanted.architecture.as_deref();
    if wanted.pool.is_some() { own } else { own.or(Some("amd64")) }
}

fn requested_product(wanted: &ClusterClaimSpec) -> Option<&str> {
    let own = wanted.product.as_deref();
    if wanted.pool.is_some() { own } else { own.or(Some("ocp")) }
}

/// The labels that a pool must have.
fn required_labels<'a>(
    wanted: &'a ClusterClaimSpec,
    architecture: Option<&'a str>,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let fields = [
        ("product", requested_product(wanted)),
        ("version", wanted.version.as_deref()),
        ("architecture", architecture),
        ("cloud", wanted.cloud.as_deref()),
        ("owner", wanted.owner.as_deref()),
    ];
    let own = wanted.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    fields.into_iter().filter_map(|(key, value)| Some((key, value?))).chain(own)
}

fn is_match(pool: &Pool, (wanted, brings): (&ClusterClaimSpec, bool), architecture: Option<&str>) -> bool {
    if pool.bring_your_own.is_some() != brings {
        return false;
    }
    let named = wanted.pool.as_ref().is_none_or(|named| {
        let namespace = named.namespace.as_deref();
        named.name == pool.name.as_str() && namespace.is_none_or(|n| n == pool.namespace.as_str())
    });
    named
        && required_labels(wanted, architecture)
            .all(|(key, value)| pool.labels.get(key).is_some_and(|v| v == value))
}

/// Why there is no candidate, and what the tenant may use instead.
pub(super) fn build_refusal(
    pools: &Pools,
    catalogue: &Catalogue,
    (wanted, brings): (&ClusterClaimSpec, bool),
    tenant: Option<&str>,
) -> AdmissionIssue {
    let what = describe_request(wanted, brings);
    if let Some(flaw) = broken_entry(pools, wanted) {
        return AdmissionIssue::new(
            Request::CatalogueInvalid,
            format!(
                "the catalogue's entry for {what} cannot be used: {flaw}; ask the platform team to repair it"
            ),
        );
    }
    let requested = requested_architecture(wanted);
    let fit = |p: &&Pool| {
        is_match(p, (wanted, brings), requested)
            || (requested == Some("multi") && is_match(p, (wanted, brings), Some("amd64")))
    };
    let named =
        catalogue.pools.iter().filter(fit).find(|p| p.is_allowed_for(tenant) && !is_drawable(p, wanted));
    if let Some(Pool { name, namespace, .. }) = named {
        return AdmissionIssue::new(
            Request::PoolNotFound,
            format!(
                "{what} is given only to claims that name it; create a new claim with spec.clusterClaim.pool.name {name} and namespace {namespace}"
            ),
        );
    }
    if catalogue.pools.iter().any(|p| fit(&p)) {
        let namespace = tenant.unwrap_or_default();
        return AdmissionIssue::new(
            Request::PoolNotAllowed,
            format!(
                "{what} is not offered to namespace {namespace}; {}",
                usable_pools(catalogue, brings, tenant)
            ),
        );
    }
    AdmissionIssue::new(
        Request::PoolNotFound,
        format!("there is no {what}; {}", usable_pools(catalogue, brings, tenant)),
    )
}

/// The broken entry of the pool that the claim names.
fn broken_entry<'a>(pools: &'a Pools, wanted: &ClusterClaimSpec) -> Option<&'a CatalogueFlaw> {
    let Pools::Found(catalogue, flaws) = pools else { return None };
    let named = wanted.pool.as_ref()?;
    let other = catalogue.pools.iter().any(|p| p.name.as_str() == named.name);
    let own = |f: &&CatalogueFlaw| f.entry.starts_with("pools[") && f.name.as_deref() == Some(&named.name);
    flaws.iter().find(own).filter(|_| !other)
}

fn describe_request(wanted: &ClusterClaimSpec, brings: bool) -> String {
    let labels: Vec<String> = required_labels(wanted, requested_architecture(wanted))
        .map(|(key, value)| format!("{key} {value}"))
        .collect();
    let with = if labels.is_empty() { String::new() } else { format!(" with {}", labels.join(", ")) };
    let noun = if brings { "pool for credentials of a tenant" } else { "pool" };
    let pool = match &wanted.pool {
        None => noun.to_owned(),
        Some(named) => match &named.namespace {
            None => format!("{noun} {}", named.name),
            Some(namespace) => format!("{noun} {namespace}/{}", named.name),
        },
    };
    bounded(&format!("{pool}{with}"), 512)
}

/// Up to ten pools that the tenant may use, with what they are matched by.
fn usable_pools(catalogue: &Catalogue, brings: bool, tenant: Option<&str>) -> String {
    if catalogue.pools.is_empty() {
        return "the catalogue has no pools; ask the platform team for one".into();
    }
    let own = |pool: &&Pool| pool.bring_your_own.is_some() == brings;
    let offered: Vec<&Pool> =
        catalogue.pools.iter().filter(|p| p.is_allowed_for(tenant)).filter(own).collect();
    if offered.is_empty() {
        return "no pool is offered to this namespace; ask the platform team for one".into();
    }
    let label = |pool: &Pool, key: &str| pool.labels.get(key).cloned();
    let shown = |pool: &&Pool| {
        let parts: Vec<String> = ["product", "version", "architecture", "cloud", "owner"]
            .into_iter()
            .filter_map(|key| label(pool, key))
            .collect();
        let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(" ")) };
        format!("{}/{}{parts}", pool.namespace, pool.name)
    };
    let mut names: Vec<String> = offered.iter().take(MAX_NAMED).map(shown).collect();
    if offered.len() > MAX_NAMED {
        names.push(format!("and {} more", offered.len() - MAX_NAMED));
    }
    format!("create a new claim for one of: {}", names.join(", "))
}
