//! The ServiceAccount of a cluster that was delivered: when a token is made, what is made for it, and that there is always one that is good.

mod model;
mod steps;
mod walks;
mod whose;
