//! Usage of a tenant's quota, and of a hub. Claims are served in the order of their creation, so that waiting claims do not all take the
//! one free place.

use jiff::Timestamp;
use testplatform_apis::{
    catalogue::{Catalogue, Pool, Quota},
    condition::Request,
};

use super::{find_entry, matching::find_candidates};
use crate::cluster::{
    observed::{PeerCluster, PeerRequest, PeerState},
    request::AdmissionIssue,
};

/// The claim among its peers.
pub(super) struct PeerLoad<'a> {
    pub catalogue: &'a Catalogue,
    pub peers: &'a [PeerCluster],
    /// When the composite was made, and its name.
    pub age: &'a (Option<Timestamp>, String),
    pub tenant: Option<&'a str>,
}

impl<'a> PeerLoad<'a> {
    /// Those of the pools of which one cluster more is within the tenant's quota.
    pub fn within_quota(&self, pools: &[&'a Pool]) -> Result<Vec<&'a Pool>, AdmissionIssue> {
        let quota = self.tenant.and_then(|tenant| self.catalogue.find_quota(tenant));
        let Some((quota, tenant)) = quota.zip(self.tenant) else { return Ok(pools.to_vec()) };
        let (accepted, spent) = self.quota_usage(quota);
        let affordable: Vec<&Pool> = pools
            .iter()
            .copied()
            .filter(|p| quota.budget.is_none_or(|budget| spent.saturating_add(p.cost) <= budget))
            .collect();
        if quota.max_concurrent.is_some_and(|max| accepted >= max) || affordable.is_empty() {
            let cheapest = pools.iter().map(|p| p.cost).min().unwrap_or(1);
            let message = exceeded_message(quota, tenant, cheapest, " from pools");
            return Err(AdmissionIssue::new(Request::QuotaExceeded, message));
        }
        Ok(affordable)
    }

    /// Whether one cluster more that comes from no pool is within the tenant's quota.
    pub fn check_quota(&self, cost: u32) -> Result<(), AdmissionIssue> {
        let quota = self.tenant.and_then(|tenant| self.catalogue.find_quota(tenant));
        let Some((quota, tenant)) = quota.zip(self.tenant) else { return Ok(()) };
        let (accepted, spent) = self.quota_usage(quota);
        let beyond = quota.budget.is_some_and(|budget| spent.saturating_add(cost) > budget);
        if beyond || quota.max_concurrent.is_some_and(|max| accepted >= max) {
            return Err(AdmissionIssue::new(
                Request::QuotaExceeded,
                exceeded_message(quota, tenant, cost, ""),
            ));
        }
        Ok(())
    }

    /// How many clusters come before this one, and what they cost.
    fn quota_usage(&self, quota: &Quota) -> (u32, u32) {
        let ahead: Vec<&PeerCluster> = self.peers.iter().filter(|p| self.takes_quota(p, quota)).collect();
        let spent = ahead.iter().map(|p| self.peer_cost(p)).fold(0, u32::saturating_add);
        (u32::try_from(ahead.len()).unwrap_or(u32::MAX), spent)
    }

    /// Whether the hub of a pool takes one cluster more.
    pub fn has_room(&self, pool: &Pool) -> bool {
        let Some(hub) = self.catalogue.find_hub(pool).filter(|hub| !hub.cordon) else { return false };
        let Some(max) = hub.max_clusters else { return true };
        let on_it = |peer: &&PeerCluster| match &peer.state {
            PeerState::Holds { hub: accepted, .. } => accepted == hub.provider_config(),
            PeerState::WaitsForHub if self.is_served_before(peer) => {
                self.may_go_to(peer, hub.provider_config())
            }
            PeerState::WaitsForHub | PeerState::WaitsForQuota | PeerState::HoldsElsewhere => false,
        };
        self.peers.iter().filter(on_it).count() < usize::try_from(max).unwrap_or(usize::MAX)
    }

    fn takes_quota(&self, peer: &PeerCluster, quota: &Quota) -> bool {
        let same = peer.tenant.as_deref() == self.tenant;
        same && match &peer.state {
            PeerState::Holds { .. } | PeerState::HoldsElsewhere => true,
            // A peer that can never be afforded is not waited for.
            PeerState::WaitsForHub | PeerState::WaitsForQuota => {
                let ever = |cost| quota.budget.is_none_or(|budget| cost <= budget);
                self.is_served_before(peer) && self.min_cost(peer).is_some_and(ever)
            }
        }
    }

    /// Cost of a peer's cluster; a waiting one counts with the cheapest that it may get.
    fn peer_cost(&self, peer: &PeerCluster) -> u32 {
        let cost = match &peer.state {
            // The pool of one that brings its own credentials is its own, and no entry.
            PeerState::Holds { .. } if matches!(peer.request, PeerRequest::Pool { brings: true, .. }) => {
                self.min_cost(peer)
            }
            PeerState::Holds { hub, namespace, pool } => {
                find_entry(self.catalogue, hub, namespace, pool).map(|(pool, _)| pool.cost)
            }
            PeerState::WaitsForHub | PeerState::WaitsForQuota | PeerState::HoldsElsewhere => {
                self.min_cost(peer)
            }
        };
        cost.unwrap_or(1)
    }

    fn min_cost(&self, peer: &PeerCluster) -> Option<u32> {
        let (wanted, brings) = match &peer.request {
            PeerRequest::Pool { wanted, brings } => (wanted, *brings),
            PeerRequest::Template(cost) => return Some(*cost),
            PeerRequest::CiOperator => return Some(1),
        };
        let own = find_candidates(self.catalogue, wanted, brings, peer.tenant.as_deref());
        own.iter().map(|p| p.cost).min()
    }

    fn may_go_to(&self, peer: &PeerCluster, hub: &str) -> bool {
        let PeerRequest::Pool { wanted, brings } = &peer.request else { return false };
        let own = find_candidates(self.catalogue, wanted, *brings, peer.tenant.as_deref());
        own.iter().any(|p| self.catalogue.find_hub(p).is_some_and(|h| h.provider_config() == hub))
    }

    /// One without a time is one that was never stored, and the youngest.
    fn is_served_before(&self, peer: &PeerCluster) -> bool {
        let age = |(made, name): &(Option<Timestamp>, String)| (made.unwrap_or(Timestamp::MAX), name.clone());
        age(&peer.age) < age(self.age)
    }
}

fn count_text(number: u32, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn exceeded_message(quota: &Quota, tenant: &str, cheapest: u32, origin: &str) -> String {
    let clusters =
        quota.max_concurrent.map(|max| format!("{}{origin} at a time", count_text(max, "cluster")));
    if let Some(budget) = quota.budget.filter(|budget| cheapest > *budget) {
        return format!(
            "a matching cluster costs {cheapest}, and namespace {tenant} has a budget of {budget} in total; ask the platform team for more"
        );
    }
    let budget = quota.budget.map(|budget| format!("a budget of {budget}"));
    let limits: Vec<String> = clusters.into_iter().chain(budget).collect();
    format!(
        "namespace {tenant} has used its quota of {}; the claim is queued behind older claims and continues when quota is free",
        limits.join(" and ")
    )
}
