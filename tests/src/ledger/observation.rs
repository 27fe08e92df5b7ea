//! Events and withdrawals of the claims of one tenant, between two moments of a scenario.

use super::{Breaker, Withdrawal, changes, watch::Watch, withdrawals};
use crate::{flavour::Flavour, tenant::Tenant};

/// Goes on until it is ended.
pub struct Observation {
    watch: Watch,
    namespace: String,
    name: String,
}

/// Counted from beginning to end.
pub struct Observed {
    /// Core's circuit breaker at its defaults, full at the beginning: of the composite that came nearest to opening it.
    pub breaker: Breaker,
    /// Conditions that were True at the beginning or later.
    pub withdrawals: Vec<Withdrawal>,
}

impl Observation {
    /// Begins with what is there.
    pub fn start(tenant: &Tenant<'_>) -> Self {
        let watch = Watch::start(tenant.konflux(), &[Flavour::Claim, Flavour::TestCluster]);
        Self { watch, namespace: tenant.namespace.clone(), name: tenant.name.clone() }
    }

    /// Ends and counts.
    pub fn end(self) -> Observed {
        let mut revisions = self.watch.revisions();
        revisions.retain(|revision| revision.is_of(&self.namespace, &self.name));
        revisions.sort_by_key(|revision| revision.at);
        Observed { breaker: Breaker::fullest(&changes(&revisions)), withdrawals: withdrawals(&revisions) }
    }
}
