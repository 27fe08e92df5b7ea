//! Definitions, policies and examples on real API servers.

pub mod claims;
pub mod crossplane_fields;
pub mod pools;
pub mod requested_by;
pub mod sizes;
pub mod templates;
