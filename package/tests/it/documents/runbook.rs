//! `RUNBOOK.md` has one entry for each reason that the code can give, and none for another; and every alert leads there.
//!
//! Reasons are the words of enums. Which enums those are is written down here, and compared with the sources, so that a new enum of
//! words makes this fail until it is said whether they are reasons. Those of one enum are told within other reasons, and are rows of the
//! tables in their entries.

use std::collections::{BTreeMap, BTreeSet};

use provider_testplatform::{
    controllers::{
        bundles::metrics as bundles,
        cloud_credentials::metrics as cloud,
        ephemeral_cluster::{conditions, event_reason},
        prerequisites::metrics as prerequisites,
    },
    credentials::publish::reason,
    manifests::apply::ApplyErrorReason,
};
use testplatform_apis::{condition, foreign::ephemeral_cluster::TERMINAL_CREATE_REASONS, hive_status, hub};
use testplatform_package::install::alerts::{Alert, CLAIMS, FUNCTION, HUB, ORPHANS};

use crate::documents::{
    text::{anchors, read, sections, sources},
    words::{enums, literals, rows, words_of},
};

const RUNBOOK: &str = "RUNBOOK.md";
/// The headings of which each section below is an entry.
const READERS: [&str; 4] = [
    "For tenants",
    "For administrators of a Konflux cluster",
    "For administrators of pools",
    "For operators of a hub",
];
/// The heading of which each section below is what somebody is called for.
const CALLS: &str = "Alerts";
/// Enums of words that are no reasons.
const OTHERS: [(&str, &str); 30] = [
    ("apis/src/account.rs", "Mode"),
    ("apis/src/byoc.rs", "SecretSyncResult"),
    ("apis/src/cloud.rs", "CredentialPhase"),
    ("apis/src/condition.rs", "ConditionType"),
    ("apis/src/condition/template.rs", "TemplateConditionType"),
    ("apis/src/condition.rs", "ConditionStatus"),
    ("apis/src/phase.rs", "Phase"),
    ("apis/src/pool/platform.rs", "PlatformKind"),
    ("apis/src/pool/schedule.rs", "Day"),
    ("apis/src/pool_status.rs", "PoolPhase"),
    ("apis/src/template/kind.rs", "Backend"),
    ("apis/src/template/kind/backend.rs", "Backend"),
    ("apis/src/template/companions.rs", "Architecture"),
    ("apis/src/template/kind/hypershift/machine.rs", "Platform"),
    ("function/plugin/src/claim.rs", "Flavour"),
    ("function/plugin/src/exit.rs", "Exit"),
    ("provider/runtime/src/error.rs", "Reason"),
    ("provider/src/controllers/cluster_pool/state.rs", "PoolState"),
    ("provider/src/credentials/account/plan.rs", "AccountObject"),
    ("provider/src/controllers/bundles/state.rs", "BundleState"),
    ("provider/src/controllers/secret_sync/state.rs", "SecretSyncState"),
    ("provider/src/controllers/cleanup/plan.rs", "RunKind"),
    ("provider/src/controllers/ephemeral_cluster/conditions.rs", "ConditionStatus"),
    ("provider/src/controllers/ephemeral_cluster/prow_job.rs", "JobState"),
    ("provider/src/controllers/secret_sync/metrics.rs", "SecretAction"),
    ("provider/src/controllers/cleanup/metrics.rs", "Teardown"),
    ("provider/src/controllers/orphans/metrics.rs", "OrphanTeardown"),
    ("provider/src/config/remote_kind.rs", "RemoteKind"),
    ("provider/src/controllers/prerequisites/state.rs", "PrerequisiteState"),
    ("provider/src/controllers/spaces/state.rs", "SpaceState"),
];
/// The enum of reasons that are told within those of entries, and the entries whose tables have a row for each.
const WITHIN: (&str, &str) = ("provider/src/manifests/apply.rs", "ApplyErrorReason");
const TABLES: [&str; 2] = ["BundlesFailed", "PrerequisitesFailed"];

/// An enum of reasons: the file that it is in, its name, its words.
type Reasons = (&'static str, &'static str, Vec<&'static str>);

macro_rules! reasons {
    ($($file:literal: $($module:ident::$name:ident),+;)+) => {
        vec![$($((
            $file,
            stringify!($name),
            $module::$name::ALL.iter().map(|reason| reason.as_str()).collect(),
        ),)+)+]
    };
}

fn known() -> Vec<Reasons> {
    reasons! {
        "apis/src/condition.rs": condition::ClusterReady, condition::JobCompleted, condition::Credentials,
            condition::Request, condition::Remote, condition::Failure;
        "apis/src/condition/assignment.rs": condition::Assigned, condition::Running;
        "apis/src/condition/event.rs": condition::EventReason, condition::FatalReason, condition::Chosen,
            condition::Mirrored;
        // A condition of a pool that changes is told by an event with the condition's name.
        "apis/src/condition/pool.rs": condition::PoolConditionType, condition::PoolRequested,
            condition::PoolHealth, condition::PoolCurrency, condition::NameUnique, condition::Refreshing,
            condition::RefreshRecommended, condition::Releasable, condition::Drained;
        "apis/src/condition/space.rs": condition::SpaceReady;
        "apis/src/condition/template.rs": condition::HubSelection, condition::Infrastructure,
            condition::ControlPlaneLevel, condition::NodesLevel, condition::SetupLevel, condition::SpecLevel,
            condition::TearDown, condition::PlatformCredentials;
        "apis/src/hive_status.rs": hive_status::Blocked;
        "apis/src/hub/reason.rs": hub::Selected, hub::NoHub;
        "provider/src/credentials/publish/reason.rs": reason::ClaimEventReason;
        "provider/src/controllers/ephemeral_cluster/conditions.rs": conditions::ConditionReason;
        "provider/src/controllers/ephemeral_cluster/event_reason.rs": event_reason::EventReason;
        "provider/src/controllers/bundles/metrics.rs": bundles::BundleOutcome;
        "provider/src/controllers/cloud_credentials/metrics.rs": cloud::CredentialOutcome;
        "provider/src/controllers/prerequisites/metrics.rs": prerequisites::PrerequisiteOutcome;
    }
}

fn code() -> Vec<(String, String)> {
    ["apis/src", "function/src", "function/plugin/src", "provider/src", "provider/runtime/src"]
        .into_iter()
        .flat_map(sources)
        .collect()
}

/// Every reason, with where it is from.
fn reasons() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (file, name, words) in known() {
        for word in words {
            all.entry(word.to_owned()).or_insert_with(|| format!("{name} in {file}"));
        }
    }
    for word in TERMINAL_CREATE_REASONS {
        all.entry(word.to_owned()).or_insert_with(|| "TERMINAL_CREATE_REASONS".to_owned());
    }
    for (file, code) in code() {
        for word in literals(&code) {
            all.entry(word).or_insert_with(|| format!("a literal in {file}"));
        }
    }
    all
}

/// The entries, in their order.
fn entries(runbook: &str) -> Vec<(String, String)> {
    let mut of_reader = false;
    let mut found = Vec::new();
    for section in sections(runbook) {
        match section.level {
            2 => of_reader = READERS.contains(&section.title.as_str()),
            3 if of_reader => found.push((section.title, section.text)),
            _ => {}
        }
    }
    found
}

#[test]
fn every_enum_of_words_is_one_of_reasons_or_known_to_be_none() {
    let mut found = BTreeSet::new();
    for (file, code) in code() {
        found.extend(enums(&code).into_iter().map(|name| (file.clone(), name.to_owned())));
    }
    let of_reasons = known().into_iter().map(|(file, name, _)| (file, name)).chain([WITHIN]);
    let named: BTreeSet<(String, String)> =
        of_reasons.chain(OTHERS).map(|(file, name)| (file.to_owned(), name.to_owned())).collect();
    let new: Vec<_> = found.difference(&named).collect();
    assert!(new.is_empty(), "are their words reasons? Say so in `known` or `OTHERS`: {new:?}");
    let gone: Vec<_> = named.difference(&found).collect();
    assert!(gone.is_empty(), "these are not there any more: {gone:?}");
}

/// Tests compare the words of `ALL`; every word that the code reports is in it.
#[test]
fn every_reported_word_is_in_the_list_of_all() {
    let mut seen = 0;
    let within = (WITHIN.0, WITHIN.1, ApplyErrorReason::ALL.map(ApplyErrorReason::as_str).to_vec());
    for (file, name, words) in known().into_iter().chain([within]) {
        let Some(told) = words_of(&read(file), name) else { continue };
        let words: BTreeSet<String> = words.into_iter().map(str::to_owned).collect();
        assert_eq!(told, words, "{name} in {file}");
        seen += 1;
    }
    assert!(seen >= 10, "{seen} enums with words of their own");
}

#[test]
fn every_reason_within_another_is_a_row_and_every_row_is_one() {
    let entries: BTreeMap<String, String> = entries(&read(RUNBOOK)).into_iter().collect();
    let told: BTreeSet<String> = ApplyErrorReason::ALL.iter().map(|why| why.as_str().to_owned()).collect();
    let rows = TABLES.map(|table| rows(&entries[table]));
    for (table, rows) in TABLES.iter().zip(&rows) {
        assert!(!rows.is_empty(), "{RUNBOOK}: {table} has no table");
        let stray: Vec<_> = rows.difference(&told).collect();
        assert!(stray.is_empty(), "{RUNBOOK}: {table} has rows that nothing says: {stray:?}");
    }
    let rows: BTreeSet<String> = rows.into_iter().flatten().collect();
    let missing: Vec<_> = told.difference(&rows).collect();
    assert!(missing.is_empty(), "{RUNBOOK}: neither of {TABLES:?} has a row for {missing:?}");
}

#[test]
fn every_reason_has_one_entry_and_every_entry_is_a_reason() {
    let reasons = reasons();
    let entries = entries(&read(RUNBOOK));
    let mut seen = BTreeSet::new();
    for (word, _) in &entries {
        assert!(seen.insert(word.as_str()), "{RUNBOOK} has two entries {word}");
    }
    let missing: Vec<_> = reasons.iter().filter(|(word, _)| !seen.contains(word.as_str())).collect();
    assert!(missing.is_empty(), "{RUNBOOK} has no entry for {missing:?}");
    let stray: Vec<_> = seen.iter().filter(|word| !reasons.contains_key(**word)).collect();
    assert!(stray.is_empty(), "{RUNBOOK} has entries that nothing says: {stray:?}");
}

/// Where it is seen, why, and what to do.
#[test]
fn every_entry_has_a_place_and_a_remedy() {
    for (word, text) in entries(&read(RUNBOOK)) {
        let (before, action) = text.split_once("**Do:** ").unwrap_or_else(|| panic!("{word}: what to do?"));
        let (place, cause) = before.split_once("*\n").unwrap_or_else(|| panic!("{word}: where is it seen?"));
        let place = place.trim_start().strip_prefix('*').unwrap_or_default();
        assert!(place.len() > 10, "{word}: where is it seen?");
        assert!(cause.trim().len() > 20, "{word}: why?");
        assert!(action.trim().len() > 5, "{word}: what to do?");
    }
}

#[test]
fn every_alert_leads_to_its_heading_and_no_other_is_among_them() {
    let runbook = read(RUNBOOK);
    let anchors = anchors(RUNBOOK, &runbook);
    let alerts: BTreeSet<&str> =
        FUNCTION.iter().chain(CLAIMS).chain(HUB).chain(ORPHANS).map(|alert| alert.name).collect();
    let mut calls = false;
    let mut headings = BTreeSet::new();
    for section in sections(&runbook) {
        match section.level {
            2 => calls = section.title == CALLS,
            3 if calls => {
                assert!(alerts.contains(section.title.as_str()), "{RUNBOOK}: no alert {}", section.title);
                assert!(section.text.len() > 100, "{}: what to do?", section.title);
                headings.insert(section.title);
            }
            _ => {}
        }
    }
    for alert in FUNCTION.iter().chain(CLAIMS).chain(HUB).chain(ORPHANS) {
        let annotation = Alert::to_rule(alert)["annotations"]["runbook"].clone();
        let anchor = alert.name.to_lowercase();
        assert_eq!(annotation, format!("{RUNBOOK}#{anchor}"));
        assert!(anchors.contains(&anchor), "{RUNBOOK} has no heading {}", alert.name);
        // One that is a reason too has its entry there.
        let is_reason = reasons().contains_key(alert.name);
        assert_eq!(headings.contains(alert.name), !is_reason, "{}", alert.name);
    }
}
