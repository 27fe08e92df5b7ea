//! Promises where part of the record of a cluster by template is lost or altered, whichever backend makes it.

use function_model::world::World;
use serde_json::{Value, json};
use testplatform_apis::names::ours;

use crate::templates::{
    every::{BACKENDS, Made},
    is,
};

/// Something that happens to a note.
type Loss = fn(&mut Value);

fn asked_for<'a>(world: &'a World, writer: &str) -> &'a Value {
    &world.objects[writer].object["spec"]["forProvider"]["manifest"]["spec"]
}

/// Changes what is noted of what was asked for, on one of the Objects.
fn alter(world: &mut World, object: &str, change: impl FnOnce(&mut Value)) {
    let annotations = &mut world.objects.get_mut(object).unwrap().object["metadata"]["annotations"];
    let mut note = serde_json::from_str(annotations[ours::EFFECTIVE].as_str().unwrap()).unwrap();
    change(&mut note);
    annotations[ours::EFFECTIVE] = note.to_string().into();
}

/// Nodes are kept by the name of their group, and the template gives others by now.
#[test]
fn nodes_survive_lost_records_of_their_groups() {
    let losses: [Loss; 3] = [
        |note| drop(note.as_object_mut().unwrap().remove("nodeGroups")),
        |note| note["nodeGroups"] = json!("workers"),
        |note| drop(note["nodeGroups"][0].as_object_mut().unwrap().remove("class")),
    ];
    // CaaS has no groups.
    for Made { backend, writer, ready, .. } in BACKENDS.into_iter().filter(|made| made.backend != "caas") {
        let of = |world: &World| {
            let pools = world.objects.keys().filter(|name| name.starts_with("pool-"));
            (asked_for(world, writer).clone(), pools.cloned().collect::<Vec<_>>())
        };
        for (at, loss) in losses.into_iter().enumerate() {
            for lost in [&[writer] as &[&str], &[writer, "credentials"]] {
                let mut world = ready();
                let before = of(&world);
                world.drop_status();
                for entry in &mut world.templates {
                    if let Some(name) = entry.pointer_mut("/data/defaultNodeGroups/0/name") {
                        *name = json!("others");
                    }
                }
                for name in lost {
                    alter(&mut world, name, loss);
                }
                world.settle();
                assert_eq!(of(&world), before, "{backend}: loss {at} on {lost:?}");
                assert_eq!(world.phase(), "Ready", "{backend}: loss {at} on {lost:?}");
            }
        }
    }
}

/// Version and image together name the cluster's release, and the catalogue has newer ones that the claim allows too. Nor does the claim
/// move to another template because the record of its own is lost.
#[test]
fn release_survives_lost_records() {
    let losses: [(&[&str], Loss); 5] = [
        (&["hypershift", "osac"], |note| drop(note.as_object_mut().unwrap().remove("releaseImage"))),
        (&["hypershift", "osac"], |note| note["releaseImage"] = json!(7)),
        (&["hypershift", "osac"], |note| drop(note.as_object_mut().unwrap().remove("version"))),
        (&["hypershift", "osac", "cluster-api"], |note| note["version"] = json!("no version")),
        (&["hypershift", "osac", "cluster-api", "caas"], |note| {
            drop(note.as_object_mut().unwrap().remove("template"));
        }),
    ];
    for Made { backend, writer, ready, .. } in BACKENDS {
        let of_backend = losses.iter().enumerate().filter(|(_, (of, _))| of.contains(&backend));
        for (at, (_, loss)) in of_backend {
            for lost in [&[writer] as &[&str], &[writer, "credentials"], &["credentials"]] {
                let at = format!("{backend}: loss {at} on {lost:?}");
                let mut world = ready();
                if ["hypershift", "osac"].contains(&backend) {
                    world.spec["version"] = json!("4.20");
                }
                world.settle();
                let noted = |world: &World| {
                    world.objects[writer].object["metadata"]["annotations"][ours::EFFECTIVE].clone()
                };
                let before = (asked_for(&world, writer).clone(), noted(&world));
                world.drop_status();
                for name in lost {
                    alter(&mut world, name, loss);
                }
                if !lost.contains(&writer) {
                    world.objects.remove(writer);
                    world.refs.remove(writer);
                }
                world.settle();
                assert_eq!(asked_for(&world, writer), &before.0, "{at}");
                assert_eq!((world.phase().as_str(), world.made), ("Ready", 1), "{at}");
                if lost == [writer] {
                    assert_eq!(noted(&world), before.1, "{at}");
                    assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"), "{at}");
                } else {
                    assert_eq!(world.condition("SpecApplied"), is("Unknown", "NotObserved"), "{at}");
                }
            }
        }
    }
}

/// The writer was deleted, and of what `credentials` note of it neither its groups nor what makes it can be read.
#[test]
fn nodes_survive_a_lost_list_of_groups() {
    for Made { backend, writer, ready, .. } in BACKENDS {
        let mut world = ready();
        let of = |world: &World| {
            let pools = world.objects.keys().filter(|name| name.starts_with("pool-"));
            (asked_for(world, writer).clone(), pools.cloned().collect::<Vec<_>>())
        };
        let before = of(&world);
        world.drop_status();
        for entry in &mut world.templates {
            if let Some(name) = entry.pointer_mut("/data/defaultNodeGroups/0/name") {
                *name = json!("others");
            }
        }
        alter(&mut world, "credentials", |note| {
            note.as_object_mut().unwrap().retain(|member, _| member == "template");
        });
        world.objects.remove(writer);
        world.refs.remove(writer);
        world.settle();
        assert_eq!(of(&world), before, "{backend}");
        assert_eq!((world.phase().as_str(), world.made), ("Ready", 1), "{backend}");
    }
}

/// The primary Object's kind decides the backend, whatever the record says, and whatever the entry of that name is by now.
#[test]
fn backend_follows_from_the_primary_object() {
    for (Made { backend, writer, ready, .. }, forgotten, at_once) in BACKENDS.into_iter().flat_map(|made| {
        [(false, false), (false, true), (true, false), (true, true)].map(|(f, o)| (made, f, o))
    }) {
        let at = format!("{backend}, forgotten: {forgotten}, ends at once: {at_once}");
        let other = BACKENDS.iter().find(|other| other.backend != backend).unwrap();
        let mut world = ready();
        let before = asked_for(&world, writer).clone();
        world.drop_status();
        for object in [writer, "credentials"] {
            alter(&mut world, object, |note| {
                note["backend"] = if forgotten { Value::Null } else { json!(other.backend) };
            });
        }
        if forgotten {
            let mut theirs = (other.asked)();
            let name = theirs.spec["template"].as_str().unwrap().to_owned();
            let own = world.spec["template"].as_str().unwrap().to_owned();
            *world.catalogue_entry(&own) = theirs.catalogue_entry(&name).take();
        }
        if !at_once {
            world.settle();
            assert_eq!(asked_for(&world, writer), &before, "{at}");
            assert_eq!((world.phase().as_str(), world.made), ("Ready", 1), "{at}");
            let applied = if forgotten { is("False", "Immutable") } else { is("True", "UpToDate") };
            assert_eq!(world.condition("SpecApplied"), applied, "{at}");
            assert_eq!(world.status["effective"]["backend"], backend, "{at}");
        }
        world.spec["tearDownCluster"] = json!(true);
        world.settle();
        let remote = world.remote.as_ref();
        assert!(remote.is_none_or(|r| r["metadata"]["deletionTimestamp"].is_string()), "{at}");
        world.hive_is_done();
        world.hosted = None;
        world.settle();
        assert_eq!(world.phase(), "Deprovisioned", "{at}");
    }
}
