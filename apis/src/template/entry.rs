//! An entry of the catalogue of templates: `data` of an EnvironmentConfig with the label
//! `testplatform.ci.openshift.org/catalogue: "true"`, whose name is the template's.
//!
//! [`Document`] is what administrators write, [`Entry`] what can be used of it.

mod bundles;
mod check;
mod document;
mod flaws;
mod groups;
mod offer;
mod read;
mod releases;
mod way;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Backend;
use super::kind::{self, BackendDefinition};
use super::parameter::Rule;
use super::version::Version;
use crate::catalogue::EVERYBODY;

pub use bundles::{BUNDLES, BundleDocument, ManifestDocument, When, fill_placeholders};
pub use document::{
    BringYourOwn, ClassDocument, Document, Limits, NetworkField, Observes, ReleaseDocument, build_schema,
};
pub use offer::{Rules, TemplateOffer};
pub use way::find_upgrade_path;

/// An entry that can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Name of the template.
    pub name: String,
    /// Settings of the backend.
    pub made: Made,
    /// Settings common to all backends. Checked; required fields are present.
    pub document: Document,
    /// The releases.
    pub releases: Vec<Release>,
}

macro_rules! define_made {
    ($($backend:ident),*) => {
        /// Settings of the entry, by backend.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Made {
            $(
                #[doc = concat!("Of [`", stringify!($backend), "`](kind::", stringify!($backend), ").")]
                $backend(Kit<kind::$backend>),
            )*
        }

        impl Made {
            /// Reads the settings of a backend. None: they cannot be read.
            fn read_settings(
                backend: Backend,
                document: &Document,
                releases: &mut Vec<Release>,
                flaws: &mut flaws::Flaws<'_>,
            ) -> Option<Self> {
                match backend {
                    $(Backend::$backend => check::check_kit(document, releases, flaws).map(Self::$backend),)*
                }
            }

            /// Backend of the clusters.
            pub const fn backend(&self) -> Backend {
                match self {
                    $(Self::$backend(_) => Backend::$backend,)*
                }
            }

            /// Validation rules for claims.
            pub fn as_offer(&self) -> &dyn TemplateOffer {
                match self {
                    $(Self::$backend(kit) => kit,)*
                }
            }
        }
    };
}

crate::for_each_backend!(define_made);

/// Backend-specific part of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Kit<K: BackendDefinition> {
    /// Source of the clusters.
    pub base: K,
    /// The kinds of nodes.
    pub classes: BTreeMap<String, Class<K::Machine>>,
    /// Parameters of claims.
    pub parameters: BTreeMap<String, Parameter<K::Target>>,
    /// Parameters of a claim's node groups.
    pub node_parameters: BTreeMap<String, Parameter<K::Target>>,
    /// Overlay that is merged over the objects' documents.
    pub overlay: Map<String, Value>,
}

/// A kind of nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Class<M> {
    /// Machine of the class.
    pub machine: M,
    /// Whether the load may take away the last node of a group.
    pub scale_to_zero: bool,
}

/// Parameters of claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter<T> {
    /// Rule for its value.
    pub rule: Rule,
    /// Target of its value. None: it only selects bundles.
    pub target: Option<T>,
}

/// A release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its version.
    pub version: Version,
    /// Its image, where it has one.
    pub image: Option<String>,
    /// Whether clusters may be asked for with it.
    pub enabled: bool,
    /// Reason for its deprecation.
    pub deprecated: Option<String>,
    /// To which others a cluster may go; none: the same and the next minor version.
    pub allowed_upgrades: Option<Vec<String>>,
}

/// Error in an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryFlaw {
    /// The members that lead there from the object's root, such as `data.releases[0].version`.
    pub path: String,
    /// A sentence about it.
    pub sentence: String,
}

impl std::fmt::Display for EntryFlaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.sentence)
    }
}

impl Entry {
    /// Reads `data` of an EnvironmentConfig. An error is everything that is wrong with it.
    pub fn from_data(name: &str, data: &Value) -> Result<Self, Vec<EntryFlaw>> {
        let (document, mut flaws) = read::read_document(data);
        let entry = check::check_entry(name, document, &mut flaws);
        match entry.filter(|_| flaws.is_empty()) {
            Some(entry) => Ok(entry),
            None => Err(flaws),
        }
    }

    /// Backend of its clusters.
    pub const fn backend(&self) -> Backend {
        self.made.backend()
    }

    /// Whether clusters may be asked for.
    pub fn is_enabled(&self) -> bool {
        self.document.enabled != Some(false)
    }

    /// Whether a tenant may use it. A composite without a tenant belongs to an administrator, who may use any.
    pub fn is_allowed_for(&self, tenant: Option<&str>) -> bool {
        let allowed = self.document.allowed_tenants.iter().flatten();
        tenant.is_none_or(|tenant| allowed.clone().any(|a| a == EVERYBODY || a == tenant))
    }

    /// Cost of one cluster in the budget of a quota.
    pub fn quota_cost(&self) -> u32 {
        self.document.cost.unwrap_or(1)
    }

    /// The release of a claim that asks for none.
    pub fn default_release(&self) -> Option<&Release> {
        let enabled = || self.releases.iter().filter(|r| r.enabled);
        enabled().find(|r| r.deprecated.is_none()).or_else(|| enabled().next())
    }

    /// The release for a requested version: the cluster's own version `held` if it matches, else the newest enabled one.
    pub fn find_release(&self, asked: &str, held: Option<&Version>) -> Option<&Release> {
        let matching = || self.releases.iter().filter(|r| r.version.matches_request(asked));
        let current = held.and_then(|held| matching().find(|r| r.version == *held));
        current.or_else(|| matching().filter(|r| r.enabled).max_by(|a, b| a.version.cmp(&b.version)))
    }
}

impl Release {
    /// Whether a cluster may go from it to another in one step.
    pub fn may_become(&self, next: &Version) -> bool {
        if *next <= self.version {
            return *next == self.version;
        }
        match &self.allowed_upgrades {
            Some(allowed) => allowed.iter().any(|a| next.matches_request(a)),
            None => within_reach(&self.version, next),
        }
    }
}

/// Whether a version is not older, of the same major one, and no more than one minor one ahead.
pub fn within_reach(from: &Version, to: &Version) -> bool {
    let ((major, minor), (to_major, to_minor)) = (from.minor(), to.minor());
    to >= from && major == to_major && to_minor <= minor + 1
}
