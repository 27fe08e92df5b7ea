//! The catalogue has one sentence for each reason that the code can give, and none for another. A reason has the action, or leads to an entry of
//! the runbook; and every alert leads to its entry.
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
    credentials::publish::reason::ClaimEventReason,
    manifests::apply::ApplyErrorReason,
};
use testplatform_apis::{
    condition,
    foreign::ephemeral_cluster::TERMINAL_CREATE_REASONS,
    hive_status, hub,
    reason::{self, Action, Actor, Reason},
};
use testplatform_package::install::alerts::{Alert, LISTS, SITE};

use crate::documents::{
    pages::long_sentences,
    text::{anchors, read, sections, sources},
    words::{enums, literals, rows, words_of},
};

/// The catalogue of all reasons, from which their page is generated.
const CATALOGUE: &str = "apis/src/reason";
/// Pages with entries of reasons that need more than a sentence.
const REASONS: [&str; 5] = [
    "docs/runbook/tenants.md",
    "docs/runbook/administrators.md",
    "docs/runbook/connections.md",
    "docs/runbook/pools.md",
    "docs/runbook/hub.md",
];
/// Pages with the entries of alerts.
const ALERTS: [&str; 2] = ["docs/runbook/alerts-konflux.md", "docs/runbook/alerts-hub.md"];
/// The parts of an entry, in their order.
const PARTS: [&str; 4] = ["**Meaning:**", "**Impact:**", "**Diagnosis:**", "**Mitigation:**"];
/// The most entries of reasons: more could not be found.
const MOST_ENTRIES: usize = 120;
/// Enums of words that are no reasons.
const OTHERS: [(&str, &str); 31] = [
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
    ("apis/src/reason.rs", "Actor"),
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
    let claim_events = ClaimEventReason::ALL.iter().map(|reason| reason.as_str()).collect();
    let mut known: Vec<Reasons> =
        vec![("provider/src/credentials/publish/reason.rs", "ClaimEventReason", claim_events)];
    known.extend(reasons! {
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
        "provider/src/controllers/ephemeral_cluster/conditions.rs": conditions::ConditionReason;
        "provider/src/controllers/ephemeral_cluster/event_reason.rs": event_reason::EventReason;
        "provider/src/controllers/bundles/metrics.rs": bundles::BundleOutcome;
        "provider/src/controllers/cloud_credentials/metrics.rs": cloud::CredentialOutcome;
        "provider/src/controllers/prerequisites/metrics.rs": prerequisites::PrerequisiteOutcome;
    });
    known
}

fn code() -> Vec<(String, String)> {
    [
        "apis/src",
        "function/composites/src",
        "function/src",
        "function/plugin/src",
        "provider/src",
        "provider/runtime/src",
    ]
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

/// An entry of the runbook.
struct Entry {
    page: &'static str,
    name: String,
    text: String,
}

/// The entries of these pages, in their order.
fn entries(pages: &[&'static str]) -> Vec<Entry> {
    let of_page = |page: &&'static str| {
        let page = *page;
        let sections = sections(&read(page)).into_iter().filter(|section| section.level == 3);
        sections.map(move |section| Entry { page, name: section.title, text: section.text })
    };
    pages.iter().flat_map(of_page).collect()
}

/// Errors in an entry: a part that is missing, empty, or out of order.
fn mistakes(entry: &Entry) -> Vec<String> {
    let mut mistakes = Vec::new();
    let mut rest = entry.text.as_str();
    for (number, part) in PARTS.iter().enumerate() {
        let Some((_, after)) = rest.split_once(part) else {
            mistakes.push(format!("{}: {} has no {part} after the part before it", entry.page, entry.name));
            break;
        };
        rest = after;
        let end = PARTS.get(number + 1).and_then(|next| rest.find(next)).unwrap_or(rest.len());
        if rest[..end].trim().len() < 10 {
            mistakes.push(format!("{}: {} says nothing in {part}", entry.page, entry.name));
        }
    }
    mistakes
}

#[test]
fn every_enum_of_texts_is_of_reasons_or_excepted() {
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
fn every_nested_reason_has_a_row() {
    let entries: BTreeMap<String, String> =
        entries(&REASONS).into_iter().map(|entry| (entry.name, entry.text)).collect();
    let told: BTreeSet<String> = ApplyErrorReason::ALL.iter().map(|why| why.as_str().to_owned()).collect();
    let rows = TABLES.map(|table| rows(&entries[table]));
    for (table, rows) in TABLES.iter().zip(&rows) {
        assert!(!rows.is_empty(), "{table} has no table");
        let stray: Vec<_> = rows.difference(&told).collect();
        assert!(stray.is_empty(), "{table} has rows that nothing says: {stray:?}");
    }
    let rows: BTreeSet<String> = rows.into_iter().flatten().collect();
    let missing: Vec<_> = told.difference(&rows).collect();
    assert!(missing.is_empty(), "neither of {TABLES:?} has a row for {missing:?}");
}

#[test]
fn every_reason_has_a_sentence_and_every_sentence_a_reason() {
    let reasons = reasons();
    let mut seen = BTreeSet::new();
    for (_, Reason { word, shown_as, meaning, action }) in reason::all() {
        assert!(seen.insert(*word), "{CATALOGUE} has {word} twice");
        let action = if let Action::Sentence(action) = action { action } else { "Nothing." };
        assert!(shown_as.len() > 10 && meaning.len() > 20 && action.len() >= 7, "{word} lacks a sentence");
        for text in [meaning, action] {
            assert!(text.ends_with(['.', ':']), "{word}: no sentence: {text}");
            let long = long_sentences(text);
            assert!(long.is_empty(), "{word} has a sentence of more than 30 words: {long:?}");
        }
    }
    let missing: Vec<_> = reasons.iter().filter(|(word, _)| !seen.contains(word.as_str())).collect();
    assert!(missing.is_empty(), "{CATALOGUE} has no sentence for {missing:?}");
    let stray: Vec<_> = seen.iter().filter(|word| !reasons.contains_key(**word)).collect();
    assert!(stray.is_empty(), "{CATALOGUE} has reasons that nothing reports: {stray:?}");
}

/// Tenants act on their page, operators of hubs on theirs, and nobody has an entry without acting.
#[test]
fn entries_are_on_the_page_of_who_acts() {
    for (actor, reason) in reason::all() {
        let Action::Entry(page) = reason.action else { continue };
        let expected: &[&str] = match actor {
            Actor::Nobody => &[],
            Actor::Tenant => &["tenants"],
            Actor::Administrator => &["administrators", "connections", "pools"],
            Actor::HubOperator => &["hub"],
        };
        assert!(expected.contains(&page.file()), "{} of {}", reason.word, actor.as_str());
    }
}

/// The catalogue leads to the entry of a reason, every entry is a reason's, and begins with its sentence.
#[test]
fn entries_begin_with_the_sentence_of_their_reason() {
    let entries = entries(&REASONS);
    let mut led = BTreeSet::new();
    for (_, Reason { word, meaning, action, .. }) in reason::all() {
        let Action::Entry(page) = action else { continue };
        let entry = entries.iter().find(|entry| entry.name == *word);
        let entry = entry.unwrap_or_else(|| panic!("{word} has no entry"));
        assert_eq!(entry.page, format!("docs/runbook/{}.md", page.file()));
        let (_, text) = entry.text.split_once(PARTS[0]).unwrap();
        let (text, meaning) = (without_links(text), without_links(meaning));
        assert!(text.starts_with(&meaning), "{}: {word} does not begin with: {meaning}", entry.page);
        led.insert(*word);
    }
    let other: Vec<_> =
        entries.iter().filter(|entry| !led.contains(entry.name.as_str())).map(|e| &e.name).collect();
    assert!(other.is_empty(), "{CATALOGUE} does not lead to the entries {other:?}");
    assert!((50..=MOST_ENTRIES).contains(&entries.len()), "{} entries", entries.len());
}

/// Links of the symptoms lead where the catalogue does.
#[test]
fn symptoms_lead_to_the_entries_of_their_reasons() {
    let index = read("docs/runbook/index.md");
    let mut checked = 0;
    for part in index.split('[').skip(1) {
        let Some((name, rest)) = part.split_once("](") else { continue };
        let Some((_, Reason { word, action, .. })) = reason::find(name) else { continue };
        let target = rest.split(')').next().unwrap();
        let expected = match action {
            Action::Entry(page) => format!("{}.md#{}", page.file(), word.to_lowercase()),
            Action::Nothing | Action::Sentence(_) => "../reference/reasons.md".to_owned(),
        };
        // An alert of the same name has an entry too.
        let of_alert = target.starts_with("alerts-");
        assert!(target == expected || of_alert, "docs/runbook/index.md: {name} leads to {target}");
        checked += 1;
    }
    assert!(checked > 50, "{checked}");
}

/// Text in one line, with the names of its links alone.
fn without_links(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out = String::new();
    for (at, part) in line.split("](").enumerate() {
        out.push_str(if at == 0 { part } else { part.split_once(')').map_or("", |(_, rest)| rest) });
    }
    out.replace(['[', ']'], "")
}

#[test]
fn every_entry_has_its_parts_in_order() {
    let all: Vec<Entry> = entries(&REASONS).into_iter().chain(entries(&ALERTS)).collect();
    let mistakes: Vec<String> = all.iter().flat_map(mistakes).collect();
    assert!(mistakes.is_empty(), "{mistakes:#?}");
    for pages in all.chunk_by(|one, next| one.page == next.page) {
        let names: Vec<String> = pages.iter().map(|entry| entry.name.to_lowercase()).collect();
        assert!(names.is_sorted(), "{} is not in the order of its entries", pages[0].page);
    }
}

/// The comparison sees what it is for.
#[test]
fn an_entry_without_a_part_is_named() {
    let entry = |text: &str| Entry { page: "page.md", name: "Name".into(), text: text.into() };
    let whole = "**Meaning:** It is broken.\n\n**Impact:** Nothing works.\n\n**Diagnosis:** Read the message.\n\n\
                 **Mitigation:** Repair it soon.\n";
    assert_eq!(mistakes(&entry(whole)), [""; 0]);
    for part in PARTS {
        let lacks = mistakes(&entry(&whole.replace(part, "")));
        assert!(lacks.iter().any(|mistake| mistake.contains(part)), "{part}: {lacks:?}");
    }
    let empty = mistakes(&entry(&whole.replace("Nothing works.", "")));
    assert_eq!(empty, ["page.md: Name says nothing in **Impact:**"]);
}

#[test]
fn every_alert_leads_to_its_entry_and_no_other_is_among_them() {
    let alerts: Vec<&Alert> = LISTS.into_iter().flatten().collect();
    let entries = entries(&ALERTS);
    for entry in &entries {
        assert!(
            alerts.iter().any(|alert| alert.name == entry.name),
            "{}: no alert {}",
            entry.page,
            entry.name
        );
    }
    for alert in alerts {
        let url = alert.to_rule()["annotations"]["runbook_url"].clone();
        let entry = entries.iter().find(|entry| entry.name == alert.name);
        let entry = entry.unwrap_or_else(|| panic!("{ALERTS:?} have no entry {}", alert.name));
        let anchor = alert.name.to_lowercase();
        // The site has a page for each file.
        let page = entry.page.strip_prefix("docs/").and_then(|page| page.strip_suffix(".md")).unwrap();
        assert_eq!(url, format!("{SITE}/{page}.html#{anchor}"));
        assert!(anchors(entry.page, &read(entry.page)).contains(&anchor), "{}", alert.name);
    }
}
