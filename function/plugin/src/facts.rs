//! Input of `why`: a claim and all its dependents, as far as the caller may read them.

use jiff::Timestamp;
use serde_json::Value;
use testplatform_apis::condition::ConditionType;

use super::{
    claim::{Claim, Flavour, ReportedCondition, text, time},
    events::ClaimEvent,
    observed_secret::{ObservedSecret, foreign_owner},
};

/// Result of a lookup.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Lookup<T> {
    /// It is there.
    Found(T),
    /// It is not there.
    Missing,
    /// The caller may not read it.
    Forbidden,
    /// There was no reason to look: nothing says what it is called, or it could not be asked for.
    #[default]
    NotAsked,
}

impl<T> Lookup<T> {
    /// The object, if it was found.
    pub fn found(&self) -> Option<&T> {
        match self {
            Self::Found(it) => Some(it),
            Self::Missing | Self::Forbidden | Self::NotAsked => None,
        }
    }
}

/// A claim and everything that hangs on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The claim.
    pub claim: Claim,
    /// The composite; for a composite in the tenant's namespace, itself.
    pub composite: Lookup<Value>,
    /// The Objects that it composed.
    pub objects: Lookup<Vec<Value>>,
    /// The Secret that the claim names.
    pub secret: Lookup<ObservedSecret>,
    /// Events of the claim, the newest first.
    pub events: Vec<ClaimEvent>,
}

impl Facts {
    /// Nothing but the claim yet.
    pub fn new(claim: Claim) -> Self {
        let composite = match claim.flavour {
            Flavour::Claim => Lookup::NotAsked,
            Flavour::Cluster => Lookup::Found(claim.object.clone()),
        };
        Self { claim, composite, objects: Lookup::NotAsked, secret: Lookup::NotAsked, events: vec![] }
    }

    /// The Object that carries what stands for the cluster on the hub.
    pub fn primary_object(&self) -> Option<&Value> {
        self.find_composed("managed-")
    }

    /// The Object that reads the credentials.
    pub fn credentials_object(&self) -> Option<&Value> {
        self.find_composed("credentials-")
    }

    /// The Objects beside those two.
    pub fn other_objects(&self) -> impl Iterator<Item = &Value> {
        let known = |object: &&Value| {
            let name = text(object, "/metadata/name");
            !name.starts_with("managed-") && !name.starts_with("credentials-")
        };
        self.objects.found().into_iter().flatten().filter(known)
    }

    fn find_composed(&self, prefix: &str) -> Option<&Value> {
        let is = |object: &&Value| text(object, "/metadata/name").starts_with(prefix);
        self.objects.found()?.iter().find(is)
    }

    /// When the present phase began, as far as the claim tells.
    pub fn phase_since(&self) -> Option<Timestamp> {
        let claim = &self.claim;
        let changed = || claim.condition(ConditionType::ClusterReady).and_then(ReportedCondition::since);
        let deleted = time(&claim.object, "/metadata/deletionTimestamp");
        deleted.or_else(changed).or_else(|| claim.started())
    }

    /// That the Secret is another's, as what is said of the Secret.
    pub fn secret_owner(&self) -> Option<String> {
        foreign_owner(&self.claim, &self.secret)
    }
}

/// The composite that a claim is bound to; empty before there is one.
pub fn composite_name(claim: &Claim) -> &str {
    text(&claim.object, "/spec/resourceRef/name")
}

/// The Objects that a composite composed: resource with its group, and name.
pub fn composed_objects(composite: &Value) -> Vec<(String, String)> {
    // The second is where composites of Crossplane 2 have it.
    let lists = ["/spec/resourceRefs", "/spec/crossplane/resourceRefs"];
    let refs = lists.iter().filter_map(|p| composite.pointer(p)).filter_map(Value::as_array).flatten();
    let object = |reference: &Value| {
        let group = text(reference, "/apiVersion").split_once('/')?.0;
        let name = text(reference, "/name");
        let is = text(reference, "/kind") == "Object" && !name.is_empty();
        is.then(|| (format!("objects.{group}"), name.to_owned()))
    };
    refs.filter_map(object).collect()
}
