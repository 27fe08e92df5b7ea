//! Clusters are replaced, in waves and at once.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use provider_testplatform::controllers::cluster_pool::clusters::PoolCluster;
use testplatform_apis::{pool::OnArtifactChange, pool_report::RefreshPhase};

use crate::cluster_pool::model::Model;

#[test]
fn recreate_replaces_all_at_once_and_leaves_claimed_ones() {
    let mut model = Model::new(3, 1);
    let claimed = model.claim();
    model.run(60);
    let before = model.names();
    model.ask("1", None);
    model.tick();
    assert_eq!((model.refresh_phase(), model.pool.size), (RefreshPhase::Down, 0));
    model.run(60);
    assert_eq!((model.refresh_phase(), model.pool.size), (RefreshPhase::Done, 3));
    let after = model.names();
    assert!(after.contains(&claimed));
    assert!(before.iter().all(|old| *old == claimed || !after.contains(old)));
    assert_eq!(model.known().ceiling, None);
    assert_eq!(model.events, ["Refreshing", "Refreshed"]);
    // Once for each nonce.
    let made = model.made;
    model.run(60);
    assert_eq!(model.made, made);
}

#[test]
fn rolling_refresh_keeps_max_unavailable_and_replaces_running_clusters() {
    for (size, running, always, most) in
        [(4, 2, false, 1), (4, 2, false, 3), (3, 3, true, 1), (5, 0, false, 2), (1, 1, false, 1)]
    {
        let mut model = Model::new(size, running);
        model.pool.always_runs = always;
        model.run(60);
        model.missing = 0;
        let before = model.names();
        model.ask("1", Some(most));
        model.run(400);
        assert_eq!(model.refresh_phase(), RefreshPhase::Done, "{size} {running} {most}: {:?}", model.known());
        assert!(before.iter().all(|old| !model.names().contains(old)));
        assert_eq!(
            (model.free(), model.pool.size, model.pool.running_count),
            (size, size, if always { size } else { running })
        );
        assert!(model.missing <= most, "{} of {most} missing", model.missing);
    }
}

/// Which cluster is older is told by the hub's clock alone.
#[test]
fn a_clock_that_is_a_minute_off_replaces_each_cluster_once() {
    for skew in [-60, -20, 0, 20, 60] {
        for (size, running, always, most) in
            [(3, 0, false, Some(1)), (3, 3, true, Some(1)), (1, 0, false, Some(1)), (3, 0, false, None)]
        {
            let mut model = Model::new(size, running);
            model.pool.always_runs = always;
            model.run(60);
            (model.skew, model.pace) = (SignedDuration::from_secs(skew), SignedDuration::from_secs(10));
            let (before, made) = (model.names(), model.made);
            model.ask("1", most);
            model.run(3 * 60 * 6);
            let what = format!("{skew} s, {size} {always} {most:?}: {:?}", model.known());
            assert_eq!(model.refresh_phase(), RefreshPhase::Done, "{what}");
            assert!(before.iter().all(|old| !model.names().contains(old)), "{what}");
            assert_eq!(model.made - made, before.len(), "{what}");
        }
    }
}

/// Claimed clusters count against `maxSize`, and use entries of the inventory.
#[test]
fn incomplete_pool_is_refreshed_as_far_as_possible() {
    for (most, always, missing) in
        [(4, false, Some(1)), (3, false, Some(1)), (4, true, Some(1)), (4, false, None), (2, false, Some(1))]
    {
        let mut model = Model::new(3, 1);
        model.pool.always_runs = always;
        model.pool.most = Some(most);
        let claimed = [model.claim(), model.claim()];
        model.run(60);
        let left = (most - 2).clamp(1, 3);
        assert_eq!(model.free(), left);
        let before = model.names();
        model.ask("1", missing);
        model.run(200);
        let what = format!("{most} {always} {missing:?}: {:?}", model.known());
        assert_eq!((model.refresh_phase(), model.known().ceiling), (RefreshPhase::Done, None), "{what}");
        assert!(before.iter().all(|old| claimed.contains(old) || !model.names().contains(old)), "{what}");
        assert_eq!(model.free(), (most - 2).clamp(0, 3), "{what}");
        // Released clusters make room again.
        model.world.clusters.iter_mut().filter(|c| c.claimed).for_each(|c| c.is_deleted = true);
        model.run(60);
        assert_eq!((model.free(), model.pool.size), (most.min(3), 3), "{what}");
    }
}

/// Until a wave can begin, and while its clusters are installed, those that are to run do.
#[test]
fn hot_clusters_sleep_only_while_some_are_removed() {
    let mut model = Model::new(3, 2);
    let claimed = model.claim();
    model.run(60);
    model.world.clusters.retain(|c| c.name != claimed);
    // Not full: the last one is being installed, for ever.
    model.world.clusters.last_mut().unwrap().installed = false;
    model.ask("1", Some(1));
    for _ in 0..100 {
        model.tick();
        model.world.clusters.last_mut().unwrap().created = model.now;
        model.world.clusters.last_mut().unwrap().installed = false;
        assert_eq!((model.refresh_phase(), model.pool.running_count), (RefreshPhase::Settling, 2));
    }
    let mut asleep = 0;
    for _ in 0..200 {
        model.tick();
        asleep += usize::from(model.pool.running_count == 0);
        let lowered = matches!(model.refresh_phase(), RefreshPhase::Settling | RefreshPhase::Down);
        assert!(lowered || model.pool.running_count == 2, "{:?}", model.known());
    }
    assert_eq!(model.refresh_phase(), RefreshPhase::Done);
    assert!((3..15).contains(&asleep), "{asleep}");
}

#[test]
fn stalled_refresh_is_reported() {
    let mut model = Model::new(2, 0);
    model.ask("1", Some(1));
    model.run(2);
    // Somebody protects what is old: it is removed never, and something newer goes in its place.
    let mut stuck = PoolCluster {
        name: "aws-420-stuck".into(),
        created: Timestamp::UNIX_EPOCH,
        ..PoolCluster::default()
    };
    stuck.installed = true;
    for _ in 0..200 {
        model.tick();
        model.world.clusters.retain(|c| c.name != stuck.name);
        model.world.clusters.push(stuck.clone());
    }
    assert_eq!(model.refresh_phase(), RefreshPhase::Stalled);
    assert_eq!(model.pool.size, 2, "nothing is lowered any more");
    assert!(model.events.contains(&"RefreshStalled".to_owned()));
}

/// One that is installed for a claim is nobody's for a moment.
#[test]
fn a_claim_that_waits_stalls_no_refresh() {
    for (size, most) in [(0, None), (1, Some(1))] {
        let mut waits = Model::new(size, 0);
        waits.pool.most = most;
        waits.world.clusters.clear();
        waits.world.waiting = 1;
        waits.run(10);
        waits.ask("1", None);
        waits.run(20);
        let what = format!("{size} {most:?}: {:?}", waits.known());
        assert!(waits.world.clusters.iter().all(|c| c.installed), "{what}");
        assert_eq!((waits.refresh_phase(), waits.free()), (RefreshPhase::Up, 1), "{what}");
        // Hive writes it on the claim first, and then on the cluster.
        let mut taken = waits.clone();
        taken.world.waiting = 0;
        taken.look();
        taken.claim();
        taken.tick();
        assert_eq!((taken.refresh_phase(), taken.known().ceiling), (RefreshPhase::Done, None), "{what}");
        assert_eq!(taken.events, ["Refreshing", "Refreshed"], "{what}");
        // Or nobody wants it any more.
        let before = waits.names();
        waits.world.waiting = 0;
        waits.run(60);
        assert_eq!((waits.refresh_phase(), waits.free()), (RefreshPhase::Done, size), "{what}");
        assert!(before.iter().all(|old| !waits.names().contains(old)), "{what}");
        assert_eq!(waits.events, ["Refreshing", "Refreshed"], "{what}");
    }
}

#[test]
fn initial_and_withdrawn_nonces_request_nothing() {
    let mut model = Model::new(2, 0);
    model.pool.known = None;
    model.ask("1", None);
    let made = model.made;
    model.run(60);
    assert_eq!((model.refresh_phase(), model.made), (RefreshPhase::Done, made));
    model.ask("2", Some(1));
    model.look();
    assert!(model.known().ceiling.is_some());
    model.pool.request.refresh = None;
    model.run(1);
    assert_eq!((model.known().refresh, model.known().ceiling), (None, None));
}

#[test]
fn externally_scaled_pool_requests_no_size() {
    let mut model = Model::new(2, 0);
    model.pool.request.size = None;
    model.ask("1", None);
    model.run(60);
    assert_eq!((model.known().refresh, model.known().ceiling), (None, None));
}

#[test]
fn another_release_under_the_same_name_is_reported_or_rolled_out() {
    let mut model = Model::new(2, 0);
    model.pool.request.on_artifact_change = Some(OnArtifactChange::Report);
    model.ask("1", None);
    model.run(80);
    let before = model.names();
    model.world.release_image = Some("r2".into());
    model.run(10);
    assert!(model.known().artifacts.unwrap().changed);
    assert_eq!(model.names(), before, "only said");
    model.pool.request.on_artifact_change = Some(OnArtifactChange::Rolling);
    model.run(200);
    let known = model.known();
    assert_eq!(
        (known.refresh.unwrap().nonce.as_str(), known.artifacts.clone().unwrap().changed),
        ("artifact:r2", false)
    );
    assert_eq!(known.artifacts.unwrap().release_image, "r2");
    assert!(before.iter().all(|old| !model.names().contains(old)));
    let made = model.made;
    model.run(100);
    assert_eq!(model.made, made, "nonce 1 is done with it");
    // Another ClusterImageSet is no change of one; one that cannot be read neither.
    model.pool.image_set = "ocp-4.21".into();
    model.world.release_image = None;
    model.look();
    assert!(!model.known().artifacts.unwrap().changed);
    model.world.release_image = Some("r3".into());
    model.look();
    assert_eq!(model.known().artifacts.unwrap().image_set, "ocp-4.21");
    model.pool.request.on_artifact_change = Some(OnArtifactChange::Ignore);
    model.look();
    assert_eq!(model.known().artifacts, None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]
    /// Whatever claims and crashes come between: it ends, with the pool as it is to be and nothing old that is free.
    #[test]
    fn refresh_always_ends(
        size in 1_i64..5, running in 0_i64..3, most in prop::option::of(1_i64..4),
        happens in prop::collection::vec((0_usize..40, 0_u8..3), 0..12),
    ) {
        let mut model = Model::new(size, running.min(size));
        let before = model.names();
        model.ask("1", most);
        for (ticks, what) in happens {
            model.run(ticks);
            match what {
                // A look of which the writing was lost.
                0 => { let lost = model.pool.known.clone(); model.look(); model.pool.known = lost; }
                1 if model.free() > 0 => { model.claim(); }
                _ => { if let Some(c) = model.world.clusters.iter_mut().find(|c| c.claimed) { c.is_deleted = true; } }
            }
        }
        model.run(600);
        prop_assert_eq!(model.refresh_phase(), RefreshPhase::Done, "{:?}", model.known());
        prop_assert_eq!((model.free(), model.known().ceiling), (size, None));
        let left = model.world.clusters.iter().filter(|c| c.is_free() && before.contains(&c.name)).count();
        prop_assert_eq!(left, 0);
    }
}
