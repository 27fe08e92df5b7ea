//! Hubs of claims with `template`: the settings on a ProviderConfig, and the facts that the provider on the hub reports.
//!
//! A platform owner adds a hub by a ProviderConfig with labels and annotations alone. Changing properties (load, health, versions) come
//! from the hub, as [`Facts`].
//!
//! **Invariant:** a hub with an unreadable setting is excluded and reported, and affects no other. An ignored setting could have been a
//! limit.

mod facts;
mod mirror;
mod reason;
mod versions;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    catalogue::EVERYBODY,
    collect,
    foreign::provider_config::ProviderConfig,
    names::{ObjectName, hub, ours},
    template::Backend,
};

pub use crate::foreign::ResourceKind;
pub use facts::{BackendFacts, CONFIG_MAP, ClassFacts, Facts, Health, KEY, cluster_class_key};
pub use mirror::{ConfigMap, GOOD_FOR, Known, Mirror, known_facts};
pub use reason::{NoHub, Selected};
pub use versions::{PartialVersion, Versions};

/// Placeholder of the tenant in a namespace.
pub const TENANT: &str = "{tenant}";
/// The share of a hub that says nothing of its weight.
pub const WEIGHT: u32 = 100;

/// A hub, as its ProviderConfig describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hub {
    /// Name of the ProviderConfig.
    pub name: String,
    /// Its labels, for selectors: region, zone, architecture, whatever else.
    pub labels: BTreeMap<String, String>,
    /// Backends that it serves.
    pub backends: BTreeSet<Backend>,
    /// Whether it takes new claims.
    pub open: bool,
    /// The most clusters that it may hold; none: any number.
    pub max_clusters: Option<u32>,
    /// Percentage of them that is kept free.
    pub reserved_percent: u32,
    /// The most clusters that may be in the making; none: any number.
    pub max_provisioning: Option<u32>,
    /// Share of the claims that it gets; 0: only claims that no other hub takes.
    pub weight: u32,
    /// Tenants whose claims it accepts.
    pub tenants: Tenants,
    /// Supported versions; none: any.
    pub versions: Option<Versions>,
    /// Classes of nodes that it has; none: said by its facts, or any.
    pub classes: Option<BTreeSet<String>>,
    /// Zones in which it can make nodes; none: any.
    pub zones: Option<BTreeSet<String>>,
    /// Namespace of each backend's objects, with [`TENANT`] in it if each tenant has a namespace of its own.
    pub namespaces: BTreeMap<Backend, String>,
    /// Namespace of published credentials; none: that of the function's input.
    pub credentials_namespace: Option<ObjectName>,
    /// Number of Objects that use the ProviderConfig, from provider-kubernetes.
    pub users: Option<u32>,
    /// Objects per cluster, if not the backend's usual number.
    pub objects_per_cluster: BTreeMap<Backend, u32>,
}

/// Tenants whose claims a hub accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tenants {
    /// Only theirs; none: everybody's.
    pub allow: Option<BTreeSet<String>>,
    /// Never theirs.
    pub deny: BTreeSet<String>,
    /// Only this one's.
    pub dedicated: Option<String>,
}

impl Tenants {
    /// Whether a tenant's claims are taken. A composite without a tenant is an administrator's, who may use any hub.
    pub fn accepts_tenant(&self, tenant: Option<&str>) -> bool {
        let Some(tenant) = tenant else { return true };
        let among = |all: &BTreeSet<String>| all.contains(tenant) || all.contains(EVERYBODY);
        self.allow.as_ref().is_none_or(among)
            && !among(&self.deny)
            && self.dedicated.as_deref().is_none_or(|own| own == tenant)
    }
}

/// Error in the ProviderConfig of a hub, which makes it unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubFlaw {
    /// Name of the ProviderConfig.
    pub hub: String,
    /// The invalid setting and its expected form.
    pub why: String,
}

impl std::fmt::Display for HubFlaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.hub, self.why)
    }
}

impl Hub {
    /// Reads a ProviderConfig. None: it leads to no hub of ours, because it lacks the label.
    pub fn from_provider_config(config: &ProviderConfig) -> Option<Result<Self, HubFlaw>> {
        let labels = &config.metadata.labels;
        (labels.get(hub::HUB).map(String::as_str) == Some("true")).then(|| {
            Reader(config).read_hub().map_err(|why| HubFlaw { hub: config.metadata.name.clone(), why })
        })
    }

    /// Whether a backend's clusters can be made on it.
    pub fn serves_backend(&self, backend: Backend) -> bool {
        self.backends.contains(&backend)
    }

    /// Estimates the number of clusters from the Objects that use its ProviderConfig, rounded up, for a hub without facts. Every Object
    /// counts, those that mirror facts included.
    pub fn estimate_clusters(&self, backend: Backend) -> Option<u32> {
        let each = self
            .objects_per_cluster
            .get(&backend)
            .copied()
            .unwrap_or(backend.descriptor().objects_per_cluster);
        Some(self.users?.div_ceil(each))
    }

    /// The namespace of a backend's objects for a tenant; none: the hub does not say.
    ///
    /// # Errors
    /// If with this tenant it becomes no name of a namespace.
    pub fn resolve_namespace(
        &self,
        backend: Backend,
        tenant: Option<&str>,
    ) -> Option<Result<String, String>> {
        let pattern = self.namespaces.get(&backend)?;
        Some(parse_namespace(&pattern.replace(TENANT, tenant.unwrap_or("administrator"))))
    }
}

/// Every hub among ProviderConfigs by its name, and those that cannot be used. The order in which they come changes nothing.
pub fn read_hubs<'a>(configs: impl IntoIterator<Item = &'a ProviderConfig>) -> (Vec<Hub>, Vec<HubFlaw>) {
    let (mut hubs, mut flaws) = (Vec::new(), Vec::new());
    for read in configs.into_iter().filter_map(Hub::from_provider_config) {
        match read {
            Ok(hub) => hubs.push(hub),
            Err(flaw) => flaws.push(flaw),
        }
    }
    collect::sort_few(&mut hubs, |a, b| a.name.cmp(&b.name));
    collect::sort_few(&mut flaws, |a, b| a.hub.cmp(&b.hub));
    (hubs, flaws)
}

/// One ProviderConfig. Errors are sentences that name the label or annotation.
struct Reader<'a>(&'a ProviderConfig);

impl Reader<'_> {
    fn read_hub(&self) -> Result<Hub, String> {
        let metadata = &self.0.metadata;
        Ok(Hub {
            name: metadata.name.clone(),
            labels: metadata.labels.clone(),
            backends: self.read_backends()?,
            open: self.read_flag(hub::SCHEDULABLE, true)? && metadata.deletion_timestamp.is_none(),
            max_clusters: self.read_number(hub::MAX_CLUSTERS, u32::MAX)?,
            reserved_percent: self.read_number(hub::RESERVED_PERCENT, 100)?.unwrap_or(0),
            max_provisioning: self.read_number(hub::MAX_PROVISIONING, u32::MAX)?,
            weight: self.read_number(hub::WEIGHT, 1000)?.unwrap_or(WEIGHT),
            tenants: Tenants {
                allow: self.read_list(hub::TENANTS_ALLOW),
                deny: self.read_list(hub::TENANTS_DENY).unwrap_or_default(),
                dedicated: metadata.labels.get(hub::DEDICATED).cloned(),
            },
            versions: self.read_annotation(hub::VERSIONS, Versions::parse)?,
            classes: self.read_list(hub::CLASSES),
            zones: self.read_list(hub::ZONES),
            namespaces: self.read_by_backend(hub::NAMESPACE, |pattern| {
                parse_namespace(&pattern.replace(TENANT, "x")).map(|_| pattern.to_owned())
            })?,
            credentials_namespace: self.read_annotation(ours::CREDENTIALS_NAMESPACE, |text| {
                parse_namespace(text)
                    .and_then(|name| ObjectName::try_from(name).map_err(|error| error.to_string()))
            })?,
            users: self.0.status.users.and_then(|users| u32::try_from(users).ok()),
            objects_per_cluster: self.read_by_backend(hub::OBJECTS_PER_CLUSTER, |text| {
                parse_number(text, u32::MAX).and_then(|number| match number {
                    0 => Err("must be at least 1".to_owned()),
                    number => Ok(number),
                })
            })?,
        })
    }

    fn read_backends(&self) -> Result<BTreeSet<Backend>, String> {
        let mut served = BTreeSet::new();
        for backend in Backend::ALL {
            if self.read_flag(&format!("{}{backend}", hub::BACKEND), false)? {
                served.insert(backend);
            }
        }
        Ok(served)
    }

    /// A label that is `true` or `false`.
    fn read_flag(&self, key: &str, default: bool) -> Result<bool, String> {
        match self.0.metadata.labels.get(key).map(String::as_str) {
            None => Ok(default),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(other) => Err(format!("label {key} is {other:?}; it must be \"true\" or \"false\"")),
        }
    }

    /// An annotation, through what reads its text.
    fn read_annotation<T>(
        &self,
        key: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let wrong = |text: &str, why: String| format!("annotation {key} is {text:?}: {why}");
        self.0.metadata.annotation(key).map(|text| read(text).map_err(|why| wrong(text, why))).transpose()
    }

    fn read_number(&self, key: &str, max: u32) -> Result<Option<u32>, String> {
        self.read_annotation(key, |text| parse_number(text, max))
    }

    fn read_by_backend<T>(
        &self,
        prefix: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<BTreeMap<Backend, T>, String> {
        let mut all = BTreeMap::new();
        for backend in Backend::ALL {
            if let Some(value) = self.read_annotation(&format!("{prefix}{backend}"), &read)? {
                all.insert(backend, value);
            }
        }
        Ok(all)
    }

    /// Reads a comma-separated annotation. An empty annotation is an empty list, which differs from none.
    fn read_list(&self, key: &str) -> Option<BTreeSet<String>> {
        let parts = self.0.metadata.annotation(key)?.split(',').map(str::trim);
        Some(collect::to_set(parts.filter(|part| !part.is_empty()).map(str::to_owned)))
    }
}

fn parse_number(text: &str, max: u32) -> Result<u32, String> {
    let number = text.trim().parse().ok().filter(|number| *number <= max);
    number.ok_or_else(|| match max {
        u32::MAX => "it must be a whole number".to_owned(),
        max => format!("it must be a whole number of at most {max}"),
    })
}

fn parse_namespace(text: &str) -> Result<String, String> {
    let fits = text.len() <= 63 && !text.contains('.') && ObjectName::try_from(text).is_ok();
    let wrong =
        || format!("{text:?} is not a name of a namespace: lower-case letters, digits and -, at most 63");
    if fits { Ok(text.to_owned()) } else { Err(wrong()) }
}
