//! `cargo xpkg check cluster --back`: which composites the incumbent's Composition cannot have in place of ours.
//!
//! Input: composites, as the API server has them. Output: who has to be kept with this function, and why. No I/O.
//! The incumbent composes the Object `managed-NAME` with an EphemeralCluster for each composite, whatever it asks for and whatever became of it. It
//! hands `ciOperator` on as it stands, in one namespace by one ProviderConfig, and knows neither uids nor management policies nor our annotations: what is
//! gone on the hub, or not in that place, is made again, and what the hub was told beside the block is taken back.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};
use testplatform_apis::{ci_operator::CiOperator, input::Settings, names::ephemeral_cluster};

/// A composite that must not go by the incumbent's Composition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// Name of the composite.
    pub composite: String,
    /// Namespace and name of its claim; none for an administrator's.
    pub claim: Option<String>,
    /// What would become of its cluster.
    pub reason: Reason,
}

/// Why a composite has to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Reason {
    /// It asks for a cluster by another block than `ciOperator`: the Object of its cluster would become an EphemeralCluster's, and what it was
    /// would be deleted or forgotten.
    OtherBlock,
    /// It has failed: a cluster would be made anew.
    Failed,
    /// It has ended: the same.
    Deprovisioned,
    /// Its cluster is another's by now, and would be ended with this one.
    HandedOver,
    /// Its cluster is not where the incumbent has all of them: another would be made there, and this one forgotten.
    Elsewhere,
    /// It is being torn down, and nothing in its spec says so, as when its lifetime is over: the hub would be told not to, and a job that had not
    /// heard of it goes on.
    Ending,
    /// It has no claim: the hub would be told another tenant than the one for whom it made the cluster, and withdraw the credentials.
    NoTenant,
    /// The incumbent writes the names of its runs, or its tenant's, without quotes, where they are no texts: no pass would succeed, and the hub would
    /// hear of nothing any more, `tearDownCluster` among it.
    Unquoted,
    /// Its credentials are those of a ServiceAccount: the hub would publish the admin's, or replace its token no more.
    ServiceAccount,
    /// Its `ciOperator` has what only this function leaves out, and the hub refuses. provider-kubernetes could neither look at the
    /// EphemeralCluster any more nor end it.
    Refused,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// How many composites there are.
    pub composites: usize,
    /// How many of them stay with their revision anyway.
    pub manual: usize,
    /// Those that have to stay and would not, by name.
    pub kept: Vec<Kept>,
}

impl Report {
    /// Whether nobody would lose or get a cluster.
    pub fn is_clean(&self) -> bool {
        self.kept.is_empty()
    }
}

/// Looks for composites that have to stay with this function.
pub fn report(composites: &[Value]) -> Report {
    let (manual, follow): (Vec<_>, Vec<_>) =
        composites.iter().partition(|composite| composite["spec"]["compositionUpdatePolicy"] == "Manual");
    let mut kept: Vec<Kept> = follow.into_iter().filter_map(judge).collect();
    kept.sort();
    Report { composites: composites.len(), manual: manual.len(), kept }
}

fn judge(composite: &Value) -> Option<Kept> {
    // Crossplane calls no function for it any more.
    if composite["metadata"]["deletionTimestamp"].is_string() {
        return None;
    }
    let claim = &composite["spec"]["claimRef"];
    let claim = claim["namespace"].as_str().zip(claim["name"].as_str());
    Some(Kept {
        composite: composite["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        claim: claim.map(|(namespace, name)| format!("{namespace}/{name}")),
        reason: reason(composite)?,
    })
}

fn reason(composite: &Value) -> Option<Reason> {
    let (spec, status) = (&composite["spec"], &composite["status"]);
    if !status["handedOver"].is_null() {
        return Some(Reason::HandedOver);
    }
    let Some(block) = spec["ciOperator"].as_object() else { return Some(Reason::OtherBlock) };
    match status["phase"].as_str() {
        Some("Failed") => Some(Reason::Failed),
        Some("Deprovisioned") => Some(Reason::Deprovisioned),
        _ if is_elsewhere(status) => Some(Reason::Elsewhere),
        Some("Deprovisioning") if spec["tearDownCluster"] != true => Some(Reason::Ending),
        _ if spec["credentials"]["mode"] == "ServiceAccount" => Some(Reason::ServiceAccount),
        _ if CiOperator(block.clone()).to_forwarded() != *block => Some(Reason::Refused),
        _ if !spec["claimRef"]["namespace"].is_string() => Some(Reason::NoTenant),
        _ => spliced(composite).any(|text| !is_text_without_quotes(text)).then_some(Reason::Unquoted),
    }
}

/// What the incumbent's template has between other YAML as it stands.
fn spliced(composite: &Value) -> impl Iterator<Item = &str> {
    let note = |key| composite["metadata"]["annotations"][key].as_str();
    let runs =
        [ephemeral_cluster::PIPELINE_RUN_NAME, ephemeral_cluster::TASK_RUN_NAME].into_iter().filter_map(note);
    runs.chain(composite["spec"]["claimRef"]["namespace"].as_str())
}

/// Whether YAML takes it for the text that it is. Functions made with Go read words of YAML 1.1 too.
fn is_text_without_quotes(text: &str) -> bool {
    const WORDS: [&str; 6] = ["y", "yes", "n", "no", "on", "off"];
    let read = serde_saphyr::from_str::<Value>(&format!("name: {text}\n"));
    !WORDS.contains(&text.to_ascii_lowercase().as_str())
        && read.is_ok_and(|read| read == json!({ "name": text }))
}

/// Whether it was asked for, or is about to be, in another namespace or by another ProviderConfig than the incumbent's.
fn is_elsewhere(status: &Value) -> bool {
    // An empty input means the incumbent's names.
    let incumbent = Settings::default();
    let other = |told: &Value, name: &str| told.as_str().is_some_and(|told| told != name);
    other(&status["hub"]["name"], &incumbent.provider_config)
        || other(&status["backend"]["namespace"], &incumbent.namespace)
}

impl fmt::Display for Report {
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

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let claim =
            self.claim.as_deref().map_or_else(|| "no claim".to_owned(), |claim| format!("claim {claim}"));
        write!(f, "{} ({claim}): ", self.composite)?;
        f.write_str(match self.reason {
            Reason::OtherBlock => {
                "it has no ciOperator; its cluster would be ended, or left with nobody to end it"
            }
            Reason::Failed => "it is Failed; another cluster would be made for it",
            Reason::Deprovisioned => "it is Deprovisioned; another cluster would be made for it",
            Reason::HandedOver => "its cluster was handed over; deleting the claim would end it",
            Reason::Elsewhere => {
                "its cluster is not where the incumbent's are; another would be made there, and nobody would end this one"
            }
            Reason::Ending => "its end, which its spec does not ask for, would be called off; wait until it is over",
            Reason::NoTenant => {
                "it has no claim; the hub would be told another tenant, and may withdraw its credentials"
            }
            Reason::Unquoted => {
                "a run's name in its annotations, or its namespace, is no text without quotes; no pass would succeed, \
                 and nothing end its cluster but deletion"
            }
            Reason::ServiceAccount => {
                "its credentials are a ServiceAccount's; the admin's would be published, or none renewed"
            }
            Reason::Refused => {
                "its ciOperator has nulls or an empty test.clusterClaim, which the hub refuses; its cluster could not be ended"
            }
        })
    }
}
