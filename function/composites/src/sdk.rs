//! Protocol of a composition function: messages, their encoding, and parts of requests and responses. It knows no cluster.

pub mod composite;
pub mod fatal;
pub mod invariants;
pub mod proto;
pub mod request;
pub mod requirements;
pub mod response;
pub mod wire;
