//! Plans the secret sync of one claim. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use testplatform_apis::{
    byoc::{self, COMPOSITE, PARCELS, SecretCopy, SecretSyncReport, SecretSyncResult, TENANT},
    condition::ConditionType,
    phase::Phase,
};

use super::state::SecretSyncState;

/// Why nothing is done in a namespace.
pub const FOREIGN: &str = "the namespace on the hub belongs to another claim";

/// A composite that brings its own credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncRequest {
    /// Its name.
    pub name: String,
    /// Namespace of its claim, or its own: where the Secrets are.
    pub tenant: String,
    /// Hub of its cluster, by the name of its ProviderConfig. None: not known yet.
    pub hub: Option<String>,
    /// Its namespace there. None: not known yet.
    pub namespace: Option<String>,
    /// Secrets that its own spec names: nothing else is copied, whatever the hub requests.
    pub brings: Vec<SecretCopy>,
    /// Whether nothing is left of its cluster.
    pub over: bool,
}

impl SyncRequest {
    /// Reads a composite; none if it brings nothing, or has no tenant. `namespace` is its own.
    pub fn from_composite(name: &str, namespace: Option<&str>, body: &Value) -> Option<Self> {
        let (spec, status) = (&body["spec"], &body["status"]);
        if spec["byoc"].is_null() {
            return None;
        }
        let tenant = namespace.or_else(|| spec["claimRef"]["namespace"].as_str())?;
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let completed =
            |c: &Value| c["type"] == ConditionType::ProwJobCompleted.as_str() && c["status"] == "True";
        let conditions = status["conditions"].as_array();
        let completed = conditions.is_some_and(|conditions| conditions.iter().any(completed));
        let is = |phase: Phase| status["phase"] == phase.to_string();
        Some(Self {
            name: name.to_owned(),
            tenant: tenant.to_owned(),
            hub: text(&status["hub"]["name"]),
            namespace: text(&status["backend"]["namespace"]),
            brings: byoc::list_secret_copies(&spec["byoc"]),
            over: completed && (is(Phase::Deprovisioned) || is(Phase::Failed)),
        })
    }

    /// Whether a ConfigMap on the hub, and with it the namespace, is this composite's.
    pub fn owns(&self, data: &BTreeMap<String, String>) -> bool {
        let value = |key: &str| data.get(key).map(String::as_str).unwrap_or_default();
        value(TENANT) == self.tenant && value(COMPOSITE) == self.name
    }

    /// Secrets that the ConfigMap on the hub requests.
    ///
    /// # Errors
    /// If it is another claim's, or none of ours, or asks for anything that the composite itself does not bring: in a sentence.
    pub fn requested_copies(&self, data: &BTreeMap<String, String>) -> Result<Vec<SecretCopy>, String> {
        if !self.owns(data) {
            return Err(FOREIGN.to_owned());
        }
        let text = data.get(PARCELS).map(String::as_str).unwrap_or_default();
        let parcels: Vec<SecretCopy> =
            serde_json::from_str(text).map_err(|_| "the request cannot be read".to_owned())?;
        let fields: BTreeSet<&str> = parcels.iter().map(|parcel| parcel.field.as_str()).collect();
        if fields.len() != parcels.len() || !parcels.iter().all(|parcel| self.brings.contains(parcel)) {
            return Err("the request does not match spec.byoc".to_owned());
        }
        Ok(parcels)
    }
}

/// State of a named Secret, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretState {
    /// All keys are there: which state of it this is.
    Whole(String),
    /// It is there, and a key of it is missing or has what may not be carried: in words without anything of it.
    Unfit(String),
    /// There is none.
    Absent,
    /// It may not be read.
    Forbidden,
}

/// Plan of one sync: first the writes, then the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncPlan {
    /// Secrets to write, by the field that names them.
    pub write: Vec<String>,
    /// Report after the writes.
    pub report: SecretSyncReport,
}

impl SyncPlan {
    /// State of the claim after that.
    pub fn sync_state(&self) -> SecretSyncState {
        let all_synced = self.report.secrets.values().all(|fate| *fate == SecretSyncResult::Carried);
        match (self.report.carried, all_synced) {
            (true, true) => SecretSyncState::Carried,
            (true, false) => SecretSyncState::Outdated,
            (false, _) => SecretSyncState::Incomplete,
        }
    }
}

/// Plans the sync. `found` and `written` are by field; `written` holds the last written revision of each, as far as it is remembered.
pub fn plan(
    parcels: &[SecretCopy],
    found: &BTreeMap<String, SecretState>,
    written: &BTreeMap<String, String>,
    before: Option<&SecretSyncReport>,
) -> SyncPlan {
    let mut step = SyncPlan { write: vec![], report: SecretSyncReport::default() };
    for SecretCopy { field, .. } in parcels {
        let fate = match found.get(field) {
            Some(SecretState::Whole(revision)) => {
                if written.get(field) != Some(revision) {
                    step.write.push(field.clone());
                }
                SecretSyncResult::Carried
            }
            Some(SecretState::Unfit(words)) => {
                step.report.words.insert(field.clone(), words.clone());
                SecretSyncResult::KeyMissing
            }
            Some(SecretState::Forbidden) => SecretSyncResult::Forbidden,
            Some(SecretState::Absent) | None => SecretSyncResult::NotFound,
        };
        step.report.secrets.insert(field.clone(), fate);
    }
    let all_synced =
        !parcels.is_empty() && step.report.secrets.values().all(|fate| *fate == SecretSyncResult::Carried);
    // Copies on the hub stay there: a cluster may have been created with them, and needs them for its deletion.
    step.report.carried = all_synced || before.is_some_and(|before| before.carried);
    step
}
