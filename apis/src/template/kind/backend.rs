//! Answers from the descriptor of a backend.

use super::Backend;
use crate::{
    foreign::ResourceKind,
    template::{
        capability::Capabilities,
        descriptor::{BackendDescriptor, Underlying},
    },
};

impl Backend {
    /// The backend to whose clusters claims can bring their own credentials.
    pub const OF_TENANT_CREDENTIALS: Self = {
        let mut i = 0;
        while Self::ALL[i].descriptor().refuses_tenant_credentials.is_some() {
            i += 1;
        }
        Self::ALL[i]
    };

    /// The word for it in catalogue entries and in labels of hubs.
    pub const fn as_str(self) -> &'static str {
        self.descriptor().name
    }

    /// Capabilities of the backend. The catalogue entry may limit them further.
    pub const fn capabilities(self) -> Capabilities {
        self.descriptor().capabilities
    }

    /// The kind of which each cluster has exactly one object, and so the one that is counted.
    pub const fn cluster_kind(self) -> ResourceKind {
        self.descriptor().cluster_kind
    }

    /// Every kind that is written for a cluster; the one above first.
    pub fn written_kinds(self) -> Vec<ResourceKind> {
        [&[self.cluster_kind()], self.descriptor().dependent_kinds].concat()
    }

    /// The kinds that are only watched beside those, in whichever namespace they are made: they tell what a cluster does.
    pub fn watched_kinds(self) -> Vec<ResourceKind> {
        match self.descriptor().underlying {
            Some(Underlying::Always(underlying)) => underlying.written_kinds(),
            Some(Underlying::Observed(_)) | None => vec![],
        }
    }

    /// Backend whose objects have the credentials of its clusters: the one that makes them for it, or itself.
    #[must_use]
    pub const fn credentials_backend(self) -> Self {
        match self.descriptor().underlying {
            Some(Underlying::Always(underlying)) => underlying,
            Some(Underlying::Observed(_)) | None => self,
        }
    }

    /// Backend of a primary Object, by its composition resource name.
    pub fn of_primary_resource(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|backend| backend.descriptor().primary_resource == name)
    }

    /// Backends whose clusters can have a credential of their cloud of their own.
    pub fn with_cloud_credentials() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|backend| backend.descriptor().has_cloud_credentials)
    }

    /// The words for those backends that are `such`, for a sentence.
    pub fn join_names(such: impl Fn(&BackendDescriptor) -> bool) -> String {
        let such = Self::ALL.into_iter().filter(|backend| such(backend.descriptor()));
        such.map(Self::as_str).collect::<Vec<_>>().join(" and ")
    }
}

impl std::fmt::Display for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
