//! `cargo xpkg check cluster --back`: composites that the incumbent's Composition cannot take over from ours.
//!
//! Input: composites from the API server. Output: composites that must stay with this function, and the reasons. No I/O. The incumbent
//! composes the Object `managed-NAME` with an EphemeralCluster for each composite, regardless of its spec and its state. It copies
//! `ciOperator` unchanged into one namespace, through one ProviderConfig. It ignores uids, management policies and our annotations. It
//! therefore recreates objects that the hub deleted or that are in another place, and reverts fields outside of the block.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};
use testplatform_apis::{ci_operator::CiOperator, input::Settings, names::ephemeral_cluster};

/// A composite that the incumbent's Composition must not take over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StayingComposite {
    /// Name of the composite.
    pub composite: String,
    /// Namespace and name of its claim; none for a composite of an administrator.
    pub claim: Option<String>,
    /// Fate of its cluster.
    pub reason: StayReason,
}

/// Reason for which a composite has to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum StayReason {
    /// It requests a cluster by another block than `ciOperator`. The Object of its cluster would become an EphemeralCluster, and its
    /// previous object would be deleted or orphaned.
    OtherBlock,
    /// It has failed: a new cluster would be created.
    Failed,
    /// It is deprovisioned: a new cluster would be created.
    Deprovisioned,
    /// Its cluster was transferred to another claim, and would be torn down with this composite.
    HandedOver,
    /// Its cluster is outside the incumbent's only location. A new one would be created there, and this one orphaned.
    Elsewhere,
    /// Its teardown is not requested in its spec, for example at the end of its lifetime. The hub would get the opposite request, and a job
    /// that has not seen the first one would continue.
    Ending,
    /// It has no claim. The hub would get another tenant than the one for which it created the cluster, and withdraw the credentials.
    NoTenant,
    /// The incumbent writes the names of its runs, or of its tenant, without quotes, and YAML does not parse them as strings. Every
    /// reconcile would fail, and the hub would receive nothing more, not even `tearDownCluster`.
    Unquoted,
    /// Its credentials are those of a ServiceAccount. The hub would publish the admin's, or stop rotating the token.
    ServiceAccount,
    /// Its `ciOperator` has fields that only this function removes and the hub refuses. provider-kubernetes could neither observe nor
    /// delete the EphemeralCluster.
    Refused,
}

/// Result of the check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RollbackReport {
    /// Number of composites.
    pub composites: usize,
    /// Number of composites that keep their revision anyway.
    pub manual: usize,
    /// Composites that have to stay and would not, by name.
    pub kept: Vec<StayingComposite>,
}

impl RollbackReport {
    /// Whether no cluster would be lost or created.
    pub fn is_clean(&self) -> bool {
        self.kept.is_empty()
    }
}

/// Finds composites that have to stay with this function.
pub fn build_report(composites: &[Value]) -> RollbackReport {
    let (manual, follow): (Vec<_>, Vec<_>) =
        composites.iter().partition(|composite| composite["spec"]["compositionUpdatePolicy"] == "Manual");
    let mut kept: Vec<StayingComposite> = follow.into_iter().filter_map(evaluate_composite).collect();
    kept.sort();
    RollbackReport { composites: composites.len(), manual: manual.len(), kept }
}

fn evaluate_composite(composite: &Value) -> Option<StayingComposite> {
    // Crossplane no longer calls a function for it.
    if composite["metadata"]["deletionTimestamp"].is_string() {
        return None;
    }
    let claim = &composite["spec"]["claimRef"];
    let claim = claim["namespace"].as_str().zip(claim["name"].as_str());
    Some(StayingComposite {
        composite: composite["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        claim: claim.map(|(namespace, name)| format!("{namespace}/{name}")),
        reason: stay_reason(composite)?,
    })
}

fn stay_reason(composite: &Value) -> Option<StayReason> {
    let (spec, status) = (&composite["spec"], &composite["status"]);
    if !status["handedOver"].is_null() {
        return Some(StayReason::HandedOver);
    }
    let Some(block) = spec["ciOperator"].as_object() else { return Some(StayReason::OtherBlock) };
    match status["phase"].as_str() {
        Some("Failed") => Some(StayReason::Failed),
        Some("Deprovisioned") => Some(StayReason::Deprovisioned),
        _ if is_elsewhere(status) => Some(StayReason::Elsewhere),
        Some("Deprovisioning") if spec["tearDownCluster"] != true => Some(StayReason::Ending),
        _ if spec["credentials"]["mode"] == "ServiceAccount" => Some(StayReason::ServiceAccount),
        _ if CiOperator(block.clone()).to_forwarded() != *block => Some(StayReason::Refused),
        _ if !spec["claimRef"]["namespace"].is_string() => Some(StayReason::NoTenant),
        _ => unquoted_values(composite)
            .any(|text| !is_text_without_quotes(text))
            .then_some(StayReason::Unquoted),
    }
}

/// Values that the incumbent's template inserts into YAML without quotes.
fn unquoted_values(composite: &Value) -> impl Iterator<Item = &str> {
    let note = |key| composite["metadata"]["annotations"][key].as_str();
    let runs =
        [ephemeral_cluster::PIPELINE_RUN_NAME, ephemeral_cluster::TASK_RUN_NAME].into_iter().filter_map(note);
    runs.chain(composite["spec"]["claimRef"]["namespace"].as_str())
}

/// Whether YAML parses it as the same string. Functions in Go also parse words of YAML 1.1.
fn is_text_without_quotes(text: &str) -> bool {
    const WORDS: [&str; 6] = ["y", "yes", "n", "no", "on", "off"];
    let read = serde_saphyr::from_str::<Value>(&format!("name: {text}\n"));
    !WORDS.contains(&text.to_ascii_lowercase().as_str())
        && read.is_ok_and(|read| read == json!({ "name": text }))
}

/// Whether its request is, or will be, in another namespace or ProviderConfig than the incumbent's.
fn is_elsewhere(status: &Value) -> bool {
    // An empty input selects the incumbent's names.
    let incumbent = Settings::default();
    let other = |told: &Value, name: &str| told.as_str().is_some_and(|told| told != name);
    other(&status["hub"]["name"], &incumbent.provider_config)
        || other(&status["backend"]["namespace"], &incumbent.namespace)
}

impl fmt::Display for RollbackReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for kept in &self.kept {
            writeln!(f, "{kept}")?;
        }
        let all = self.composites;
        if self.is_clean() {
            return writeln!(
                f,
                "all {} composites that follow their Composition can go back",
                all - self.manual
            );
        }
        writeln!(f, "{} of {all} composites cannot go back", self.kept.len())?;
        writeln!(
            f,
            "delete their claims, or set spec.compositionUpdatePolicy: Manual on these, which keeps them with this function"
        )
    }
}

impl fmt::Display for StayingComposite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let claim =
            self.claim.as_deref().map_or_else(|| "no claim".to_owned(), |claim| format!("claim {claim}"));
        write!(f, "{} ({claim}): ", self.composite)?;
        f.write_str(match self.reason {
            StayReason::OtherBlock => {
                "it has no ciOperator; its cluster would be ended, or left with nobody to end it"
            }
            StayReason::Failed => "it is Failed; another cluster would be made for it",
            StayReason::Deprovisioned => "it is Deprovisioned; another cluster would be made for it",
            StayReason::HandedOver => "its cluster was handed over; deleting the claim would end it",
            StayReason::Elsewhere => {
                "its cluster is not where the incumbent's are; another would be made there, and nobody would end this one"
            }
            StayReason::Ending => "its end, which its spec does not ask for, would be called off; wait until it is over",
            StayReason::NoTenant => {
                "it has no claim; the hub would be told another tenant, and may withdraw its credentials"
            }
            StayReason::Unquoted => {
                "a run's name in its annotations, or its namespace, is not text without quotes; no pass would succeed, \
                 and nothing end its cluster but deletion"
            }
            StayReason::ServiceAccount => {
                "its credentials are a ServiceAccount's; the admin's would be published, or none renewed"
            }
            StayReason::Refused => {
                "its ciOperator has nulls or an empty test.clusterClaim, which the hub refuses; its cluster could not be ended"
            }
        })
    }
}
