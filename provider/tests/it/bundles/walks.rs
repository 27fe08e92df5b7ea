//! Whatever happens, in whichever order, what was promised is kept.

use proptest::prelude::*;
use provider_testplatform::controllers::bundles::plan::BundlePhase;
use testplatform_apis::bundle::BundleProgress;

use crate::bundles::model::{AFTER, BEFORE, Call, Crash, Hub, TIMEOUT, name, order};

/// Beyond what the bundles may take: a poll.
const SLACK: i64 = 20;

#[derive(Clone, Debug)]
enum Move {
    Tick(i64),
    Pass(Option<Crash>),
    Publish,
    Withdraw,
    PublishForAnother,
    Ready(BundlePhase, usize, bool),
    Refuse(BundlePhase, usize, bool),
    Up(bool),
    Delete,
    ClusterGoes,
    ClusterGone,
    Replace,
    ForgetReport,
}

fn list() -> impl Strategy<Value = (BundlePhase, usize)> {
    prop_oneof![
        (0..AFTER).prop_map(|place| (BundlePhase::PostInstall, place)),
        (0..BEFORE).prop_map(|place| (BundlePhase::PreDelete, place)),
    ]
}

fn a_move() -> impl Strategy<Value = Move> {
    let crash = prop_oneof![
        4 => Just(None),
        1 => prop_oneof![Just(Crash::Looked), Just(Crash::Written), Just(Crash::Refused)].prop_map(Some),
    ];
    prop_oneof![
        8 => crash.prop_map(Move::Pass),
        5 => prop_oneof![0..5_i64, 0..2 * TIMEOUT].prop_map(Move::Tick),
        3 => Just(Move::Publish),
        1 => Just(Move::Withdraw),
        1 => Just(Move::PublishForAnother),
        5 => (list(), prop::bool::weighted(0.8)).prop_map(|((l, p), ready)| Move::Ready(l, p, ready)),
        1 => (list(), any::<bool>()).prop_map(|((l, p), no)| Move::Refuse(l, p, no)),
        1 => any::<bool>().prop_map(Move::Up),
        1 => Just(Move::Delete),
        1 => prop_oneof![
            Just(Move::ClusterGoes), Just(Move::ClusterGone), Just(Move::Replace), Just(Move::ForgetReport)
        ],
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
        Move::Pass(crash) => {
            let before = hub.read();
            let told = hub.told.len();
            hub.pass(crash).await;
            // The cache shows a write at once, so a pass after it is the same as one more.
            let Some(before) = before else { return };
            in_order(&hub.look);
            confirmed(hub, before.report.state.and(before.cluster).as_deref());
            if hub.told[told..].contains(&BundleProgress::Applied) {
                applied(hub);
            }
        }
        Move::Publish => hub.publish(),
        Move::Withdraw => hub.published = None,
        Move::PublishForAnother => hub.published = Some("another".into()),
        Move::Ready(list, place, ready) => set(&mut hub.ready, name(list, place), ready),
        Move::Refuse(list, place, no) => set(&mut hub.refused, name(list, place), no),
        Move::Up(up) => hub.up = up,
        Move::Delete => hub.delete(),
        Move::ClusterGoes => hub.going = true,
        Move::ClusterGone => hub.cluster = None,
        Move::Replace => hub.replace(),
        Move::ForgetReport => hub.forget_report(),
    }
}

/// In one look a bundle is begun only when all of the one before is there and ready.
fn in_order(look: &[Call]) {
    for pair in look.windows(2) {
        let [one, other] = pair else { continue };
        if one.kind == "First" {
            assert_eq!((&*other.kind, &one.name), ("Second", &other.name), "{look:?}");
        } else {
            assert!(one.ready && one.name < other.name && other.kind == "First", "{look:?}");
        }
    }
}

/// Nothing was applied but in the cluster for whose object the credentials are published, and in which it was begun.
fn confirmed(hub: &Hub, begun: Option<&str>) {
    for call in &hub.look {
        assert_eq!(Some(&call.uid), hub.published.as_ref());
        assert_eq!(Some(&call.uid), hub.cluster.as_ref());
        assert_eq!(Some(&*call.uid), begun, "nothing is applied before it is noted where");
        assert!(!hub.going);
    }
}

/// Everything was seen to be ready in the look before it was said.
fn applied(hub: &Hub) {
    let all = (0..AFTER).map(|place| name(BundlePhase::PostInstall, place));
    for name in all {
        let seen = hub.look.iter().any(|call| call.kind == "Second" && call.name == name && call.ready);
        assert!(seen, "{name}: {:?}", hub.look);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn promises_hold_on_every_walk(moves in prop::collection::vec(a_move(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut hub = Hub::new(&order(AFTER, BEFORE));
            for next in moves {
                make(&mut hub, next).await;
            }
            // From now on the provider runs, and nothing else happens.
            let came = hub.now;
            let all = i64::try_from(BEFORE).unwrap() * TIMEOUT;
            if hub.deleted.is_some() {
                hub.run(all + SLACK).await;
                assert!(hub.map.is_none(), "it is held: {:?}", hub.read());
                if let (Some((at, _)), Some(deleted)) = (hub.released, hub.deleted) {
                    let held = at.duration_since(deleted.max(came).min(at)).as_secs();
                    assert!(held <= all + SLACK, "for {held} s");
                }
                return;
            }
            // All gets well: it comes to be, wherever it stood.
            hub.up = true;
            hub.going = false;
            hub.cluster = hub.read().unwrap().cluster.or_else(|| Some("uid-0".into()));
            hub.publish();
            hub.all_ready();
            hub.run(1000).await;
            assert_eq!(hub.state(), Some(BundleProgress::Applied), "{:?}", hub.read());
            assert!(hub.read().unwrap().has_finalizer);
            hub.delete();
            hub.run(1).await;
            assert!(hub.map.is_none());
        });
    }
}
