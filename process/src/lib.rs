//! What the function and the provider share as processes. Nothing of what they decide is here.

pub mod admin;
pub mod logs;
pub mod panics;
