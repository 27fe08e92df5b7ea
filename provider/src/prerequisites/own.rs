//! What is ours on the hub: made if it is not there, kept as it is if it is ours, never touched if it is not, and deleted when it is time.

use serde_json::{Value, json};
use testplatform_apis::bundle::Bundle;
use tokio::time::Instant;

use crate::bundles::{
    apply::{Inside, Refusal, Stop, Why, name_of},
    inside::Target,
};

/// How often something is tried that somebody else changes at the same time.
const TRIES: u32 = 3;

/// The ConfigMap with an order: everything that is made by it is its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its namespace, and that of everything.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// The hub. A manifest says which object is meant; a call may be repeated, and may have been done although it failed.
pub trait Hub {
    /// What is there.
    fn find(&self, object: &Value) -> impl Future<Output = Result<Option<Value>, Refusal>> + Send;

    /// Makes an object that is not there.
    fn create(&self, object: &Value) -> impl Future<Output = Result<Wrote, Refusal>> + Send;

    /// Makes an object what its manifest says, which has uid and resourceVersion of the one that is meant.
    fn apply(&self, object: &Value) -> impl Future<Output = Result<Wrote, Refusal>> + Send;

    /// Deletes an object, if it is this one still.
    fn delete(&self, object: &Value, only: &Version) -> impl Future<Output = Result<(), Refusal>> + Send;
}

/// What a write came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrote {
    /// This is there now.
    There(Value),
    /// It was not as it was seen before; what is said of it.
    Changed(Refusal),
}

/// One object, as it was at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its uid.
    pub uid: String,
    /// Its resourceVersion.
    pub resource_version: String,
}

impl Version {
    /// That of an object.
    pub fn of(object: &Value) -> Self {
        let text = |key| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        Self { uid: text("uid"), resource_version: text("resourceVersion") }
    }
}

impl Owner {
    /// Whether a manifest can be one of these, as far as nobody has to be asked.
    ///
    /// # Errors
    /// If it never can.
    pub fn takes(&self, object: &Value) -> Result<(), Refusal> {
        let target = Target::of(object)?;
        if target.group.is_empty() && target.kind == "Secret" {
            let message = "Secrets are not made on the hub: an order is a ConfigMap, which is no place for what is secret";
            return Err(Refusal::new(Why::KindNotAllowed, message));
        }
        if target.namespace.is_some_and(|namespace| namespace != self.namespace) {
            let message = "it is in another namespace than the cluster's object";
            return Err(Refusal::new(Why::InvalidManifest, message));
        }
        Ok(())
    }

    /// What is applied of a manifest.
    fn whole(&self, object: &Value) -> Result<Value, Refusal> {
        self.takes(object)?;
        let mut whole = object.clone();
        let metadata = &mut whole["metadata"];
        metadata["namespace"] = self.namespace.as_str().into();
        metadata["ownerReferences"] =
            json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": self.name, "uid": self.uid }]);
        // They would be those of another object.
        for key in ["uid", "resourceVersion"] {
            metadata.as_object_mut().and_then(|metadata| metadata.remove(key));
        }
        Ok(whole)
    }

    fn owns(&self, there: &Value) -> bool {
        let owners = there["metadata"]["ownerReferences"].as_array();
        owners.is_some_and(|owners| owners.iter().any(|owner| owner["uid"] == *self.uid))
    }
}

/// What is made for one order.
pub struct Own<'a, H> {
    /// Where.
    pub hub: &'a H,
    /// Whose it is.
    pub owner: &'a Owner,
}

impl<H: Hub + Sync> Inside for Own<'_, H> {
    async fn apply(&self, object: &Value) -> Result<Value, Refusal> {
        let whole = self.owner.whole(object)?;
        let mut last = Refusal::new(Why::NotReady, "it is changed by somebody else all the time");
        for _ in 0..TRIES {
            let wrote = match self.hub.find(&whole).await? {
                None => self.hub.create(&whole).await?,
                Some(there) if !self.owner.owns(&there) => {
                    let message = "there is an object of this name that was not made by this order";
                    return Err(Refusal::new(Why::NameTaken, message));
                }
                Some(there) if is_going(&there) => {
                    return Err(Refusal::new(Why::NotReady, "it is being deleted"));
                }
                Some(there) => self.hub.apply(&at(whole.clone(), &Version::of(&there))).await?,
            };
            match wrote {
                Wrote::There(there) => return Ok(there),
                Wrote::Changed(why) => last = why,
            }
        }
        Err(last)
    }
}

fn at(mut object: Value, version: &Version) -> Value {
    object["metadata"]["uid"] = version.uid.as_str().into();
    object["metadata"]["resourceVersion"] = version.resource_version.as_str().into();
    object
}

fn is_going(there: &Value) -> bool {
    !there["metadata"]["deletionTimestamp"].is_null()
}

/// Where a look at what is to go ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    /// Nothing of ours is there any more.
    All,
    /// This is.
    Left(Stop),
}

impl<H: Hub + Sync> Own<'_, H> {
    /// Deletes bundles in this order, what is in them last first. One is begun when nothing is there of the one before. After `until` no call
    /// is begun any more.
    pub async fn remove<'a>(&self, bundles: impl IntoIterator<Item = &'a Bundle>, until: Instant) -> Removed {
        for bundle in bundles {
            let mut left = None;
            for manifest in bundle.manifests.iter().rev() {
                let object = &manifest.object;
                let taken = if Instant::now() >= until {
                    Err(Refusal::new(Why::Unreachable, "the API server answers too slowly"))
                } else {
                    self.take(object).await
                };
                let why = match taken {
                    Ok(true) => continue,
                    Ok(false) => Refusal::new(Why::NotReady, "it is there still"),
                    Err(why) => why,
                };
                left = left.or(Some(Stop { object: Some(name_of(object)), why }));
            }
            if let Some(stop) = left {
                return Removed::Left(stop);
            }
        }
        Removed::All
    }

    /// Deletes an object if it is ours. Whether none of ours is there any more.
    async fn take(&self, object: &Value) -> Result<bool, Refusal> {
        // Of what can never be made nothing was.
        let Ok(whole) = self.owner.whole(object) else { return Ok(true) };
        for _ in 0..TRIES {
            let there = match self.hub.find(&whole).await {
                Ok(None) => return Ok(true),
                Ok(Some(there)) => there,
                // Nor of this, unless it was allowed once: then the garbage collector may do what we may not any more.
                Err(why)
                    if [Why::NoSuchKind, Why::KindNotAllowed, Why::InvalidManifest]
                        .iter()
                        .any(|w| why.is(*w)) =>
                {
                    return Ok(true);
                }
                Err(why) => return Err(why),
            };
            if !self.owner.owns(&there) {
                return Ok(true);
            }
            if is_going(&there) {
                return Ok(false);
            }
            self.hub.delete(&whole, &Version::of(&there)).await?;
        }
        Ok(false)
    }
}
