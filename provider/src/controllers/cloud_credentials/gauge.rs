//! State gauge of cloud credentials.

use testplatform_apis::cloud::CredentialPhase;

/// Everything that was last seen of orders.
pub type CredentialGauge = testplatform_runtime::state_gauge::StateGauge<CredentialPhase>;

/// Nothing yet, in so many namespaces: first the watches of orders, one for each, then those of clusters.
pub fn new_gauge(namespaces: usize) -> CredentialGauge {
    let watches = ["cloud-credentials", "cloud-credentials-clusters"];
    CredentialGauge::with_watches(watches.into_iter().flat_map(|name| std::iter::repeat_n(name, namespaces)))
}
