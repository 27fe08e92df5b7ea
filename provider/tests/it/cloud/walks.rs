//! Random walks through the life of a cluster's credential: at no moment after the first publication is there none that works, unless its owner has
//! left and nobody is there who could make another; and at the end none is left that could be deleted.

use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::SignedDuration;
use proptest::{prelude::*, test_runner::RngSeed};
use provider_testplatform::controllers::cloud_credentials::reconcile::CredentialEvent;
use testplatform_apis::{cloud::CredentialPhase, duration::GoDuration};

use crate::cloud::model::{ADMIN, Blow, Model, PROBE, User};

const WALKS: u32 = 1000;
const USERS: [&str; 4] = ["alice", "bob", "carol", ADMIN];

/// Events around the controller. After each, the controller gets to reconcile undisturbed once, as after a bounded trouble it does.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// Nothing for so many looks.
    Quiet(u8),
    /// Another one edits the cluster.
    Edits(u8),
    /// Somebody wants another credential.
    Bump,
    /// Somebody wants another credential, and the call of this number fails so.
    Fails(u8, Blow),
    /// The identity service does not answer for so many looks.
    Outage(u8),
    /// The password in an issuer's Secret is wrong, or right again. The user's credentials work all the same.
    Password(u8),
    /// An issuer's Secret goes, or comes back.
    Secret(u8),
    /// An issuer may no longer make any, or may again.
    Restricted(u8),
    /// An issuer may no longer delete any, or may again.
    MayDelete(u8),
    /// A user leaves, or comes back.
    Leaves(u8),
    /// A user loses a role, and with it all credentials, or gets it back.
    Role(u8),
    /// A user leaves at the call of this number.
    LeavesDuring(u8, u8),
}

fn calm() -> BoxedStrategy<Event> {
    let blow =
        prop_oneof![Just(Blow::Before), Just(Blow::After), Just(Blow::DiesBefore), Just(Blow::DiesAfter)];
    let user = || 0..4_u8;
    prop_oneof![
        3 => (1..8_u8).prop_map(Event::Quiet),
        4 => user().prop_map(Event::Edits),
        3 => Just(Event::Bump),
        8 => (0..16_u8, blow).prop_map(|(call, blow)| Event::Fails(call, blow)),
        1 => (1..12_u8).prop_map(Event::Outage),
        1 => user().prop_map(Event::Password),
        1 => user().prop_map(Event::Secret),
        1 => user().prop_map(Event::Restricted),
        1 => user().prop_map(Event::MayDelete),
    ]
    .boxed()
}

fn rough() -> BoxedStrategy<Event> {
    let user = || 0..4_u8;
    prop_oneof![
        8 => calm(),
        2 => user().prop_map(Event::Leaves),
        2 => user().prop_map(Event::Role),
        2 => (user(), 0..12_u8).prop_map(|(user, call)| Event::LeavesDuring(user, call)),
    ]
    .boxed()
}

/// Counts over all walks: without these they prove nothing.
#[derive(Default)]
struct Tally {
    rotated: AtomicUsize,
    failed: AtomicUsize,
    invalid: AtomicUsize,
    removed: AtomicUsize,
    deaths: AtomicUsize,
}

struct Walk<'a> {
    model: Model,
    tally: &'a Tally,
}

impl Walk<'_> {
    /// `true` if the owner of the published credential was disabled, and the credential went with them.
    fn owner_is_hit(&self) -> bool {
        let world = self.model.world();
        let id = world.secret.as_ref().and_then(|(_, id)| id.as_ref());
        id.is_some_and(|id| !world.credentials.contains_key(id) && !world.left.contains(id))
    }

    fn can_any_issue(&self) -> bool {
        let scene = self.model.scene();
        let world = self.model.world();
        scene.issuers.iter().any(|name| {
            let user = &world.users[name];
            user.here && user.password && user.role && !user.restricted
        })
    }

    fn look(&self) {
        let (before, hit) = (self.model.works(), self.owner_is_hit());
        let state = self.model.look();
        let dead = self.model.world().dead;
        self.tally.deaths.fetch_add(usize::from(dead), Ordering::Relaxed);
        match state {
            Some(CredentialPhase::RotationFailed) => self.tally.failed.fetch_add(1, Ordering::Relaxed),
            Some(CredentialPhase::OwnerInvalid) => self.tally.invalid.fetch_add(1, Ordering::Relaxed),
            Some(
                CredentialPhase::Valid
                | CredentialPhase::Unreachable
                | CredentialPhase::Blocked
                | CredentialPhase::Leaving,
            )
            | None => 0,
        };
        if before && !hit {
            assert!(self.model.works() || self.owner_is_hit(), "a look took away what worked");
        }
        if state == Some(CredentialPhase::Valid) {
            // Somebody may have left just now.
            assert!(self.model.works() || self.owner_is_hit(), "it is said to work");
        }
    }

    /// The order goes before it is held, and comes back.
    fn vanish(&self) {
        self.model.world().vanished = true;
        self.model.look();
        let mut world = self.model.world();
        assert!(world.credentials.is_empty() && world.secret.is_none(), "it is nobody's");
        world.vanished = false;
    }

    /// One that nothing disturbs: whatever was before, there is one that works if anybody can make one.
    fn look_undisturbed(&self) {
        self.model.world().blow = None;
        self.look();
        assert!(self.model.works() || !self.can_any_issue(), "there is none although one could be made");
    }

    fn time(&self, time: SignedDuration) {
        let before = self.model.works();
        self.model.world().now += time;
        // One that ends is renewed long before, if anybody can.
        assert!(self.model.works() || !before || !self.can_any_issue(), "it ended");
    }

    fn change(&self, index: u8, act: impl FnOnce(&mut User)) {
        act(self.model.world().users.get_mut(USERS[usize::from(index)]).unwrap());
    }

    fn live(&mut self, event: Event) {
        let user = |index: u8| USERS[usize::from(index)];
        match event {
            Event::Quiet(looks) => {
                for _ in 0..looks {
                    self.time(PROBE);
                    self.look_undisturbed();
                }
            }
            Event::Edits(index) => self.model.order.requested_by = Some(user(index).into()),
            Event::Bump => self.model.order.generation += 1,
            Event::Fails(call, blow) => {
                self.model.order.generation += 1;
                self.model.world().blow = Some((u32::from(call), blow));
                self.look();
            }
            Event::Outage(looks) => {
                self.model.world().down = true;
                for _ in 0..looks {
                    self.time(PROBE);
                    self.look();
                }
                self.model.world().down = false;
            }
            Event::Password(index) => self.change(index, |user| flip(&mut user.password)),
            Event::Restricted(index) => self.change(index, |user| flip(&mut user.restricted)),
            Event::MayDelete(index) => self.change(index, |user| flip(&mut user.may_delete)),
            Event::Secret(index) => {
                let name = user(index).to_owned();
                match self.model.issuers.iter().position(|one| *one == name) {
                    Some(place) => drop(self.model.issuers.remove(place)),
                    None => self.model.issuers.push(name),
                }
            }
            Event::Leaves(index) => {
                let mut world = self.model.world();
                if world.users[user(index)].here {
                    world.leave(user(index));
                } else {
                    world.users.get_mut(user(index)).unwrap().here = true;
                }
            }
            Event::Role(index) => {
                let mut world = self.model.world();
                flip(&mut world.users.get_mut(user(index)).unwrap().role);
                world.drop_all_of(user(index));
            }
            Event::LeavesDuring(index, call) => {
                self.model.order.generation += 1;
                let mut world = self.model.world();
                world.leaver = user(index).into();
                world.blow = Some((u32::from(call), Blow::Leaves));
                drop(world);
                self.look();
            }
        }
        self.look_undisturbed();
    }

    /// The claim goes: first its cluster, which takes a credential that works, then the order.
    fn end(&mut self) {
        let now = self.model.world().now;
        self.model.deleted = Some(now);
        self.look_undisturbed();
        let held = self.model.is_published();
        assert!(held || !self.can_any_issue());
        self.model.cluster = false;
        self.model.world().over = true;
        for _ in 0..4 {
            self.time(PROBE);
            self.model.look();
        }
        assert!(self.model.world().released, "it is not let go");
        assert!(!self.model.is_published(), "the Secret is left");
        let remaining = self.model.remaining();
        let world = self.model.world();
        for id in remaining {
            let user = &world.credentials[&id].user;
            let of = &world.users[user];
            let lost = !of.password || of.restricted || !of.may_delete || !self.model.issuers.contains(user);
            assert!(lost, "{id} of {user} is left");
        }
        let removed =
            world.happened.iter().filter(|what| matches!(what, CredentialEvent::Removed(_))).count();
        let rotated =
            world.happened.iter().filter(|what| matches!(what, CredentialEvent::Rotated(_))).count();
        self.tally.removed.fetch_add(removed, Ordering::Relaxed);
        self.tally.rotated.fetch_add(rotated, Ordering::Relaxed);
    }
}

fn flip(what: &mut bool) {
    *what = !*what;
}

fn walk(events: &BoxedStrategy<Event>) -> Tally {
    let tally = Tally::default();
    let config = ProptestConfig {
        cases: WALKS,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    };
    let walks = (any::<bool>(), any::<bool>(), proptest::collection::vec(events.clone(), 1..40));
    proptest::test_runner::TestRunner::new(config)
        .run(&walks, |(ends, vanishes, events)| {
            let mut walk = Walk { model: Model::new(&USERS), tally: &tally };
            walk.model.order.lifetime = ends.then(|| GoDuration::from_hours(24));
            if vanishes {
                walk.vanish();
            }
            for event in &events {
                walk.live(*event);
            }
            walk.end();
            Ok(())
        })
        .unwrap();
    tally
}

/// Says how much there was, and that it was much.
fn said(tally: &Tally) -> [usize; 5] {
    let Tally { rotated, failed, invalid, removed, deaths } = tally;
    let all = [rotated, failed, invalid, removed, deaths].map(|count| count.load(Ordering::Relaxed));
    let [rotated, failed, invalid, removed, deaths] = all;
    println!(
        "{WALKS} walks: {rotated} rotations, {failed} failed ones, {invalid} looks without an owner, {removed} deleted, {deaths} deaths"
    );
    all
}

#[test]
fn a_thousand_rotations_without_a_moment_without_a_credential() {
    let [rotated, failed, _, removed, deaths] = said(&walk(&calm()));
    assert!(rotated > 5_000 && failed > 100 && removed > 5_000 && deaths > 500, "the walks went nowhere");
}

#[test]
fn a_thousand_walks_with_users_that_leave_and_roles_that_change() {
    let [rotated, failed, invalid, removed, deaths] = said(&walk(&rough()));
    let enough = rotated > 5_000 && failed > 100 && invalid > 100 && removed > 3_000 && deaths > 300;
    assert!(enough, "the walks went nowhere");
}

/// The walks would find a violation if there was one.
#[test]
#[should_panic(expected = "it ended")]
fn walk_without_reconciles_finds_an_expired_credential() {
    let tally = Tally::default();
    let mut walk = Walk { model: Model::new(&USERS), tally: &tally };
    walk.model.order.lifetime = Some(GoDuration::from_hours(24));
    walk.look_undisturbed();
    walk.time(SignedDuration::from_hours(25));
}
