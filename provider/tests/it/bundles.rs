//! Bundles: what is decided about an order, what one look does in a cluster, and that both together keep what they promise whatever happens.

mod looks;
mod model;
mod steps;
mod walks;
