//! Fields of a claim that the plugin reads, in either flavour.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize as _;
use serde_json::Value;
use testplatform_apis::{
    cleanup,
    condition::{ConditionType, Credentials},
    names::ours,
    phase::Phase,
    status::CredentialsState,
    test_cluster,
    text::bounded,
};

/// The API group of both flavours.
pub const GROUP: &str = testplatform_apis::claim::GROUP;

/// The longest that Crossplane usually takes until it has processed a claim for the first time.
pub const FIRST_PASS: SignedDuration = SignedDuration::from_secs(30);

/// The two kinds with which a tenant asks for a cluster. Spec and status are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// A claim, with a composite of cluster scope behind it.
    Claim,
    /// A composite in the tenant's own namespace, as Crossplane 2 has them.
    Cluster,
}

impl Flavour {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Claim, Self::Cluster];

    /// Kind, as in a manifest.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Claim => testplatform_apis::claim::CLAIM_KIND,
            Self::Cluster => "TestCluster",
        }
    }

    /// The resource, as kubectl is told it.
    pub const fn resource(self) -> &'static str {
        match self {
            Self::Claim => "testplatformclusters.ci.openshift.org",
            Self::Cluster => "testclusters.ci.openshift.org",
        }
    }

    /// Name of the kind in kubectl.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Claim => "testplatformcluster",
            Self::Cluster => "testcluster",
        }
    }

    /// The flavour that a person means with a word before the slash: kind, singular, plural, with the group or without.
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        let word = word.strip_suffix(".ci.openshift.org").unwrap_or(&word);
        let word = word.strip_suffix('s').unwrap_or(word);
        Self::ALL.into_iter().find(|f| f.word() == word)
    }
}

/// A text at a JSON pointer; empty if there is none.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A time at a JSON pointer.
pub fn time(object: &Value, pointer: &str) -> Option<Timestamp> {
    text(object, pointer).parse().ok()
}

/// A condition of any object.
#[derive(Clone, Copy, Debug)]
pub struct ReportedCondition<'a>(&'a Value);

impl<'a> ReportedCondition<'a> {
    /// That of a type, the first if there are several.
    pub fn of(object: &'a Value, type_: &str) -> Option<Self> {
        conditions(object).find(|c| c.type_() == type_)
    }

    /// Its type.
    pub fn type_(self) -> &'a str {
        text(self.0, "/type")
    }

    /// `True`, `False` or `Unknown`.
    pub fn status(self) -> &'a str {
        text(self.0, "/status")
    }

    /// `true` if the condition holds.
    pub fn holds(self) -> bool {
        self.status() == "True"
    }

    /// `true` if the condition is False.
    pub fn is_denied(self) -> bool {
        self.status() == "False"
    }

    /// Its reason.
    pub fn reason(self) -> &'a str {
        text(self.0, "/reason")
    }

    /// Its message on one line, or its reason if it has none.
    pub fn message(self) -> String {
        let message = text(self.0, "/message");
        bounded(if message.is_empty() { self.reason() } else { message }, 600)
    }

    /// Of which generation of the object it is, where that is told.
    pub fn generation(self) -> Option<i64> {
        self.0["observedGeneration"].as_i64()
    }

    /// Since when it is so.
    pub fn since(self) -> Option<Timestamp> {
        time(self.0, "/lastTransitionTime")
    }
}

/// All conditions of an object.
pub fn conditions(object: &Value) -> impl Iterator<Item = ReportedCondition<'_>> {
    object
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(ReportedCondition)
}

/// Where a claim stands, as far as it matters to who waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimState {
    /// There is no cluster yet.
    Waiting,
    /// There is one, and its kubeconfig was given.
    Ready,
    /// It is gone, or on its way out.
    Ended,
    /// There will be none. Final.
    Failed,
}

/// A claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its flavour.
    pub flavour: Flavour,
    /// The object, as the API server has it.
    pub object: Value,
}

impl Claim {
    /// Takes an object of one of the two kinds.
    pub fn read(object: Value) -> Option<Self> {
        let ours = text(&object, "/apiVersion").starts_with("ci.openshift.org/");
        let kind = text(&object, "/kind");
        let flavour = Flavour::ALL.into_iter().find(|f| ours && f.kind() == kind)?;
        Some(Self { flavour, object })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        text(&self.object, "/metadata/name")
    }

    /// Its namespace.
    pub fn namespace(&self) -> &str {
        text(&self.object, "/metadata/namespace")
    }

    /// Its uid, by which it is told from one that was made anew under its name.
    pub fn uid(&self) -> &str {
        text(&self.object, "/metadata/uid")
    }

    /// Kind and name, as kubectl prints them.
    pub fn label(&self) -> String {
        format!("{}/{}", self.flavour.word(), self.name())
    }

    /// A condition of ours.
    pub fn condition(&self, type_: ConditionType) -> Option<ReportedCondition<'_>> {
        ReportedCondition::of(&self.object, type_.as_str())
    }

    /// `true` if a condition of ours holds.
    pub fn holds(&self, type_: ConditionType) -> bool {
        self.condition(type_).is_some_and(ReportedCondition::holds)
    }

    /// Its phase. Where another function serves the claim, which has no status, the word that tasks go by.
    pub fn phase(&self) -> Option<Phase> {
        let parse = |word: &str| Phase::ALL.into_iter().find(|p| p.as_str() == word);
        let shown = || self.condition(ConditionType::EphemeralClusterPhase).and_then(|c| parse(&c.message()));
        parse(text(&self.object, "/status/phase")).or_else(shown)
    }

    /// The phase for people. Before there is one, the cluster is as pending as can be.
    pub fn phase_word(&self) -> &'static str {
        self.phase().unwrap_or(Phase::Pending).as_str()
    }

    /// How long Crossplane has not processed it, once that is longer than usual.
    pub fn unprocessed_for(&self, now: Timestamp) -> Option<SignedDuration> {
        let created = time(&self.object, "/metadata/creationTimestamp").filter(|_| self.phase().is_none())?;
        let age = now.duration_since(created);
        (age >= FIRST_PASS && !self.is_deleted()).then_some(age)
    }

    /// Status message, on one line.
    pub fn message(&self) -> String {
        let own = text(&self.object, "/status/message");
        if !own.is_empty() {
            return bounded(own, 600);
        }
        let ready = self.condition(ConditionType::ClusterReady).map(ReportedCondition::message);
        let trouble = || {
            ReportedCondition::of(&self.object, "Synced")
                .filter(|s| s.is_denied())
                .map(ReportedCondition::message)
        };
        ready.filter(|m| !m.is_empty()).or_else(trouble).unwrap_or_default()
    }

    /// Where it stands.
    pub fn state(&self) -> ClaimState {
        match self.phase() {
            Some(Phase::Failed) => ClaimState::Failed,
            Some(Phase::Deprovisioning | Phase::Deprovisioned) => ClaimState::Ended,
            _ if self.is_deleted() => ClaimState::Ended,
            Some(Phase::Ready | Phase::Degraded)
                if self.holds(ConditionType::ClusterReady)
                    || self.has_stale_conditions()
                    || self.lacks_secret() =>
            {
                ClaimState::Ready
            }
            Some(Phase::Ready | Phase::Degraded | Phase::Pending | Phase::Provisioning) | None => {
                ClaimState::Waiting
            }
        }
    }

    /// `true` if its conditions are older than its status, by which the kubeconfig was delivered. Core v2.3 writes a composite's status
    /// beside the conditions of its cache before it writes those of the pass, and a claim is a copy.
    fn has_stale_conditions(&self) -> bool {
        let state = CredentialsState::deserialize(&self.object["status"]["credentials"]["state"]);
        state.is_ok_and(|s| s == CredentialsState::Published)
            && self.condition(ConditionType::ClusterReady).is_some_and(ReportedCondition::is_denied)
    }

    /// `true` if its cluster is usable except for the Secret, which Crossplane cannot write: then the Secret counts, and not the cluster.
    pub fn lacks_secret(&self) -> bool {
        self.flavour == Flavour::Claim
            && matches!(self.phase(), Some(Phase::Ready | Phase::Degraded))
            && !self.has_stale_conditions()
            && self.condition(ConditionType::CredentialsPublished).is_some_and(|condition| {
                let refused = [Credentials::SecretTaken, Credentials::SecretMissing];
                condition.is_denied() && refused.iter().any(|reason| reason.as_str() == condition.reason())
            })
    }

    /// `true` if its kubeconfig was delivered. A failed pass does not change that: core sets shown conditions to Unknown, and leaves the
    /// phase.
    pub fn is_delivered(&self) -> bool {
        let is_unknown = |condition: ReportedCondition<'_>| {
            condition.status() == "Unknown" && condition.reason() == "FatalError"
        };
        match self.state() {
            ClaimState::Ready => !self.lacks_secret(),
            ClaimState::Waiting => {
                matches!(self.phase(), Some(Phase::Ready | Phase::Degraded))
                    && self.condition(ConditionType::ClusterReady).is_some_and(is_unknown)
            }
            ClaimState::Ended | ClaimState::Failed => false,
        }
    }

    /// `true` if its deletion was requested.
    pub fn is_deleted(&self) -> bool {
        !text(&self.object, "/metadata/deletionTimestamp").is_empty()
    }

    /// The Secret for its kubeconfig; empty if it names none, and its kind has no other.
    pub fn secret(&self) -> Cow<'_, str> {
        let named = text(&self.object, "/spec/writeConnectionSecretToRef/name");
        match self.flavour {
            Flavour::Cluster if named.is_empty() => test_cluster::default_secret(self.name()).into(),
            Flavour::Claim | Flavour::Cluster => named.into(),
        }
    }

    /// When it was asked for.
    pub fn started(&self) -> Option<Timestamp> {
        time(&self.object, "/status/startedAt").or_else(|| time(&self.object, "/metadata/creationTimestamp"))
    }

    /// When it was first ready.
    pub fn ready_at(&self) -> Option<Timestamp> {
        time(&self.object, "/status/readyAt")
    }

    /// When it ends: at the end of its lifetime, or because nobody needs it any more.
    pub fn expires_at(&self) -> Option<Timestamp> {
        time(&self.object, "/status/expiresAt")
    }

    /// When it ends because the runs that own it have finished, whatever its lifetime; none if that does not decide it.
    pub fn cleanup_at(&self) -> Option<Timestamp> {
        let since = self.object["metadata"]["annotations"][ours::CLEANUP_SINCE].as_str();
        cleanup::teardown_due(&self.object["spec"], since).filter(|at| self.expires_at() == Some(*at))
    }
}
