//! Plans for one EphemeralCluster, case by case. Each case also runs until it rests: the result of a step is observed
//! again, and then there is nothing to do.

mod account;
mod differences;
mod fixture;
mod life;
mod reasons;
mod signal;
mod strangers;
mod table;
