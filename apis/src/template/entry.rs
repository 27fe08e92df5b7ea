//! An entry of the catalogue of templates: `data` of an EnvironmentConfig with the label
//! `testplatform.ci.openshift.org/catalogue: "true"`, whose name is the template's.
//!
//! [`Document`] is what administrators write, [`Entry`] what can be used of it.

mod bundles;
mod check;
mod document;
mod groups;
mod offer;
mod read;
mod releases;
mod way;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Backend;
use super::kind::{Caas, ClusterApi, HyperShift, Kind, Osac};
use super::parameter::Rule;
use super::version::Version;
use crate::catalogue::EVERYBODY;

pub use bundles::{BUNDLES, BundleDocument, ManifestDocument, When, fill};
pub use document::{
    BringYourOwn, ClassDocument, Document, Limits, NetworkField, Observes, ReleaseDocument, schema,
};
pub use offer::{Offer, Rules};
pub use way::way;

/// An entry that can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Name of the template.
    pub name: String,
    /// What the backend needs.
    pub made: Made,
    /// What is the same for every backend. Checked, and what is required is there.
    pub document: Document,
    /// The releases.
    pub releases: Vec<Release>,
}

/// What the backend needs, in its own words.
#[derive(Clone, Debug, PartialEq)]
pub enum Made {
    /// By HyperShift.
    HyperShift(Kit<HyperShift>),
    /// By Cluster API.
    ClusterApi(Kit<ClusterApi>),
    /// By CaaS.
    Caas(Kit<Caas>),
    /// By OSAC.
    Osac(Kit<Osac>),
}

/// What an entry says in the words of its backend.
#[derive(Clone, Debug, PartialEq)]
pub struct Kit<K: Kind> {
    /// Where the clusters come from.
    pub base: K,
    /// The kinds of nodes.
    pub classes: BTreeMap<String, Class<K::Machine>>,
    /// What claims may set.
    pub parameters: BTreeMap<String, Parameter<K::Target>>,
    /// What claims may set of a node group.
    pub node_parameters: BTreeMap<String, Parameter<K::Target>>,
    /// What is merged over what the objects are made of.
    pub overlay: Map<String, Value>,
}

/// A kind of nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Class<M> {
    /// What it is.
    pub machine: M,
    /// Whether the load may take away the last node of a group.
    pub scale_to_zero: bool,
}

/// What claims may set.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter<T> {
    /// What it may be.
    pub rule: Rule,
    /// Where its value goes. None: it only chooses bundles.
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
    /// Why it should not be used any more.
    pub deprecated: Option<String>,
    /// To which others a cluster may go; none: the same and the next minor version.
    pub allowed_upgrades: Option<Vec<String>>,
}

/// What is wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The members that lead there from the object's root, such as `data.releases[0].version`.
    pub path: String,
    /// A sentence about it.
    pub sentence: String,
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.sentence)
    }
}

impl Entry {
    /// Reads `data` of an EnvironmentConfig. An error is everything that is wrong with it.
    pub fn read(name: &str, data: &Value) -> Result<Self, Vec<Flaw>> {
        let (document, mut flaws) = read::document(data);
        let entry = check::entry(name, document, &mut flaws);
        match entry.filter(|_| flaws.is_empty()) {
            Some(entry) => Ok(entry),
            None => Err(flaws),
        }
    }

    /// What makes its clusters.
    pub const fn backend(&self) -> Backend {
        match self.made {
            Made::HyperShift(_) => Backend::HyperShift,
            Made::ClusterApi(_) => Backend::ClusterApi,
            Made::Caas(_) => Backend::Caas,
            Made::Osac(_) => Backend::Osac,
        }
    }

    /// Whether clusters may be asked for.
    pub fn is_enabled(&self) -> bool {
        self.document.enabled != Some(false)
    }

    /// Whether a tenant may use it. A composite without a tenant is an administrator's, who may use any.
    pub fn allows(&self, tenant: Option<&str>) -> bool {
        let allowed = self.document.allowed_tenants.iter().flatten();
        tenant.is_none_or(|tenant| allowed.clone().any(|a| a == EVERYBODY || a == tenant))
    }

    /// What one cluster counts for in the budget of a quota.
    pub fn cost(&self) -> u32 {
        self.document.cost.unwrap_or(1)
    }

    /// The release of a claim that asks for none.
    pub fn default_release(&self) -> Option<&Release> {
        let enabled = || self.releases.iter().filter(|r| r.enabled);
        enabled().find(|r| r.deprecated.is_none()).or_else(|| enabled().next())
    }

    /// The newest release that `asked` means, of those that are enabled, unless it is `held`, which a cluster has already.
    pub fn release(&self, asked: &str, held: Option<&Version>) -> Option<&Release> {
        let meant = || self.releases.iter().filter(|r| r.version.is_meant_by(asked));
        let kept = held.and_then(|held| meant().find(|r| r.version == *held));
        kept.or_else(|| meant().filter(|r| r.enabled).max_by(|a, b| a.version.cmp(&b.version)))
    }
}

impl Release {
    /// Whether a cluster may go from it to another in one step.
    pub fn may_become(&self, next: &Version) -> bool {
        if *next <= self.version {
            return *next == self.version;
        }
        match &self.allowed_upgrades {
            Some(allowed) => allowed.iter().any(|a| next.is_meant_by(a)),
            None => within_reach(&self.version, next),
        }
    }
}

/// Whether a version is not older, of the same major one, and no more than one minor one ahead.
pub fn within_reach(from: &Version, to: &Version) -> bool {
    let ((major, minor), (to_major, to_minor)) = (from.minor(), to.minor());
    to >= from && major == to_major && to_minor <= minor + 1
}
