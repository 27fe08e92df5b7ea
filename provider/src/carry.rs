//! The third role, on the tenants' side: the Secrets of claims that bring their own credentials are carried to the hub.
//!
//! ```text
//! composite, ConfigMap on the hub, named Secrets ──observe──▶ Order, Request, Found ──next──▶ Step ──execute──▶ Secrets on the hub, report
//! ```
//!
//! The function has made a namespace on the hub for the claim alone, and in it a ConfigMap that says which Secrets are wanted. Nothing but
//! that ConfigMap is believed: what stands in a status could be the tenant's word. Which Secrets may be read is for RBAC to say, which is the
//! tenant's own: here is only asked for the names in the ConfigMap, in the namespace of the claim that it is for. Which of them, and which keys, the composite itself has to say too; and [what is in them](contents) is judged before it goes.
//!
//! **Invariant:** a Secret goes nowhere but into the namespace whose ConfigMap names its claim's namespace and its composite, under one of two
//! names, with no key but those that are known, and with nothing in it that was not understood.
//! **Invariant:** what is in a Secret is held for as long as it takes to write it, and is in no log, report or error.
//! **Invariant:** on the hub nothing is read but that ConfigMap: Secrets are written there, and never read back.

pub mod contents;
pub mod controller;
mod execute;
mod hubs;
pub mod next;
pub mod seen;
