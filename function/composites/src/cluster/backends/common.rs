//! Parts that several backends share: Objects, conditions, credentials, prerequisites and bundles.

pub(crate) mod bundles;
pub(super) mod conditions;
pub(crate) mod dependents;
pub(super) mod namespaced;
pub(super) mod object;
pub(crate) mod prerequisites;
pub(super) mod published_credentials;
pub(super) mod readiness;
pub(super) mod templated;
pub(crate) mod tenant_credentials;
