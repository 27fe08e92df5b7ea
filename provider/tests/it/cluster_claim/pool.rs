//! The queue, where the next cluster comes from, and provisions that fail.

use jiff::Timestamp;
use provider_testplatform::{
    controllers::cluster_claim::{object::ClusterClaim, plan::plan},
    credentials::publish::reason::ClaimEventReason,
};
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::{
    hive_status::{QueueReport, Supply},
    names::ours,
};
use testplatform_runtime::diagnostics;

use crate::cluster_claim::fixture::{
    Case, POOL, born, cluster, condition, minutes, published, running, waiting,
};

const fn queue(position: i64, depth: i64) -> QueueReport {
    QueueReport { position: Some(position), depth: Some(depth) }
}

/// The place among those who wait, by age; the worst among those of one second.
#[rstest]
#[case::alone(&[0], queue(1, 1))]
#[case::first(&[0, 1, 2], queue(1, 3))]
#[case::last(&[0, -1, -2], queue(3, 3))]
#[case::between(&[-1, 0, 1], queue(2, 3))]
#[case::of_one_second(&[0, 0, 0, 1], queue(3, 4))]
// A cache that has not heard of this one yet.
#[case::unknown(&[], queue(1, 1))]
fn place(#[case] others: &[i64], #[case] expected: QueueReport) {
    let mut case = waiting();
    case.queue = others.iter().map(|m| born() + minutes(*m)).collect();
    assert_eq!(case.settled().told().queue, Some(expected));
}

/// Two hundred come one after the other and are served one after the other. Everybody is looked at each time, and told what is near
/// enough: the first ten exactly. Were every step of the others written, that would be twenty thousand writes each way.
#[test]
fn long_queue_is_not_rewritten_for_each_change() {
    const LONG: usize = 200;
    let mut world = waiting().world();
    let mut queue: Vec<(Timestamp, ClusterClaim)> = Vec::new();
    let mut look = |queue: &mut Vec<(Timestamp, ClusterClaim)>| {
        world.queue = queue.iter().map(|(at, _)| Some(*at)).collect();
        let depth = queue.len() as u64;
        let mut written = 0;
        for (place, (_, claim)) in queue.iter_mut().enumerate() {
            let told = plan(claim, &world, born()).status.unwrap().status;
            let text = told.to_annotation().unwrap();
            let stored = claim.metadata.annotations.get_or_insert_default();
            written += usize::from(stored.insert(ours::STATUS.into(), text.clone()) != Some(text));
            let told = told.queue.unwrap();
            let position = place as u64 + 1;
            let off = |told: Option<i64>, real: u64| told.unwrap().unsigned_abs().abs_diff(real);
            assert!(off(told.position, position) <= position / 10, "{told:?} is {position}");
            assert!(off(told.depth, depth) <= depth / 5, "{told:?} of {depth}");
        }
        written
    };
    let (mut coming, mut going) = (0, 0);
    for count in 0..LONG {
        let at = born() + minutes(i64::try_from(count).unwrap());
        let claim = waiting().on_claim("/metadata/creationTimestamp", json!(at.to_string())).claim();
        queue.push((at, claim));
        coming += look(&mut queue);
    }
    while !queue.is_empty() {
        queue.remove(0);
        going += look(&mut queue);
    }
    println!("{LONG} claims: {coming} writes while they came, {going} while they were served");
    assert!((LONG..=8 * LONG).contains(&coming), "{coming} writes while they came");
    assert!(going <= 35 * LONG, "{going} writes while they were served");
}

/// A status that is written for another reason is exact.
#[test]
fn near_queue_position_is_corrected_with_the_next_write() {
    let mut case = waiting();
    case.queue = (0..100).map(|m| born() - minutes(m)).collect();
    let mut case = case.settled();
    assert_eq!(case.told().queue, Some(queue(100, 100)));
    case.queue.truncate(95);
    assert!(!case.writes(), "near enough");
    let case = case.on_pool("/metadata/deletionTimestamp", json!("2026-11-21T12:00:00Z")).settled();
    assert_eq!(case.told().queue, Some(queue(95, 95)));
}

/// A cluster that is promised to the tenth is not promised to the eleventh.
#[rstest]
#[case::the_eleventh_moves_up(11, 10, true)]
#[case::the_ninth_is_ninth(10, 9, true)]
#[case::the_twelfth_moves_up(12, 11, false)]
fn queue_position_is_exact_for_the_first_ten(#[case] before: usize, #[case] now: usize, #[case] told: bool) {
    let mut case = waiting();
    // Others wait behind, so that only the place is at stake.
    let ahead = |count: usize| (0..i64::try_from(count).unwrap()).map(|m| born() - minutes(m));
    let behind = || (1..=100).map(|m| born() + minutes(m));
    case.queue = ahead(before).chain(behind()).collect();
    let mut case = case.settled();
    case.queue = ahead(now).chain(behind()).collect();
    assert_eq!(case.writes(), told);
}

#[test]
fn claim_that_does_not_wait_has_no_position() {
    assert_eq!(running().settled().told().queue, None);
    assert_eq!(waiting().deleted().settled().told().queue, None);
    let mut no_pool = waiting();
    no_pool.pool = None;
    assert_eq!(no_pool.settled().told().queue, None);
}

fn with(ready: i64, standby: i64) -> Case {
    waiting().on_pool("/status/ready", json!(ready)).on_pool("/status/standby", json!(standby))
}

fn says(case: Case, type_: &str, status: &str, message: &str) -> Case {
    let mut said = condition(type_, status, "Because");
    said["message"] = message.into();
    case.on_pool("/status/conditions", json!([said]))
}

fn installing(mut case: Case, broken: bool) -> Case {
    let mut made = cluster("ocp-4-20-new", None);
    made["spec"]["installed"] = json!(false);
    if broken {
        made["status"]["conditions"] =
            json!([condition("ProvisionStopped", "True", "InstallAttemptsLimitReached")]);
    }
    case.unclaimed = vec![made];
    case
}

fn second(mut case: Case) -> Case {
    case.queue.push(born() - minutes(1));
    case
}

fn full(case: Case) -> Case {
    says(case, "CapacityAvailable", "False", "Pool is at maximum capacity")
}

#[rstest]
#[case::one_runs(with(1, 0), Supply::Immediate)]
#[case::one_runs_for_another(second(with(1, 1)), Supply::Resuming)]
#[case::one_sleeps(with(0, 1), Supply::Resuming)]
#[case::one_sleeps_in_a_full_pool(full(with(0, 1)), Supply::Resuming)]
#[case::one_is_made(installing(waiting(), false), Supply::Installing)]
#[case::one_is_made_in_a_full_pool(full(installing(waiting(), false)), Supply::Installing)]
#[case::one_will_be_made(waiting(), Supply::Installing)]
#[case::full(full(waiting()), Supply::CapacityBlocked)]
#[case::full_of_broken_ones(full(installing(waiting(), true)), Supply::CapacityBlocked)]
#[case::full_for_the_second(full(second(with(1, 0))), Supply::CapacityBlocked)]
#[case::misconfigured(
    says(waiting(), "MissingDependencies", "True", "pull secret: not found"),
    Supply::PoolMisconfigured
)]
#[case::misconfigured_and_one_sleeps(says(with(0, 1), "MissingDependencies", "True", "x"), Supply::Resuming)]
#[case::inventory_used_up(full(waiting()).on_pool("/spec/inventory", json!([{ "name": "a" }])), Supply::InventoryExhausted)]
#[case::inventory_larger_than_the_pool(
    full(waiting()).on_pool("/spec/inventory", json!([1, 2, 3, 4, 5])), Supply::CapacityBlocked
)]
#[case::inventory_broken(
    says(waiting(), "InventoryValid", "False", "{}").on_pool("/spec/inventory", json!([1])), Supply::InventoryExhausted
)]
fn supply(#[case] case: Case, #[case] expected: Supply) {
    assert_eq!(case.settled().told().supply, Some(expected));
}

#[test]
fn missing_or_deleted_pool_is_reported() {
    let mut none = waiting();
    none.pool = None;
    let told = none.settled().told();
    assert_eq!(told.pool.map(|p| (p.found, p.deleting)), Some((false, false)));
    assert_eq!(told.supply, None);
    let ending = with(1, 0).on_pool("/metadata/deletionTimestamp", json!("2026-11-21T12:00:00Z"));
    let told = ending.settled().told();
    assert_eq!(told.pool.map(|p| (p.found, p.deleting)), Some((true, true)));
    assert_eq!(told.supply, None);
}

#[test]
fn fault_of_a_pool_is_reported_without_secrets() {
    let case =
        says(waiting(), "MissingDependencies", "True", "cloud\ncredentials: password=hunter2 is refused");
    let message = case.settled().told().pool.unwrap().message.unwrap();
    assert_eq!(message, "cloud credentials: […] is refused");
    // Full is no fault.
    assert_eq!(full(waiting()).settled().told().pool.unwrap().message, None);
}

fn failing(mut case: Case, name: &str, at: i64, message: &str) -> Case {
    let mut made = cluster(name, None);
    made["spec"]["installed"] = json!(false);
    let time = (born() + minutes(at)).to_string();
    made["status"]["conditions"] = json!([
        { "type": "ProvisionFailed", "status": "True", "reason": "InsufficientQuota", "message": message,
          "lastTransitionTime": time },
        { "type": "ProvisionStopped", "status": "True", "reason": "InstallAttemptsLimitReached",
          "message": "password=hunter2", "lastTransitionTime": time },
    ]);
    case.unclaimed.push(made);
    case
}

#[test]
fn a_failed_provision_is_kept_when_its_cluster_is_replaced() {
    let case = failing(waiting(), "ocp-4-20-bad", 1, "limit of vCPUs reached; token: hunter2");
    assert_eq!(case.events(), [ClaimEventReason::ProvisionFailed.as_str()]);
    let mut case = case.settled();
    let told = case.told().provision_failure.unwrap();
    assert_eq!(
        (told.cluster_deployment.as_str(), told.reason.as_str()),
        ("ocp-4-20-bad", "InsufficientQuota")
    );
    assert_eq!(told.message, "limit of vCPUs reached; token: […]");
    assert_eq!(told.time, Some(case.now), "when it was noticed");
    let text = case.claim["metadata"]["annotations"][ours::DIAGNOSTICS].as_str().unwrap();
    let diagnostics: Value = serde_json::from_str(text).unwrap();
    assert_eq!(diagnostics["reason"], "InsufficientQuota");
    assert_eq!(diagnostics["pool"], format!("cluster-pools/{POOL}"));
    assert_eq!(diagnostics["conditions"].as_array().unwrap().len(), 2);
    assert!(text.len() <= diagnostics::MAX && !text.contains("hunter2"), "{text}");

    // Hive replaces it; what was noticed stays, at the time at which it was noticed.
    case.unclaimed.clear();
    let case = case.at(9).settled();
    assert_eq!(case.told().provision_failure, Some(told.clone()));
    // The next one that fails is the news, an older one that comes to light is not.
    let older = failing(case.clone(), "ocp-4-20-old", 1, "x").settled();
    assert_eq!(older.told().provision_failure, Some(told));
    let newer = failing(case, "ocp-4-20-new", 8, "x").settled();
    assert_eq!(newer.told().provision_failure.unwrap().cluster_deployment, "ocp-4-20-new");
}

#[test]
fn failure_before_the_claim_is_not_reported() {
    let case = failing(waiting(), "ocp-4-20-bad", -5, "x").settled();
    assert_eq!(case.told().provision_failure, None);
    assert!(case.claim["metadata"]["annotations"][ours::DIAGNOSTICS].is_null());
}

#[test]
fn once_there_is_a_cluster_the_failures_of_others_are_forgotten() {
    let case = failing(waiting(), "ocp-4-20-bad", 1, "x").settled();
    let mut served = published();
    served.claim["metadata"]["annotations"] = case.claim["metadata"]["annotations"].clone();
    served.published = provider_testplatform::credentials::Published::Absent;
    let served = served.settled();
    assert!(served.is_published());
    assert_eq!(served.told().provision_failure, None);
    assert!(served.claim["metadata"]["annotations"][ours::DIAGNOSTICS].is_null());
}
