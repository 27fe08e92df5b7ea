//! Orders that go, and what was made for them: who is asked about it, how much of it goes at once, and when it counts as gone.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use provider_testplatform::controllers::cloud_credentials::{
    plan::{
        BATCH, CROWD, ClusterStage, CredentialStep, GIVE_UP, GO_ON, ObservedCredential, StepResults,
        StoredSecret, next_step,
    },
    record::{CredentialRecord, CredentialRef, MOST, RetiredCredential},
};
use testplatform_apis::cloud::CredentialPhase;

use super::{ARRIVES, ends, gone, left, owner, published, scene};
use crate::cloud::model::{ADMIN, Credential, GRACE, Model, UID};

#[test]
fn vanished_request_gets_no_credential() {
    let model = Model::new(&["alice"]);
    model.world().vanished = true;
    assert_eq!(model.look(), None);
    let world = model.world();
    assert!(world.made == 0 && world.secret.is_none() && world.asked == 0, "{:?}", world.credentials);
}

#[test]
fn user_without_credentials_is_not_contacted_at_teardown() {
    let mut model = Model::new(&["alice", ADMIN]);
    model.look();
    model.world().silent.insert(ADMIN.into());
    ends(&mut model);
    assert_eq!(model.look(), None);
    assert!(model.world().released && model.remaining().is_empty());
    assert_eq!((gone(&model), left(&model)), (1, 0));
}

/// One of two is gone, and of the other nobody can say so.
#[test]
fn teardown_result_is_reported_once() {
    let mut model = Model::new(&["alice", "bob"]);
    model.look();
    model.order.requested_by = Some("bob".into());
    model.look();
    model.world().silent.insert("alice".into());
    ends(&mut model);
    for _ in 0..3 {
        assert_eq!(model.look(), Some(CredentialPhase::Leaving));
        assert_eq!((gone(&model), left(&model)), (1, 0), "{:?}", model.world().happened);
        model.world().now += SignedDuration::from_mins(1);
    }
    assert_eq!(model.world().written, 0, "there was nothing new");
    model.world().now += GIVE_UP;
    assert_eq!(model.look(), None);
    assert_eq!((gone(&model), left(&model)), (1, 1), "{:?}", model.world().happened);
}

/// A lost record may have named a credential of anybody who issues for the request.
#[test]
fn every_issuer_is_searched_after_a_lost_record() {
    let mut model = Model::new(&["alice", ADMIN]);
    model.look();
    model.world().secret = None;
    // The earlier credential is alice's, and only the administrator can make another.
    model.world().silent.insert("alice".into());
    assert_eq!(model.look(), Some(CredentialPhase::Valid));
    assert_eq!((owner(&model).as_str(), model.remaining().len()), (ADMIN, 2));
    ends(&mut model);
    assert_eq!(model.look(), Some(CredentialPhase::Leaving), "alice has one that nothing is known of");
    model.world().silent.clear();
    assert_eq!(model.look(), None);
    assert!(model.world().released && model.remaining().is_empty());
    // The same where the end comes first.
    let mut model = Model::new(&["alice", ADMIN]);
    model.look();
    model.world().secret = None;
    model.world().silent.insert("alice".into());
    ends(&mut model);
    assert_eq!(model.look(), Some(CredentialPhase::Leaving));
    model.world().silent.clear();
    assert_eq!(model.look(), None);
    assert!(model.world().released && model.remaining().is_empty());
}

/// So many, all of which wait to be deleted.
fn crowd(model: &Model, count: usize) {
    let mut world = model.world();
    let ids: Vec<String> = (0..count).map(|number| format!("old-{number}")).collect();
    for id in &ids {
        let name = format!("tpc-{UID}-9{}", &id[4..]);
        world.credentials.insert(id.clone(), Credential { user: "alice".into(), name, expires: None });
    }
    let old = ids.into_iter().map(|id| {
        let name = world.credentials[&id].name.clone();
        RetiredCredential {
            one: CredentialRef { id, user: "alice".into(), name, issuer: "alice".into() },
            since: None,
        }
    });
    let old: Vec<RetiredCredential> = old.collect();
    world.secret.as_mut().unwrap().0.old = old;
}

#[test]
fn many_credentials_are_deleted_over_several_passes() {
    let mut model = Model::new(&["alice"]);
    model.look();
    crowd(&model, 3 * BATCH);
    assert_eq!(model.look(), Some(CredentialPhase::Valid));
    assert_eq!(model.remaining().len(), 2 * BATCH + 1);
    assert_eq!(model.world().told.as_ref().unwrap().1, GO_ON, "there is no haste");
    ends(&mut model);
    assert_eq!(model.look(), Some(CredentialPhase::Leaving));
    assert_eq!((model.remaining().len(), model.world().told.as_ref().unwrap().1), (BATCH + 1, GO_ON));
    for _ in 0..2 {
        model.look();
    }
    assert!(model.world().released && model.remaining().is_empty());
    assert_eq!((gone(&model), left(&model)), (3 * BATCH + 1, 0));
}

#[test]
fn many_undeletable_credentials_take_no_longer_than_one() {
    for forbidden in [true, false] {
        let mut model = Model::new(&["alice"]);
        model.look();
        crowd(&model, 3 * BATCH);
        model.world().users.get_mut("alice").unwrap().may_delete = !forbidden;
        ends(&mut model);
        if !forbidden {
            model.world().down = true;
            assert_eq!(model.look(), Some(CredentialPhase::Leaving));
            assert!(
                model.world().asked < 8,
                "a service that is silent is asked {} times",
                model.world().asked
            );
            model.world().now += GIVE_UP;
        }
        assert_eq!(model.look(), None);
        assert!(model.world().released);
        assert_eq!((gone(&model), left(&model)), (0, 3 * BATCH + 1));
    }
}

/// Each request may leave one behind.
#[test]
fn no_more_are_made_on_request_than_can_be_deleted() {
    let mut model = Model::new(&["alice", "bob"]);
    model.look();
    for _ in 0..CROWD {
        model.order.generation += 1;
        assert_eq!(model.look(), Some(CredentialPhase::Valid));
    }
    let before = published(&model);
    model.order.requested_by = Some("bob".into());
    for _ in 0..3 {
        assert_eq!(model.look(), Some(CredentialPhase::RotationFailed));
        let told = model.world().told.clone().unwrap().0;
        assert!(told.contains("16 before it are not deleted yet"), "{told}");
        assert!(model.works() && published(&model) == before && model.remaining().len() == CROWD + 1);
    }
    // A credential that no longer works is replaced anyway.
    model.world().credentials.remove(&before);
    assert_eq!(model.look(), Some(CredentialPhase::Valid));
    assert!(model.works() && owner(&model) == "bob");
    model.order.requested_by = Some("alice".into());
    assert_eq!(model.look(), Some(CredentialPhase::RotationFailed));
    model.world().now += GRACE;
    for _ in 0..2 {
        model.look();
    }
    assert_eq!((owner(&model).as_str(), model.look()), ("alice", Some(CredentialPhase::Valid)));
}

#[test]
fn a_record_does_not_grow_for_ever() {
    let mut record = CredentialRecord::of(UID);
    let one = |number: usize| CredentialRef {
        id: number.to_string(),
        user: "u".into(),
        name: format!("tpc-{UID}-{number}"),
        issuer: if number == 0 { "first" } else { "alice" }.into(),
    };
    let now = "2026-03-02T00:00:00Z".parse().unwrap();
    for number in 0..MOST {
        record.retire(one(number), now);
    }
    assert!(record.open.is_empty() && record.add_strays([&one(1)], None), "it is known");
    assert!(!record.add_strays([&one(MOST)], None), "there is no place");
    record.retire(one(MOST), now);
    assert_eq!((record.old.len(), record.open.first().map(String::as_str)), (MOST, Some("first")));
    assert!(!record.contains("0") && record.contains(&MOST.to_string()));
}

#[test]
fn expired_credential_is_forgotten() {
    let mut model = Model::new(&["alice"]);
    model.order.lifetime = Some(testplatform_apis::duration::GoDuration::from_mins(10));
    for _ in 0..30 {
        assert_eq!(model.look(), Some(CredentialPhase::Valid));
        model.world().now += SignedDuration::from_mins(5);
    }
    assert!(model.remaining().len() <= 4, "{:?}", model.remaining());
}

#[test]
fn a_cluster_may_be_on_its_way_for_a_while() {
    let mut model = Model::new(&["alice"]);
    model.look();
    ends(&mut model);
    model.world().now -= SignedDuration::from_secs(1);
    assert_eq!(model.look(), None);
    assert!(!model.world().released && model.works());
    model.cluster = true;
    model.world().over = false;
    model.world().now += SignedDuration::from_hours(1);
    assert_eq!(model.look(), Some(CredentialPhase::Valid));
}

#[test]
fn returning_cluster_restarts_the_grace_period() {
    let mut model = Model::new(&["alice"]);
    model.look();
    ends(&mut model);
    model.world().down = true;
    assert_eq!(model.look(), Some(CredentialPhase::Leaving));
    assert!(model.world().removing.is_some());
    model.cluster = true;
    model.world().over = false;
    model.look();
    assert_eq!(model.world().removing, None);
}

/// The API server's clock is ahead of ours, by how much nobody knows.
#[test]
fn a_clock_that_is_behind_holds_up_nothing() {
    let now: Timestamp = "2026-03-02T00:00:00Z".parse().unwrap();
    let hour = SignedDuration::from_hours(1);
    let gone = ObservedCredential {
        stage: ClusterStage::Gone(now + hour),
        deleted: true,
        issuers: vec![],
        ..scene(StoredSecret::Absent)
    };
    let known = StepResults::default();
    assert_eq!(next_step(&gone, &known, now), CredentialStep::Mark(Some(now)));
    let marked = ObservedCredential { removing: Some(now), ..gone };
    assert_eq!(next_step(&marked, &known, now), CredentialStep::Later(Duration::from_secs(30)));
    assert_eq!(next_step(&marked, &known, now + ARRIVES), CredentialStep::Release);
}

/// The right to do so was taken away, perhaps for ever: it is not known that nobody is there.
#[test]
fn unlisted_issuers_delay_teardown_by_a_day_at_most() {
    let mut model = Model::new(&["alice"]);
    assert_eq!(model.look(), Some(CredentialPhase::Valid));
    model.unread = true;
    assert_eq!(model.look(), Some(CredentialPhase::Valid), "what is published is asked for as before");
    model.order.generation += 1;
    assert_eq!(model.look(), Some(CredentialPhase::RotationFailed));
    let told = model.world().told.clone().unwrap().0;
    assert!(told.starts_with("the provider has no permission to list"), "{told}");
    ends(&mut model);
    assert_eq!(model.look(), Some(CredentialPhase::Leaving));
    let told = model.world().told.clone().unwrap().0;
    assert!(told.contains("no permission to list") && told.contains("after 24 h"), "{told}");
    model.world().now += GIVE_UP;
    model.look();
    assert!(model.world().released && model.world().secret.is_none());
    assert_eq!(left(&model), 1);
}

#[test]
fn reachable_issuers_are_searched_again() {
    let mut model = Model::new(&["alice"]);
    model.look();
    model.world().secret = None;
    model.unread = true;
    ends(&mut model);
    assert_eq!(model.look(), Some(CredentialPhase::Leaving), "anybody may have made one");
    model.unread = false;
    model.look();
    assert!(model.world().released && model.remaining().is_empty());
}
