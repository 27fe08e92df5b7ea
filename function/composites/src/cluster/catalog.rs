//! Catalogues of the administrators: templates, pools and hubs, the choice among them, and the conditions that a claim waits for.

pub(crate) mod environment;
pub mod hubs;
pub mod pools;
pub(crate) mod prerequisites;
pub mod templates;
pub(crate) mod tenant_credentials;
