//! The Secret that a claim names. Core writes it once the composite is ready, after everything else, and reports on it in the claim alone.
//!
//! Core does not run the function again after that write. So the claim is fetched for a while after its kubeconfig was published, as long
//! as its Secret cannot be written, and in one pass of every few minutes later: an owner may name another Secret, which changes no
//! composite. Fetching it in every pass would make core call twice each time.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    claim::{API_VERSION, CLAIM_KIND},
    condition::{ConditionType, Credentials as Reason},
    duration::GoDuration,
    foreign::{
        meta::{Lenient, ObservedCondition, find_condition},
        object::is_owned_by_another,
    },
    input::Settings,
    text::bounded,
};

use super::sizes::TEXT;
use crate::sdk::{
    composite::{Composite, Flavour},
    proto::{ResourceSelector, RunFunctionRequest, resource_selector::Match},
    requirements::{RequirementNames, fetched_resources, selector},
    wire::{self, FieldList, Keep},
};

/// The claim itself. Never bootstrapped: it is seldom needed.
const CLAIM: RequirementNames = RequirementNames::new("claim", None);

/// How long after its kubeconfig was published a claim is looked at. Core tries at once, and again after at most a minute
/// (controller-runtime's rate limiter).
const WATCH_PERIOD: SignedDuration = SignedDuration::from_mins(2);

/// How often a delivered claim is fetched again.
const RECHECK_PERIOD: SignedDuration = SignedDuration::from_mins(5);

/// Time between two passes of a claim at rest, where the input sets none.
const DEFAULT_TTL: SignedDuration = SignedDuration::from_secs(60);

/// How core begins, of a Secret that it cannot write: `errPropagateCDs` and `errCreateOrUpdateSecret` of its claim controller.
const PROPAGATE: &str = "cannot propagate connection details from composite resource: ";
const WRITE: &str = "cannot create or update connection secret: ";

/// Message of a claim that names no Secret.
pub const CLAIM_NAMES_NO_SECRET: &str =
    "the claim names no Secret for its kubeconfig; name one in spec.writeConnectionSecretToRef";

/// Whether the tenant's Secret was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClaimSecret {
    /// The claim was not looked at.
    #[default]
    NotFetched,
    /// Core has not told yet.
    Awaited,
    /// It was.
    Written,
    /// The claim names none.
    Unnamed,
    /// Core cannot write it.
    Refused(WriteRefusal),
}

/// Why core cannot write the tenant's Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRefusal {
    /// Its name.
    pub secret: String,
    /// Whether it is there and something else's.
    pub is_foreign: bool,
    /// Core's words.
    pub message: String,
    /// Whether it was ever written: then an older kubeconfig of this cluster may be in it.
    pub written_before: bool,
}

/// All that is read of a claim, which may be as large as an object can be.
const CLAIM_FIELDS: FieldList = &[
    ("spec", Keep::Fields(&[("writeConnectionSecretToRef", Keep::Fields(&[("name", TEXT)]))])),
    (
        "status",
        Keep::Fields(&[
            ("conditions", Keep::Whole(64 << 10)),
            ("connectionDetails", Keep::Fields(&[("lastPublishedTime", TEXT)])),
        ]),
    ),
];

impl ClaimSecret {
    pub(super) fn decode(
        request: &RunFunctionRequest,
        composite: &Composite,
        settings: &Settings,
        now: Timestamp,
    ) -> Self {
        if !is_awaited(composite, settings, now) {
            return if is_shown_unnamed(composite) { Self::Unnamed } else { Self::NotFetched };
        }
        let Some(found) = fetched_resources(request, &CLAIM) else { return Self::NotFetched };
        let read = |bytes| wire::to_value(&wire::trimmed(bytes, CLAIM_FIELDS)?);
        let Some(claim) = found.items.first().and_then(|item| read(&item.resource).ok()) else {
            return Self::Awaited;
        };
        let conditions =
            Lenient::<Vec<ObservedCondition>>::from_value(claim["status"]["conditions"].clone()).value;
        let name = claim["spec"]["writeConnectionSecretToRef"]["name"].as_str();
        let synced = find_condition(&conditions, "Synced").filter(|synced| synced.is_false());
        if let Some(message) = synced.and_then(|s| s.message.strip_prefix(PROPAGATE)?.strip_prefix(WRITE)) {
            return Self::Refused(WriteRefusal {
                secret: name.unwrap_or_default().to_owned(),
                is_foreign: is_owned_by_another(message),
                message: message.to_owned(),
                written_before: claim["status"]["connectionDetails"]["lastPublishedTime"].is_string(),
            });
        }
        let is_ready = find_condition(&conditions, "Ready").is_some_and(ObservedCondition::is_true);
        match (is_ready, name) {
            (true, None) => Self::Unnamed,
            (true, Some(_)) => Self::Written,
            (false, _) => Self::Awaited,
        }
    }

    /// Why core cannot write it, if so.
    pub fn refusal(&self) -> Option<&WriteRefusal> {
        match self {
            Self::Refused(refused) => Some(refused),
            Self::NotFetched | Self::Awaited | Self::Written | Self::Unnamed => None,
        }
    }
}

impl fmt::Display for WriteRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { secret, is_foreign: anothers, message, written_before } = self;
        let (secret, message) = (bounded(secret, 253), bounded(message, 512));
        if *anothers {
            write!(
                f,
                "Secret {secret} already exists and does not belong to this claim, so nothing is written into it; delete or rename it, \
                or name another in spec.writeConnectionSecretToRef"
            )?;
        } else {
            write!(f, "Secret {secret} cannot be written: {message}")?;
        }
        if *written_before && !anothers {
            f.write_str("; an older kubeconfig of this claim may be in the Secret")
        } else {
            Ok(())
        }
    }
}

impl WriteRefusal {
    /// As a reason of `CredentialsPublished`.
    pub fn reason(&self) -> Reason {
        if self.is_foreign { Reason::SecretTaken } else { Reason::SecretMissing }
    }
}

/// Requirement that makes core fetch the claim; none if nothing is expected.
pub(super) fn claim_requirement(
    composite: &Composite,
    settings: &Settings,
    now: Timestamp,
) -> Option<(String, ResourceSelector)> {
    let claim = composite.claim.as_ref().filter(|_| is_awaited(composite, settings, now))?;
    let named = selector(API_VERSION, CLAIM_KIND, Match::MatchName(claim.name.clone()));
    Some((CLAIM.dynamic().to_owned(), ResourceSelector { namespace: Some(claim.namespace.clone()), ..named }))
}

/// By what the composite shows alone: what is required may not depend on what was fetched.
fn is_awaited(composite: &Composite, settings: &Settings, now: Timestamp) -> bool {
    if composite.claim.is_none() || composite.flavour != Flavour::Claimed {
        return false;
    }
    let Some(shown) = composite.shown(ConditionType::CredentialsPublished) else { return false };
    if shown.is_true() || is_shown_unnamed(composite) {
        return shown.last_transition_time.is_some_and(|at| {
            let age = now.duration_since(at);
            age < WATCH_PERIOD || is_recheck_due(age, settings)
        });
    }
    // Nothing but a Secret that cannot be written takes that back from a composite that is ready, and no other is looked at without end.
    let refused = [Reason::SecretTaken, Reason::SecretMissing].iter().any(|r| r.as_str() == shown.reason);
    composite.is_ready() && refused
}

/// Whether the composite says that its claim names no Secret. Between two fetches that is all there is to go by.
fn is_shown_unnamed(composite: &Composite) -> bool {
    let shown = composite.shown(ConditionType::CredentialsPublished);
    shown.is_some_and(|shown| shown.is_false() && shown.message == CLAIM_NAMES_NO_SECRET)
}

/// Whether this is the one pass of a [`RECHECK_PERIOD`]. Passes are as far apart as their TTL, and core adds up to a tenth.
fn is_recheck_due(age: SignedDuration, settings: &Settings) -> bool {
    let apart = settings.ttl.map_or(DEFAULT_TTL, GoDuration::as_signed);
    let window = apart.saturating_add(apart / 8);
    SignedDuration::from_secs(age.as_secs() % RECHECK_PERIOD.as_secs()) < window
}
