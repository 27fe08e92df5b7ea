//! `cargo xpkg check hub`: requirements of claims on a hub, checked with the identity that creates them.
//!
//! Input: requirements ([`needs`]) and answers of the hub ([`HubAnswers`]). Output: lines, each with a verdict. Only [`ask`] calls an API
//! server. The table in `docs/reference/hub-rights.md` comes from the same data.

use std::{collections::BTreeMap, fmt};

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::hub::ResourceKind;

pub mod needs;
pub mod query;
pub mod table;
pub mod token;

use needs::{CheckPlan, Permission, Subject};
use token::TokenExpiry;

/// Remaining lifetime of a token below which the check warns.
const EXPIRY_WARNING: SignedDuration = SignedDuration::from_hours(14 * 24);

/// Answers of a hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubAnswers {
    /// Served resources by group and version.
    pub served: BTreeMap<(String, String), Vec<String>>,
    /// Existence of namespaces; none: no permission to look.
    pub namespaces: BTreeMap<String, Option<bool>>,
    /// Permissions by right.
    pub rights: BTreeMap<Permission, bool>,
}

/// Result of one requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequirementStatus {
    /// Satisfied.
    Good,
    /// Unknown from here, or not ideal.
    Note,
    /// Missing.
    Gap,
}

/// Result for one requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementResult {
    /// Its verdict.
    pub verdict: RequirementStatus,
    /// Subject that needs it.
    pub subject: String,
    /// Explanation.
    pub text: String,
}

impl fmt::Display for RequirementResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            RequirementStatus::Good => "ok",
            RequirementStatus::Note => "note",
            RequirementStatus::Gap => "gap",
        };
        write!(f, "{verdict}: {}: {}", self.subject, self.text)
    }
}

/// Results for all requirements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubReport(pub Vec<RequirementResult>);

impl HubReport {
    /// Whether nothing is missing.
    pub fn is_clean(&self) -> bool {
        self.0.iter().all(|line| line.verdict != RequirementStatus::Gap)
    }
}

impl fmt::Display for HubReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        match self.0.iter().filter(|line| line.verdict == RequirementStatus::Gap).count() {
            0 => writeln!(f, "nothing is missing"),
            1 => writeln!(f, "1 gap"),
            gaps => writeln!(f, "{gaps} gaps"),
        }
    }
}

/// Evaluates the answers of a hub. `token` is that of the kubeconfig.
pub fn evaluate_hub(plan: &CheckPlan, seen: &HubAnswers, token: &TokenExpiry, now: Timestamp) -> HubReport {
    let mut lines = vec![evaluate_token(token, now)];
    let relevant: Vec<Subject> =
        plan.subjects.iter().copied().filter(|subject| plan.named || is_served(*subject, seen)).collect();
    if relevant.is_empty() {
        let kinds =
            plan.subjects.iter().filter_map(|subject| subject.kinds().first().map(|kind| kind.plural));
        let kinds: Vec<&str> = kinds.collect();
        lines.push(result_line(
            RequirementStatus::Gap,
            "hub",
            format!("it serves none of {}", kinds.join(", ")),
        ));
    }
    for subject in relevant {
        let word = subject.as_str();
        lines.extend(subject.kinds().iter().map(|kind| evaluate_kind(word, kind, seen)));
        lines.extend(plan.namespaces(subject).into_iter().map(|name| evaluate_namespace(word, name, seen)));
        lines.extend(plan.needs(subject).into_iter().map(|need| {
            let may = seen.rights.get(&need.right).copied().unwrap_or(false);
            let (verdict, may) = match (may, need.advised) {
                (true, _) => (RequirementStatus::Good, "may"),
                (false, true) => (RequirementStatus::Note, "may not"),
                (false, false) => (RequirementStatus::Gap, "may not"),
            };
            let so =
                if verdict == RequirementStatus::Good { String::new() } else { format!(": {}", need.why) };
            result_line(verdict, word, format!("{may} {}{so}", need.right))
        }));
    }
    let excess = plan.excess_rights().into_iter().filter(|right| seen.rights.get(right) == Some(&true));
    lines.extend(excess.map(|right| {
        result_line(RequirementStatus::Note, "hub", format!("may {right}, which no claim needs"))
    }));
    HubReport(lines)
}

fn result_line(verdict: RequirementStatus, subject: &str, text: String) -> RequirementResult {
    RequirementResult { verdict, subject: subject.to_owned(), text }
}

/// Whether the hub serves the first kind of the subject in any of our versions.
fn is_served(subject: Subject, seen: &HubAnswers) -> bool {
    subject.kinds().first().is_some_and(|kind| best_version(kind, seen).is_some())
}

/// The best served version of a kind.
fn best_version(kind: &ResourceKind, seen: &HubAnswers) -> Option<&'static str> {
    let has = |version: &&&str| {
        let key = (kind.group.to_owned(), (**version).to_owned());
        seen.served.get(&key).is_some_and(|plurals| plurals.iter().any(|plural| plural == kind.plural))
    };
    kind.versions.iter().find(has).copied()
}

fn evaluate_kind(subject: &str, kind: &ResourceKind, seen: &HubAnswers) -> RequirementResult {
    let name = format!("{}.{}", kind.plural, kind.group);
    let missing = || {
        result_line(
            RequirementStatus::Gap,
            subject,
            format!("{name} is not served as {}", kind.versions.join(" or ")),
        )
    };
    let good =
        |version| result_line(RequirementStatus::Good, subject, format!("{name} is served as {version}"));
    best_version(kind, seen).map_or_else(missing, good)
}

fn evaluate_namespace(subject: &str, name: &str, seen: &HubAnswers) -> RequirementResult {
    match seen.namespaces.get(name) {
        Some(Some(true)) => {
            result_line(RequirementStatus::Good, subject, format!("namespace {name} is there"))
        }
        Some(Some(false)) => {
            result_line(RequirementStatus::Gap, subject, format!("namespace {name} is missing"))
        }
        // A Role requires its namespace, so the rights prove that it exists.
        Some(None) | None => result_line(
            RequirementStatus::Good,
            subject,
            format!("namespace {name} may not be looked at; the rights in it tell"),
        ),
    }
}

fn evaluate_token(token: &TokenExpiry, now: Timestamp) -> RequirementResult {
    let (verdict, text) = match token {
        TokenExpiry::None => (
            RequirementStatus::Note,
            "the kubeconfig has no token; when its credentials end is not known".into(),
        ),
        TokenExpiry::Unreadable => (RequirementStatus::Note, "the token does not say when it ends".into()),
        TokenExpiry::At(end) if *end <= now => (RequirementStatus::Gap, format!("the token ended at {end}")),
        TokenExpiry::At(end) if end.duration_since(now) < EXPIRY_WARNING => {
            (RequirementStatus::Note, format!("the token ends soon, at {end}"))
        }
        TokenExpiry::At(end) => (RequirementStatus::Good, format!("the token ends at {end}")),
    };
    result_line(verdict, "hub", text)
}
