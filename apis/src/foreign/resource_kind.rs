//! Kinds as an API server knows them.

/// A kind on a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceKind {
    /// API group.
    pub group: &'static str,
    /// The versions that we can work with, the best first. A hub has to serve one of them.
    pub versions: &'static [&'static str],
    /// Kind.
    pub kind: &'static str,
    /// Resource.
    pub plural: &'static str,
}

impl ResourceKind {
    /// apiVersion of the best version.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.versions.first().copied().unwrap_or_default())
    }
}
