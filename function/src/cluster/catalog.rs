//! Catalogues of the administrators: templates, pools and hubs, and the choice among them.

pub(crate) mod environment;
pub mod hubs;
pub mod pools;
pub(crate) mod prerequisites;
pub mod templates;
pub(crate) mod tenant_credentials;
