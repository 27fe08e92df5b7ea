//! A controller at work.

use std::pin::Pin;

/// A controller, or what it waits for to end: it does nothing before it is polled.
///
/// A single type for all controllers, so that a controller's code is compiled once with this library, and not again with every program and test
/// that runs one.
pub type Running = Pin<Box<dyn Future<Output = ()> + Send>>;
