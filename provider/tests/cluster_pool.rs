//! Refresh, rotation and memory of pools, in a world in which Hive and the composition function do as they do.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on says so")]
#![allow(clippy::cast_possible_wrap, reason = "counts of a handful")]

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use provider_testplatform::cluster_pool::{
    clusters::{Cluster, World},
    next::{Step, next},
    pool::{Pool, Unread},
};
use serde_json::{Value, json};
use testplatform_apis::{
    names::ours,
    pool::{OnArtifactChange, RotationMode},
    pool_report::{CredentialsRequest, PoolRequest, PoolStatus, RefreshPhase, RefreshRequest, RotationPhase},
};

const OLD: &str = "aws-1";
const NEW: &str = "aws-2";

/// A pool, Hive and the function.
#[derive(Clone, Debug)]
struct Model {
    now: Timestamp,
    pool: Pool,
    world: World,
    made: usize,
    usual: i64,
    running: i64,
    /// The credentials that Git names, and which each cluster was made with.
    asked: String,
    made_with: Vec<(String, String)>,
    /// The most clusters that were ever missing.
    missing: i64,
    events: Vec<String>,
}

impl Model {
    fn new(size: i64, running: i64) -> Self {
        let credentials = Some(CredentialsRequest { name: OLD.into(), mode: RotationMode::Replace });
        let mut model = Self {
            now: "2026-11-23T10:00:00Z".parse().unwrap(),
            pool: Pool {
                name: "aws-420".into(),
                namespace: "cluster-pools".into(),
                size,
                running_count: running,
                credentials: Some(OLD.into()),
                image_set: "ocp-4.20".into(),
                request: PoolRequest { size: Some(size), credentials, ..PoolRequest::default() },
                ..Pool::default()
            },
            world: World { release_image: Some("r1".into()), ..World::default() },
            made: 0,
            usual: size,
            running,
            asked: OLD.into(),
            made_with: vec![],
            missing: 0,
            events: vec![],
        };
        model.run(60);
        assert_eq!(model.free(), size);
        model.missing = 0;
        model
    }

    fn free(&self) -> i64 {
        self.world.clusters.iter().filter(|c| c.is_free()).count() as i64
    }

    fn known(&self) -> PoolStatus {
        self.pool.known.clone().unwrap_or_default()
    }

    fn refresh_phase(&self) -> RefreshPhase {
        self.known().refresh.unwrap().phase
    }

    /// The provider looks; a crash loses nothing but what it had not written.
    fn look(&mut self) -> Step {
        let step = next(&self.pool, &self.world, self.now);
        assert_eq!(step, next(&self.pool, &self.world, self.now));
        if let Some(status) = &step.status {
            // As it travels: written, read.
            self.pool.known = Some(PoolStatus::read(&status.write().unwrap()).unwrap());
            let again = next(&self.pool, &self.world, self.now);
            assert_eq!(again.status, None, "what was written is what was meant");
            assert_eq!(again.events, vec![]);
        }
        self.events.extend(step.events.iter().map(|e| e.reason.clone()));
        step
    }

    /// The function renders what the schedule says and the ceiling leaves, and takes up credentials.
    fn function(&mut self) {
        let known = self.known();
        let ceiling = known.ceiling;
        self.pool.size = self.usual.min(ceiling.map_or(self.usual, |c| c.size));
        let running = ceiling.and_then(|c| c.running_count).unwrap_or(self.running);
        self.pool.running_count = if self.pool.always_runs {
            self.pool.size
        } else {
            self.running.min(running).min(self.pool.size)
        };
        let request = self.pool.request.credentials.as_mut().unwrap();
        request.name.clone_from(&self.asked);
        let may = known.rotation.is_some_and(|r| r.name == self.asked && r.phase == RotationPhase::Switching);
        if request.mode == RotationMode::Replace || may {
            self.pool.credentials = Some(self.asked.clone());
        }
    }

    /// Hive: installs what is missing, removes what is too much in its order, and lets the oldest run.
    fn hive(&mut self) {
        self.world.clusters.retain(|c| !c.going);
        let wanted = self.pool.size + self.world.waiting as i64;
        let room = self.pool.most.unwrap_or(i64::MAX);
        while self.free() < wanted && (self.world.clusters.len() as i64) < room {
            self.made += 1;
            let name = format!("aws-420-{:05}", self.made);
            let credentials = self.pool.credentials.clone().unwrap();
            let spec_hash = Some(format!("of {credentials}"));
            self.made_with.push((name.clone(), credentials));
            self.world.clusters.push(Cluster { name, created: self.now, spec_hash, ..Cluster::default() });
        }
        while self.free() > wanted {
            let rank = |c: &Cluster| match (c.installed, c.running) {
                (false, _) => (0, SignedDuration::ZERO.saturating_sub(c.created.as_duration())),
                (true, false) => (1, c.created.as_duration()),
                (true, true) => (2, c.created.as_duration()),
            };
            let first =
                self.world.clusters.iter_mut().filter(|c| c.is_free()).min_by_key(|c| rank(c)).unwrap();
            first.going = true;
        }
        let (now, running, always) = (self.now, self.pool.running_count, self.pool.always_runs);
        let mut left = running;
        for cluster in self.world.clusters.iter_mut().filter(|c| c.is_free()) {
            cluster.installed |= now.duration_since(cluster.created) >= SignedDuration::from_mins(40);
            if cluster.installed {
                cluster.running = always || left > 0;
                left -= 1;
            }
        }
    }

    fn tick(&mut self) {
        self.now += SignedDuration::from_mins(2);
        self.look();
        self.function();
        self.hive();
        self.missing = self.missing.max(
            self.usual - self.world.clusters.iter().filter(|c| c.is_free() && c.installed).count() as i64,
        );
    }

    fn run(&mut self, ticks: usize) {
        for _ in 0..ticks {
            self.tick();
        }
    }

    fn claim(&mut self) -> String {
        let cluster = self.world.clusters.iter_mut().find(|c| c.is_free()).unwrap();
        cluster.claimed = true;
        cluster.name.clone()
    }

    fn names(&self) -> Vec<String> {
        self.world.clusters.iter().map(|c| c.name.clone()).collect()
    }

    fn ask(&mut self, nonce: &str, max_unavailable: Option<i64>) {
        self.pool.request.refresh = Some(RefreshRequest { nonce: nonce.into(), max_unavailable });
    }
}

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
fn rolling_and_max_unavailable_keep_the_others_and_replace_the_running_ones_too() {
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

/// Claimed clusters count against `maxSize`, and use entries of the inventory.
#[test]
fn a_pool_that_cannot_become_full_is_refreshed_as_far_as_it_goes() {
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
        // What is given back makes room again.
        model.world.clusters.iter_mut().filter(|c| c.claimed).for_each(|c| c.going = true);
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
fn a_refresh_that_does_not_remove_the_old_ones_says_so() {
    let mut model = Model::new(2, 0);
    model.ask("1", Some(1));
    model.run(2);
    // Somebody protects what is old: it is removed never, and something newer goes in its place.
    let mut stuck =
        Cluster { name: "aws-420-stuck".into(), created: Timestamp::UNIX_EPOCH, ..Cluster::default() };
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

#[test]
fn a_nonce_that_was_there_at_first_and_one_that_is_taken_back_ask_for_nothing() {
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
fn where_somebody_else_scales_nothing_is_asked_for() {
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

fn rotation(model: &Model) -> (RotationPhase, i64, i64) {
    let rotation = model.known().rotation.unwrap();
    (rotation.phase, rotation.on_old, rotation.claimed_on_old)
}

#[test]
fn replaced_credentials_are_releasable_when_no_cluster_made_with_the_old_ones_is_left() {
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
    model.world.clusters.iter_mut().find(|c| c.name == claimed).unwrap().going = true;
    model.look();
    assert_eq!(rotation(&model).0, RotationPhase::Replacing);
    model.run(1);
    model.look();
    assert_eq!(rotation(&model), (RotationPhase::Done, 0, 0));
    assert!(model.events.contains(&"OldCredentialsReleasable".to_owned()));
}

/// Hive reads the pool once, and then makes cluster after cluster.
#[test]
fn a_cluster_that_is_made_from_the_pool_as_it_was_needs_the_old_credentials() {
    let mut model = Model::new(2, 0);
    model.asked = NEW.into();
    model.run(2);
    let since = model.known().rotation.unwrap().since.unwrap();
    model.world.clusters.clear();
    let late = |of: &str, after| Cluster {
        name: format!("late-{of}"),
        created: since + SignedDuration::from_secs(after),
        spec_hash: Some(format!("of {of}")),
        claimed: true,
        installed: true,
        ..Cluster::default()
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
fn a_rotation_by_draining_waits_for_claimed_clusters_and_switches_when_none_is_left() {
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
    model.world.clusters.iter_mut().find(|c| c.name == claimed).unwrap().going = true;
    model.run(80);
    assert_eq!(rotation(&model).0, RotationPhase::Done);
    assert_eq!((model.pool.size, model.pool.credentials.as_deref()), (3, Some(NEW)));
    assert!(model.world.clusters.iter().all(|c| model.made_with.contains(&(c.name.clone(), NEW.into()))));
}

#[test]
fn a_rotation_that_is_called_off_is_as_it_was() {
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

#[test]
fn the_last_failure_outlives_the_cluster_that_could_tell() {
    let deployment = |message: &str, reason: &str| {
        json!({
            "metadata": { "name": "aws-420-abcde", "creationTimestamp": "2026-11-23T11:00:00Z" },
            "spec": { "clusterPoolRef": { "namespace": "cluster-pools", "poolName": "aws-420", "claimName": "" } },
            "status": { "installRestarts": 0, "conditions": [{
                "type": "ProvisionFailed", "status": "True", "reason": reason, "message": message,
                "lastTransitionTime": "2026-11-23T11:50:00Z",
            }] },
        })
    };
    let read = |object: &Value| Cluster::read(object, "cluster-pools", "aws-420");
    let mut model = Model::new(1, 0);
    model.world.clusters.push(read(&deployment("AWS VPC limit exceeded", "AWSVPCLimitExceeded")).unwrap());
    model.look();
    model.world.clusters.pop();
    model.run(5);
    let failure = model.known().last_provision_failure.unwrap();
    assert_eq!(
        (failure.reason.as_str(), failure.message.as_str()),
        ("AWSVPCLimitExceeded", "AWS VPC limit exceeded")
    );
    assert_eq!((failure.attempt, failure.cluster_deployment.as_str()), (Some(1), "aws-420-abcde"));
    assert_eq!(model.events, ["ProvisionFailed"]);
    // It is overcome once a younger cluster is installed, also if that is claimed and given back since.
    assert_eq!(model.known().provision_failure_overcome, None);
    let claimed = model.claim();
    model.run(5);
    assert_eq!(model.known().provision_failure_overcome, None, "the claimed one is older than it");
    model.run(40);
    let claimed = [claimed, model.claim()];
    model.run(1);
    assert_eq!(model.known().provision_failure_overcome, Some(true));
    model.world.clusters.retain(|c| !claimed.contains(&c.name));
    model.run(5);
    assert_eq!(model.known().provision_failure_overcome, Some(true));
    assert_eq!(model.known().last_provision_failure, Some(failure));
    // The next one is not, nor is one of which nobody knows when it was.
    let mut next = deployment("AWS VPC limit exceeded", "AWSVPCLimitExceeded");
    next["status"]["conditions"][0]["lastTransitionTime"] = json!("2026-11-23T23:00:00Z");
    model.world.clusters.push(read(&next).unwrap());
    model.look();
    assert_eq!(model.known().provision_failure_overcome, None);
    let mut model = Model::new(1, 0);
    next["status"]["conditions"][0].as_object_mut().unwrap().remove("lastTransitionTime");
    model.world.clusters.push(read(&next).unwrap());
    model.look();
    assert!(model.known().last_provision_failure.is_some());
    assert_eq!(model.known().provision_failure_overcome, None);
    // What quotes the log is not repeated: it may quote a secret.
    for (message, reason) in [
        ("level=error msg=\"token sha256~secret\"", "X"),
        ("sha256~secret", "UnknownError"),
        ("a\nsha256~secret", "X"),
    ] {
        let failure = read(&deployment(message, reason)).unwrap().failure.unwrap();
        assert!(!failure.message.contains("secret"), "{failure:?}");
    }
    assert_eq!(Cluster::read(&deployment("m", "R"), "elsewhere", "aws-420"), None, "another pool's");
}

#[test]
fn a_pool_that_goes_is_only_counted() {
    let mut model = Model::new(2, 0);
    model.claim();
    model.ask("1", None);
    model.look();
    assert!(model.known().ceiling.is_some());
    model.pool.deleting = true;
    model.look();
    assert_eq!((model.known().ceiling, model.known().claimed), (None, Some(1)));
}

#[test]
fn a_namesake_is_told_of() {
    let mut model = Model::new(1, 0);
    model.world.namesakes = vec!["elsewhere".into()];
    model.look();
    model.look();
    assert_eq!(
        (model.known().namesakes, model.events),
        (vec!["elsewhere".to_owned()], vec!["NameTaken".to_owned()])
    );
}

#[test]
fn only_pools_that_git_asks_for_are_looked_after() {
    let mut object = json!({
        "metadata": { "name": "aws-420", "namespace": "cluster-pools", "annotations": {} },
        "spec": { "size": 3, "runningCount": 1, "imageSetRef": { "name": "i" }, "platform": { "openstack": { "credentialsSecretRef": { "name": "c" } } } },
    });
    assert_eq!(Pool::read(&object), Err(Unread::NotOurs));
    object["metadata"]["annotations"][ours::POOL_REQUEST] =
        json!(r#"{"size":3,"onArtifactChange":"Report"}"#);
    let pool = Pool::read(&object).unwrap();
    assert_eq!((pool.size, pool.running_count, pool.always_runs), (3, 1, true));
    assert_eq!((pool.credentials.as_deref(), pool.image_set.as_str(), pool.known), (Some("c"), "i", None));
    assert_eq!(pool.most, None);
    object["spec"]["maxSize"] = json!(5);
    assert_eq!(Pool::read(&object).unwrap().most, Some(5));
    object["spec"]["inventory"] = json!([{ "name": "a" }, { "name": "b" }]);
    assert_eq!(Pool::read(&object).unwrap().most, Some(2));
    object["metadata"]["annotations"][ours::POOL_STATUS] = json!("no object");
    assert!(matches!(Pool::read(&object), Err(Unread::Broken(_))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]
    /// Whatever claims and crashes come between: it ends, with the pool as it is to be and nothing old that is free.
    #[test]
    fn a_refresh_ends_whatever_happens(
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
                _ => { if let Some(c) = model.world.clusters.iter_mut().find(|c| c.claimed) { c.going = true; } }
            }
        }
        model.run(600);
        prop_assert_eq!(model.refresh_phase(), RefreshPhase::Done, "{:?}", model.known());
        prop_assert_eq!((model.free(), model.known().ceiling), (size, None));
        let left = model.world.clusters.iter().filter(|c| c.is_free() && before.contains(&c.name)).count();
        prop_assert_eq!(left, 0);
    }
}
