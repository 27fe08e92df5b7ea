//! The catalogue of Hive pools, `data` of the EnvironmentConfig `testplatform-pools`: which pools there are, on which hubs, for whom, and how
//! much each tenant may have. Administrators write it.
//!
//! **Invariant:** an entry that cannot be used is left out and named, and hurts no other entry.

use std::collections::{BTreeMap, BTreeSet};

use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::duration::GoDuration;
use crate::json;
use crate::names::ObjectName;
use crate::{byoc, collect};

/// Stands for every tenant.
pub const EVERYBODY: &str = "*";

/// Pools, hubs and quotas.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Catalogue {
    /// The pools that may be claimed from.
    pub pools: Vec<Pool>,
    /// The hubs on which they are.
    pub hubs: Vec<Hub>,
    /// Quotas of tenants. A tenant without an entry, and where there is none for `*`, may have any number.
    pub quotas: Vec<Quota>,
}

/// A Hive ClusterPool.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    /// Name of the ClusterPool.
    #[schemars(with = "String", length(min = 1, max = 253))]
    pub name: ObjectName,
    /// Namespace of the ClusterPool. Claims are made in it.
    #[schemars(with = "String", length(min = 1, max = 63))]
    pub namespace: ObjectName,
    /// Name of the hub, one of `hubs`.
    pub hub: String,
    /// Labels to match claims: product, version, architecture, cloud, owner, and any other.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Namespaces whose claims may use the pool, by their exact names; `*` stands for all. Empty: nobody.
    pub allowed_tenants: Vec<String>,
    /// Lifetime of clusters whose claims ask for none. If not set, the default of the function's input, else maxLifetime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_lifetime: Option<GoDuration>,
    /// The longest lifetime that a claim may have. If not set, the maximum of the function's input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_lifetime: Option<GoDuration>,
    /// Cost of one cluster in the budget of a quota. If not set, 1.
    #[serde(default = "one")]
    pub cost: u32,
    /// Share of the claims that the pool gets, among those that fit equally well. If not set, 1; 0: only claims that name it.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 100))]
    pub weight: u32,
    /// The hub-side provider's ServiceAccount, which alone is let into the namespace of a claimed cluster.
    pub subject: Subject,
    /// Makes this no pool, but what pools are made like: each claim with `byoc` that it fits gets one of its own, in a namespace of its own on
    /// the hub, with the credentials that it brings. `name` and `namespace` are then no more than what it is known by. Claims without `byoc` never
    /// get it, and those with `byoc` nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bring_your_own: Option<BringYourOwn>,
}

/// Settings for the pools of claims with `byoc`.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BringYourOwn {
    /// Name of the ClusterImageSet on the hub, which says what runs on the clusters.
    #[schemars(with = "String", length(min = 1, max = 253))]
    pub image_set: ObjectName,
    /// The ServiceAccount on the hub that carries the Secrets. It is let into the claim's namespace, and nowhere else.
    pub carrier: Subject,
}

/// A ServiceAccount.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Its name.
    #[schemars(with = "String", length(min = 1, max = 253))]
    pub name: ObjectName,
    /// Its namespace.
    #[schemars(with = "String", length(min = 1, max = 63))]
    pub namespace: ObjectName,
}

/// A cluster on which Hive runs.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hub {
    /// Name by which pools refer to it.
    pub name: String,
    /// Name of the ProviderConfig of provider-kubernetes that leads to it. If not set, the hub's name.
    #[schemars(with = "Option<String>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<ObjectName>,
    /// The most claimed clusters that it may hold. If not set, any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_clusters: Option<u32>,
    /// Whether it takes no new claims. Its current claims stay.
    #[serde(default)]
    pub cordon: bool,
    /// Namespace on it in which published credentials are. If not set, that of the function's input.
    #[schemars(with = "Option<String>", length(max = 63))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_namespace: Option<ObjectName>,
}

impl Hub {
    /// Name of its ProviderConfig.
    pub fn provider_config(&self) -> &str {
        self.provider_config.as_ref().map_or(&self.name, ObjectName::as_str)
    }
}

/// Limits of a tenant at any one time. Claims beyond it wait, in the order in which they were made.
///
/// A field that is not known is a flaw: what was meant as a limit would be none.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Quota {
    /// Namespace of the claims; `*`: each namespace that has no entry of its own.
    pub tenant: String,
    /// The most clusters. If not set, any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    /// The most that their costs may add up to. If not set, anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
}

/// An entry that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueFlaw {
    /// Position, such as `pools[3]`.
    pub entry: String,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Reason.
    pub why: String,
}

impl std::fmt::Display for CatalogueFlaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} ({name}): {}", self.entry, self.why),
            None => write!(f, "{}: {}", self.entry, self.why),
        }
    }
}

/// The JSON schema of `data`, for editors and checks before a catalogue is applied.
pub fn build_schema() -> Schema {
    schemars::schema_for!(Catalogue)
}

fn one() -> u32 {
    1
}

impl Catalogue {
    /// Reads `data`, entry by entry. An error is one of the whole: then nothing in it can be used.
    pub fn from_data(data: &Value) -> Result<(Self, Vec<CatalogueFlaw>), String> {
        let mut flaws = Vec::new();
        let hubs: Vec<(String, Hub)> = read_entries(data, "hubs", "name", &mut flaws)?;
        let pools: Vec<(String, Pool)> = read_entries(data, "pools", "name", &mut flaws)?;
        let quotas: Vec<(String, Quota)> = read_entries(data, "quotas", "tenant", &mut flaws)?;
        let mut names = BTreeSet::new();
        let hubs = keep_valid(hubs, &mut flaws, |hub: &Hub| {
            let wrong = ObjectName::try_from(hub.provider_config()).err();
            let why = wrong.map(|e| format!("its ProviderConfig {:?} is {e}", hub.provider_config()));
            let twice =
                || (!names.insert(hub.name.clone())).then(|| "a hub of this name is above".to_owned());
            (Some(hub.name.clone()), why.or_else(twice))
        });
        let known = collect::to_set(hubs.iter().map(|h| h.name.as_str()));
        let mut names = BTreeSet::new();
        let pools = keep_valid(pools, &mut flaws, |pool: &Pool| {
            let why = if !known.contains(pool.hub.as_str()) {
                Some(format!("its hub {:?} is not one of hubs that can be used", pool.hub))
            } else if pool.weight > 100 {
                Some("its weight is above 100".into())
            } else if [pool.default_lifetime, pool.max_lifetime]
                .into_iter()
                .flatten()
                .any(|d| d < GoDuration::from_mins(1))
            {
                Some("its lifetimes must be at least 1m".into())
            } else if pool.bring_your_own.is_some()
                && !pool.labels.get("cloud").is_some_and(|cloud| byoc::is_cloud(cloud))
            {
                Some("with bringYourOwn it needs label cloud: aws, azure or gcp".into())
            } else if !names.insert((pool.hub.clone(), pool.namespace.clone(), pool.name.clone())) {
                Some("the same pool is above".into())
            } else {
                None
            };
            (Some(pool.name.to_string()), why)
        });
        let mut names = BTreeSet::new();
        let quotas = keep_valid(quotas, &mut flaws, |quota: &Quota| {
            let twice = !names.insert(quota.tenant.clone());
            (Some(quota.tenant.clone()), twice.then(|| "a quota of this tenant is above".to_owned()))
        });
        Ok((Self { pools, hubs, quotas }, flaws))
    }

    /// The hub of a pool. There is one for every pool that was read.
    pub fn find_hub(&self, pool: &Pool) -> Option<&Hub> {
        self.hubs.iter().find(|h| h.name == pool.hub)
    }

    /// Quota of a tenant; its own entry wins over the one for everybody.
    pub fn find_quota(&self, tenant: &str) -> Option<&Quota> {
        let of = |name: &str| self.quotas.iter().find(|q| q.tenant == name);
        of(tenant).or_else(|| of(EVERYBODY))
    }
}

impl Pool {
    /// Whether a tenant may use it. A composite without a tenant belongs to an administrator, who may use any.
    pub fn is_allowed_for(&self, tenant: Option<&str>) -> bool {
        tenant.is_none_or(|tenant| self.allowed_tenants.iter().any(|a| a == EVERYBODY || a == tenant))
    }
}

fn read_entries<T: DeserializeOwned>(
    data: &Value,
    list: &str,
    key: &str,
    flaws: &mut Vec<CatalogueFlaw>,
) -> Result<Vec<(String, T)>, String> {
    let items = match &data[list] {
        Value::Null => return Ok(vec![]),
        Value::Array(items) => items,
        _ => return Err(format!("data.{list} is not a list")),
    };
    let mut read = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let entry = format!("{list}[{i}]");
        match json::read_value(item.clone()) {
            Ok(value) => read.push((entry, value)),
            Err(error) => {
                let name = item[key].as_str().map(str::to_owned);
                flaws.push(CatalogueFlaw { entry, name, why: error.to_string() });
            }
        }
    }
    Ok(read)
}

fn keep_valid<T>(
    entries: Vec<(String, T)>,
    flaws: &mut Vec<CatalogueFlaw>,
    mut judge: impl FnMut(&T) -> (Option<String>, Option<String>),
) -> Vec<T> {
    let mut valid = Vec::new();
    for (entry, value) in entries {
        match judge(&value) {
            (_, None) => valid.push(value),
            (name, Some(why)) => flaws.push(CatalogueFlaw { entry, name, why }),
        }
    }
    valid
}
