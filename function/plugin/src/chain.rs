//! The chain from the claim to its kubeconfig, link by link.

use jiff::Timestamp;
use serde_json::Value;
use testplatform_apis::{
    condition::ConditionType, names::crossplane, names::name_within, phase::Phase, text::bounded,
};

use super::{
    claim::{ClaimState, Flavour, ReportedCondition, conditions, text},
    explanation::break_line,
    facts::{Facts, Lookup, composite_name},
    span::ago,
    style::Paint,
};

/// How a link holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// As it should be.
    Good,
    /// Not yet.
    Waits,
    /// Not as it should be.
    Bad,
    /// Nobody could be asked.
    Unknown,
}

impl Mark {
    /// The sign before a link.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Good => "✓",
            Self::Waits => "…",
            Self::Bad => "✗",
            Self::Unknown => "?",
        }
    }

    /// The word for it in an answer for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Waits => "waiting",
            Self::Bad => "bad",
            Self::Unknown => "unknown",
        }
    }
}

/// One link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainLink {
    /// How it holds.
    pub mark: Mark,
    /// Kind and name of the object.
    pub what: String,
    /// State, in words.
    pub state: String,
    /// Since when it stands so.
    pub since: Option<Timestamp>,
}

impl ChainLink {
    fn new(mark: Mark, what: impl Into<String>, state: impl Into<String>, since: Option<Timestamp>) -> Self {
        Self { mark, what: what.into(), state: state.into(), since }
    }
}

/// Every link, from the claim on.
pub fn build_chain(facts: &Facts) -> Vec<ChainLink> {
    let mut links = vec![claim_link(facts)];
    if facts.claim.flavour == Flavour::Claim {
        links.push(composite_link(facts));
    }
    let unread = matches!(facts.objects, Lookup::Forbidden | Lookup::NotAsked);
    if !unread {
        links.push(primary_object_link(facts));
    }
    links.push(hub_link(facts));
    links.push(remote_object_link(facts));
    let troubled = |object: &&Value| read_synced(object).0 != Mark::Good;
    links.extend(facts.other_objects().filter(troubled).map(|object| {
        let (mark, state, since) = read_synced(object);
        ChainLink::new(mark, object_label(object), state, since)
    }));
    links.push(if unread { publication_link(facts) } else { credentials_link(facts) });
    links.push(secret_link(facts));
    links
}

/// Columns of the sign and its gap.
const SIGN: usize = 2;
/// Columns that a state needs beside the object.
const MIN_STATE: usize = 30;

/// The links as lines, in columns. If a terminal is too narrow for both columns, the state is on a line of its own.
pub fn format_links(links: &[ChainLink], paint: Paint, room: Option<usize>, now: Timestamp) -> Vec<String> {
    let width = links.iter().map(|l| l.what.chars().count()).max().unwrap_or_default();
    let indent = SIGN + width + 2;
    let is_narrow = room.is_some_and(|room| room < indent + MIN_STATE);
    let since = |link: &ChainLink| match ago(link.since, now) {
        age if age.is_empty() => age,
        age => format!(", for {age}"),
    };
    let line = |link: &ChainLink| {
        let state = bounded(&format!("{}{}", link.state, since(link)), 900);
        let (sign, what) = (paint.mark(link.mark), bounded(&link.what, 600));
        if is_narrow {
            return format!("{sign} {what}\n{}", break_line(&format!("    {state}"), room, 4));
        }
        // Colours of the sign take no room, so the line is broken with a space in its place.
        let text = break_line(&format!("  {what:width$}  {state}"), room, indent);
        format!("{sign}{}", text.strip_prefix(' ').unwrap_or(&text))
    };
    links.iter().map(line).collect()
}

/// How well the claim as a whole stands.
fn claim_mark(facts: &Facts) -> Mark {
    match (facts.claim.state(), facts.claim.phase()) {
        (ClaimState::Failed, _) | (ClaimState::Ready, Some(Phase::Degraded)) => Mark::Bad,
        (ClaimState::Ready, _) | (ClaimState::Ended, Some(Phase::Deprovisioned)) => Mark::Good,
        (ClaimState::Waiting | ClaimState::Ended, _) => Mark::Waits,
    }
}

fn claim_link(facts: &Facts) -> ChainLink {
    let claim = &facts.claim;
    let mark = claim_mark(facts);
    let state = if claim.is_deleted() { "being deleted" } else { claim.phase_word() };
    ChainLink::new(mark, claim.label(), state, facts.phase_since())
}

fn composite_link(facts: &Facts) -> ChainLink {
    let label = |name: &str| format!("xtestplatformcluster/{name}");
    let name = composite_name(&facts.claim);
    match &facts.composite {
        _ if name.is_empty() => {
            ChainLink::new(Mark::Waits, "xtestplatformcluster", "Crossplane has not created it yet", None)
        }
        Lookup::Found(object) => {
            let (mark, state, since) = read_synced(object);
            let state = if mark == Mark::Good { "composed".to_owned() } else { state };
            ChainLink::new(mark, label(name), state, since)
        }
        Lookup::Missing => ChainLink::new(Mark::Bad, label(name), "deleted", None),
        Lookup::Forbidden => {
            let state = "no permission to read it; showing the claim's own status";
            ChainLink::new(Mark::Unknown, label(name), state, None)
        }
        Lookup::NotAsked => ChainLink::new(Mark::Unknown, label(name), "could not be read", None),
    }
}

fn primary_object_link(facts: &Facts) -> ChainLink {
    if let Some(object) = facts.primary_object() {
        let (mark, state, since) = read_synced(object);
        let state = if mark == Mark::Good { "applied to the hub".to_owned() } else { state };
        return ChainLink::new(mark, object_label(object), state, since);
    }
    let what = format!("object/managed-{}", primary_object_title(facts));
    let refusal = facts.claim.condition(ConditionType::RequestAccepted).filter(|c| c.is_denied());
    let claim_state = facts.claim.state();
    match (refusal, claim_state) {
        (Some(refusal), _) => {
            let mark = if claim_state == ClaimState::Failed { Mark::Bad } else { Mark::Waits };
            ChainLink::new(mark, what, format!("not created: {}", refusal.reason()), refusal.since())
        }
        (None, ClaimState::Ended) => ChainLink::new(Mark::Good, what, "removed", None),
        (None, ClaimState::Failed) => ChainLink::new(Mark::Bad, what, "does not exist", None),
        (None, ClaimState::Waiting | ClaimState::Ready) => {
            ChainLink::new(Mark::Waits, what, "not created yet", None)
        }
    }
}

/// Base name of the Objects of a claim.
fn primary_object_title(facts: &Facts) -> String {
    let claim = &facts.claim;
    match claim.flavour {
        Flavour::Claim => composite_name(claim).to_owned(),
        Flavour::Cluster => {
            name_within(claim.namespace(), claim.name(), text(&claim.object, "/metadata/uid"))
        }
    }
}

fn hub_link(facts: &Facts) -> ChainLink {
    let named = text(&facts.claim.object, "/status/hub/name");
    let of_writer = facts.primary_object().map_or("", |w| text(w, "/spec/providerConfigRef/name"));
    let name = if named.is_empty() { of_writer } else { named };
    let what = if name.is_empty() { "hub".to_owned() } else { format!("hub/{name}") };
    match facts.claim.condition(ConditionType::RemoteConsistent) {
        None => ChainLink::new(Mark::Unknown, what, "no status yet", None),
        Some(condition) => {
            let mark = match condition.status() {
                "True" => Mark::Good,
                "False" => Mark::Bad,
                _ => Mark::Waits,
            };
            ChainLink::new(mark, what, condition.message(), condition.since())
        }
    }
}

fn remote_object_link(facts: &Facts) -> ChainLink {
    let mark = claim_mark(facts);
    let status = &facts.claim.object["status"];
    let observed = facts
        .primary_object()
        .and_then(|w| w.pointer("/status/atProvider/manifest"))
        .filter(|m| m.is_object());
    let Some(observed) = observed else {
        let [kind, name] = [text(status, "/backend/kind"), text(status, "/backend/name")];
        let what =
            if kind.is_empty() { "cluster".to_owned() } else { format!("{}/{name}", kind.to_lowercase()) };
        let begun = !text(status, "/backend/uid").is_empty();
        return match (begun, facts.claim.state()) {
            (true, _) => ChainLink::new(mark, what, "reported by the claim", None),
            (false, ClaimState::Ended | ClaimState::Failed) => {
                ChainLink::new(mark, what, "never requested", None)
            }
            (false, ClaimState::Waiting | ClaimState::Ready) => {
                ChainLink::new(mark, what, "not reported by the hub yet", None)
            }
        };
    };
    let what = format!("{}/{}", text(observed, "/kind").to_lowercase(), text(observed, "/metadata/name"));
    let phase = [text(observed, "/status/phase"), text(observed, "/status/state")];
    let phase = phase.into_iter().find(|p| !p.is_empty()).unwrap_or("exists");
    let last = conditions(observed).max_by_key(|c| c.since());
    let news = last.map(|c| format!("; last {}={} {}", c.type_(), c.status(), short(&c.message())));
    let state = bounded(&format!("{phase}{}", news.unwrap_or_default()), 400);
    ChainLink::new(mark, what, state.trim_end(), last.and_then(ReportedCondition::since))
}

fn short(words: &str) -> String {
    bounded(words, 160)
}

fn credentials_link(facts: &Facts) -> ChainLink {
    let over = facts.claim.state() == ClaimState::Ended || facts.claim.state() == ClaimState::Failed;
    let Some(object) = facts.credentials_object() else {
        let (mark, state) =
            if over { (Mark::Good, "does not exist") } else { (Mark::Waits, "not created yet") };
        return ChainLink::new(
            mark,
            format!("object/credentials-{}", primary_object_title(facts)),
            state,
            None,
        );
    };
    let (mark, state, since) = read_synced(object);
    let secret = text(object, "/spec/forProvider/manifest/metadata/name");
    match mark {
        // From birth on, and nobody's doing.
        Mark::Bad if is_paused(object) && over => {
            ChainLink::new(Mark::Good, object_label(object), "was not needed", None)
        }
        Mark::Bad if is_paused(object) && facts.claim.state() == ClaimState::Waiting => {
            ChainLink::new(Mark::Waits, object_label(object), "waits for the hub to report a Secret", None)
        }
        Mark::Good => {
            ChainLink::new(mark, object_label(object), format!("reads Secret {secret} on the hub"), since)
        }
        Mark::Waits | Mark::Bad | Mark::Unknown => ChainLink::new(mark, object_label(object), state, since),
    }
}

/// The credentials as the claim tells of them, to those who may not read the Object.
fn publication_link(facts: &Facts) -> ChainLink {
    let what = "credentials";
    match facts.claim.condition(ConditionType::CredentialsPublished) {
        None => ChainLink::new(Mark::Waits, what, "not created yet", None),
        Some(condition) => {
            let mark = match facts.claim.state() {
                ClaimState::Waiting | ClaimState::Ready if !condition.holds() => Mark::Waits,
                ClaimState::Failed if !condition.holds() => Mark::Bad,
                ClaimState::Waiting | ClaimState::Ready | ClaimState::Failed | ClaimState::Ended => {
                    Mark::Good
                }
            };
            ChainLink::new(mark, what, condition.message(), condition.since())
        }
    }
}

fn secret_link(facts: &Facts) -> ChainLink {
    let name = facts.claim.secret();
    let what = format!("secret/{name}");
    let over = matches!(facts.claim.state(), ClaimState::Ended | ClaimState::Failed);
    if let Some(whose) = facts.secret_owner() {
        return ChainLink::new(if over { Mark::Good } else { Mark::Bad }, what, whose, None);
    }
    match &facts.secret {
        _ if name.is_empty() => ChainLink::new(
            Mark::Bad,
            "secret",
            "the claim names no Secret: set spec.writeConnectionSecretToRef",
            None,
        ),
        Lookup::Found(secret) if secret.delivers(&facts.claim) || (over && secret.has_kubeconfig()) => {
            let names: Vec<&str> =
                secret.keys.iter().filter(|(_, n)| *n > 0).map(|(k, _)| k.as_str()).collect();
            ChainLink::new(Mark::Good, what, names.join(", "), None)
        }
        Lookup::Found(_) if over => ChainLink::new(Mark::Good, what, "emptied", None),
        Lookup::Found(_) => ChainLink::new(Mark::Waits, what, "has no kubeconfig yet", None),
        Lookup::Missing if over => ChainLink::new(Mark::Good, what, "does not exist", None),
        Lookup::Missing => ChainLink::new(Mark::Waits, what, "not created yet", None),
        Lookup::Forbidden => ChainLink::new(Mark::Unknown, what, "no permission to read it", None),
        Lookup::NotAsked => ChainLink::new(Mark::Unknown, what, "could not be read", None),
    }
}

/// `true` if somebody paused it.
pub fn is_paused(object: &Value) -> bool {
    object["metadata"]["annotations"][crossplane::PAUSED] == "true"
}

/// How Crossplane or provider-kubernetes gets on with an object.
pub fn read_synced(object: &Value) -> (Mark, String, Option<Timestamp>) {
    if is_paused(object) {
        return (Mark::Bad, "paused by annotation crossplane.io/paused".to_owned(), None);
    }
    match ReportedCondition::of(object, "Synced") {
        Some(condition) if condition.holds() => (Mark::Good, "synced".to_owned(), condition.since()),
        Some(condition) if condition.is_denied() => (Mark::Bad, condition.message(), condition.since()),
        Some(_) | None => (Mark::Waits, "not processed yet".to_owned(), None),
    }
}

/// Kind and name of an Object.
pub fn object_label(object: &Value) -> String {
    format!("object/{}", text(object, "/metadata/name"))
}
