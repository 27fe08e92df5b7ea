//! Catalogues of the administrators: templates, pools and hubs, and the choice among them.

pub mod hubs;
pub mod pools;
pub mod templates;
