//! Whatever happens, in whichever order, what was promised is kept.

use proptest::prelude::*;
use provider_testplatform::controllers::prerequisites::plan::{GIVE_UP, GRACE, PrerequisiteRelease};
use testplatform_apis::bundle::BundleProgress;

use crate::prerequisites::model::{Call, Hub, Meddle, TIMEOUT, is_ours, names, order};

/// Beyond what may be waited for: polls.
const SLACK: i64 = 30;

#[derive(Clone, Debug)]
enum Move {
    Tick(i64),
    /// It may die after so many calls, and somebody may do something after so many.
    Pass(Option<usize>, Option<(usize, Meddle)>),
    Meddle(Meddle),
    Ready(String, bool),
    Refuse(String, bool),
    Stick(String),
    Unstick,
    Up(bool),
    ClusterComes,
    ClusterGoes,
    ForgetReport,
    Unhold,
}

fn a_name() -> impl Strategy<Value = String> {
    prop::sample::select(names())
}

fn meddle() -> impl Strategy<Value = Meddle> {
    prop_oneof![
        a_name().prop_map(Meddle::Make),
        a_name().prop_map(Meddle::Take),
        a_name().prop_map(Meddle::Touch),
        a_name().prop_map(Meddle::Vanish),
    ]
}

fn a_move() -> impl Strategy<Value = Move> {
    let dies = prop_oneof![4 => Just(None), 1 => (0..20_usize).prop_map(Some)];
    let meanwhile = prop_oneof![Just(Meddle::Delete), meddle(), meddle(), meddle()];
    let meddles = prop_oneof![3 => Just(None), 1 => (0..20_usize, meanwhile).prop_map(Some)];
    prop_oneof![
        10 => (dies, meddles).prop_map(|(dies, meddles)| Move::Pass(dies, meddles)),
        5 => prop_oneof![0..5_i64, 0..2 * TIMEOUT, 0..800_i64].prop_map(Move::Tick),
        2 => meddle().prop_map(Move::Meddle),
        6 => (a_name(), prop::bool::weighted(0.9)).prop_map(|(name, ready)| Move::Ready(name, ready)),
        1 => (a_name(), any::<bool>()).prop_map(|(name, no)| Move::Refuse(name, no)),
        1 => prop_oneof![a_name().prop_map(Move::Stick), Just(Move::Unstick)],
        1 => any::<bool>().prop_map(Move::Up),
        1 => Just(Move::Meddle(Meddle::Delete)),
        2 => prop_oneof![Just(Move::ClusterComes), Just(Move::ClusterGoes)],
        1 => prop_oneof![Just(Move::ForgetReport), Just(Move::Unhold)],
    ]
}

fn set(of: &mut std::collections::BTreeSet<String>, name: String, on: bool) {
    if on {
        of.insert(name);
    } else {
        of.remove(&name);
    }
}

async fn make(hub: &mut Hub, next: Move) {
    match next {
        Move::Tick(seconds) => hub.tick(seconds),
        Move::Pass(dies, meddles) => pass(hub, dies, meddles).await,
        Move::Meddle(meddle) => hub.meddle(&meddle),
        Move::Ready(name, ready) => set(&mut hub.ready, name, ready),
        Move::Refuse(name, no) => set(&mut hub.refused, name, no),
        Move::Stick(name) => set(&mut hub.stuck, name, true),
        Move::Unstick => hub.unstick(),
        Move::Up(up) => hub.up = up,
        Move::ClusterComes => hub.cluster = true,
        Move::ClusterGoes => hub.cluster = false,
        Move::ForgetReport => hub.forget_report(),
        Move::Unhold => hub.unhold(),
    }
}

/// Checks after each pass that the fake hub cannot make by itself.
async fn pass(hub: &mut Hub, dies: Option<usize>, meddles: Option<(usize, Meddle)>) {
    let before = hub.read();
    let told = hub.told.len();
    let strangers = hub.objects();
    let alone = meddles.is_none();
    hub.pass(dies, meddles).await;
    let Some(before) = before else { return };
    let kept = before.report.state == Some(BundleProgress::Applied);
    if kept {
        let again = hub.calls.iter().find(|call| call.verb != "delete" && call.name.starts_with("once"));
        assert!(again.is_none(), "what is done once was done again: {again:?}");
    }
    if hub.told[told..].contains(&BundleProgress::Applied) && !kept {
        applied(&hub.calls);
    }
    if kept && hub.map.is_some() {
        assert_eq!(hub.report().state, Some(BundleProgress::Applied), "taken back");
    }
    if alone {
        for (name, object) in strangers.into_iter().filter(|(_, object)| !is_ours(object)) {
            assert_eq!(hub.objects().get(&name), Some(&object), "somebody else's was touched");
        }
    }
}

/// Everything was made or kept in its order, and seen to be ready, in the look before it was said.
fn applied(calls: &[Call]) {
    let made: Vec<&str> = calls.iter().map(|call| &*call.name).collect();
    assert_eq!(made, names(), "{calls:?}");
    assert!(calls.iter().all(|call| call.ready || call.name.ends_with('a')), "{calls:?}");
}

/// Nobody else does anything any more, and the cluster goes: it is let go of in time.
async fn ends(hub: &mut Hub) {
    hub.cluster = false;
    let from = hub.now;
    let most = (GIVE_UP + GRACE).as_secs() + SLACK;
    hub.run(most + SLACK).await;
    assert!(hub.map.is_none(), "it is held: {:?}", hub.read());
    if let Some((at, _)) = &hub.released {
        assert!(at.duration_since(from).as_secs() <= most, "for {:?}", at.duration_since(from));
    }
    assert!(!hub.objects().values().any(is_ours), "{:?}", hub.objects());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn promises_hold_on_every_walk(moves in prop::collection::vec(a_move(), 1..70)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut hub = Hub::new(&order());
            for next in moves {
                make(&mut hub, next).await;
            }
            if hub.read().is_none_or(|map| map.deleted.is_some()) {
                ends(&mut hub).await;
                return;
            }
            // All gets well: it comes to be, wherever it stood.
            hub.all_ready();
            hub.unstick();
            for name in names() {
                if hub.objects().get(&name).is_some_and(|object| !is_ours(object)) {
                    hub.meddle(&Meddle::Vanish(name));
                }
            }
            hub.run(1500).await;
            assert_eq!(hub.report().state, Some(BundleProgress::Applied), "{:?}", hub.read());
            assert!(hub.read().unwrap().holds);
            // It is kept, and stays as long as the cluster does.
            let kept: Vec<String> = names().into_iter().filter(|name| name.starts_with("kept")).collect();
            hub.meddle(&Meddle::Vanish(kept[0].clone()));
            hub.cluster = true;
            hub.run(700).await;
            hub.delete();
            hub.run(5000).await;
            assert!(kept.iter().all(|name| hub.objects().get(name).is_some_and(is_ours)), "{:?}", hub.objects());
            ends(&mut hub).await;
            assert_eq!(hub.released.as_ref().map(|(_, how)| how), Some(&PrerequisiteRelease::Done));
        });
    }
}
