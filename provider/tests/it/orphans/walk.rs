//! Random states and settings, one reconcile after the other, beside a model that remembers every listing.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use provider_testplatform::{
    config::OrphanMode,
    controllers::orphans::{
        owners::{Owners, RemoteOwner},
        placements::Placements,
        plan::{HubRemotes, KonfluxState, OrphanSettings, UnownedRecords, plan},
        remote::{RemoteObject, RemoteRef},
    },
};

use super::{NAME, UID, at, composite, object, remote, settings};

const HUBS: [&str; 2] = ["hub-a", "hub-b"];

#[derive(Clone, Debug)]
struct Moment {
    minutes: i64,
    konflux: Option<KonfluxState>,
    hubs: Vec<HubRemotes>,
}

fn name(index: usize) -> String {
    format!("c{index}")
}

prop_compose! {
    fn konflux()(
        // Most of the first are owned, and few of the last, so that some come to an end.
        owned in prop::collection::vec(prop::bool::weighted(0.85), 4),
        found in prop::collection::vec(prop::bool::weighted(0.05), 2),
        is_empty in prop::bool::weighted(0.05),
        objects in prop::collection::btree_set((0..6usize, 0..6usize), 0..2),
        is_other in prop::bool::weighted(0.1),
    ) -> KonfluxState {
        let mut owners = Owners::default();
        let all = owned.into_iter().chain(found).enumerate();
        for (index, _) in all.filter(|(_, exists)| *exists && !is_empty) {
            owners.add_composite(&composite(&name(index)));
        }
        for (remote, composite) in objects {
            owners.add_object(&object(&format!("managed-{}", name(remote)), Some(&name(composite))));
        }
        KonfluxState { name: if is_other { "other".into() } else { NAME.into() }, uid: UID.into(), owners, placements: Placements::default() }
    }
}

prop_compose! {
    fn hub_state(hub: &'static str)(
        exists in prop::collection::vec(prop::bool::weighted(0.95), 6),
        marks in prop::collection::vec((0..40u8, 0..40u8, 0..40u8, 0..40u8), 6),
        fails in prop::bool::weighted(0.1),
    ) -> HubRemotes {
        let indices = exists.into_iter().enumerate().filter(|(_, exists)| *exists);
        let remotes = indices.map(|(index, _)| {
            let (mark, uid, deleted, dependent) = marks[index];
            let mut remote = remote(&name(index));
            remote.identity.hub = hub.into();
            RemoteObject {
                konflux_cluster: match mark { 0 => None, 1 => Some("other".into()), _ => Some(NAME.into()) },
                konflux_cluster_uid: match uid { 0 => None, 1 => Some("another".into()), _ => Some(UID.into()) },
                deleted: (deleted == 0).then(|| at(0)),
                dependent: dependent == 0,
                ..remote
            }
        }).collect();
        HubRemotes { hub: hub.into(), remotes: if fails { Err("failed".into()) } else { Ok(remotes) } }
    }
}

prop_compose! {
    fn moment()(
        minutes in 1..40i64,
        konflux in prop::option::weighted(0.9, konflux()),
        first in hub_state(HUBS[0]),
        second in hub_state(HUBS[1]),
    ) -> Moment {
        Moment { minutes, konflux, hubs: vec![first, second] }
    }
}

/// `true` if every mark has another name than this Konflux cluster, whose composites own such objects.
fn is_misnamed(konflux: &KonfluxState, remotes: &[RemoteObject]) -> bool {
    let is_owned = |remote: &RemoteObject| {
        !remote.dependent
            && remote.konflux_cluster.is_some()
            && konflux.owners.has_composite(&remote.identity.name)
    };
    !remotes.iter().any(|remote| remote.is_of(&konflux.name)) && remotes.iter().any(is_owned)
}

fn modes() -> impl Strategy<Value = OrphanMode> {
    prop_oneof![1 => Just(OrphanMode::Report), 4 => Just(OrphanMode::Teardown)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Nothing ends by an incomplete listing, with an owner, without our mark, or before its time.
    #[test]
    fn no_doubt_ends_anything(
        moments in prop::collection::vec(moment(), 1..12),
        mode in modes(),
        confirmed in prop::collection::btree_set(0..6usize, 0..3),
    ) {
        let confirmed: BTreeSet<String> = confirmed.into_iter().map(|index| remote(&name(index)).identity.uid).collect();
        let settings = OrphanSettings { confirmed: confirmed.clone(), ..settings(mode) };
        let mut records = UnownedRecords::new();
        // Since when, and in how many complete listings in a row, an object was unowned.
        let mut model: BTreeMap<RemoteRef, (i64, u32)> = BTreeMap::new();
        let mut now = 0;
        for Moment { minutes, konflux, hubs } in moments {
            now += minutes;
            let known = konflux.clone().ok_or_else(|| "failed".to_owned());
            let planned = plan(&records, &known, &hubs, &settings, at(now));
            let mut next = BTreeMap::new();
            for hub in &hubs {
                let before = model.iter().filter(|(identity, _)| identity.hub == hub.hub);
                let listed = konflux.as_ref().zip(hub.remotes.as_ref().ok());
                let Some((konflux, remotes)) = listed.filter(|(konflux, remotes)| !is_misnamed(konflux, remotes)) else {
                    next.extend(before.map(|(identity, (since, _))| (identity.clone(), (*since, 0))));
                    continue;
                };
                for remote in remotes.iter().filter(|remote| remote.is_of(&konflux.name)) {
                    if konflux.owners.owner(remote) != Some(RemoteOwner::Composite) {
                        let (since, listings) = model.get(&remote.identity).copied().unwrap_or((now, 0));
                        next.insert(remote.identity.clone(), (since, listings + 1));
                    }
                }
            }
            model = next;
            prop_assert_eq!(planned.records.keys().collect::<Vec<_>>(), model.keys().collect::<Vec<_>>());
            if mode == OrphanMode::Report {
                prop_assert!(planned.teardowns.is_empty() && planned.recorded.is_empty());
            }
            let found = |identity: &RemoteRef| {
                let hub = hubs.iter().find(|hub| hub.hub == identity.hub)?;
                hub.remotes.as_ref().ok()?.iter().find(|remote| remote.identity == *identity)
            };
            for identity in &planned.teardowns {
                let konflux = konflux.as_ref().expect("the Konflux cluster was not listed");
                let remote = found(identity).expect("the hub was not listed");
                prop_assert!(konflux.owners.owner(remote).is_none() && konflux.owners.composites() > 0);
                prop_assert!(remote.is_of(&konflux.name) && remote.deleted.is_none());
                let (since, listings) = model[identity];
                prop_assert!(now - since >= 60 && listings >= 2);
                let marked = hubs.iter().filter_map(|hub| hub.remotes.as_ref().ok()).flatten();
                let mut uids = marked.filter(|r| r.is_of(&konflux.name)).filter_map(|r| r.konflux_cluster_uid.as_deref());
                let is_certain = remote.konflux_cluster_uid.as_deref() == Some(UID) && uids.all(|uid| uid == UID);
                prop_assert!(is_certain || confirmed.contains(&identity.uid));
            }
            for identity in &planned.recorded {
                let konflux = konflux.as_ref().expect("the Konflux cluster was not listed");
                let remote = found(identity).expect("the hub was not listed");
                prop_assert_eq!(konflux.owners.owner(remote), Some(RemoteOwner::Composite));
                prop_assert!(remote.is_of(&konflux.name) && remote.konflux_cluster_uid.as_deref() != Some(UID));
            }
            records = planned.records;
        }
    }
}
