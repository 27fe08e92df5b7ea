//! Prerequisites: what is decided about an order, what one look does on the hub, and that both together keep what they promise whatever happens.

mod model;
mod own;
mod steps;
mod walks;
