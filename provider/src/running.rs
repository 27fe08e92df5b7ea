//! A controller at work.

use std::pin::Pin;

/// A controller, or what it waits for to end: it does nothing before it is polled.
///
/// Of one type for all, so that the code of a controller is compiled with this library, and not once more with every program and test that
/// runs one.
pub type Running = Pin<Box<dyn Future<Output = ()> + Send>>;
