//! Credentials of clouds: what is done about one, step by step, and that there is always one that works.

mod model;
mod steps;
mod walks;
