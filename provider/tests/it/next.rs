//! What is decided about one EphemeralCluster, case by case. Every case is also taken to its rest: what a step comes to
//! is looked at again, and then there is nothing to do.

mod account;
mod differences;
mod fixture;
mod life;
mod reasons;
mod signal;
mod strangers;
mod table;
