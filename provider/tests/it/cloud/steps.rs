//! The scenarios, one by one.

mod ends;

use jiff::{SignedDuration, Timestamp};
use provider_testplatform::controllers::cloud_credentials::{
    plan::{
        ClusterStage, CredentialCheck, CredentialStep, GIVE_UP, ObservedCredential, StepResults,
        StoredSecret, next_step,
    },
    reconcile::CredentialEvent,
    record::{CredentialRecord, CredentialRef},
};
use testplatform_apis::cloud::CredentialPhase;

use crate::cloud::model::{ADMIN, Blow, Credential, GRACE, Model, PROBE, UID};

fn published(model: &Model) -> String {
    model.world().secret.as_ref().and_then(|(_, id)| id.clone()).unwrap()
}

/// How long a cluster may be on its way after its order is deleted, by whatever clock.
const ARRIVES: SignedDuration = SignedDuration::from_secs(90);

/// The claim goes, and its cluster went long ago.
fn ends(model: &mut Model) {
    let now = model.world().now;
    model.deleted = Some(now);
    model.cluster = false;
    let mut world = model.world();
    world.over = true;
    world.now += ARRIVES;
}

fn left(model: &Model) -> usize {
    model.world().happened.iter().filter(|what| matches!(what, CredentialEvent::LeftBehind(_))).count()
}

fn gone(model: &Model) -> usize {
    model.world().happened.iter().filter(|what| matches!(what, CredentialEvent::Removed(_))).count()
}

fn owner(model: &Model) -> String {
    let id = published(model);
    model.world().credentials[&id].user.clone()
}

#[test]
fn credential_is_created_recorded_and_verified_before_publication() {
    let model = Model::new(&["alice"]);
    assert_eq!(model.look(), Some(CredentialPhase::Valid));
    assert!(model.works() && model.world().finalizer);
    assert_eq!(model.world().happened, [CredentialEvent::Made(format!("tpc-{UID}-1"))]);
    assert_eq!(model.look(), Some(CredentialPhase::Valid));
    assert_eq!(model.world().made, 1, "one is enough");
}

#[test]
fn a_second_user_edits() {
    let mut model = Model::new(&["alice", "bob", ADMIN]);
    model.look();
    let before = published(&model);
    model.order.requested_by = Some("bob".into());
    assert_eq!(model.look(), Some(CredentialPhase::Valid));
    assert_eq!(owner(&model), "bob");
    assert!(model.world().takes(&before), "whoever read it before may use it still");
    model.world().now += GRACE;
    model.look();
    assert!(!model.world().takes(&before) && model.works());
    // Who has no issuer of their own is served by the tenant's, once.
    model.order.requested_by = Some("nobody".into());
    model.look();
    assert_eq!(owner(&model), ADMIN);
    let made = model.world().made;
    model.order.requested_by = Some("nobody else".into());
    assert_eq!(model.look(), Some(CredentialPhase::Valid));
    assert_eq!(model.world().made, made, "it is of the same owner");
}

#[test]
fn the_user_leaves() {
    let mut model = Model::new(&["alice", "bob"]);
    model.look();
    model.world().leave("alice");
    assert_eq!(model.look(), Some(CredentialPhase::OwnerInvalid), "nobody is there who could");
    assert!(!model.works());
    model.issuers.push(ADMIN.into());
    let bob = model.world().users["bob"].clone();
    model.world().users.insert(ADMIN.into(), bob);
    assert_eq!(model.look(), Some(CredentialPhase::Valid));
    assert_eq!(owner(&model), ADMIN);
}

#[test]
fn roles_change() {
    let model = Model::new(&["alice", ADMIN]);
    model.look();
    let before = published(&model);
    // One of several roles: all credentials go, and another one can be made.
    model.world().drop_all_of("alice");
    assert_eq!(model.look(), Some(CredentialPhase::Valid));
    assert!(published(&model) != before && owner(&model) == "alice");
    // The one that is asked for.
    model.world().users.get_mut("alice").unwrap().role = false;
    model.world().drop_all_of("alice");
    assert_eq!(model.look(), Some(CredentialPhase::Valid));
    assert_eq!(owner(&model), ADMIN);
}

/// Between every two calls, and in every call.
#[test]
fn a_rotation_dies_half_way() {
    for blow in [Blow::Before, Blow::After, Blow::DiesBefore, Blow::DiesAfter] {
        for call in 0..14 {
            let mut model = Model::new(&["alice", "bob"]);
            model.look();
            model.order.requested_by = Some("bob".into());
            model.world().blow = Some((call, blow));
            model.look();
            assert!(model.works(), "{blow:?} {call}");
            model.world().blow = None;
            assert_eq!(model.look(), Some(CredentialPhase::Valid), "{blow:?} {call}");
            assert_eq!(owner(&model), "bob", "{blow:?} {call}");
            model.world().now += GRACE;
            model.look();
            model.look();
            assert_eq!(model.remaining().len(), 1, "{blow:?} {call}: {:?}", model.world().credentials);
        }
    }
}

#[test]
fn credential_that_cannot_rotate_stays() {
    let mut model = Model::new(&["alice"]);
    model.look();
    let before = published(&model);
    model.world().users.get_mut("alice").unwrap().restricted = true;
    model.order.generation = 1;
    for _ in 0..3 {
        assert_eq!(model.look(), Some(CredentialPhase::RotationFailed));
    }
    assert!(model.works() && published(&model) == before && model.world().made == 1);
    model.order.requested_by = Some("nobody".into());
    assert_eq!(model.look(), Some(CredentialPhase::RotationFailed), "no issuer is for that user");
}

#[test]
fn refused_credentials_are_not_published_and_do_not_pile_up() {
    let mut model = Model::new(&["alice"]);
    model.look();
    // It ends at once.
    model.order.lifetime = Some(testplatform_apis::duration::GoDuration::ZERO);
    model.order.generation = 1;
    for _ in 0..9 {
        assert_eq!(model.look(), Some(CredentialPhase::RotationFailed));
    }
    assert!(model.works());
    assert!(model.remaining().len() <= 2, "{:?}", model.remaining());
}

#[test]
fn credential_is_deleted_after_the_cluster_and_without_its_user() {
    let mut model = Model::new(&["alice", ADMIN]);
    model.look();
    model.world().leave("alice");
    let now = model.world().now;
    model.deleted = Some(now);
    // The cluster cannot go without one that works.
    assert_eq!(model.look(), Some(CredentialPhase::Valid));
    assert!(model.works() && owner(&model) == ADMIN && model.world().finalizer);
    ends(&mut model);
    assert_eq!(model.look(), None);
    assert!(model.world().released && model.remaining().is_empty() && model.world().secret.is_none());
    assert_eq!(model.world().removing, None, "it takes no more than one look");
}

#[test]
fn undeletable_credential_never_blocks() {
    for forbidden in [true, false] {
        let mut model = Model::new(&["alice"]);
        model.look();
        ends(&mut model);
        let mut world = model.world();
        let alice = world.users.get_mut("alice").unwrap();
        // 403, or an issuer that is not known any more.
        alice.may_delete = !forbidden;
        alice.password = forbidden;
        drop(world);
        assert_eq!(model.look(), None);
        assert!(model.world().released && model.world().secret.is_none());
        let left = CredentialEvent::LeftBehind(format!("tpc-{UID}-1"));
        assert!(model.world().happened.contains(&left), "{:?}", model.world().happened);
    }
}

#[test]
fn silent_service_delays_teardown_by_a_day_at_most() {
    let mut model = Model::new(&["alice"]);
    model.look();
    ends(&mut model);
    // However long its cluster has taken.
    model.world().now += GIVE_UP;
    model.world().down = true;
    assert_eq!(model.look(), Some(CredentialPhase::Leaving));
    model.world().now += GIVE_UP - SignedDuration::from_mins(1);
    assert_eq!(model.look(), Some(CredentialPhase::Leaving));
    model.world().now += SignedDuration::from_mins(1);
    assert_eq!(model.look(), None);
    assert!(model.world().released);
    assert!(model.world().happened.contains(&CredentialEvent::LeftBehind(format!("tpc-{UID}-1"))));
}

#[test]
fn lost_secret_is_recreated_and_its_credential_kept_for_a_while() {
    let model = Model::new(&["alice"]);
    model.look();
    let before = published(&model);
    model.world().secret = None;
    assert_eq!(model.look(), Some(CredentialPhase::Valid));
    assert!(published(&model) != before && model.world().takes(&before));
    model.world().now += GRACE;
    model.look();
    assert_eq!(model.remaining().len(), 1);
}

#[test]
fn taken_names_are_skipped_and_left_alone() {
    let model = Model::new(&["alice"]);
    let credential = |name: &str| Credential { user: "alice".into(), name: name.into(), expires: None };
    model.world().credentials.insert("s".into(), credential(&format!("tpc-{UID}-7")));
    for (id, name) in [("o", "tpc-other-1"), ("p", "tpc-0f-11-1"), ("q", "mine")] {
        model.world().credentials.insert(id.into(), credential(name));
    }
    model.look();
    let id = published(&model);
    let name = model.world().credentials[&id].name.clone();
    assert_eq!(name, format!("tpc-{UID}-8"));
    model.world().now += GRACE;
    model.look();
    let world = model.world();
    assert!(!world.credentials.contains_key("s") && world.credentials.len() == 4, "{:?}", world.credentials);
}

fn scene(stored: StoredSecret) -> ObservedCredential {
    ObservedCredential {
        order: Ok(crate::cloud::model::order()),
        stage: ClusterStage::Here,
        holds: true,
        deleted: false,
        removing: None,
        stored,
        issuers: vec!["alice".into()],
        unread: false,
        probe: PROBE.try_into().unwrap(),
        grace: GRACE,
    }
}

fn tells(step: &CredentialStep) -> Option<CredentialPhase> {
    match step {
        CredentialStep::Tell(report, _) => report.state,
        _ => None,
    }
}

#[test]
fn foreign_secret_is_not_touched() {
    let now: Timestamp = "2026-03-02T00:00:00Z".parse().unwrap();
    let known = StepResults::default();
    assert_eq!(tells(&next_step(&scene(StoredSecret::Foreign), &known, now)), Some(CredentialPhase::Blocked));
    let bad = ObservedCredential { order: Err("it is none".into()), ..scene(StoredSecret::Absent) };
    assert_eq!(tells(&next_step(&bad, &known, now)), Some(CredentialPhase::Blocked));
    let before = now - ARRIVES;
    let gone = ObservedCredential {
        stage: ClusterStage::Gone(before),
        issuers: vec![],
        deleted: true,
        ..scene(StoredSecret::Foreign)
    };
    assert_eq!(next_step(&gone, &known, now), CredentialStep::Release);
    assert_eq!(next_step(&ObservedCredential { holds: false, ..gone }, &known, now), CredentialStep::Nothing);
    let early = ObservedCredential {
        holds: false,
        deleted: true,
        stage: ClusterStage::Going,
        ..scene(StoredSecret::Absent)
    };
    assert_eq!(
        next_step(&early, &known, now),
        CredentialStep::Nothing,
        "nothing is begun that nobody would end"
    );
}

#[test]
fn silence_changes_nothing() {
    let now = "2026-03-02T00:00:00Z".parse().unwrap();
    let one = CredentialRef { id: "i".into(), user: "u".into(), name: "n".into(), issuer: "alice".into() };
    let held = provider_testplatform::controllers::cloud_credentials::record::CurrentCredential {
        one,
        generation: 0,
        requested_by: Some("alice".into()),
        renew: None,
    };
    let record = CredentialRecord { held: Some(held), last: 1, ..CredentialRecord::of(UID) };
    let scene = scene(StoredSecret::Ours { record, filled: true });
    let known = StepResults { probe: Some(CredentialCheck::Unknown), ..StepResults::default() };
    assert_eq!(tells(&next_step(&scene, &known, now)), Some(CredentialPhase::Unreachable));
}
