//! `cargo xpkg check cluster`: composites that do not use the newest revision of the Composition.
//!
//! Input: composites and revisions from the API server. Output: composites on other revisions, and functions still in use. No I/O. The
//! incumbent's functions may be removed only if no composite uses them: without its function a composite can be neither changed nor
//! deleted.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::Serialize;
use serde_json::Value;

use super::served::Gap;

/// A composite that does not use the newest revision of the Composition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutdatedComposite {
    /// Name of the composite, after its namespace if it has one.
    pub composite: String,
    /// Namespace and name of its claim; none for a composite of an administrator.
    pub claim: Option<String>,
    /// Its revision; none if Crossplane has not processed it yet.
    pub revision: Option<String>,
    /// Names of the Functions that it calls, in pipeline order. Empty if the revision was deleted.
    pub functions: Vec<String>,
    /// Reason for which it is on another revision.
    pub reason: OutdatedReason,
}

/// Reason for which a composite uses another revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum OutdatedReason {
    /// Crossplane updates it with the next reconcile, or could not yet.
    NotMovedYet,
    /// Its compositionUpdatePolicy is Manual: a person has to update it.
    Manual,
    /// Its compositionRevisionSelector selects another revision.
    Selected,
    /// It uses another Composition.
    OtherComposition,
    /// Crossplane has not processed it yet.
    NotLookedAt,
}

/// Result of the check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RevisionReport {
    /// Name of the Composition.
    pub composition: String,
    /// Its newest revision; none if it has none.
    pub newest: Option<String>,
    /// Number of composites.
    pub composites: usize,
    /// Composites on other revisions, by name.
    pub left: Vec<OutdatedComposite>,
    /// Functions that those composites need, and the newest revision does not.
    pub still_needed: BTreeSet<String>,
    /// Programs that the cluster lacks. Without them nothing else is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Gap>,
    /// Advice about Crossplane's arguments. It does not make the report unclean.
    pub advice: Vec<String>,
}

impl RevisionReport {
    /// Whether nothing is missing and all composites use the newest revision.
    pub fn is_clean(&self) -> bool {
        self.left.is_empty() && self.missing.is_empty()
    }
}

/// Compares composites with the newest revision of a Composition.
pub fn build_report(composition: &str, composites: &[Value], revisions: &[Value]) -> RevisionReport {
    let by_name: BTreeMap<&str, &Value> =
        revisions.iter().map(|revision| (object_name(revision), revision)).collect();
    let newest = newest_revision(composition, revisions);
    let mut left: Vec<OutdatedComposite> = composites
        .iter()
        .filter_map(|composite| evaluate_composite(composition, composite, newest, &by_name))
        .collect();
    left.sort();
    let current: BTreeSet<String> = newest.into_iter().flat_map(called_functions).collect();
    let still_needed =
        left.iter().flat_map(|left| left.functions.clone()).filter(|f| !current.contains(f)).collect();
    RevisionReport {
        composition: composition.to_owned(),
        newest: newest.map(|revision| object_name(revision).to_owned()),
        composites: composites.len(),
        left,
        still_needed,
        missing: Vec::new(),
        advice: Vec::new(),
    }
}

/// apiVersion and kind of the composites of a Composition, from its newest revision. None: it has no revision.
pub fn composite_kind<'a>(composition: &str, revisions: &'a [Value]) -> Option<(&'a str, &'a str)> {
    let made = &newest_revision(composition, revisions)?["spec"]["compositeTypeRef"];
    made["apiVersion"].as_str().zip(made["kind"].as_str())
}

fn newest_revision<'a>(composition: &str, revisions: &'a [Value]) -> Option<&'a Value> {
    revisions
        .iter()
        .filter(|revision| revision["metadata"]["labels"]["crossplane.io/composition-name"] == composition)
        .max_by_key(|revision| revision["spec"]["revision"].as_i64().unwrap_or_default())
}

fn evaluate_composite(
    composition: &str,
    composite: &Value,
    newest: Option<&Value>,
    revisions: &BTreeMap<&str, &Value>,
) -> Option<OutdatedComposite> {
    let spec = &composite["spec"];
    // Crossplane 2 has its own fields under `crossplane` in composites without claims.
    let ours = if spec["crossplane"].is_object() { &spec["crossplane"] } else { spec };
    let revision = ours["compositionRevisionRef"]["name"].as_str();
    let reason = if ours["compositionRef"]["name"].as_str().is_some_and(|other| other != composition) {
        OutdatedReason::OtherComposition
    } else if revision.is_some() && revision == newest.map(object_name) {
        return None;
    } else if ours["compositionUpdatePolicy"] == "Manual" {
        OutdatedReason::Manual
    } else if ours["compositionRevisionSelector"].is_object() {
        OutdatedReason::Selected
    } else if revision.is_none() {
        OutdatedReason::NotLookedAt
    } else {
        OutdatedReason::NotMovedYet
    };
    let claim = &spec["claimRef"];
    let claim = claim["namespace"].as_str().zip(claim["name"].as_str());
    let own = composite["metadata"]["namespace"].as_str();
    let own = own.map(|namespace| format!("{namespace}/{}", object_name(composite)));
    Some(OutdatedComposite {
        composite: own.unwrap_or_else(|| object_name(composite).to_owned()),
        claim: claim.map(|(namespace, name)| format!("{namespace}/{name}")),
        revision: revision.map(str::to_owned),
        functions: revision
            .and_then(|name| revisions.get(name))
            .map(|r| called_functions(r))
            .unwrap_or_default(),
        reason,
    })
}

fn object_name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Names of the Functions that a revision calls.
fn called_functions(revision: &Value) -> Vec<String> {
    let steps = revision["spec"]["pipeline"].as_array().into_iter().flatten();
    let mut all: Vec<String> = Vec::new();
    for function in steps.filter_map(|step| step["functionRef"]["name"].as_str()) {
        if !all.iter().any(|known| known == function) {
            all.push(function.to_owned());
        }
    }
    all
}

impl fmt::Display for RevisionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.missing.is_empty() {
            return self.missing.iter().try_for_each(|gap| writeln!(f, "{gap}"));
        }
        let newest = self.newest.as_deref().unwrap_or("none");
        writeln!(f, "Composition {}, newest revision {newest}", self.composition)?;
        for left in &self.left {
            writeln!(f, "{left}")?;
        }
        for advice in &self.advice {
            writeln!(f, "advice: {advice}")?;
        }
        if self.is_clean() {
            return writeln!(f, "all {} composites go by it", self.composites);
        }
        writeln!(f, "{} of {} composites do not go by it", self.left.len(), self.composites)?;
        if !self.still_needed.is_empty() {
            let needed: Vec<&str> = self.still_needed.iter().map(String::as_str).collect();
            writeln!(f, "these functions have to stay until they do: {}", needed.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for OutdatedComposite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let claim =
            self.claim.as_deref().map_or_else(|| "no claim".to_owned(), |claim| format!("claim {claim}"));
        let revision = self.revision.as_deref().unwrap_or("none");
        let why = match self.reason {
            OutdatedReason::NotMovedYet => "Crossplane has not moved it yet; its condition Synced says why",
            OutdatedReason::Manual => "its compositionUpdatePolicy is Manual, so somebody has to move it",
            OutdatedReason::Selected => "its compositionRevisionSelector keeps it",
            OutdatedReason::OtherComposition => "it goes by another Composition",
            OutdatedReason::NotLookedAt => "Crossplane has not looked at it yet",
        };
        write!(f, "{} ({claim}): revision {revision}; {why}", self.composite)?;
        if !self.functions.is_empty() {
            write!(f, "; calls {}", self.functions.join(", "))?;
        }
        Ok(())
    }
}
