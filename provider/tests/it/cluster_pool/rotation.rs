//! Other credentials: who needs the old ones.

use jiff::SignedDuration;
use provider_testplatform::controllers::cluster_pool::clusters::PoolCluster;
use testplatform_apis::{pool::RotationMode, pool_report::RotationPhase};

use crate::cluster_pool::model::{Model, NEW, OLD};

fn rotation(model: &Model) -> (RotationPhase, i64, i64) {
    let rotation = model.known().rotation.unwrap();
    (rotation.phase, rotation.on_old, rotation.claimed_on_old)
}

#[test]
fn replaced_credentials_are_releasable_without_old_clusters() {
    let mut model = Model::new(3, 1);
    let claimed = model.claim();
    model.run(60);
    assert_eq!(rotation(&model), (RotationPhase::First, 0, 0));
    model.asked = NEW.into();
    model.run(2);
    assert_eq!(rotation(&model), (RotationPhase::Replacing, 4, 1));
    // Hive replaces the free ones; here at once.
    model.world.clusters.retain(|c| c.claimed);
    model.run(60);
    assert_eq!(rotation(&model), (RotationPhase::Replacing, 1, 1));
    assert_eq!(model.known().rotation.unwrap().clusters_on_old, std::slice::from_ref(&claimed));
    // Being destroyed still needs them.
    model.world.clusters.iter_mut().find(|c| c.name == claimed).unwrap().is_deleted = true;
    model.look();
    assert_eq!(rotation(&model).0, RotationPhase::Replacing);
    model.run(1);
    model.look();
    assert_eq!(rotation(&model), (RotationPhase::Done, 0, 0));
    assert!(model.events.contains(&"OldCredentialsReleasable".to_owned()));
}

/// Hive reads the pool once, and then makes cluster after cluster.
#[test]
fn cluster_of_the_earlier_pool_needs_the_old_credentials() {
    let mut model = Model::new(2, 0);
    model.asked = NEW.into();
    model.run(2);
    let since = model.known().rotation.unwrap().since.unwrap();
    model.world.clusters.clear();
    let late = |of: &str, after| PoolCluster {
        name: format!("late-{of}"),
        created: since + SignedDuration::from_secs(after),
        spec_hash: Some(format!("of {of}")),
        claimed: true,
        installed: true,
        ..PoolCluster::default()
    };
    model.world.clusters = vec![late(OLD, 3), late(NEW, 2)];
    model.run(60);
    assert_eq!(rotation(&model), (RotationPhase::Replacing, 1, 1));
    assert_eq!(model.known().rotation.unwrap().clusters_on_old, ["late-aws-1"]);
    model.world.clusters.retain(|c| c.name != "late-aws-1");
    model.run(1);
    assert_eq!(rotation(&model).0, RotationPhase::Done);
    // Once more, and back: what was known of those before counts for those before.
    model.asked = OLD.into();
    model.run(2);
    assert_eq!(model.known().rotation.unwrap().spec_hash_before.as_deref(), Some("of aws-2"));
}

#[test]
fn draining_rotation_waits_for_claimed_clusters() {
    let mut model = Model::new(3, 1);
    model.pool.request.credentials.as_mut().unwrap().mode = RotationMode::Drain;
    let claimed = model.claim();
    model.run(60);
    model.asked = NEW.into();
    model.run(10);
    assert_eq!(rotation(&model), (RotationPhase::Draining, 1, 1));
    assert_eq!((model.pool.size, model.pool.credentials.as_deref()), (0, Some(OLD)));
    // A claim that waits is served, with the old ones, and waited for.
    model.world.waiting = 1;
    model.run(2);
    assert_eq!(rotation(&model).1, 2);
    model.world.waiting = 0;
    model.world.clusters.iter_mut().find(|c| c.name == claimed).unwrap().is_deleted = true;
    model.run(80);
    assert_eq!(rotation(&model).0, RotationPhase::Done);
    assert_eq!((model.pool.size, model.pool.credentials.as_deref()), (3, Some(NEW)));
    assert!(model.world.clusters.iter().all(|c| model.made_with.contains(&(c.name.clone(), NEW.into()))));
}

#[test]
fn withdrawn_rotation_restores_the_earlier_state() {
    let mut model = Model::new(2, 0);
    model.pool.request.credentials.as_mut().unwrap().mode = RotationMode::Drain;
    model.claim();
    model.asked = NEW.into();
    model.run(5);
    assert_eq!(rotation(&model).0, RotationPhase::Draining);
    model.asked = OLD.into();
    model.run(60);
    assert_eq!(rotation(&model), (RotationPhase::First, 0, 0));
    assert_eq!((model.free(), model.known().ceiling), (2, None));
}
