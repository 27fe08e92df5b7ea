//! Composites in the tenant's namespace: what they have in common with those of claims, and the little in which they differ.

mod life;
mod names;
mod parity;
mod peers;
mod secret;
