//! Random walks through the life of a token: at no moment after the first publication is there none that the cluster takes.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
use proptest::{prelude::*, test_runner::RngSeed};
use provider_testplatform::credentials::{
    Credentials, Published,
    account::{Issue, admin::AdminKubeconfig, plan::AccountObject},
    publish::{CredentialsDecision, CredentialsSource, compare},
};
use serde_json::Value;
use testplatform_apis::account::AccessRequest;

use crate::{
    account::model::{ADMIN, Fault, KEY, Model},
    support::bounded,
};

/// How often a controller looks, at the latest.
const POLL: SignedDuration = SignedDuration::from_mins(10);
const WALKS: u32 = 1000;

/// Events around the controller. After each, the controller gets to reconcile undisturbed, as after a bounded trouble it does.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// Nothing for so many looks.
    Quiet(u8),
    /// For so many parts of a hundred of what a token has left when it is due, the cluster does not answer.
    Outage(u8),
    /// The call of this number fails, and the hub's write too if that is beyond all calls. After: the process may have been killed.
    Failing(u8, bool),
    /// Somebody wants another token.
    Bump,
    /// The admin's kubeconfig is another one.
    Rotated,
    /// The cluster answers 401 to the tokens that it makes.
    Forgets,
    /// Rights arrive late.
    Late,
    /// Our clock jumps, in minutes. The cluster's does not.
    Jump(i8),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (1..60_u8).prop_map(Event::Quiet),
        2 => (1..=100_u8).prop_map(Event::Outage),
        4 => (0..12_u8, any::<bool>()).prop_map(|(call, after)| Event::Failing(call, after)),
        2 => Just(Event::Bump),
        1 => Just(Event::Rotated),
        1 => Just(Event::Forgets),
        1 => Just(Event::Late),
        1 => (-3..=3_i8).prop_map(Event::Jump),
    ]
}

/// Counts over all walks: without these they prove nothing.
static ISSUED: AtomicUsize = AtomicUsize::new(0);
static RENEWED: AtomicUsize = AtomicUsize::new(0);
static FAILED: AtomicUsize = AtomicUsize::new(0);

struct Walk {
    model: Model,
    stored: Option<Credentials>,
    /// The one in it.
    token: Option<String>,
    wish: AccessRequest,
    revision: u32,
    /// How far our clock is ahead of the cluster's.
    skew: SignedDuration,
}

impl Walk {
    fn new(life: SignedDuration) -> Self {
        let model = Model::default();
        model.state().now = "2026-03-02T00:00:00Z".parse().unwrap();
        model.state().life = life;
        let wish = AccessRequest { cluster_role: "view".into(), generation: 0 };
        Self { model, stored: None, token: None, wish, revision: 1, skew: SignedDuration::ZERO }
    }

    fn now(&self) -> Timestamp {
        self.model.state().now + self.skew
    }

    /// One reconcile. The controller remembers nothing, so it may have been restarted.
    fn look(&mut self) {
        let source_revision = |c: &Credentials| Some(c.source_revision.clone());
        let published = self.stored.as_ref().map_or(Published::Absent, |c| Published::Ours {
            revision: "1".into(),
            source_revision: source_revision(c),
        });
        let issue = Issue {
            admin: AdminKubeconfig::new(ADMIN.into()),
            wish: self.wish.clone(),
            uid: "u".into(),
            revision: format!("c:admin@{}", self.revision),
        };
        let now = self.now();
        match compare(&CredentialsSource::Account(Box::new(issue)), &published, now) {
            Some(CredentialsDecision::Issue(issue)) => {
                match issue.issue_credentials_with(&self.model, now).now_or_never().unwrap() {
                    Ok(credentials) => self.store(credentials),
                    Err(cause) => {
                        assert!(!cause.message.contains(KEY), "{}", cause.message);
                        FAILED.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            Some(CredentialsDecision::InSync) => {}
            other => panic!("{other:?}"),
        }
        self.holds();
    }

    /// The write on the hub, which may fail too.
    fn store(&mut self, credentials: Credentials) {
        match self.model.state().fault.take() {
            Some((_, Fault::Before)) => return,
            Some((_, Fault::After)) | None => {}
        }
        ISSUED.fetch_add(1, Ordering::Relaxed);
        RENEWED.fetch_add(usize::from(self.stored.is_some()), Ordering::Relaxed);
        self.token = Some(token(&credentials));
        self.stored = Some(credentials);
    }

    fn holds(&self) {
        let Some(token) = &self.token else { return };
        assert!(self.model.takes(token), "{token} does not work at {}", self.model.state().now);
    }

    fn pass(&mut self, time: SignedDuration) {
        self.model.state().now += time;
        self.holds();
    }

    fn live(&mut self, event: Event) {
        match event {
            Event::Quiet(looks) => {
                for _ in 0..looks {
                    self.pass(POLL);
                    self.look();
                }
            }
            Event::Outage(part) => {
                // Remaining lifetime at renewal, less one poll, the time to issue a token, and the difference of clocks.
                let life = self.model.state().life;
                let longest = life / 3 - POLL - SignedDuration::from_mins(8);
                let lasts = longest * i32::from(part) / 100;
                self.model.state().down = true;
                for _ in 0..5 {
                    self.pass(lasts / 5);
                    self.look();
                }
                self.model.state().down = false;
            }
            Event::Failing(call, after) => {
                let fault = if after { Fault::After } else { Fault::Before };
                self.model.state().fault = Some((usize::from(call), fault));
                self.look();
                self.model.state().fault = None;
            }
            Event::Bump => self.wish.generation += 1,
            Event::Rotated => self.revision += 1,
            Event::Forgets => {
                self.wish.generation += 1;
                self.model.state().forgets = true;
                self.look();
                self.model.state().forgets = false;
            }
            Event::Late => {
                self.wish.generation += 1;
                self.model.state().late = true;
                self.look();
                self.model.state().late = false;
            }
            Event::Jump(minutes) => self.skew = SignedDuration::from_mins(i64::from(minutes)),
        }
        self.look();
    }
}

/// Published credentials have a token, and nothing of the admin's.
fn token(credentials: &Credentials) -> String {
    let text = String::from_utf8(credentials.kubeconfig.0.clone()).unwrap();
    assert!(!text.contains(KEY), "the admin's key is published");
    assert!(credentials.password.0.is_empty(), "a password is published");
    let config: Value = serde_saphyr::from_str(&text).unwrap();
    config["users"][0]["user"]["token"].as_str().unwrap().to_owned()
}

#[test]
fn a_thousand_walks_without_a_moment_without_a_token() {
    let life = prop_oneof![Just(SignedDuration::from_hours(12)), Just(SignedDuration::from_hours(1))];
    let walks = bounded(WALKS);
    let config = ProptestConfig {
        cases: walks,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    };
    let events = (life, proptest::collection::vec(event(), 1..40));
    proptest::test_runner::TestRunner::new(config)
        .run(&events, |(life, events)| {
            let mut walk = Walk::new(life);
            for event in &events {
                walk.live(*event);
            }
            let stamp = walk.stored.as_ref().map(|c| c.source_revision.clone()).unwrap_or_default();
            let generation = format!("/{}/", walk.wish.generation);
            prop_assert!(
                stamp.contains(&generation),
                "{stamp} is not for generation {}",
                walk.wish.generation
            );
            Ok(())
        })
        .unwrap();
    let [issued, renewed, failed] = [&ISSUED, &RENEWED, &FAILED].map(|count| count.load(Ordering::Relaxed));
    println!(
        "{walks} walks: {issued} tokens published, {renewed} of them in place of another; {failed} times in vain"
    );
    let walks = usize::try_from(walks).unwrap();
    assert!(renewed > 10 * walks && failed > walks, "the walks went nowhere");
}

/// The cluster would take it, for a moment.
#[test]
fn deleted_account_gets_no_token_until_it_is_gone() {
    let mut walk = Walk::new(SignedDuration::from_hours(12));
    walk.look();
    let before = walk.token.clone();
    assert!(before.is_some());
    walk.model.state().goes = Some(AccountObject::Account);
    walk.wish.generation += 1;
    walk.look();
    assert_eq!(walk.token, before, "a token is published that ends in a moment");
    walk.model.lose();
    walk.look();
    assert_ne!(walk.token, before, "nothing was made anew");
}

/// A token would have the old rights under the name of the requested ones.
#[test]
fn token_waits_for_replaced_rights() {
    let mut walk = Walk::new(SignedDuration::from_hours(12));
    walk.look();
    let before = walk.token.clone();
    walk.model.state().wrong = Some(AccountObject::Binding);
    walk.model.state().holds = true;
    walk.wish.generation += 1;
    for _ in 0..3 {
        walk.look();
        assert_eq!(walk.token, before, "a token is published with the rights of before");
    }
    walk.model.state().holds = false;
    walk.model.lose();
    walk.look();
    assert_ne!(walk.token, before, "nothing was made anew");
}

/// The walks would find a violation if there was one.
#[test]
#[should_panic(expected = "does not work")]
fn walk_without_reconciles_finds_an_expired_token() {
    let mut walk = Walk::new(SignedDuration::from_hours(12));
    walk.look();
    walk.pass(SignedDuration::from_hours(13));
}
