//! Protocol of a composition function: messages, their encoding, and parts of a response. It knows no cluster.

pub mod fatal;
pub mod proto;
pub mod wire;
