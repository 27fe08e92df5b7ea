//! The function's input: what an administrator may set in the Composition. Everything is optional; empty means the incumbent's names.

mod spaces;

use kube::CustomResource;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::duration::GoDuration;
pub use spaces::{Amount, Amounts, ContainerLimits, Quotas, Spaces};

/// API group of the input.
pub const GROUP: &str = "testplatform.fn.crossplane.io";
/// Version of the input.
pub const VERSION: &str = "v1beta1";
/// `apiVersion` of the input.
pub const API_VERSION: &str = "testplatform.fn.crossplane.io/v1beta1";
/// Kind of the input.
pub const KIND: &str = "Input";
/// Plural of the input. No such object is ever stored: the kind exists as part of a Composition and as a schema for editors.
pub const PLURAL: &str = "inputs";

/// Input of function-testplatform in a pipeline step of a Composition. Every field is optional.
#[derive(CustomResource, JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "testplatform.fn.crossplane.io",
    version = "v1beta1",
    kind = "Input",
    root = "InputObject",
    namespaced,
    no_spec,
    category = "crossplane",
    doc = "Input of function-testplatform in a pipeline step of a Composition. Every field is optional."
)]
#[serde(rename_all = "camelCase", default)]
pub struct Input {
    /// Name of the EnvironmentConfig whose data.clusterName names this cluster. If not set, envcfg.
    #[schemars(length(max = 253))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment_config: Option<String>,

    /// Name of the ProviderConfig of provider-kubernetes that leads to the hub. If not set,
    /// testplatform-kubernetes-provider-config.
    #[schemars(length(max = 253))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<String>,

    /// Namespace on the hub in which EphemeralCluster objects are made. If not set, ephemeral-cluster.
    #[schemars(length(max = 63))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,

    /// Namespace on the hub in which the published credentials are, unless the catalogue of pools says otherwise for its hub. If not
    /// set, ephemeral-cluster.
    #[schemars(length(max = 63))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_namespace: Option<String>,

    /// Namespace beside Crossplane into which the credentials are copied on their way to the claim. If not set,
    /// crossplane-connections.
    #[schemars(length(max = 63))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_secret_namespace: Option<String>,

    /// Name of the EnvironmentConfig with the catalogue of Hive pools from which claims with clusterClaim are served. If not set,
    /// testplatform-pools.
    #[schemars(length(max = 253))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pools: Option<String>,

    /// Whether quotas of the catalogue of pools govern claims with ciOperator too. Each of those then waits for the catalogue and for
    /// all composites to be read before its cluster is asked for. Claims with clusterClaim and template are always governed. If not
    /// set, false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quotas_for_ci_operator: Option<bool>,

    /// Whether both flavours are served here, claims of the kind `TestPlatformCluster` and composites of the kind `TestCluster`. Those of
    /// the other flavour then count too, for quotas and the load of pools and hubs. Crossplane must know both kinds, or no composite that is counted by them
    /// is served. If not set, false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub both_flavours: Option<bool>,

    /// Time for which Crossplane may cache a response of the function, as a duration such as 1m. It calls earlier if something changes. If
    /// not set, the value of the function's command line (1m).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<GoDuration>,

    /// Maximum time for which the hub itself keeps a ready cluster, as a duration such as 2h. It describes the hub's configuration and does
    /// not change it. If not set, 2h.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_max_lifetime: Option<GoDuration>,

    /// Defaults for claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defaults: Option<Limits>,

    /// Maxima for claims. A higher value counts as the maximum. A maximum lifetime is also the default of clusters out of pools for which
    /// no other default is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maxima: Option<Limits>,

    /// Settings of spaces, those of Namespace claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spaces: Option<Spaces>,
}

/// The schema of the input, without what makes an object of it.
pub fn build_schema() -> Schema {
    schemars::schema_for!(Input)
}

/// Lengths of time in the life of a cluster.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// Lifetime of a cluster after it became ready, as a duration such as 4h. If not set, without limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<GoDuration>,

    /// Time for a cluster to become ready, counted from the creation of the claim, as a duration such as 4h. If not set as a default, 4h;
    /// if not set as a maximum, without limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provision_timeout: Option<GoDuration>,
}

/// The input with everything filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Name of the EnvironmentConfig whose `data.clusterName` names this cluster.
    pub environment_config: String,
    /// Name of the ProviderConfig that leads to the hub.
    pub provider_config: String,
    /// Namespace of EphemeralCluster objects on the hub.
    pub namespace: String,
    /// Namespace of published credentials on the hub.
    pub credentials_namespace: String,
    /// Namespace of connection Secrets beside Crossplane.
    pub connection_secret_namespace: String,
    /// Name of the EnvironmentConfig with the catalogue of pools.
    pub pools: String,
    /// Whether quotas govern claims with ciOperator too.
    pub quotas_for_ci_operator: bool,
    /// Whether composites of the other flavour count too.
    pub both_flavours: bool,
    /// Time for which a response may be cached; at least one second. None: the value of the command line.
    pub ttl: Option<GoDuration>,
    /// The longest that the hub keeps a ready cluster by itself.
    pub hub_max_lifetime: GoDuration,
    /// Lifetime of claims that set none; none means that they are kept until they are torn down.
    pub default_lifetime: Option<GoDuration>,
    /// Provision timeout of claims that set none.
    pub default_provision_timeout: GoDuration,
    /// The same, if the input sets it: then the hub is told, which otherwise has a default of its own.
    pub told_provision_timeout: Option<GoDuration>,
    /// The longest lifetime that a claim may ask for.
    pub max_lifetime: Option<GoDuration>,
    /// The longest provision timeout that a claim may ask for.
    pub max_provision_timeout: Option<GoDuration>,
    /// Settings of spaces, as configured; only [`Spaces`] fills in defaults.
    pub spaces: Spaces,
}

impl Settings {
    /// Default provision timeout.
    pub const PROVISION_TIMEOUT: GoDuration = GoDuration::from_hours(4);
}

impl Default for Settings {
    fn default() -> Self {
        Input::default().to_settings()
    }
}

impl Input {
    /// Fills in what is not set. An empty name counts as not set, and so does a span that is not positive, since neither can be
    /// meant. A default above its maximum counts as that maximum.
    pub fn to_settings(&self) -> Settings {
        let defaults = self.defaults.unwrap_or_default();
        let maxima = self.maxima.unwrap_or_default();
        let max_lifetime = only_positive(maxima.lifetime);
        let max_provision_timeout = only_positive(maxima.provision_timeout);
        let own_timeout = only_positive(defaults.provision_timeout);
        let default_provision_timeout =
            at_most(own_timeout.unwrap_or(Settings::PROVISION_TIMEOUT), max_provision_timeout);
        // A maximum is told as well: what was not told at birth does not hold later.
        let is_reported = own_timeout.is_some() || max_provision_timeout.is_some();
        Settings {
            environment_config: name_or_default(self.environment_config.as_ref(), "envcfg"),
            provider_config: name_or_default(
                self.provider_config.as_ref(),
                "testplatform-kubernetes-provider-config",
            ),
            namespace: name_or_default(self.namespace.as_ref(), "ephemeral-cluster"),
            credentials_namespace: name_or_default(self.credentials_namespace.as_ref(), "ephemeral-cluster"),
            connection_secret_namespace: name_or_default(
                self.connection_secret_namespace.as_ref(),
                "crossplane-connections",
            ),
            pools: name_or_default(self.pools.as_ref(), "testplatform-pools"),
            quotas_for_ci_operator: self.quotas_for_ci_operator.unwrap_or(false),
            both_flavours: self.both_flavours.unwrap_or(false),
            ttl: only_positive(self.ttl).map(|ttl| ttl.max(GoDuration::from_secs(1))),
            hub_max_lifetime: only_positive(self.hub_max_lifetime).unwrap_or(GoDuration::from_hours(2)),
            default_lifetime: only_positive(defaults.lifetime).map(|span| at_most(span, max_lifetime)),
            default_provision_timeout,
            told_provision_timeout: is_reported.then_some(default_provision_timeout),
            max_lifetime,
            max_provision_timeout,
            spaces: self.spaces.clone().unwrap_or_default(),
        }
    }
}

fn name_or_default(given: Option<&String>, otherwise: &str) -> String {
    given.map(|name| name.trim()).filter(|name| !name.is_empty()).unwrap_or(otherwise).to_owned()
}

fn only_positive(span: Option<GoDuration>) -> Option<GoDuration> {
    span.filter(|span| *span > GoDuration::ZERO)
}

fn at_most(span: GoDuration, limit: Option<GoDuration>) -> GoDuration {
    limit.map_or(span, |limit| span.min(limit))
}
