//! The inline ci-operator configuration.

/// Name under which the wait step's image is put among the base images. Reserved: no image of a tenant may have it.
pub const WAIT_IMAGE: &str = "testplatform-wait-cli";
