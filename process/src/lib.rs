//! Process infrastructure shared by function and provider: probes, logs and panics. It contains none of their decisions.

pub mod admin;
pub mod logs;
pub mod panics;
