//! A live claim, and anything that its owner may write into it: nothing of that is FATAL, ends its cluster, takes its end away, or hides it from
//! quotas. Over every example that has a cluster.

use function_model::{examples, list_pointers};
use jiff::{SignedDuration, Timestamp};
use proptest::{
    prelude::*,
    sample::Index,
    test_runner::{RngSeed, TestRunner},
};
use serde_json::{Value, json};
use testplatform_apis::{ci_operator, phase::Phase};
use testplatform_composites::{
    Options,
    cluster::{ClusterEvaluation, evaluate, observed::PeerCluster},
    run,
    sdk::{
        proto::{Resource, Resources, RunFunctionRequest, Severity},
        wire,
    },
};

use super::specs::any_json;

/// Fields by which the owner decides about the end, and those that are core's.
const DECIDES: [&str; 7] =
    ["claimRef", "cleanup", "compositionRef", "crossplane", "lifetime", "resourceRefs", "tearDownCluster"];
/// Which of them there is, nobody can change: a rule of the schema.
const BLOCKS: [&str; 3] = ["ciOperator", "clusterClaim", "template"];

fn composite(request: &RunFunctionRequest) -> Value {
    let observed = request.observed.as_ref().unwrap();
    wire::to_value(&observed.composite.as_ref().unwrap().resource).unwrap()
}

/// The same request, with another spec; none where that nests deeper than an API server sends.
fn with_spec(request: &RunFunctionRequest, spec: &Value) -> Option<RunFunctionRequest> {
    let mut object = composite(request);
    object["spec"] = spec.clone();
    let mut changed = request.clone();
    let resource = changed.observed.as_mut()?.composite.as_mut()?;
    resource.resource = wire::to_struct(&object).ok()?;
    Some(changed)
}

fn judged(request: &RunFunctionRequest, now: Timestamp) -> ClusterEvaluation {
    evaluate(request, now, ci_operator::xrd_schema()).unwrap_or_else(|e| panic!("{e}"))
}

/// How the composite of a request is counted by another one.
fn counted(request: &RunFunctionRequest, now: Timestamp) -> Vec<PeerCluster> {
    let mut world = function_model::world::World::hive_claim();
    world.now = now;
    let mut other = world.request();
    let resource = Resource {
        resource: request.observed.as_ref().unwrap().composite.as_ref().unwrap().resource.clone(),
        ..Resource::default()
    };
    other.required_resources.insert("clusters".into(), Resources { items: vec![resource] });
    judged(&other, now).observed.peers.unwrap()
}

/// Requests of clusters that are there, or being made, and are not told to end.
fn live(now: Timestamp) -> Vec<(String, RunFunctionRequest)> {
    let lives = |request: &RunFunctionRequest| {
        if !BLOCKS.iter().any(|block| !composite(request)["spec"][block].is_null()) {
            return false;
        }
        let ClusterEvaluation { observed, plan, .. } = judged(request, now);
        observed.primary.is_some()
            && !plan.lifecycle.teardown
            // It is another composite's to end.
            && !observed.transfer.is_released()
            && matches!(
                plan.lifecycle.phase,
                Phase::Pending | Phase::Provisioning | Phase::Ready | Phase::Degraded
            )
    };
    examples::load_examples(now).into_iter().filter(|(_, request)| lives(request)).collect()
}

/// Something else at some of its places, and one field more.
fn changed(spec: &Value, changes: &[(Index, Value)], added: &Value) -> Value {
    let mut spec = spec.clone();
    let decides = |place: &str| {
        let field = place.split('/').nth(1).unwrap_or_default();
        DECIDES.contains(&field) || BLOCKS.iter().any(|block| place == format!("/{block}"))
    };
    for (place, value) in changes {
        let all: Vec<_> = list_pointers(&spec).into_iter().filter(|place| !decides(place)).collect();
        if !all.is_empty() {
            *spec.pointer_mut(place.get::<String>(&all)).unwrap() = value.clone();
        }
    }
    for (field, value) in added.as_object().into_iter().flatten() {
        if !DECIDES.contains(&field.as_str()) && !BLOCKS.contains(&field.as_str()) {
            spec[field] = value.clone();
        }
    }
    spec
}

#[test]
fn spec_changes_never_end_or_hide_a_live_claim() {
    let now: Timestamp = examples::MADE.parse().unwrap();
    let live = live(now);
    assert!(live.len() >= 20, "{} examples have a cluster", live.len());
    for (name, request) in &live {
        let spec = composite(request)["spec"].clone();
        let before = judged(request, now).plan.lifecycle;
        let counted_before = counted(request, now);
        let config = ProptestConfig {
            cases: 24,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(1),
            ..ProptestConfig::default()
        };
        // A value that is nested deeper than the function reads is lost with its field alone.
        let deep = (0..95).fold(Value::Null, |inner, _| json!([inner]));
        let value = prop_oneof![7 => any_json(), 1 => Just(deep)];
        let changes = prop::collection::vec((any::<Index>(), value), 0..3);
        let outcome = TestRunner::new(config).run(&(changes, any_json()), |(changes, added)| {
            let spec = changed(&spec, &changes, &added);
            let Some(request) = with_spec(request, &spec) else { return Ok(()) };
            let answer = run(&request, &Options::default(), now);
            let fatal = answer.results.iter().find(|r| r.severity == i32::from(Severity::Fatal));
            prop_assert!(fatal.is_none(), "{fatal:?}");
            let course = judged(&request, now).plan.lifecycle;
            prop_assert!(!course.teardown && !matches!(course.phase, Phase::Deprovisioned | Phase::Failed));
            prop_assert_eq!(course.expires_at, before.expires_at);
            if let Some(end) = before.expires_at {
                let later = end.checked_add(SignedDuration::from_secs(1)).unwrap();
                prop_assert!(judged(&request, later).plan.lifecycle.teardown, "it outlives its lifetime");
            }
            let mut torn = spec.clone();
            torn["tearDownCluster"] = json!(true);
            let torn = with_spec(&request, &torn).unwrap();
            prop_assert!(judged(&torn, now).plan.lifecycle.teardown, "its owner cannot end it");
            prop_assert_eq!(counted(&request, now).len(), counted_before.len());
            Ok(())
        });
        if let Err(error) = outcome {
            panic!("{name}: {error}");
        }
    }
}
