//! Whose an object is, and what is done with it for that.

use std::{collections::VecDeque, sync::Mutex, time::Duration};

use provider_testplatform::{
    controllers::prerequisites::objects::{
        HubObjects, ObjectVersion, Removed, RequestObjects, RequestOwner, WriteResult,
    },
    manifests::apply::{ApplyError, ApplyErrorReason, GuestCluster},
};
use serde_json::{Value, json};
use testplatform_apis::bundle::Bundle;
use tokio::time::Instant;

/// Finds these, one after the other, and remembers what it is asked for.
struct Told {
    finds: Mutex<VecDeque<Result<Option<Value>, ApplyError>>>,
    asked: Mutex<Vec<(&'static str, Value)>>,
    /// Somebody is always faster.
    changed: bool,
}

impl Told {
    fn new(finds: impl IntoIterator<Item = Result<Option<Value>, ApplyError>>) -> Self {
        Self { finds: Mutex::new(finds.into_iter().collect()), asked: Mutex::default(), changed: false }
    }

    fn wrote(&self, verb: &'static str, object: &Value) -> WriteResult {
        self.asked.lock().unwrap().push((verb, object.clone()));
        if self.changed {
            return WriteResult::Changed(ApplyError::from_response(409, "Conflict", "it is another one"));
        }
        WriteResult::There(object.clone())
    }

    fn asked(self) -> Vec<(&'static str, Value)> {
        self.asked.into_inner().unwrap()
    }
}

impl HubObjects for Told {
    async fn find(&self, _: &Value) -> Result<Option<Value>, ApplyError> {
        self.finds.lock().unwrap().pop_front().unwrap()
    }

    async fn create(&self, object: &Value) -> Result<WriteResult, ApplyError> {
        Ok(self.wrote("create", object))
    }

    async fn apply(&self, object: &Value) -> Result<WriteResult, ApplyError> {
        Ok(self.wrote("apply", object))
    }

    async fn delete(&self, object: &Value, only: &ObjectVersion) -> Result<(), ApplyError> {
        let mut told = object.clone();
        told["only"] = json!([only.uid, only.resource_version]);
        drop(self.wrote("delete", &told));
        Ok(())
    }
}

fn owner() -> RequestOwner {
    RequestOwner { namespace: "clusters".into(), name: "one-prerequisites".into(), uid: "ours".into() }
}

fn manifest() -> Value {
    let metadata =
        json!({ "name": "x", "uid": "no", "resourceVersion": "0", "ownerReferences": [{ "uid": "no" }] });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "a": "b" } })
}

fn there(owner: &str) -> Value {
    let owners = json!([{ "uid": "another" }, { "uid": owner }]);
    json!({ "metadata": { "name": "x", "uid": "u", "resourceVersion": "7", "ownerReferences": owners } })
}

fn going() -> Value {
    let mut object = there("ours");
    object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    object
}

async fn apply(told: &Told, object: &Value) -> Result<Value, ApplyError> {
    RequestObjects { hub: told, owner: &owner() }.apply_manifest(object).await
}

async fn remove(told: &Told, object: &Value) -> Removed {
    let bundle = json!({ "name": "b", "manifests": [{ "object": object }] });
    let bundles: Vec<Bundle> = vec![serde_json::from_value(bundle).unwrap()];
    RequestObjects { hub: told, owner: &owner() }
        .remove(&bundles, Instant::now() + Duration::from_mins(1))
        .await
}

#[tokio::test]
async fn missing_object_is_created_with_our_owner_reference() {
    let told = Told::new([Ok(None)]);
    apply(&told, &manifest()).await.unwrap();
    let owners =
        json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "one-prerequisites", "uid": "ours" }]);
    let metadata = json!({ "name": "x", "namespace": "clusters", "ownerReferences": owners });
    let whole =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "a": "b" } });
    assert_eq!(told.asked(), [("create", whole)]);
}

#[tokio::test]
async fn own_object_is_applied_at_the_read_version() {
    let told = Told::new([Ok(Some(there("ours")))]);
    apply(&told, &manifest()).await.unwrap();
    let asked = told.asked();
    let metadata = &asked[0].1["metadata"];
    assert_eq!(
        (asked[0].0, &metadata["uid"], &metadata["resourceVersion"]),
        ("apply", &"u".into(), &"7".into())
    );
}

#[tokio::test]
async fn foreign_object_is_neither_changed_nor_deleted() {
    let stranger = || Ok(Some(there("theirs")));
    let told = Told::new([stranger()]);
    let why = apply(&told, &manifest()).await.unwrap_err();
    assert!(why.has_reason(ApplyErrorReason::NameTaken) && !why.hopeless, "{why:?}");
    assert_eq!(told.asked(), []);
    let told = Told::new([stranger()]);
    assert_eq!(remove(&told, &manifest()).await, Removed::All);
    assert_eq!(told.asked(), []);
    // One that came a moment after nothing was there.
    let told = Told { changed: true, ..Told::new([Ok(None), stranger()]) };
    assert!(apply(&told, &manifest()).await.unwrap_err().has_reason(ApplyErrorReason::NameTaken));
    // And one that was ours a moment ago.
    let told = Told { changed: true, ..Told::new([Ok(Some(there("ours"))), stranger()]) };
    assert_eq!(remove(&told, &manifest()).await, Removed::All);
    assert_eq!(told.asked()[0].1["only"], json!(["u", "7"]));
}

#[tokio::test]
async fn repeated_conflict_is_reported_and_retried() {
    let ours = || Ok(Some(there("ours")));
    let told = Told { changed: true, ..Told::new([ours(), ours(), ours()]) };
    let why = apply(&told, &manifest()).await.unwrap_err();
    assert_eq!((&*why.reason, why.hopeless, told.asked().len()), ("Conflict", false, 3));
}

#[tokio::test]
async fn object_in_deletion_is_waited_for() {
    let told = Told::new([Ok(Some(going()))]);
    assert!(apply(&told, &manifest()).await.unwrap_err().has_reason(ApplyErrorReason::NotReady));
    let told = Told::new([Ok(Some(going()))]);
    let Removed::Left(stop) = remove(&told, &manifest()).await else { panic!("it is there") };
    assert_eq!(stop.object.as_deref(), Some("ConfigMap x"));
    assert_eq!(told.asked(), []);
}

#[tokio::test]
async fn impossible_manifest_is_refused_before_any_call() {
    let at = |pointer: &str, value: Value| {
        let mut object = manifest();
        *object.pointer_mut(pointer).unwrap() = value;
        object
    };
    let mut elsewhere = manifest();
    elsewhere["metadata"]["namespace"] = "kube-system".into();
    for (object, reason) in [
        (elsewhere, ApplyErrorReason::InvalidManifest),
        (at("/kind", "Secret".into()), ApplyErrorReason::KindNotAllowed),
        (at("/kind", Value::Null), ApplyErrorReason::InvalidManifest),
        (at("/apiVersion", "".into()), ApplyErrorReason::InvalidManifest),
        (at("/metadata/name", 7.into()), ApplyErrorReason::InvalidManifest),
    ] {
        let told = Told::new([]);
        let why = apply(&told, &object).await.unwrap_err();
        assert!(why.has_reason(reason) && why.hopeless, "{object}: {why:?}");
        assert_eq!(owner().check_manifest(&object), Err(why));
        assert_eq!(remove(&told, &object).await, Removed::All, "nothing was made of it");
    }
    // A Secret of another group is another kind.
    let other = json!({ "apiVersion": "example.com/v1", "kind": "Secret", "metadata": { "name": "x", "namespace": "clusters" } });
    owner().check_manifest(&other).unwrap();
}

#[tokio::test]
async fn refused_kinds_count_as_absent_at_removal() {
    for why in
        [ApplyErrorReason::KindNotAllowed, ApplyErrorReason::NoSuchKind, ApplyErrorReason::InvalidManifest]
    {
        let told = Told::new([Err(ApplyError::new(why, "no"))]);
        assert_eq!(remove(&told, &manifest()).await, Removed::All, "{why:?}");
    }
    let told = Told::new([Err(ApplyError::from_response(403, "Forbidden", "no"))]);
    let Removed::Left(stop) = remove(&told, &manifest()).await else { panic!("nobody knows") };
    assert_eq!(stop.why.reason, "Forbidden");
}
