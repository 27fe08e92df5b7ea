//! Remote objects without an owner: when they are orphans, and everything that keeps them from being ended.

mod owners;
mod report;
mod teardown;
mod walk;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_testplatform::{
    config::{KubeconfigSecretRef, OrphanHub, OrphanMode, RemoteKind},
    controllers::orphans::{
        owners::Owners,
        placements::Placements,
        plan::{
            HubRemotes, KonfluxState, MAX_TEARDOWNS, OrphanPlan, OrphanSettings, OrphanState,
            TeardownRefusal, UnownedRecords, plan,
        },
        remote::{RemoteObject, RemoteRef},
    },
};

const HUB: &str = "hub";
const NAME: &str = "stone-prd";
const UID: &str = "uid-of-kube-system";

fn at(minutes: i64) -> Timestamp {
    let begin: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
    begin.checked_add(SignedDuration::from_mins(minutes)).unwrap()
}

fn identity(name: &str) -> RemoteRef {
    RemoteRef {
        hub: HUB.into(),
        kind: RemoteKind::EphemeralCluster,
        namespace: "ephemeral-cluster".into(),
        name: name.into(),
        uid: format!("uid-{name}"),
    }
}

/// A remote object that was owned by a composite of this Konflux cluster once.
fn remote(name: &str) -> RemoteObject {
    RemoteObject {
        identity: identity(name),
        tenant: Some("tenant-a".into()),
        created: Some(at(-60)),
        deleted: None,
        konflux_cluster: Some(NAME.into()),
        konflux_cluster_uid: Some(UID.into()),
        dependent: false,
    }
}

fn composite(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() }
}

/// An Object of a composite.
fn object(name: &str, composite: Option<&str>) -> ObjectMeta {
    let labels = composite.map(|name| BTreeMap::from([("crossplane.io/composite".into(), name.into())]));
    ObjectMeta { name: Some(name.into()), labels, ..ObjectMeta::default() }
}

fn konflux(composites: &[&str]) -> KonfluxState {
    let mut owners = Owners::default();
    for name in composites {
        owners.add_composite(&composite(name));
        owners.add_object(&object(&format!("managed-{name}"), Some(name)));
    }
    KonfluxState { name: NAME.into(), uid: UID.into(), owners, placements: Placements::default() }
}

fn hub(remotes: Vec<RemoteObject>) -> HubRemotes {
    HubRemotes { hub: HUB.into(), remotes: Ok(remotes) }
}

fn settings(mode: OrphanMode) -> OrphanSettings {
    OrphanSettings {
        mode,
        grace: SignedDuration::from_hours(1),
        max_unowned_percent: 50,
        confirmed: std::collections::BTreeSet::new(),
        hubs: BTreeMap::new(),
    }
}

/// Reconciles at these minutes with the same state.
fn reconcile(
    minutes: &[i64],
    konflux: &KonfluxState,
    hub: &HubRemotes,
    settings: &OrphanSettings,
) -> OrphanPlan {
    let mut planned = OrphanPlan::default();
    for minute in minutes {
        let before = planned.records;
        planned = plan(&before, &Ok(konflux.clone()), std::slice::from_ref(hub), settings, at(*minute));
    }
    planned
}

fn state(planned: &OrphanPlan, name: &str) -> Option<OrphanState> {
    planned.states.get(&identity(name)).cloned()
}

#[test]
fn ownerless_object_is_an_orphan_after_the_grace_period() {
    let (konflux, hub) = (konflux(&["owned"]), hub(vec![remote("owned"), remote("lost")]));
    let settings = settings(OrphanMode::Teardown);
    let early = reconcile(&[0, 5, 59], &konflux, &hub, &settings);
    assert_eq!(state(&early, "lost"), Some(OrphanState::Pending));
    assert!(early.teardowns.is_empty());
    let late = reconcile(&[0, 5, 60], &konflux, &hub, &settings);
    assert_eq!(state(&late, "lost"), Some(OrphanState::Teardown));
    assert_eq!(late.teardowns, [identity("lost")]);
    assert_eq!(state(&late, "owned"), None);
    assert_eq!((late.hubs[0].marked, late.hubs[0].unowned), (2, 1));
    // One listing is not enough.
    let once = reconcile(&[0], &konflux, &hub, &OrphanSettings { grace: SignedDuration::ZERO, ..settings });
    assert_eq!(state(&once, "lost"), Some(OrphanState::Pending));
}

#[test]
fn mode_report_writes_nothing() {
    let unmarked = RemoteObject { konflux_cluster_uid: None, ..remote("owned") };
    let hub = hub(vec![unmarked, remote("lost")]);
    let planned = reconcile(&[0, 60], &konflux(&["owned"]), &hub, &settings(OrphanMode::Report));
    assert_eq!(state(&planned, "lost"), Some(OrphanState::Reported));
    assert!(planned.teardowns.is_empty() && planned.recorded.is_empty());
}

#[test]
fn returning_owner_restarts_the_grace_period() {
    let settings = settings(OrphanMode::Teardown);
    let hubs = [hub(vec![remote("owned"), remote("moved")])];
    let (without, with) = (konflux(&["owned"]), konflux(&["owned", "moved"]));
    let mut records = UnownedRecords::new();
    for (minute, konflux) in [(0, &without), (30, &with), (35, &without), (65, &without)] {
        let planned = plan(&records, &Ok(konflux.clone()), &hubs, &settings, at(minute));
        assert!(planned.teardowns.is_empty(), "{minute}");
        records = planned.records;
    }
    assert_eq!(records[&identity("moved")].since, at(35));
}

#[test]
fn an_incomplete_listing_decides_nothing_and_two_complete_ones_follow() {
    let settings = settings(OrphanMode::Teardown);
    let konflux = Ok(konflux(&["owned"]));
    let complete = hub(vec![remote("owned"), remote("lost")]);
    let failed = HubRemotes { hub: HUB.into(), remotes: Err("forbidden".into()) };
    let first = plan(&UnownedRecords::new(), &konflux, std::slice::from_ref(&complete), &settings, at(0));
    for (side, hub) in [(&Err("no definition".to_owned()), &complete), (&konflux, &failed)] {
        let planned = plan(&first.records, side, std::slice::from_ref(hub), &settings, at(90));
        // It is known since when, and it still rings.
        assert_eq!(state(&planned, "lost"), Some(OrphanState::Reported), "{side:?}");
        assert!(planned.teardowns.is_empty() && planned.hubs[0].error.is_some());
        let next = plan(&planned.records, &konflux, std::slice::from_ref(&complete), &settings, at(95));
        assert_eq!(state(&next, "lost"), Some(OrphanState::Reported), "{side:?}");
        assert!(next.teardowns.is_empty(), "{side:?}");
        let last = plan(&next.records, &konflux, std::slice::from_ref(&complete), &settings, at(100));
        assert_eq!(state(&last, "lost"), Some(OrphanState::Teardown), "{side:?}");
    }
}

/// An alert waits for some minutes, and would never ring for a gauge that falls to 0 with each listing after one that failed.
#[test]
fn orphan_stays_one_through_failed_listings() {
    let konflux = Ok(konflux(&["owned"]));
    let complete = hub(vec![remote("owned"), remote("lost")]);
    let failed = HubRemotes { hub: HUB.into(), remotes: Err("timeout".into()) };
    for mode in [OrphanMode::Report, OrphanMode::Teardown] {
        let settings = settings(mode);
        let mut records = UnownedRecords::new();
        for minute in (0..180).step_by(5) {
            let hub = if minute % 10 == 0 { &complete } else { &failed };
            let planned = plan(&records, &konflux, std::slice::from_ref(hub), &settings, at(minute));
            let is_orphan = planned.states[&identity("lost")].is_orphan();
            // One reconcile later than with two complete listings in a row.
            assert_eq!(is_orphan, minute > 60, "{mode:?} {minute}");
            assert!(planned.teardowns.is_empty(), "{mode:?} {minute}");
            records = planned.records;
        }
        // Neither does a clock that was set back.
        let planned = plan(&records, &konflux, std::slice::from_ref(&complete), &settings, at(-30));
        assert_eq!(state(&planned, "lost"), Some(OrphanState::Reported), "{mode:?}");
    }
}

#[test]
fn an_orphan_is_new_once() {
    let (konflux, hubs) = (Ok(konflux(&["owned"])), [hub(vec![remote("owned"), remote("lost")])]);
    let settings = settings(OrphanMode::Report);
    let mut records = UnownedRecords::new();
    let mut found = Vec::new();
    for minute in (0..180).step_by(5) {
        let planned = plan(&records, &konflux, &hubs, &settings, at(minute));
        found.extend(planned.new_orphans(&records).map(|identity| (minute, identity.clone())));
        records = planned.records;
    }
    assert_eq!(found, [(60, identity("lost"))]);
}

#[test]
fn objects_without_our_mark_are_neither_counted_nor_touched() {
    let mut others = vec![
        RemoteObject { konflux_cluster: None, ..remote("incumbent") },
        RemoteObject { konflux_cluster: Some("stone-stg".into()), ..remote("neighbour") },
        RemoteObject { dependent: true, ..remote("dependent") },
    ];
    others.push(remote("owned"));
    let planned =
        reconcile(&[0, 60, 120], &konflux(&["owned"]), &hub(others), &settings(OrphanMode::Teardown));
    assert!(planned.states.is_empty() && planned.teardowns.is_empty(), "{planned:?}");
    assert_eq!(planned.hubs[0].marked, 1);
}

#[test]
fn every_doubt_keeps_a_cluster() {
    use TeardownRefusal::{AnotherCluster, NoComposite, ObjectRefers, Share, Unverified};
    let teardown = settings(OrphanMode::Teardown);
    let confirmed = OrphanSettings { confirmed: ["uid-lost".to_owned()].into(), ..teardown.clone() };
    let lost = || remote("lost");
    let unverified = RemoteObject { konflux_cluster_uid: None, ..lost() };
    let foreign = RemoteObject { konflux_cluster_uid: Some("another".into()), ..remote("foreign") };
    let mut pointed = konflux(&["owned"]);
    pointed.owners.add_object(&object("managed-lost", Some("lost")));
    let refused = |refusal| Some(OrphanState::Refused(refusal));
    let cases = [
        (konflux(&[]), vec![lost()], refused(NoComposite), refused(NoComposite)),
        (
            pointed,
            vec![remote("owned"), lost()],
            refused(ObjectRefers("managed-lost".into())),
            refused(ObjectRefers("managed-lost".into())),
        ),
        (
            konflux(&["owned"]),
            vec![remote("owned"), lost(), remote("second")],
            refused(Share(2, 3)),
            Some(OrphanState::Teardown),
        ),
        // A name that is not ours: nothing on the hub has an owner.
        (konflux(&["owned"]), vec![lost()], refused(Share(1, 1)), Some(OrphanState::Teardown)),
        (
            konflux(&["owned", "foreign"]),
            vec![remote("owned"), foreign.clone(), lost()],
            refused(AnotherCluster("another".into())),
            Some(OrphanState::Teardown),
        ),
        (
            konflux(&["owned"]),
            vec![remote("owned"), unverified],
            refused(Unverified),
            Some(OrphanState::Teardown),
        ),
    ];
    for (konflux, remotes, by_default, if_confirmed) in cases {
        let hub = hub(remotes);
        assert_eq!(state(&reconcile(&[0, 60], &konflux, &hub, &teardown), "lost"), by_default);
        assert_eq!(state(&reconcile(&[0, 60], &konflux, &hub, &confirmed), "lost"), if_confirmed);
    }
}

#[test]
fn object_in_deletion_is_not_ended_twice() {
    let going = RemoteObject { deleted: Some(at(-1)), ..remote("lost") };
    let planned = reconcile(
        &[0, 60],
        &konflux(&["owned"]),
        &hub(vec![remote("owned"), going]),
        &settings(OrphanMode::Teardown),
    );
    assert_eq!(state(&planned, "lost"), Some(OrphanState::Deleting));
    assert!(planned.teardowns.is_empty());
}

#[test]
fn namesake_object_is_another_one() {
    let (konflux, settings) = (Ok(konflux(&["owned"])), settings(OrphanMode::Teardown));
    let first = plan(
        &UnownedRecords::new(),
        &konflux,
        &[hub(vec![remote("owned"), remote("lost")])],
        &settings,
        at(0),
    );
    let mut next = remote("lost");
    next.identity.uid = "another".into();
    let planned = plan(&first.records, &konflux, &[hub(vec![remote("owned"), next])], &settings, at(60));
    assert_eq!(planned.states.into_values().collect::<Vec<_>>(), [OrphanState::Pending]);
}

#[test]
fn owner_is_recorded_once_on_owned_objects() {
    let bare = |name: &str| RemoteObject { konflux_cluster_uid: None, ..remote(name) };
    let moved = RemoteObject { konflux_cluster_uid: Some("of-the-cluster-before".into()), ..remote("moved") };
    let mut konflux = konflux(&["owned", "known", "moved"]);
    konflux.owners.add_object(&object("managed-pointed", Some("no-composite")));
    let foreign = RemoteObject { konflux_cluster: None, ..bare("foreign") };
    let all = hub(vec![bare("owned"), remote("known"), moved, bare("lost"), bare("pointed"), foreign]);
    let planned = reconcile(&[0, 60], &konflux, &all, &settings(OrphanMode::Teardown));
    assert_eq!(planned.recorded, [identity("owned"), identity("moved")]);
}

#[test]
fn few_teardowns_begin_at_a_time_the_oldest_first() {
    let names: Vec<String> = (0..20).map(|index| format!("lost-{index:02}")).collect();
    let owned: Vec<String> = (0..20).map(|index| format!("owned-{index}")).collect();
    let composites: Vec<&str> = owned.iter().map(String::as_str).collect();
    let remotes = names.iter().chain(&owned).map(|name| remote(name)).collect();
    let (konflux, hub, settings) = (konflux(&composites), hub(remotes), settings(OrphanMode::Teardown));
    let mut planned = reconcile(&[0, 60], &konflux, &hub, &settings);
    assert_eq!(planned.teardowns.len(), MAX_TEARDOWNS);
    // Those that were requested are followed up, and do not count.
    for identity in planned.teardowns.clone() {
        planned.records.get_mut(&identity).unwrap().requested = Some(at(60));
    }
    let next = plan(&planned.records, &Ok(konflux), &[hub], &settings, at(65));
    assert_eq!(next.teardowns.len(), 2 * MAX_TEARDOWNS);
}

#[test]
fn undeletable_orphans_block_nothing() {
    let names: Vec<String> = (0..8).map(|index| format!("lost-{index}")).collect();
    let owned: Vec<String> = (0..8).map(|index| format!("owned-{index}")).collect();
    let composites: Vec<&str> = owned.iter().map(String::as_str).collect();
    let remotes = names.iter().chain(&owned).map(|name| remote(name)).collect();
    let (konflux, hub, settings) = (konflux(&composites), hub(remotes), settings(OrphanMode::Teardown));
    let mut planned = reconcile(&[0, 60], &konflux, &hub, &settings);
    let first = planned.teardowns.clone();
    for identity in &first {
        planned.records.get_mut(identity).unwrap().failures += 1;
    }
    let next = plan(&planned.records, &Ok(konflux), &[hub], &settings, at(65));
    assert_eq!(next.teardowns.len(), MAX_TEARDOWNS);
    assert_eq!(next.teardowns.iter().filter(|identity| !first.contains(identity)).count(), 3);
}

/// With the name of another EnvironmentConfig nothing would be marked, and nothing would ever ring.
#[test]
fn a_name_that_the_function_does_not_write_is_an_error() {
    let others = || {
        let named = |name: &str, konflux: &str| RemoteObject {
            konflux_cluster: Some(konflux.into()),
            ..remote(name)
        };
        vec![named("owned", "stone-prd-2"), named("neighbour", "stone-stg")]
    };
    let settings = settings(OrphanMode::Report);
    let planned = reconcile(&[0], &konflux(&["owned"]), &hub(others()), &settings);
    let error = planned.hubs[0].error.as_deref().unwrap_or_default();
    assert!(error.contains("stone-prd") && error.contains("orphans.environmentConfig"), "{error}");
    // Objects of others alone, or after a change of the name beside newer ones, are none.
    let planned = reconcile(&[0], &konflux(&["another"]), &hub(others()), &settings);
    assert_eq!(planned.hubs[0].error, None);
    let both = others().into_iter().chain([remote("newer")]).collect();
    let planned = reconcile(&[0], &konflux(&["owned", "newer"]), &hub(both), &settings);
    assert_eq!(planned.hubs[0].error, None);
}

/// A namespace without any marked object lists as well as the right one. Nothing is decided, and the report says why.
#[test]
fn a_hub_is_not_listed_where_objects_keep_theirs_in_another_namespace() {
    let mut konflux = konflux(&["owned"]);
    konflux.placements.add_placement(HUB, RemoteKind::EphemeralCluster, "ephemeral-cluster");
    let of = |namespaces: &[&str]| OrphanHub {
        kubeconfig_secret_ref: KubeconfigSecretRef {
            namespace: "crossplane-system".into(),
            name: "hub".into(),
            key: "kubeconfig".into(),
        },
        kinds: vec![RemoteKind::EphemeralCluster],
        namespaces: namespaces.iter().map(ToString::to_string).collect(),
    };
    let error_with = |name: &str, of: OrphanHub| {
        let settings =
            OrphanSettings { hubs: [(name.to_owned(), of)].into(), ..settings(OrphanMode::Report) };
        let planned = reconcile(&[0, 60], &konflux, &hub(vec![remote("owned"), remote("lost")]), &settings);
        let orphan = state(&planned, "lost");
        (planned.hubs[0].error.clone(), orphan)
    };
    let expected = "Objects of this Konflux cluster keep EphemeralCluster objects in namespace ephemeral-cluster, which \
        orphans.hubs.hub.namespaces does not name";
    for namespaces in [&["elsewhere"][..], &["elsewhere", "ephemeral-clusters"]] {
        assert_eq!(error_with(HUB, of(namespaces)), (Some(expected.to_owned()), None), "{namespaces:?}");
    }
    for namespaces in [&[][..], &["elsewhere", "ephemeral-cluster"]] {
        assert_eq!(error_with(HUB, of(namespaces)), (None, Some(OrphanState::Reported)), "{namespaces:?}");
    }
    // Objects for another hub, and kinds that nobody asked for, say nothing.
    assert_eq!(error_with("other", of(&["elsewhere"])).0, None);
    let other_kind = OrphanHub { kinds: vec![RemoteKind::ClusterClaim], ..of(&["elsewhere"]) };
    assert_eq!(error_with(HUB, other_kind).0, None);
}
