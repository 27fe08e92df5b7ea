//! Choice of the pool for a claim: a function of the claim, the catalogue and the other claims.
//!
//! The choice is made once. From then on the observed primary Object is the pin, and status repeats it: nothing here is evaluated again.
//!
//! **Invariant:** no randomness. Equal requests get the same pool, and an added or removed pool moves only the claims that it wins or loses
//! (rendezvous hashing of the composite's uid).

mod load;
mod matching;
mod rendezvous;

use testplatform_apis::{
    catalogue::{Catalogue, CatalogueFlaw, EVERYBODY, Hub, Pool},
    claim::ClusterClaimSpec,
    condition::{Chosen, Request},
    input::Settings,
    names::ObjectName,
};

use crate::cluster::{
    observed::{Observed, PeerCluster, Pools},
    request::{AdmissionIssue, PoolRef},
};

impl PoolRef {
    /// Builds the reference to a pool of the catalogue.
    pub fn of(pool: &Pool, hub: &Hub, settings: &Settings, reason: &'static str) -> Self {
        let own = hub.credentials_namespace.as_ref().map(ObjectName::as_str);
        Self {
            hub: hub.provider_config().to_owned(),
            namespace: pool.namespace.to_string(),
            pool: pool.name.to_string(),
            credentials_namespace: own.unwrap_or(&settings.credentials_namespace).to_owned(),
            subject: Some(pool.subject.clone()),
            reason,
            own: pool.bring_your_own.clone(),
            default_lifetime: pool.default_lifetime,
            max_lifetime: pool.max_lifetime,
        }
    }
}

/// Chooses the pool for a claim without a request to a hub, or returns the issue that prevents it. `brings`: whether it has tenant
/// credentials, and so gets a pool of its own like that of the catalogue's entry.
pub fn choose_pool(
    wanted: &ClusterClaimSpec,
    brings: bool,
    tenant: Option<&str>,
    observed: &Observed,
    settings: &Settings,
) -> Result<PoolRef, AdmissionIssue> {
    let catalogue = read_catalogue(observed, settings)?;
    let peers = counted_peers(tenant, observed)?;
    let candidates = matching::find_candidates(catalogue, wanted, brings, tenant);
    if candidates.is_empty() {
        return Err(matching::build_refusal(&observed.pools, catalogue, (wanted, brings), tenant));
    }
    let metadata = &observed.composite.metadata;
    let age = (metadata.creation_timestamp, observed.composite.ordinal());
    let load = load::PeerLoad { catalogue, peers, age: &age, tenant };
    let affordable = load.within_quota(&candidates)?;
    let open: Vec<_> = affordable.iter().copied().filter(|pool| load.has_room(pool)).collect();
    let uid = metadata.uid.as_ref().map_or(metadata.name.as_str(), |u| u.as_str());
    let Some(pool) = rendezvous::choose_by_weight(uid, &open, wanted.pool.is_some()) else {
        return Err(AdmissionIssue::new(
            Request::HubFull,
            "every hub with a matching pool is full or takes no new claims; the claim is queued behind older claims and continues when \
            there is room",
        ));
    };
    let reason = match (wanted.pool.is_some(), open.len(), candidates.len()) {
        (true, ..) => Chosen::PoolNamed,
        (false, 1, 1) => Chosen::OnlyPool,
        (false, 1, _) => Chosen::OnlyPoolWithRoom,
        (false, ..) => Chosen::Weight,
    };
    match catalogue.find_hub(pool) {
        Some(hub) => Ok(PoolRef::of(pool, hub, settings, reason.as_str())),
        // Excluded when the catalogue was read.
        None => Err(AdmissionIssue::new(
            Request::CatalogueInvalid,
            format!("pool {} is on no known hub", pool.name),
        )),
    }
}

/// Whether a claim for a cluster that comes from no pool is within the quota of its namespace: the same table, and the same queue.
/// Without a catalogue of pools there are no quotas.
pub fn check_quota(
    cost: u32,
    tenant: Option<&str>,
    observed: &Observed,
    settings: &Settings,
) -> Result<(), AdmissionIssue> {
    if observed.pools == Pools::Missing {
        return Ok(());
    }
    let catalogue = read_catalogue(observed, settings)?;
    let peers = counted_peers(tenant, observed)?;
    let metadata = &observed.composite.metadata;
    let age = (metadata.creation_timestamp, observed.composite.ordinal());
    load::PeerLoad { catalogue, peers, age: &age, tenant }.check_quota(cost)
}

/// The other claims, where the limit of the tenant is known.
fn counted_peers<'a>(
    tenant: Option<&str>,
    observed: &'a Observed,
) -> Result<&'a [PeerCluster], AdmissionIssue> {
    let Some(peers) = &observed.peers else {
        return Err(AdmissionIssue::new(Request::PoolsMissing, "the other claims were not counted yet"));
    };
    match tenant.and_then(|tenant| quota_flaw(observed, tenant)) {
        None => Ok(peers),
        Some(flaw) => Err(AdmissionIssue::new(
            Request::CatalogueInvalid,
            format!(
                "the quota of this namespace cannot be read from the catalogue of pools: {flaw}; ask the platform team to repair it"
            ),
        )),
    }
}

/// Catalogue entry of the pool that an earlier pass chose. None: the catalogue no longer has it.
pub fn find_entry<'a>(
    catalogue: &'a Catalogue,
    hub: &str,
    namespace: &str,
    pool: &str,
) -> Option<(&'a Pool, &'a Hub)> {
    let found =
        catalogue.pools.iter().filter(|p| p.name.as_str() == pool && p.namespace.as_str() == namespace);
    found.filter_map(|p| Some((p, catalogue.find_hub(p)?))).find(|(_, h)| h.provider_config() == hub)
}

/// The broken entry that may be the limit of the tenant: without it the tenant would have another limit, or none.
fn quota_flaw<'a>(observed: &'a Observed, tenant: &str) -> Option<&'a CatalogueFlaw> {
    let Pools::Found(catalogue, flaws) = &observed.pools else { return None };
    let readable = |name: &str| catalogue.quotas.iter().any(|q| q.tenant == name);
    if readable(tenant) {
        return None;
    }
    let concerns = |flaw: &&CatalogueFlaw| match flaw.name.as_deref() {
        Some(EVERYBODY) => !readable(EVERYBODY),
        Some(name) => name == tenant,
        None => true,
    };
    flaws.iter().filter(|f| f.entry.starts_with("quotas[")).find(concerns)
}

fn read_catalogue<'a>(observed: &'a Observed, settings: &Settings) -> Result<&'a Catalogue, AdmissionIssue> {
    let name = &settings.pools;
    match &observed.pools {
        Pools::Found(catalogue, _) => Ok(catalogue),
        // This response is not the last one: core fetches the required resources and calls again.
        Pools::NotFetched => Err(AdmissionIssue::new(
            Request::PoolsMissing,
            format!("the catalogue of pools, EnvironmentConfig {name}, was not read yet"),
        )),
        Pools::Missing => Err(AdmissionIssue::new(
            Request::PoolsMissing,
            format!(
                "there is no catalogue of pools, EnvironmentConfig {name}; ask the platform team to create it, or create a new claim with spec.ciOperator"
            ),
        )),
        Pools::Invalid(why) => Err(AdmissionIssue::new(
            Request::CatalogueInvalid,
            format!("the catalogue of pools cannot be used: {why}; ask the platform team to repair it"),
        )),
    }
}
