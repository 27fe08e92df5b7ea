//! What all backends of templates have in common. Their cluster ends by taking its writer away: what is on its way out is desired again
//! as one that only looks, and what has to be remembered beyond it is noted on `credentials`.

mod left;
pub(super) mod members;
mod sentence;
mod sight;
mod trouble;

pub(super) use left::{hosted, left, query};
pub(super) use sentence::Sentence;
pub(super) use sight::{Sight, unseen};
pub(super) use trouble::{Trouble, of_the_network};

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use testplatform_apis::{
    gather, json,
    names::{hub, ours},
    template::{entry::fill, kind::Kind},
    yaml::sorted,
};

use super::{Backend, Desired, Health, brought, bundles, object};
use crate::{
    hubs,
    intent::{ManagementPolicies, PrimaryAction},
    observed::{Observed, PrimaryObject, SyncState},
    templates::{Asked, Order, Site, Stand, Templated, Whole},
    validate::Validated,
};

/// How long after the end of the longest lifetime the hub waits before it ends the cluster by itself.
const OVERDUE: SignedDuration = SignedDuration::from_hours(1);

/// What is asked for in the words of a backend, where all is known.
pub(super) struct Wanted<'a, K: Kind> {
    pub whole: &'a Whole,
    pub order: &'a Order<K>,
    /// Where, if that is known.
    pub site: Option<&'a Site>,
}

#[expect(clippy::expl_impl_clone_on_copy, reason = "derived, it would ask the same of the kind")]
impl<K: Kind> Clone for Wanted<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Kind> Copy for Wanted<'_, K> {}

impl<'a, K: Kind> Wanted<'a, K> {
    /// `order`: what is asked for, if it is in the backend's words.
    pub fn within(templated: &'a Templated, order: fn(&Asked) -> Option<&Order<K>>) -> Option<Self> {
        match &templated.stand {
            Stand::Whole(whole) => {
                Some(Self { whole, order: order(&whole.order)?, site: templated.site.as_ref() })
            }
            Stand::Held | Stand::Kept { .. } => None,
        }
    }
}

impl<K: Kind> Wanted<'_, K> {
    /// What the hub has of what was asked for, where it refuses that and the claim comes to something else by now. Of what it refuses
    /// nothing may be left, and what others wrote beside it is theirs.
    pub fn standing(self, observed: &Observed) -> Option<Map<String, Value>> {
        let writer = observed.primary.as_ref().filter(|writer| self.whole.back && writer.is_refused())?;
        let there = writer.hub_spec()?.as_object()?;
        Some(shared(writer.manifest()["spec"].as_object()?, there))
    }

    /// What an entry says, with what the words in braces stand for in its texts.
    pub fn filled(self, document: &Map<String, Value>) -> Map<String, Value> {
        let mut filled = document.clone();
        if let Some(site) = self.site {
            let words = [("name", site.name.as_str()), ("namespace", site.namespace.as_str())];
            filled.values_mut().for_each(|member| fill(member, &words));
        }
        filled
    }
}

/// The members of what was asked for that are there, as they are there.
fn shared(asked: &Map<String, Value>, there: &Map<String, Value>) -> Map<String, Value> {
    let both = asked.iter().filter_map(|(member, asked)| {
        let there = there.get(member)?;
        let value = match (asked, there) {
            (Value::Object(asked), Value::Object(there)) => Value::Object(shared(asked, there)),
            _ => there.clone(),
        };
        Some((member.clone(), value))
    });
    gather::object(both)
}

/// What a backend makes of a request.
pub(super) struct Composed {
    /// apiVersion of the object that stands for the cluster.
    pub api_version: &'static str,
    /// Annotations of its own on that object.
    pub annotations: Map<String, Value>,
    /// Its spec.
    pub spec: Map<String, Value>,
    /// What the backend notes on the writer and, should that be lost, on `credentials`.
    pub notes: Map<String, Value>,
    /// What there is beside the writer.
    pub parts: Vec<Desired>,
}

/// The writer with all that belongs to it, and `credentials`. `cel`: readiness of the writer.
pub(super) fn resources(
    backend: &dyn Backend,
    cel: &str,
    (request, observed, health): (&Validated, &Observed, &Health),
    compose: impl FnOnce(&Templated, &Site) -> Composed,
) -> Vec<Desired> {
    let Some(templated) = request.templated() else { return vec![] };
    let Some(site) = &templated.site else { return left(request, observed, health) };
    let Composed { api_version, annotations, spec, notes: own, parts } = compose(templated, site);
    // What was lost, or is on its way out, says what it said before, and not what the catalogue says by now. It has to say it: an apply
    // without is refused, and provider-kubernetes neither sees nor deletes what it could not apply.
    let instead = taken_back(request, observed);
    let remembers = writes(request) || instead.is_some();
    let spec = match instead {
        Some(of_hub) => of_hub.clone(),
        None if writes(request) => spec,
        None => asked(observed).map_or(spec, Cow::into_owned),
    };
    let memory = memory(request, observed, remembers.then_some(&spec), &own);
    let manifest = manifest((api_version, backend.kind()), request, observed, site, (annotations, spec));
    let mut notes = notes(request, observed, templated);
    notes.extend(own);
    notes.extend(bundles::note(request, observed));
    let mut writer = object::writer(backend.primary_resource(), request, observed, manifest, cel, notes);
    if let Some(writer) = &mut writer {
        brought::bind(writer, request, observed);
    }
    let credentials = object::credentials(request, observed, health, memory);
    writer.into_iter().chain(parts).chain(credentials).collect()
}

/// The object that stands for the cluster.
fn manifest(
    (api_version, kind): (&str, &str),
    request: &Validated,
    observed: &Observed,
    site: &Site,
    (own, spec): (Map<String, Value>, Map<String, Value>),
) -> Value {
    let mut annotations = object::notes(request, observed);
    annotations.extend(own);
    if !matches!(request.intent.action, PrimaryAction::Probe { .. }) {
        annotations.insert(ours::CREDENTIALS_NAMESPACE.into(), site.credentials_namespace.as_str().into());
        if let Some(end) = latest_end(request, observed) {
            annotations.insert(ours::LATEST_END.into(), end.to_string().into());
        }
    }
    let mut metadata = json!({ "name": site.name, "namespace": site.namespace });
    metadata["annotations"] = Value::Object(annotations);
    if let Some(uid) = object::pinned(request, observed) {
        metadata["uid"] = uid.as_str().into();
    }
    object::whole(api_version, kind, metadata, Value::Object(spec))
}

/// The time by which the claim has ended its cluster: its creation and the longest provisioning, or a later delivery, plus the longest lifetime
/// and [`OVERDUE`]. It never becomes an earlier one. None without a lifetime, or without a longest one.
fn latest_end(request: &Validated, observed: &Observed) -> Option<Timestamp> {
    let life = &request.lifetime;
    let created = observed.composite.metadata.creation_timestamp.filter(|_| !life.lost)?;
    life.effective?;
    let provisioned = created.checked_add(life.told_timeout?.get()).ok()?;
    let ready = request.intent.ready_at.or(observed.composite.status.ready_at);
    let begins = ready.map_or(provisioned, |ready| ready.max(provisioned));
    let end = begins.checked_add(life.longest?.get().checked_add(OVERDUE)?).ok()?;
    let before = observed.primary.as_ref().and_then(|writer| writer.manifest_annotation(ours::LATEST_END));
    Some(before.and_then(|at| at.parse().ok()).map_or(end, |before: Timestamp| before.max(end)))
}

/// Whether what is composed is what is asked of the hub.
fn writes(request: &Validated) -> bool {
    match request.intent.action {
        PrimaryAction::Create | PrimaryAction::Update(_) | PrimaryAction::Recreate { .. } => {
            !request.intent.teardown_deferred
        }
        PrimaryAction::Omit
        | PrimaryAction::Probe { .. }
        | PrimaryAction::Remove
        | PrimaryAction::Relocate => false,
    }
}

/// The spec that the hub has, where that is to be said in place of what was asked for, which the hub refuses, or may: nothing could be deleted.
/// It is noted like what is asked for, so that it is said until the end.
fn taken_back<'o>(request: &Validated, observed: &'o Observed) -> Option<&'o Map<String, Value>> {
    let writer = observed.primary.as_ref()?;
    let goes = match request.intent.action {
        // The next pass takes it away.
        PrimaryAction::Update(ManagementPolicies::ObserveDelete) => request.intent.teardown_deferred,
        // It goes already, by whomever it was taken away.
        PrimaryAction::Probe { .. } => {
            matches!(writer.sync, SyncState::Refused(_) | SyncState::UnknownField(_))
        }
        PrimaryAction::Update(
            ManagementPolicies::Full | ManagementPolicies::ObserveCreateDelete | ManagementPolicies::Observe,
        )
        | PrimaryAction::Create
        | PrimaryAction::Recreate { .. }
        | PrimaryAction::Omit
        | PrimaryAction::Remove
        | PrimaryAction::Relocate => false,
    };
    writer.hub_spec().filter(|_| goes)?.as_object()
}

/// The spec that was asked for: as the writer has it, unless that was made anew to look; else as `credentials` remembers it.
fn asked(observed: &Observed) -> Option<Cow<'_, Map<String, Value>>> {
    let told =
        observed.primary.as_ref().filter(|w| w.manifest_annotation(ours::CREDENTIALS_NAMESPACE).is_some());
    let told = told.and_then(|writer| writer.manifest()["spec"].as_object());
    let noted = || json::read_text(observed.credentials_note(ours::REMOTE_SPEC)?).ok();
    told.map(Cow::Borrowed).or_else(|| noted().map(Cow::Owned))
}

/// The spec that was asked for.
pub(super) struct Before<'o> {
    /// As the writer has it or `credentials` remembers it; where both were lost, as the hub has it.
    pub spec: Cow<'o, Map<String, Value>>,
    of_hub: bool,
}

impl<'o> Before<'o> {
    /// `seen`: the spec on the hub. `complete`: whether a spec is one that was asked for.
    pub fn of(
        observed: &'o Observed,
        seen: Option<&'o Value>,
        complete: impl Fn(&Map<String, Value>) -> bool,
    ) -> Option<Self> {
        observed.primary.as_ref()?;
        let asked = asked(observed).filter(|spec| complete(spec));
        let of_hub = asked.is_none();
        let seen = || seen?.as_object().filter(|spec| complete(spec)).map(Cow::Borrowed);
        asked.or_else(seen).map(|spec| Self { spec, of_hub })
    }

    /// What is left of it where others write into what is on the hub.
    pub fn own(&self, members: &[&str]) -> Map<String, Value> {
        let own = self.spec.iter().filter(|(member, _)| !self.of_hub || members.contains(&member.as_str()));
        gather::object(own.map(|(member, value)| (member.clone(), value.clone())))
    }
}

/// Noted on the writer: where the credentials are on the hub, which what only looks does not know, why that hub was selected, which hubs were given
/// up, and what the hub last took.
fn notes(request: &Validated, observed: &Observed, templated: &Templated) -> Map<String, Value> {
    let looks = matches!(request.intent.action, PrimaryAction::Probe { .. });
    let site = templated.site.as_ref().filter(|_| !looks);
    let published = site.map(|site| (ours::CREDENTIALS_NAMESPACE, site.credentials_namespace.clone()));
    let selected = object::hub_reason(observed, site.map(|site| site.reason.as_str()));
    let given_up = hubs::note(&templated.excluded).map(|note| (hub::EXCLUDED, note));
    let taken = templated.taken.as_ref().filter(|taken| Some(*taken) != templated.effective.as_ref());
    // Without nulls and with sorted keys: the same bytes in every pass.
    let taken = taken.and_then(|taken| Some(sorted(&serde_json::to_value(taken).ok()?).to_string()));
    let all = published.into_iter().chain(given_up).chain(taken.map(|taken| (ours::TAKEN, taken)));
    gather::texts(all.map(|(key, text)| (key, Some(text))).chain([(ours::HUB_REASON, selected)]))
}

/// What `credentials` remembers: where the cluster is, which one it is, how it is ended, and which hubs were given up. `own`: what the backend
/// notes.
fn memory(
    request: &Validated,
    observed: &Observed,
    spec: Option<&Map<String, Value>>,
    own: &Map<String, Value>,
) -> Map<String, Value> {
    let Some(templated) = request.templated() else { return Map::new() };
    let leaves = request.intent.action == PrimaryAction::Relocate;
    let excluded = templated.given_up(leaves);
    let asked = observed.primary.is_some()
        || observed.made_before()
        || request.intent.action == PrimaryAction::Create;
    let place = |site: &Site| format!("{}/{}", site.namespace, site.name);
    // Sorted: the same bytes in every pass.
    let text = |spec: &Map<String, Value>| sorted(&Value::Object(spec.clone())).to_string();
    let spec = spec.map(text).or_else(|| Some(text(&*self::asked(observed)?)));
    let uid =
        observed.primary.as_ref().and_then(PrimaryObject::remote_uid).or_else(|| observed.remembered_uid());
    let asks = bundles::note(request, observed);
    let mut notes = gather::texts([
        (ours::REMOTE, templated.site.as_ref().filter(|_| asked && !leaves).map(place)),
        (ours::REMOTE_SPEC, spec.filter(|_| asked && !leaves)),
        (ours::REMOTE_UID, uid.map(|u| u.0)),
        (ours::ENDING, request.intent.teardown_reason.clone()),
        (ours::FAILED, request.intent.failure.map(|f| f.as_str().to_owned())),
        (ours::READY_AT, request.intent.ready_at.map(|at| at.to_string())),
        (hub::EXCLUDED, hubs::note(&excluded)),
    ]);
    notes.extend(asks);
    if asked && !leaves {
        notes.extend(own.clone());
    }
    notes
}
