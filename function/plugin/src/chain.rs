//! The chain from the claim to its kubeconfig, link by link.

use jiff::Timestamp;
use serde_json::Value;
use testplatform_apis::{
    condition::ConditionType, names::crossplane, names::name_within, phase::Phase, text::bounded,
};

use super::{
    claim::{Flavour, Said, Stand, all, text},
    facts::{Facts, Look, composite_name},
    span::ago,
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
}

/// One link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// How it holds.
    pub mark: Mark,
    /// What it is: kind and name.
    pub what: String,
    /// State, in words.
    pub says: String,
    /// Since when it stands so.
    pub since: Option<Timestamp>,
}

impl Link {
    fn new(mark: Mark, what: impl Into<String>, says: impl Into<String>, since: Option<Timestamp>) -> Self {
        Self { mark, what: what.into(), says: says.into(), since }
    }
}

/// Every link, from the claim on.
pub fn chain(facts: &Facts) -> Vec<Link> {
    let mut links = vec![claim(facts)];
    if facts.claim.flavour == Flavour::Claim {
        links.push(composite(facts));
    }
    let unread = matches!(facts.objects, Look::Forbidden | Look::NotAsked);
    if !unread {
        links.push(writer(facts));
    }
    links.push(hub(facts));
    links.push(remote(facts));
    let troubled = |object: &&Value| synced(object).0 != Mark::Good;
    links.extend(facts.others().filter(troubled).map(|object| {
        let (mark, says, since) = synced(object);
        Link::new(mark, object_label(object), says, since)
    }));
    links.push(if unread { published(facts) } else { credentials(facts) });
    links.push(secret(facts));
    links
}

/// The links as lines, in columns.
pub fn lines(links: &[Link], now: Timestamp) -> Vec<String> {
    let width = links.iter().map(|l| l.what.chars().count()).max().unwrap_or_default();
    let since = |link: &Link| match ago(link.since, now) {
        age if age.is_empty() => age,
        age => format!(", for {age}"),
    };
    let line = |link: &Link| {
        bounded(&format!("{} {:width$}  {}{}", link.mark.sign(), link.what, link.says, since(link)), 900)
    };
    links.iter().map(line).collect()
}

/// How well the claim as a whole stands.
fn standing(facts: &Facts) -> Mark {
    match (facts.claim.stand(), facts.claim.phase()) {
        (Stand::Failed, _) | (Stand::Ready, Some(Phase::Degraded)) => Mark::Bad,
        (Stand::Ready, _) | (Stand::Over, Some(Phase::Deprovisioned)) => Mark::Good,
        (Stand::Waiting | Stand::Over, _) => Mark::Waits,
    }
}

fn claim(facts: &Facts) -> Link {
    let claim = &facts.claim;
    let mark = standing(facts);
    let says = if claim.deleted() { "being deleted" } else { claim.phase_word() };
    Link::new(mark, claim.label(), says, facts.phase_since())
}

fn composite(facts: &Facts) -> Link {
    let label = |name: &str| format!("xtestplatformcluster/{name}");
    let name = composite_name(&facts.claim);
    match &facts.composite {
        _ if name.is_empty() => {
            Link::new(Mark::Waits, "xtestplatformcluster", "Crossplane has not made it yet", None)
        }
        Look::Found(object) => {
            let (mark, says, since) = synced(object);
            let says = if mark == Mark::Good { "composed".to_owned() } else { says };
            Link::new(mark, label(name), says, since)
        }
        Look::Missing => Link::new(Mark::Bad, label(name), "is gone", None),
        Look::Forbidden => {
            let says = "not yours to read; the rest is as the claim says it";
            Link::new(Mark::Unknown, label(name), says, None)
        }
        Look::NotAsked => Link::new(Mark::Unknown, label(name), "could not be read", None),
    }
}

fn writer(facts: &Facts) -> Link {
    if let Some(object) = facts.writer() {
        let (mark, says, since) = synced(object);
        let says = if mark == Mark::Good { "applied to the hub".to_owned() } else { says };
        return Link::new(mark, object_label(object), says, since);
    }
    let what = format!("object/managed-{}", of(facts));
    let refusal = facts.claim.said(ConditionType::RequestAccepted).filter(|c| c.denied());
    let stand = facts.claim.stand();
    match (refusal, stand) {
        (Some(refusal), _) => {
            let mark = if stand == Stand::Failed { Mark::Bad } else { Mark::Waits };
            Link::new(mark, what, format!("not made: {}", refusal.reason()), refusal.since())
        }
        (None, Stand::Over) => Link::new(Mark::Good, what, "taken away", None),
        (None, Stand::Failed) => Link::new(Mark::Bad, what, "not there", None),
        (None, Stand::Waiting | Stand::Ready) => Link::new(Mark::Waits, what, "not made yet", None),
    }
}

/// Base name of the Objects of a claim.
fn of(facts: &Facts) -> String {
    let claim = &facts.claim;
    match claim.flavour {
        Flavour::Claim => composite_name(claim).to_owned(),
        Flavour::Cluster => {
            name_within(claim.namespace(), claim.name(), text(&claim.object, "/metadata/uid"))
        }
    }
}

fn hub(facts: &Facts) -> Link {
    let named = text(&facts.claim.object, "/status/hub/name");
    let of_writer = facts.writer().map_or("", |w| text(w, "/spec/providerConfigRef/name"));
    let name = if named.is_empty() { of_writer } else { named };
    let what = if name.is_empty() { "hub".to_owned() } else { format!("hub/{name}") };
    match facts.claim.said(ConditionType::RemoteConsistent) {
        None => Link::new(Mark::Unknown, what, "nothing is said of it yet", None),
        Some(said) => {
            let mark = match said.status() {
                "True" => Mark::Good,
                "False" => Mark::Bad,
                _ => Mark::Waits,
            };
            Link::new(mark, what, said.message(), said.since())
        }
    }
}

fn remote(facts: &Facts) -> Link {
    let mark = standing(facts);
    let status = &facts.claim.object["status"];
    let seen =
        facts.writer().and_then(|w| w.pointer("/status/atProvider/manifest")).filter(|m| m.is_object());
    let Some(seen) = seen else {
        let [kind, name] = [text(status, "/backend/kind"), text(status, "/backend/name")];
        let what =
            if kind.is_empty() { "cluster".to_owned() } else { format!("{}/{name}", kind.to_lowercase()) };
        let begun = !text(status, "/backend/uid").is_empty();
        return match (begun, facts.claim.stand()) {
            (true, _) => Link::new(mark, what, "as the claim says", None),
            (false, Stand::Over | Stand::Failed) => Link::new(mark, what, "never asked for", None),
            (false, Stand::Waiting | Stand::Ready) => Link::new(mark, what, "not seen on the hub yet", None),
        };
    };
    let what = format!("{}/{}", text(seen, "/kind").to_lowercase(), text(seen, "/metadata/name"));
    let phase = [text(seen, "/status/phase"), text(seen, "/status/state")];
    let phase = phase.into_iter().find(|p| !p.is_empty()).unwrap_or("there");
    let last = all(seen).max_by_key(|c| c.since());
    let news = last.map(|c| format!("; last {}={} {}", c.type_(), c.status(), short(&c.message())));
    let says = bounded(&format!("{phase}{}", news.unwrap_or_default()), 400);
    Link::new(mark, what, says.trim_end(), last.and_then(Said::since))
}

fn short(words: &str) -> String {
    bounded(words, 160)
}

fn credentials(facts: &Facts) -> Link {
    let over = facts.claim.stand() == Stand::Over || facts.claim.stand() == Stand::Failed;
    let Some(object) = facts.credentials() else {
        let (mark, says) = if over { (Mark::Good, "not there") } else { (Mark::Waits, "not made yet") };
        return Link::new(mark, format!("object/credentials-{}", of(facts)), says, None);
    };
    let (mark, says, since) = synced(object);
    let secret = text(object, "/spec/forProvider/manifest/metadata/name");
    match mark {
        // From birth on, and nobody's doing.
        Mark::Bad if paused(object) && over => {
            Link::new(Mark::Good, object_label(object), "never needed", None)
        }
        Mark::Bad if paused(object) && facts.claim.stand() == Stand::Waiting => {
            Link::new(Mark::Waits, object_label(object), "waits for the hub to name a Secret", None)
        }
        Mark::Good => {
            Link::new(mark, object_label(object), format!("reads Secret {secret} on the hub"), since)
        }
        Mark::Waits | Mark::Bad | Mark::Unknown => Link::new(mark, object_label(object), says, since),
    }
}

/// The credentials as the claim tells of them, to those who may not read the Object.
fn published(facts: &Facts) -> Link {
    let what = "credentials";
    match facts.claim.said(ConditionType::CredentialsPublished) {
        None => Link::new(Mark::Waits, what, "not there yet", None),
        Some(said) => {
            let mark = match facts.claim.stand() {
                Stand::Waiting | Stand::Ready if !said.holds() => Mark::Waits,
                Stand::Failed if !said.holds() => Mark::Bad,
                Stand::Waiting | Stand::Ready | Stand::Failed | Stand::Over => Mark::Good,
            };
            Link::new(mark, what, said.message(), said.since())
        }
    }
}

fn secret(facts: &Facts) -> Link {
    let name = facts.claim.secret();
    let what = format!("secret/{name}");
    let over = matches!(facts.claim.stand(), Stand::Over | Stand::Failed);
    if let Some(whose) = facts.taken() {
        return Link::new(if over { Mark::Good } else { Mark::Bad }, what, whose, None);
    }
    match &facts.secret {
        _ if name.is_empty() => {
            Link::new(Mark::Bad, "secret", "the claim names none: spec.writeConnectionSecretToRef", None)
        }
        Look::Found(held) if held.delivers(&facts.claim) || (over && held.has_kubeconfig()) => {
            let names: Vec<&str> =
                held.keys.iter().filter(|(_, n)| *n > 0).map(|(k, _)| k.as_str()).collect();
            Link::new(Mark::Good, what, names.join(", "), None)
        }
        Look::Found(_) if over => Link::new(Mark::Good, what, "emptied", None),
        Look::Found(_) => Link::new(Mark::Waits, what, "has no kubeconfig yet", None),
        Look::Missing if over => Link::new(Mark::Good, what, "not there", None),
        Look::Missing => Link::new(Mark::Waits, what, "not there yet", None),
        Look::Forbidden => Link::new(Mark::Unknown, what, "not yours to read", None),
        Look::NotAsked => Link::new(Mark::Unknown, what, "could not be read", None),
    }
}

/// Whether somebody paused it.
pub fn paused(object: &Value) -> bool {
    object["metadata"]["annotations"][crossplane::PAUSED] == "true"
}

/// How Crossplane or provider-kubernetes gets on with an object.
pub fn synced(object: &Value) -> (Mark, String, Option<Timestamp>) {
    if paused(object) {
        return (Mark::Bad, "paused by annotation crossplane.io/paused".to_owned(), None);
    }
    match Said::of(object, "Synced") {
        Some(said) if said.holds() => (Mark::Good, "in step".to_owned(), said.since()),
        Some(said) if said.denied() => (Mark::Bad, said.message(), said.since()),
        Some(_) | None => (Mark::Waits, "not looked at yet".to_owned(), None),
    }
}

/// Kind and name of an Object.
pub fn object_label(object: &Value) -> String {
    format!("object/{}", text(object, "/metadata/name"))
}
