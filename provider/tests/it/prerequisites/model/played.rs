//! Effects of a pass' calls, and promises at each of them.

use std::{collections::BTreeMap, sync::MutexGuard};

use provider_testplatform::{
    controllers::prerequisites::{
        objects::{HubObjects as Calls, ObjectVersion, WriteResult},
        plan::GRACE,
        request::PrerequisiteRequest,
    },
    manifests::apply::{ApplyError, ApplyErrorReason},
};
use serde_json::{Value, json};

use super::{Call, Hub, Meddle, bundle_of, is_ours};

const STRANGER: &str = "uid-of-somebody-else";

/// State that changes during a pass.
#[derive(Default)]
pub struct There {
    pub objects: BTreeMap<String, Value>,
    versions: u64,
    pub calls: Vec<Call>,
    /// After how many calls the process dies.
    pub dies: Option<usize>,
    /// After how many calls somebody does something.
    pub meddles: Option<(usize, Meddle)>,
    pub deleted: bool,
}

impl There {
    fn version(&mut self) -> u64 {
        self.versions += 1;
        self.versions
    }

    fn put(&mut self, name: &str, mut object: Value, uid: Option<&str>) {
        let version = self.version();
        let uid = uid.map_or_else(|| format!("uid-{version}"), str::to_owned);
        object["metadata"]["uid"] = uid.into();
        object["metadata"]["resourceVersion"] = version.to_string().into();
        self.objects.insert(name.to_owned(), object);
    }

    pub fn meddle(&mut self, meddle: &Meddle) {
        match meddle {
            Meddle::Make(name) if !self.objects.contains_key(name) => {
                let owners =
                    json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": STRANGER }]);
                let object = json!({ "metadata": { "name": name, "ownerReferences": owners } });
                self.put(name, object, None);
            }
            Meddle::Take(name) | Meddle::Touch(name) => {
                let Some(mut object) = self.objects.remove(name) else { return };
                if matches!(meddle, Meddle::Take(_)) {
                    object["metadata"]["ownerReferences"] = json!([]);
                }
                let uid = object["metadata"]["uid"].as_str().unwrap().to_owned();
                self.put(name, object, Some(&uid));
            }
            Meddle::Vanish(name) => drop(self.objects.remove(name)),
            Meddle::Delete => self.deleted = true,
            Meddle::Make(_) => {}
        }
    }
}

/// The hub, as one pass calls it.
pub struct Played<'a> {
    hub: &'a Hub,
    /// As the pass has read it.
    map: &'a PrerequisiteRequest,
}

impl<'a> Played<'a> {
    pub fn new(hub: &'a Hub, map: &'a PrerequisiteRequest) -> Self {
        Self { hub, map }
    }

    /// A call begins: the name of its object, and what is there; or why it comes to nothing.
    fn call(&self, object: &Value) -> Result<(String, MutexGuard<'_, There>), ApplyError> {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        assert_eq!(object["metadata"]["namespace"], "clusters");
        assert!(self.map.holds, "nothing is done before the finalizer stands there");
        let mut there = self.hub.there();
        match there.meddles.take() {
            Some((0, meddle)) => there.meddle(&meddle),
            Some((after, meddle)) => there.meddles = Some((after - 1, meddle)),
            None => {}
        }
        if let Some(dies) = &mut there.dies {
            if *dies == 0 {
                return Err(ApplyError::new(ApplyErrorReason::Unreachable, "the process is dead"));
            }
            *dies -= 1;
        }
        if !self.hub.up {
            return Err(ApplyError::new(ApplyErrorReason::Unreachable, "it does not answer"));
        }
        if self.hub.refused.contains(&name) {
            return Err(ApplyError::from_response(403, "Forbidden", "no"));
        }
        Ok((name, there))
    }

    fn seen(&self, there: &There, name: &str) -> Option<Value> {
        let mut object = there.objects.get(name)?.clone();
        object["status"] = json!({ "ready": self.hub.ready.contains(name) });
        Some(object)
    }

    fn wrote(&self, there: &mut There, verb: &'static str, name: String) -> WriteResult {
        assert!(self.map.deleted.is_none(), "{verb} while the ConfigMap is being deleted");
        let object = self.seen(there, &name).unwrap();
        let ready = object["status"]["ready"] == true;
        there.calls.push(Call { verb, name, ready });
        WriteResult::There(object)
    }
}

fn changed() -> WriteResult {
    WriteResult::Changed(ApplyError::from_response(409, "Conflict", "it is another one"))
}

impl Calls for Played<'_> {
    async fn find(&self, object: &Value) -> Result<Option<Value>, ApplyError> {
        let (name, there) = self.call(object)?;
        Ok(self.seen(&there, &name))
    }

    async fn create(&self, object: &Value) -> Result<WriteResult, ApplyError> {
        let (name, mut there) = self.call(object)?;
        assert!(object["metadata"]["uid"].is_null() && object["metadata"]["resourceVersion"].is_null());
        assert!(is_ours(object));
        if there.objects.contains_key(&name) {
            return Ok(changed());
        }
        there.put(&name, object.clone(), None);
        Ok(self.wrote(&mut there, "create", name))
    }

    async fn apply(&self, object: &Value) -> Result<WriteResult, ApplyError> {
        let (name, mut there) = self.call(object)?;
        let Some(before) =
            there.objects.get(&name).filter(|there| ObjectVersion::of(there) == ObjectVersion::of(object))
        else {
            return Ok(changed());
        };
        assert!(is_ours(before) && before["metadata"]["deletionTimestamp"].is_null(), "{before}");
        let uid = before["metadata"]["uid"].as_str().unwrap().to_owned();
        there.put(&name, object.clone(), Some(&uid));
        Ok(self.wrote(&mut there, "apply", name))
    }

    async fn delete(&self, object: &Value, only: &ObjectVersion) -> Result<(), ApplyError> {
        let (name, mut there) = self.call(object)?;
        let Some(mut before) =
            there.objects.get(&name).filter(|there| ObjectVersion::of(there) == *only).cloned()
        else {
            return Ok(());
        };
        let deleted = self.map.deleted.unwrap();
        // Where the API server's clock is ahead, the time is that since it was written down.
        let since = self.map.removing.map_or(deleted, |removing| removing.min(deleted));
        assert!(!self.hub.cluster && self.hub.now >= since + GRACE, "too early");
        assert!(is_ours(&before), "{before}");
        let bundle = bundle_of(&name);
        let later = |(other, object): (&String, &Value)| bundle_of(other) > bundle && is_ours(object);
        assert!(!there.objects.iter().any(later), "{name} before what came after it");
        if self.hub.stuck.contains(&name) {
            before["metadata"]["deletionTimestamp"] = "2026-03-02T11:00:00Z".into();
            there.put(&name, before, Some(&only.uid));
        } else {
            there.objects.remove(&name);
        }
        there.calls.push(Call { verb: "delete", name, ready: false });
        Ok(())
    }
}
