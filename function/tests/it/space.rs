//! Lives of a space, from its tenant's side.

mod legacy;
mod life;
mod trouble;
mod walks;
mod world;
