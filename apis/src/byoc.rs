//! Bring your own credentials: a cluster created with Secrets of the tenant's namespace. With `clusterClaim`, a hub's Hive creates it in
//! the tenant's own cloud account. With `template`, its backend creates it with the tenant's pull secret and SSH key.
//!
//! The function writes the list of [`SecretCopy`] into a ConfigMap of the claim's own namespace on the hub. The provider copies these
//! Secrets there and answers with a [`SecretSyncReport`] in an annotation of that ConfigMap. Nothing here ever holds the content of a
//! Secret.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{collect, names::ObjectName};

/// Refusal of `byoc` with `ciOperator`.
pub const BESIDE_OTHERS: &str =
    "byoc is served with clusterClaim and template only; remove it, or set one of them";
/// Refusal of a change.
pub const BYOC_IMMUTABLE: &str =
    "byoc cannot be changed, since the cluster is made with it once; create a new claim for another cluster";
/// Refusal of a claim with `template` and without pull secret.
pub const NO_PULL_SECRET: &str = "byoc beside template needs pullSecretRef";
/// Refusal of account fields with `template`.
pub const NO_ACCOUNT: &str = "byoc beside template takes no platform, baseDomain or credentialsSecretRef: the template defines where \
    its clusters are created";
/// Refusal of an SSH key with `clusterClaim`.
pub const NO_SSH_KEY: &str =
    "sshKeySecretRef is not served beside clusterClaim: Hive's pools take no SSH key";
/// Refusal of an incomplete account.
pub const ACCOUNT_INCOMPLETE: &str =
    "beside clusterClaim byoc needs platform, baseDomain and credentialsSecretRef";
/// Refusal of an install-config: the installer runs on the hub and would follow its instructions.
pub const NO_INSTALL_CONFIG: &str = "installConfigSecretRef is not served: Hive's installer would run on the hub with whatever it says; leave it out";
/// Refusal of no platform, or of several.
pub const ONE_PLATFORM: &str = "set exactly one of aws, azure and gcp";
/// Refusal of an invalid region.
pub const REGION_RULE: &str = "region must be of lower-case letters, digits and -, at most 63, such as us-east-1, eastus or us-central1";
/// Refusal of an invalid resource group.
pub const RESOURCE_GROUP_RULE: &str =
    "baseDomainResourceGroupName must be of letters, digits, - . _ ( and ), at most 90";
/// Refusal of an invalid domain.
pub const DOMAIN_RULE: &str = "baseDomain must be a DNS domain such as ci.example.com";
/// Refusal of an invalid Secret name.
pub const SECRET_RULE: &str = "name must be an RFC 1123 subdomain of at most 253 characters";

/// Label on the claim's namespace on the hub: `true`.
pub const LABEL: &str = "testplatform.ci.openshift.org/byoc";
/// ConfigMap in the claim's namespace on the hub that lists the Secrets to copy.
pub const REQUEST: &str = "testplatform-byoc";
/// ClusterRole on the hub that grants the Secret sync access to that namespace.
pub const CARRIER_ROLE: &str = "testplatform-byoc-carrier";
/// ClusterRole on the hub that grants the hub-side provider access to that namespace, for a claim with `template`.
pub const PUBLISHER_ROLE: &str = "testplatform-byoc-publisher";
/// Prefix of that namespace's name.
pub const NAMESPACE_PREFIX: &str = "byoc-";
/// Key of the ConfigMap: namespace of the claim, the source of the Secrets.
pub const TENANT: &str = "tenant";
/// Key of the ConfigMap: name of the composite.
pub const COMPOSITE: &str = "composite";
/// Key of the ConfigMap: the list of [`SecretCopy`], JSON.
pub const PARCELS: &str = "parcels";

/// A cluster that is made with Secrets of this namespace: in the tenant's own cloud account beside clusterClaim, with the tenant's own pull
/// secret and SSH key beside template.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.installConfigSecretRef)").message(NO_INSTALL_CONFIG))]
pub struct Byoc {
    /// Cloud of the cluster: exactly one. Required beside clusterClaim, and refused beside template, which says that itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<ByocPlatform>,

    /// DNS domain below which the cluster is, in the tenant's own account. Required beside clusterClaim, and refused beside template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub base_domain: Option<String>,

    /// Required beside clusterClaim, and refused beside template. Secret of this namespace with the credentials for the cloud: keys `aws_access_key_id` and `aws_secret_access_key` for aws,
    /// osServicePrincipal.json for azure, osServiceAccount.json (a key of a service account) for gcp. No other key is carried to the hub. The
    /// cluster is destroyed with them too: they must stay valid until the claim is Deprovisioned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret_ref: Option<SecretRef>,

    /// Secret of this namespace with a pull secret, key .dockerconfigjson. Required beside template. If not set beside clusterClaim, the hub's
    /// own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_secret_ref: Option<SecretRef>,

    /// Secret of this namespace with the public keys, key `id_rsa.pub`, that may log in to the nodes by SSH. Only beside a template that takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_key_secret_ref: Option<SecretRef>,

    /// Not served, and refused: Hive's installer would run on the hub with whatever it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install_config_secret_ref: Option<SecretRef>,
}

/// The cloud of a cluster that is made with credentials of its tenant.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("[has(self.aws), has(self.azure), has(self.gcp)].exists_one(set, set)").message(ONE_PLATFORM))]
pub struct ByocPlatform {
    /// Amazon, in one of its regions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aws: Option<Region>,
    /// Azure, in one of its regions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub azure: Option<Azure>,
    /// Google, in one of its regions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gcp: Option<Region>,
}

/// A region of a cloud.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// The region, such as us-east-1 of Amazon or us-central1 of Google.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = Rule::new("self.matches('^[-a-z0-9]+$')").message(REGION_RULE))]
    pub region: String,
}

/// A region of Azure.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Azure {
    /// The region, such as eastus.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = Rule::new("self.matches('^[-a-z0-9]+$')").message(REGION_RULE))]
    pub region: String,
    /// Resource group with the DNS zone of the domain.
    #[schemars(length(min = 1, max = 90))]
    #[x_kube(validation = Rule::new("self.matches('^[-A-Za-z0-9._()]+$')").message(RESOURCE_GROUP_RULE))]
    pub base_domain_resource_group_name: String,
}

/// A Secret by name.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretRef {
    /// Name of a Secret in the claim's namespace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// One Secret to copy to the hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretCopy {
    /// The field of `byoc` that names it.
    pub field: String,
    /// Name of the Secret in the claim's namespace.
    pub from: String,
    /// Name of the Secret on the hub.
    pub to: String,
    /// Keys to copy: all of them, and no others.
    pub keys: Vec<String>,
}

/// Result of a Secret's copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SecretSyncResult {
    /// The copy on the hub is up to date.
    Carried,
    /// The provider may not read it.
    Forbidden,
    /// No Secret has this name.
    NotFound,
    /// A key is missing or has a value that may not be copied.
    KeyMissing,
}

impl SecretSyncResult {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Carried, Self::Forbidden, Self::NotFound, Self::KeyMissing];

    /// Wire form.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Carried => "Carried",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::KeyMissing => "KeyMissing",
        }
    }
}

/// Report of the Secret sync, in annotation [`ours::BYOC_REPORT`](crate::names::ours::BYOC_REPORT) of the ConfigMap. Equal values have
/// equal text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecretSyncReport {
    /// Whether every Secret was copied at least once, so that the cluster can be created.
    pub carried: bool,
    /// Current state of each Secret, by the field that names it.
    pub secrets: BTreeMap<String, SecretSyncResult>,
    /// Details of invalid contents, by the same field, beyond a missing key. Never the contents themselves.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub words: BTreeMap<String, String>,
    /// Reason why no Secret is copied, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl SecretSyncReport {
    /// Reads the annotation; an unknown state counts as absent. None: it is no report.
    pub fn from_annotation(annotation: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(annotation).ok()?;
        let secret_states = value["secrets"].as_object()?;
        let fate = |word: &Value| SecretSyncResult::ALL.into_iter().find(|fate| word == fate.as_str());
        let secrets = collect::to_map(
            secret_states.iter().filter_map(|(field, word)| Some((field.clone(), fate(word)?))),
        );
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let words = value["words"].as_object().into_iter().flatten();
        let words = collect::to_map(words.filter_map(|(field, said)| Some((field.clone(), text(said)?))));
        Some(Self { carried: value["carried"] == true, secrets, words, refused: text(&value["refused"]) })
    }

    /// The text of the annotation.
    ///
    /// # Errors
    /// None that is known: every field has a form in JSON.
    pub fn to_annotation(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// Possible Secrets: the field, the name on the hub, and the keys unless they depend on the cloud.
const SECRETS: [(&str, &str, &str); 3] = [
    (CREDENTIALS, "byoc-credentials", ""),
    (PULL_SECRET, "byoc-pull-secret", ".dockerconfigjson"),
    (SSH_KEY, "byoc-ssh-key", "id_rsa.pub"),
];

/// The field that names the credentials for the cloud.
pub const CREDENTIALS: &str = "credentialsSecretRef";
/// The field that names the pull secret.
pub const PULL_SECRET: &str = "pullSecretRef";
/// The field that names the key of SSH.
pub const SSH_KEY: &str = "sshKeySecretRef";
/// The field that is never served.
const INSTALL_CONFIG: &str = "installConfigSecretRef";
/// Fields that select a cloud account.
const ACCOUNT_FIELDS: [&str; 3] = ["platform", "baseDomain", CREDENTIALS];

/// The names of the Secrets on the hub.
pub const HUB_SECRET_NAMES: [&str; 3] = [SECRETS[0].1, SECRETS[1].1, SECRETS[2].1];

/// Block of the claim that uses the tenant's credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimBlock {
    /// Hive creates the cluster in the tenant's own account.
    ClusterClaim,
    /// The catalogue entry says which of the tenant's credentials it accepts.
    Template,
}

/// The clouds, and the keys of their credentials. Source: Hive's documentation, "Cloud credentials". Hive would read further keys of such a
/// Secret. Some, such as `aws_config`, could make it run a program, so they are never copied. The provider also validates each value first.
const CLOUDS: [(&str, &[&str]); 3] = [
    ("aws", &["aws_access_key_id", "aws_secret_access_key"]),
    ("azure", &["osServicePrincipal.json"]),
    ("gcp", &["osServiceAccount.json"]),
];

/// Whether clusters can be created in a cloud with the tenant's credentials.
pub fn is_cloud(name: &str) -> bool {
    CLOUDS.iter().any(|(cloud, _)| *cloud == name)
}

/// The cloud that a block names, with its fields.
pub fn selected_cloud(block: &Value) -> Option<(&'static str, &Value)> {
    let (cloud, _) = CLOUDS.into_iter().find(|(cloud, _)| !block["platform"][*cloud].is_null())?;
    Some((cloud, &block["platform"][cloud]))
}

/// The name on the hub of the Secret that a field names; none if the block does not set the field.
pub fn hub_secret_name(block: &Value, field: &str) -> Option<&'static str> {
    block[field]["name"].as_str()?;
    SECRETS.into_iter().find(|(known, ..)| *known == field).map(|(_, to, _)| to)
}

/// Lists the Secrets to copy for a valid block.
pub fn list_secret_copies(block: &Value) -> Vec<SecretCopy> {
    let of_cloud = CLOUDS.into_iter().find(|(cloud, _)| !block["platform"][*cloud].is_null());
    let mut parcels = Vec::new();
    for (field, to, key) in SECRETS {
        let Some(from) = block[field]["name"].as_str() else { continue };
        let keys = if key.is_empty() { of_cloud.map_or(&[][..], |(_, keys)| keys) } else { &[key][..] };
        parcels.push(SecretCopy {
            field: field.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        });
    }
    parcels
}

/// Finds all errors of a block, each with its path inside the block. The rules are those of the schema; a file has not passed it.
pub fn find_problems(block: &Value, beside: ClaimBlock) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut wrong = |path: &str, why: &str| found.push((path.to_owned(), why.to_owned()));
    let Some(fields) = block.as_object() else {
        wrong("", "is not an object");
        return found;
    };
    let known = |field: &str| {
        ACCOUNT_FIELDS.contains(&field)
            || field == INSTALL_CONFIG
            || SECRETS.iter().any(|(known, ..)| *known == field)
    };
    for field in fields.keys().filter(|field| !known(field)) {
        wrong(field, "is not a field of byoc");
    }
    match beside {
        ClaimBlock::ClusterClaim => {
            check_account(block, &mut wrong);
            if !block[SSH_KEY].is_null() {
                wrong(SSH_KEY, NO_SSH_KEY);
            }
        }
        ClaimBlock::Template => {
            for field in ACCOUNT_FIELDS.into_iter().filter(|field| !block[*field].is_null()) {
                wrong(field, NO_ACCOUNT);
            }
            if block[PULL_SECRET].is_null() {
                wrong(PULL_SECRET, NO_PULL_SECRET);
            }
        }
    }
    if !block[INSTALL_CONFIG].is_null() {
        wrong(INSTALL_CONFIG, NO_INSTALL_CONFIG);
    }
    for (field, ..) in SECRETS {
        let reference = &block[field];
        let named = reference["name"].as_str().is_some_and(|name| ObjectName::try_from(name).is_ok());
        if !reference.is_null() && !named {
            wrong(&format!("{field}.name"), SECRET_RULE);
        }
    }
    found
}

/// Checks the account fields.
fn check_account(block: &Value, wrong: &mut impl FnMut(&str, &str)) {
    let set: Vec<&str> =
        ["aws", "azure", "gcp"].into_iter().filter(|cloud| !block["platform"][*cloud].is_null()).collect();
    match set.as_slice() {
        [cloud] => {
            let inside = &block["platform"][*cloud];
            let text = |field: &str, max: usize, legal: fn(u8) -> bool| {
                inside[field]
                    .as_str()
                    .is_some_and(|t| !t.is_empty() && t.len() <= max && t.bytes().all(legal))
            };
            let lower = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            if !text("region", 63, lower) {
                wrong(&format!("platform.{cloud}.region"), REGION_RULE);
            }
            let group = "baseDomainResourceGroupName";
            let legal = |b: u8| b.is_ascii_alphanumeric() || b"-._()".contains(&b);
            if *cloud == "azure" && !text(group, 90, legal) {
                wrong("platform.azure.baseDomainResourceGroupName", RESOURCE_GROUP_RULE);
            }
            let more = inside.as_object().into_iter().flatten().map(|(field, _)| field.as_str());
            for field in more.filter(|f| *f != "region" && !(*cloud == "azure" && *f == group)) {
                wrong(&format!("platform.{cloud}.{field}"), "is not a field of it");
            }
        }
        _ => wrong("platform", ONE_PLATFORM),
    }
    for cloud in block["platform"].as_object().into_iter().flatten().map(|(cloud, _)| cloud) {
        if !is_cloud(cloud) {
            wrong(&format!("platform.{cloud}"), "is not served; set exactly one of aws, azure and gcp");
        }
    }
    if block["baseDomain"].as_str().is_none_or(|domain| ObjectName::try_from(domain).is_err()) {
        wrong("baseDomain", DOMAIN_RULE);
    }
    if block[CREDENTIALS].is_null() {
        wrong(CREDENTIALS, "is missing: name the Secret with the credentials");
    }
}
