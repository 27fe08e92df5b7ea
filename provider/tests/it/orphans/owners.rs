//! By what a remote object is known to have an owner.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use provider_testplatform::{
    config::{RemoteKind, TeardownMethod},
    controllers::orphans::{
        owners::{Owners, RemoteOwner},
        remote::RemoteObject,
    },
};
use testplatform_apis::names::{ephemeral_cluster, ours};

use super::{at, composite, object, remote};

fn annotated(name: &str, composite: &str, annotation: (&str, &str)) -> ObjectMeta {
    let annotations = BTreeMap::from([(annotation.0.to_owned(), annotation.1.to_owned())]);
    ObjectMeta { annotations: Some(annotations), ..object(name, Some(composite)) }
}

/// Owners with one composite and these Objects.
fn owners(composites: &[ObjectMeta], objects: &[ObjectMeta]) -> Owners {
    let mut owners = Owners::default();
    for metadata in composites {
        owners.add_composite(metadata);
    }
    for metadata in objects {
        owners.add_object(metadata);
    }
    owners
}

#[test]
fn a_composite_owns_by_its_name_and_by_its_objects() {
    let owned = Some(RemoteOwner::Composite);
    let of = |owners: &Owners| owners.owner(&remote("lost"));
    assert_eq!(of(&owners(&[composite("lost")], &[])), owned);
    assert_eq!(of(&owners(&[composite("other")], &[])), None);
    let other = [composite("other")];
    for object in [
        object("managed-lost", Some("other")),
        object("credentials-lost", Some("other")),
        annotated("managed-x", "other", (ours::REMOTE, "clusters/lost")),
        annotated("managed-x", "other", (ours::TRANSFERRED_FROM, "hub/ephemeral-cluster/lost/uid-lost")),
        // Somebody's own.
        object("managed-lost", None),
    ] {
        assert_eq!(of(&owners(&other, std::slice::from_ref(&object))), owned, "{object:?}");
    }
    assert_eq!(of(&owners(&other, &[object("managed-lost-2", Some("other"))])), None);
}

#[test]
fn an_object_without_its_composite_is_no_owner_but_is_known() {
    let orphaned = Some(RemoteOwner::Object("managed-lost".into()));
    let objects = [object("managed-lost", Some("gone"))];
    assert_eq!(owners(&[composite("other")], &objects).owner(&remote("lost")), orphaned);
    // A composite of the same name in a namespace is another one.
    let namespaced = ObjectMeta { namespace: Some("tenant-a".into()), ..composite("gone") };
    assert_eq!(owners(std::slice::from_ref(&namespaced), &objects).owner(&remote("lost")), orphaned);
    let objects = [ObjectMeta { namespace: Some("tenant-a".into()), ..objects[0].clone() }];
    assert_eq!(owners(&[namespaced], &objects).owner(&remote("lost")), Some(RemoteOwner::Composite));
}

/// provider-kubernetes tries the manifest before it deletes anything: what the hub refuses, it never deletes, and it never applies it again.
#[test]
fn an_object_that_is_deleted_and_waits_for_its_remote_object_alone_is_none() {
    let deleted = |change: fn(&mut ObjectMeta)| {
        let mut object = object("managed-lost", Some("gone"));
        object.deletion_timestamp = Some(Time(at(0)));
        object.finalizers = Some(vec!["finalizer.managedresource.crossplane.io".into()]);
        change(&mut object);
        owners(&[composite("other")], &[object]).owner(&remote("lost"))
    };
    assert_eq!(deleted(|_| ()), None);
    let orphaned = Some(RemoteOwner::Object("managed-lost".into()));
    let held = |object: &mut ObjectMeta| {
        let finalizers = object.finalizers.get_or_insert_default();
        finalizers.push("kubernetes.crossplane.io/referred-by-object-uid".into());
    };
    assert_eq!(deleted(held), orphaned);
    // A node group that is deleted goes with its cluster. Work inside the cluster comes before that.
    for (component, deletion, expected) in
        [("pool", true, None), ("pool", false, orphaned.clone()), ("bundles", true, orphaned.clone())]
    {
        let mut cluster = object("managed-lost", Some("gone"));
        cluster.deletion_timestamp = Some(Time(at(0)));
        cluster.finalizers = Some(vec!["kubernetes.crossplane.io/referred-by-object-uid".into()]);
        let mut part = object("some-part", Some("gone"));
        part.uid = Some("uid".into());
        part.deletion_timestamp = deletion.then(|| Time(at(0)));
        part.labels.get_or_insert_default().insert(ours::COMPONENT.into(), component.into());
        let owners = owners(&[composite("other")], &[cluster, part]);
        assert_eq!(owners.owner(&remote("lost")), expected, "{component} {deletion}");
    }
    let paused = |object: &mut ObjectMeta| {
        object.annotations = Some(BTreeMap::from([("crossplane.io/paused".into(), "true".into())]));
    };
    assert_eq!(deleted(paused), orphaned);
    // Another Object would apply it again.
    let mut deleted = object("managed-lost", Some("gone"));
    deleted.deletion_timestamp = Some(Time(at(0)));
    let objects = [object("credentials-lost", Some("gone")), deleted.clone()];
    let other = Some(RemoteOwner::Object("credentials-lost".into()));
    assert_eq!(owners(&[composite("other")], &objects).owner(&remote("lost")), other);
    assert_eq!(owners(&[composite("gone")], &[deleted]).owner(&remote("lost")), Some(RemoteOwner::Composite));
}

/// Crossplane labels the Objects of a composite that is itself composed with the outermost composite.
#[test]
fn a_composite_that_is_composed_owns_by_reference() {
    let reference = |kind: &str, name: &str| OwnerReference {
        api_version: "ci.openshift.org/v1alpha1".into(),
        kind: kind.into(),
        name: name.into(),
        ..OwnerReference::default()
    };
    let in_tenant = |metadata: ObjectMeta| ObjectMeta { namespace: Some("tenant-a".into()), ..metadata };
    let of = |owner| {
        let references = Some(vec![owner]);
        in_tenant(ObjectMeta { owner_references: references, ..object("managed-lost", Some("environment")) })
    };
    let composites = [in_tenant(composite("nested")), composite("other")];
    let owner = |owner| owners(&composites, &[of(owner)]).owner(&remote("lost"));
    assert_eq!(owner(reference("TestCluster", "nested")), Some(RemoteOwner::Composite));
    let orphaned = Some(RemoteOwner::Object("managed-lost".into()));
    assert_eq!(owner(reference("TestCluster", "gone")), orphaned);
    assert_eq!(owner(reference("Environment", "nested")), orphaned);
}

#[test]
fn a_manifest_names_what_its_composite_owns() {
    let mut owners = owners(&[composite("other")], &[]);
    let carrier = object("some-object", Some("other"));
    owners.add_manifest(&carrier, RemoteKind::ClusterClaim, "ephemeral-cluster", "lost");
    owners.add_manifest(&carrier, RemoteKind::EphemeralCluster, "elsewhere", "lost");
    assert_eq!(owners.owner(&remote("lost")), None);
    owners.add_manifest(&carrier, RemoteKind::EphemeralCluster, "ephemeral-cluster", "lost");
    assert_eq!(owners.owner(&remote("lost")), Some(RemoteOwner::Composite));
}

#[test]
fn marks_are_read_from_metadata() {
    let annotations = [
        (ephemeral_cluster::KONFLUX_CLUSTER, "stone-prd"),
        (ephemeral_cluster::KONFLUX_TENANT, "tenant-a"),
        (ours::KONFLUX_CLUSTER_UID, "uid-of-kube-system"),
    ];
    let metadata = ObjectMeta {
        name: Some("lost".into()),
        namespace: Some("ephemeral-cluster".into()),
        uid: Some("uid-lost".into()),
        creation_timestamp: Some(Time(at(-60))),
        annotations: Some(annotations.map(|(key, value)| (key.to_owned(), value.to_owned())).into()),
        ..ObjectMeta::default()
    };
    let read = |metadata: &ObjectMeta| RemoteObject::read("hub", RemoteKind::EphemeralCluster, metadata);
    assert_eq!(read(&metadata), Some(remote("lost")));
    assert!(read(&metadata).unwrap().is_of("stone-prd") && !read(&metadata).unwrap().is_of("stone"));
    let owner = OwnerReference::default();
    let dependent = ObjectMeta { owner_references: Some(vec![owner]), ..metadata.clone() };
    assert!(!read(&dependent).unwrap().is_of("stone-prd"));
    assert_eq!(read(&ObjectMeta { uid: None, ..metadata }), None);
}

#[test]
fn kinds_are_those_that_the_function_writes() {
    for kind in RemoteKind::ALL {
        let resource = kind.resource();
        assert_eq!(RemoteKind::parse(&resource.group, &resource.kind), Some(kind));
        assert_eq!(RemoteKind::parse("example.org", &resource.kind), None);
        let sets = kind.teardown_method() == TeardownMethod::SetField;
        assert_eq!(sets, kind == RemoteKind::EphemeralCluster);
    }
}
