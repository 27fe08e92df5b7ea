//! Properties: whatever happens, in whatever order, and whatever a tenant writes.
//!
//! The walks are the same in every run, so that CI is; other seeds and more cases find more, and are worth a change of
//! this file now and then.

mod live;
mod readiness;
mod specs;

use std::{cell::Cell, collections::BTreeMap};

use function_model::{
    trouble::Trouble,
    walks::bounded_cases,
    world::{KUBECONFIG, NAME, PASSWORD, World},
};
use jiff::SignedDuration;
use proptest::{
    prelude::*,
    test_runner::{RngSeed, TestRunner},
};
use prost::{Message as _, bytes::Bytes};
use serde_json::{Value, json};
use specs::{any_json, hostile, nearly_sound};
use testplatform_apis::{
    ci_operator,
    names::{ephemeral_cluster as annotations, ours},
};
use testplatform_composites::{
    Options,
    cluster::{check, evaluate},
    run,
    sdk::{proto, request::UnusableRequest, wire},
};

/// Something that happens around a claim.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Pass,
    Provider,
    Provisioning,
    Ready,
    SecretGone,
    Failing,
    JobFailed,
    JobDone,
    RemoteDeleted,
    ClaimChanged,
    HubForgets,
    Trouble(Trouble),
}

fn happens() -> impl Strategy<Value = Happens> {
    use Happens as H;
    let plain = prop_oneof![
        8 => Just(H::Pass), 8 => Just(H::Provider), 3 => Just(H::Provisioning), 4 => Just(H::Ready), 1 => Just(H::SecretGone),
        1 => Just(H::Failing), 1 => Just(H::JobFailed), 1 => Just(H::JobDone), 1 => Just(H::RemoteDeleted),
        1 => Just(H::ClaimChanged), 1 => Just(H::HubForgets),
    ];
    prop_oneof![2 => plain, 1 => Trouble::any_trouble().prop_map(H::Trouble)]
}

fn happen(world: &mut World, what: Happens) {
    match what {
        Happens::Pass => drop(world.pass()),
        Happens::Provider => world.reconcile_objects(),
        Happens::Provisioning => world.report_phase("Provisioning", &[]),
        Happens::Ready => world.hub_ready(),
        Happens::SecretGone => world.secrets.clear(),
        Happens::Failing => {
            world.report_phase("Failed", &[("ClusterReady", "False", "SecretsFetchFailure", "no client")]);
        }
        Happens::JobFailed => world.hub_done("Failed"),
        Happens::JobDone => world.hub_done("Deprovisioned"),
        Happens::RemoteDeleted => {
            // Until it was observed once, nothing can pin it, and provider-kubernetes makes what vanishes anew.
            for _ in 0..3 {
                world.pass();
                world.reconcile_objects();
            }
            world.pass();
            // A cluster that was bound and vanished unseen cannot be told from one that was never bound.
            if world.is_pinned() && world.reachable {
                world.remote = None;
            }
        }
        Happens::ClaimChanged => world.spec["ciOperator"]["test"]["workflow"] = json!("changed"),
        Happens::HubForgets => {
            // The function cannot know that the hub forgot a status that it never saw.
            world.reconcile_objects();
            world.pass();
            if let Some(remote) = &mut world.remote {
                remote.as_object_mut().unwrap().remove("status");
            }
        }
        Happens::Trouble(trouble) => trouble.happen(world, "ec"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: bounded_cases(200), failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// The invariants that every pass checks hold along any walk, the world comes to rest after it, and an end that
    /// is asked for is reached.
    #[test]
    fn any_walk_keeps_the_invariants_and_ends(walk in prop::collection::vec(happens(), 1..60), namespaced: bool) {
        let mut world = if namespaced { World::default().in_namespace() } else { World::default() };
        for what in walk {
            happen(&mut world, what);
        }
        world.reachable = true;
        world.settle();
        world.spec["tearDownCluster"] = json!(true);
        world.settle();
        let watched = world.objects.contains_key("ec") && world.management_policies().as_array().map(Vec::len) == Some(2);
        if world.remote.is_some() && !watched {
            world.hub_done("Deprovisioned");
        }
        world.settle();
        prop_assert!(matches!(world.phase().as_str(), "Deprovisioned" | "Failed"), "{}", world.phase());
        if let Some(remote) = world.remote.as_ref().filter(|_| world.is_pinned()) {
            let ended = ["Deprovisioned", "Failed"].contains(&remote["status"]["phase"].as_str().unwrap_or_default());
            prop_assert!(ended || remote["spec"]["tearDownCluster"] == json!(true), "it runs on: {world:#?}");
        }
    }
}

/// Any spec at all: an answer, and if it is refused, a condition that says so.
#[test]
fn any_spec_gets_an_answer() {
    let config = ProptestConfig {
        cases: 128,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    };
    let specs = prop_oneof![1 => any_json(), 3 => nearly_sound()];
    let judged = Cell::new(0_u32);
    let outcome = TestRunner::new(config).run(&(specs, any::<bool>()), |(spec, live)| {
        let mut world = if live { World::ready() } else { World::default() };
        let before = world.remote.clone();
        world.claim = false;
        world.spec = spec;
        if !world.spec.is_object() {
            world.spec = json!({ "ciOperator": world.spec });
        }
        world.settle();
        if live {
            prop_assert_eq!(world.made, 1);
            let torn = world.spec["tearDownCluster"] == json!(true);
            let kept =
                || world.remote.unwrap()["spec"]["ciOperator"] == before.unwrap()["spec"]["ciOperator"];
            prop_assert!(torn || kept());
            return Ok(());
        }
        let (status, reason) = world.condition("RequestAccepted");
        if world.phase() == "Failed" {
            prop_assert_eq!((status.as_str(), reason.as_str()), ("False", "InvalidClaim"));
        }
        let words = world.conditions["RequestAccepted"]["message"].to_string();
        let inside = ["spec.ciOperator.", "spec.clusterClaim.", "spec.byoc.", "spec.credentials."];
        if status == "True" || inside.iter().any(|path| words.contains(path)) {
            judged.set(judged.get() + 1);
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    // Half of them are new. Those that are refused for their blocks as a whole say nothing of what is in there.
    assert!(judged.get() >= 8, "only {} were accepted, or refused for what is in a block", judged.get());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: bounded_cases(128), failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// An annotation of the claim becomes an annotation value of the remote object, or nothing: no other byte changes.
    #[test]
    fn annotations_stay_annotations(pipeline in hostile(), task in hostile(), other in hostile()) {
        let mut world = World::default();
        world.pass();
        let plain = world.objects["ec"].object["spec"].clone();
        let (p, t) = ("ephemeralcluster.ci.openshift.io/pipeline-run-name", "ephemeralcluster.ci.openshift.io/task-run-name");
        world.annotations = json!({ p: pipeline, t: task, "other": other });
        let mut world = World { annotations: world.annotations, ..World::default() };
        world.pass();
        let mut marked = world.objects["ec"].object["spec"].clone();
        let annotations = marked["forProvider"]["manifest"]["metadata"]["annotations"].as_object_mut().unwrap();
        for (key, value) in [(p, &pipeline), (t, &task)] {
            if let Some(shown) = annotations.remove(key) {
                prop_assert_eq!(shown, json!(value));
            }
        }
        prop_assert_eq!(marked, plain);
    }

    /// Text inside the block arrives as it is, and touches nothing else.
    #[test]
    fn text_in_the_block_is_data(key in hostile(), value in hostile()) {
        let mut world = World::default();
        world.spec["ciOperator"]["test"]["env"] = json!({ key.clone(): value.clone() });
        world.pass();
        let spec = &world.objects["ec"].object["spec"]["forProvider"]["manifest"]["spec"];
        prop_assert_eq!(&spec["ciOperator"]["test"]["env"], &json!({ key: value }));
        prop_assert_eq!(&spec["ciOperator"]["test"]["workflow"], "ipi-aws");
    }

    /// Random bytes anywhere in the request: an answer, FATAL at worst, and nothing of the desired state lost.
    #[test]
    fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), place in 0usize..6) {
        let mut request = World::ready().request();
        let garbage = Bytes::from(bytes);
        let observed = request.observed.as_mut().unwrap();
        match place {
            0 => observed.composite.as_mut().unwrap().resource = garbage,
            1 => drop(observed.resources.insert("ec".into(), garbage)),
            2 => drop(observed.resources.insert("credentials".into(), garbage)),
            3 => drop(observed.resources.insert("other".into(), garbage)),
            4 => request.input = Some(garbage),
            _ => request.required_resources.get_mut("envcfg").unwrap().items[0].resource = garbage,
        }
        let foreign = Bytes::from_static(b"\x0a\x00of another step");
        request.desired.as_mut().unwrap().resources.insert("foreign".into(), foreign.clone());
        let response = run(&request, &Options::default(), World::default().now);
        prop_assert_eq!(&response.desired.as_ref().unwrap().resources["foreign"], &foreign);
    }
}

/// Who asks is said by Crossplane and by the EnvironmentConfig. The hub authorises by it.
#[test]
fn claim_cannot_claim_another_tenant() {
    let told = |annotations: Value| {
        let mut world = World { annotations, ..World::default() };
        world.pass();
        world.objects["ec"].object["spec"]["forProvider"]["manifest"]["metadata"]["annotations"].clone()
    };
    let plain = told(json!({}));
    assert_eq!(plain[annotations::KONFLUX_TENANT], "tenant-a");
    assert!(plain[annotations::KONFLUX_CLUSTER].is_string());
    let pretended = told(json!({
        annotations::KONFLUX_TENANT: "tenant-b", annotations::KONFLUX_CLUSTER: "another",
        ours::MAX_LIFETIME: "1000h", ours::PROVISION_TIMEOUT: "1000h", ours::DIAGNOSTICS: "x",
    }));
    assert_eq!(pretended, plain);
}

#[test]
fn incomplete_request_is_fatal_and_changes_nothing() {
    let now = World::default().now;
    let fatal = |request: &proto::RunFunctionRequest| {
        let response = run(request, &Options::default(), now);
        assert_eq!(response.results.len(), 1);
        assert_eq!(response.results[0].severity, i32::from(proto::Severity::Fatal));
        assert_eq!(response.desired, request.desired);
        response.results[0].message.clone()
    };
    let whole = World::ready().request();
    fatal(&proto::RunFunctionRequest::default());
    fatal(&proto::RunFunctionRequest { observed: Some(proto::State::default()), ..whole.clone() });
    let mut broken = whole.clone();
    broken.input = Some(function_model::encode_struct(&json!({ "ttl": 5 })));
    let message = fatal(&broken);
    assert!(message.contains("input") && message.contains("ttl"), "{message}");
    let mut broken = whole;
    let ec = json!({
        "apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object", "spec": { "managementPolicies": "all" },
    });
    let resource = proto::Resource { resource: function_model::encode_struct(&ec), ..Default::default() };
    broken.observed.as_mut().unwrap().resources.insert("ec".into(), resource.encode_to_vec().into());
    let message = fatal(&broken);
    assert!(message.contains("ec") && message.contains("spec.managementPolicies"), "{message}");
}

/// Core sets to Unknown every condition of ours that a failed pass leaves out, and a Tekton task would read that.
#[test]
fn a_fatal_repeats_the_conditions_that_are_shown() {
    let world = World::ready();
    let good = run(&world.request(), &Options::default(), world.now);
    let mut broken = world.request();
    broken.input = Some(function_model::encode_struct(&json!({ "ttl": 5 })));
    let failed = run(&broken, &Options::default(), world.now);
    assert_eq!(failed.results[0].severity, i32::from(proto::Severity::Fatal));
    let mut shown = failed.conditions;
    let mut meant = good.conditions;
    shown.sort_by(|a, b| a.r#type.cmp(&b.r#type));
    meant.sort_by(|a, b| a.r#type.cmp(&b.r#type));
    assert_eq!(shown, meant);
}

#[test]
fn a_resource_of_a_newer_version_stops_everything() {
    let mut world = World::ready();
    let mut newer = world.objects["credentials"].clone();
    newer.object["metadata"]["labels"] = json!({ "testplatform.ci.openshift.org/component": "usage" });
    world.objects.insert("usage".into(), newer);
    world.refs.insert("usage".into());
    let judged = evaluate(&world.request(), world.now, ci_operator::xrd_schema());
    assert!(matches!(judged, Err(UnusableRequest::NewerVersion { name }) if name == "usage"));
}

/// The incumbent accepts longer names. A refused claim has no desired resources, which would end the cluster.
#[test]
fn refused_name_stops_every_change_of_a_cluster() {
    let world = World::ready();
    let mut request = world.request();
    let composite = request.observed.as_mut().unwrap().composite.as_mut().unwrap();
    let mut object = wire::to_value(&composite.resource).unwrap();
    object["metadata"]["name"] = "a".repeat(64).into();
    composite.resource = wire::to_struct(&object).unwrap();
    let judged = evaluate(&request, world.now, ci_operator::xrd_schema());
    assert!(
        matches!(&judged, Err(UnusableRequest::Unreadable { why, .. }) if why.starts_with("metadata.name "))
    );
    let response = run(&request, &Options::default(), world.now);
    assert_eq!(response.results[0].severity, i32::from(proto::Severity::Fatal));
    assert_eq!(response.results[0].reason.as_deref(), Some("Unreadable"));
}

#[test]
fn unknown_field_is_copied_and_named() {
    let mut world = World::default();
    world.spec["ciOperator"]["releases"] =
        json!({ "latest": { "release": { "channel": "stable", "version": "4.20", "relative": 2 } } });
    let mut schema = ci_operator::xrd_schema().clone();
    let release =
        &mut schema["properties"]["releases"]["additionalProperties"]["properties"]["release"]["properties"];
    assert!(release.as_object_mut().unwrap().remove("relative").is_some());
    let judged = evaluate(&world.request(), world.now, &schema).unwrap();
    let request = judged.plan.request.as_ref().unwrap();
    assert!(request.issues[0].message.contains("releases.latest.release.relative"), "{:?}", request.issues);
    let ec = &judged.plan.resources[0].object["spec"]["forProvider"]["manifest"]["spec"]["ciOperator"];
    assert_eq!(ec["releases"]["latest"]["release"]["relative"], 2);
    // With our own copy it is known.
    let judged = evaluate(&world.request(), world.now, ci_operator::xrd_schema()).unwrap();
    assert_eq!(judged.plan.request.unwrap().issues, []);
}

#[test]
fn permuted_maps_give_the_same_bytes() {
    let world = World::ready();
    let forth = run(&world.request(), &Options::default(), world.now).encode_to_vec();
    let mut request = world.request();
    // Struct fields the other way round; maps of messages are sorted by their type.
    let composite = request.observed.as_mut().unwrap().composite.as_mut().unwrap();
    composite.resource = reversed(&composite.resource);
    composite.connection_details.reverse();
    assert_eq!(run(&request, &Options::default(), world.now).encode_to_vec(), forth);
}

fn reversed(bytes: &[u8]) -> Bytes {
    let fields = prost_types::Struct::decode(bytes).unwrap().fields;
    let entries: BTreeMap<_, _> = fields.into_iter().collect();
    let mut out = Vec::new();
    for (key, value) in entries.into_iter().rev() {
        let one = prost_types::Struct { fields: [(key, value)].into() };
        out.extend(one.encode_to_vec());
    }
    assert_ne!(out, bytes);
    out.into()
}

#[test]
fn unrelated_resources_change_nothing_and_pass_through() {
    let world = World::ready();
    let mut request = world.request();
    let alone = run(&request, &Options::default(), world.now);
    let other = proto::Resource {
        resource: function_model::encode_struct(&json!({ "kind": "Bucket" })),
        ..Default::default()
    };
    // Even fields that our .proto does not know.
    let bytes: Bytes = [other.encode_to_vec(), vec![0x7a, 0x02, b'h', b'i']].concat().into();
    request.observed.as_mut().unwrap().resources.insert("bucket".into(), bytes.clone());
    request.desired.as_mut().unwrap().resources.insert("bucket".into(), bytes.clone());
    request.context =
        Some(function_model::encode_struct(&json!({ "other.step/key": [1, { "deep": null }] })));
    let mut beside = run(&request, &Options::default(), world.now);
    assert_eq!(beside.context, request.context);
    assert_eq!(beside.desired.as_mut().unwrap().resources.remove("bucket"), Some(bytes));
    beside.context = None;
    assert_eq!(beside, alone);
}

/// Core applies the composite's status and details as a whole, and takes away what is left out.
#[test]
fn status_and_details_of_an_earlier_step_stay() {
    let world = World::ready();
    let alone = run(&world.request(), &Options::default(), world.now).desired.unwrap().composite.unwrap();
    let mut request = world.request();
    let status = json!({ "costCentre": { "id": 7 }, "phase": "theirs" });
    let details = ["endpoint", "kubeconfig"].map(|key| proto::resource::ConnectionDetailsEntry {
        key: key.into(),
        value: Some(Bytes::from_static(b"theirs")),
    });
    request.desired.as_mut().unwrap().composite = Some(proto::Resource {
        resource: function_model::encode_struct(&json!({ "status": status })),
        connection_details: details.to_vec(),
        ready: 0,
    });
    let beside = run(&request, &Options::default(), world.now).desired.unwrap().composite.unwrap();
    let mut body = wire::to_value(&beside.resource).unwrap();
    assert_eq!(body["status"].as_object_mut().unwrap().remove("costCentre"), Some(json!({ "id": 7 })));
    assert_eq!(body, wire::to_value(&alone.resource).unwrap());
    let (theirs, ours): (Vec<_>, Vec<_>) =
        beside.connection_details.into_iter().partition(|e| e.key == "endpoint");
    assert_eq!((theirs.as_slice(), ours), (&details[..1], alone.connection_details));
}

#[test]
fn secrets_are_in_connection_details_only() {
    let world = World::ready();
    let request = world.request();
    let mut response = run(&request, &Options::default(), world.now);
    let details = std::mem::take(
        &mut response.desired.as_mut().unwrap().composite.as_mut().unwrap().connection_details,
    );
    assert_eq!(details.len(), 2);
    let rest = response.encode_to_vec();
    for secret in [KUBECONFIG, PASSWORD] {
        assert_eq!(memchr::memmem::find(&rest, secret.as_bytes()), None);
    }
    // And the check sees it if one day they are.
    let judged = evaluate(&request, world.now, ci_operator::xrd_schema()).unwrap();
    response.conditions[0].message = Some(format!("oops {PASSWORD}"));
    assert!(check::find_violation(&response, &request, &judged).unwrap().contains("secret"));
    let mut dropped = run(&request, &Options::default(), world.now);
    dropped.desired.as_mut().unwrap().resources.remove("ec");
    assert!(check::find_violation(&dropped, &request, &judged).unwrap().contains("\"ec\""));
}

#[test]
fn requirements_do_not_depend_on_fetched_objects() {
    let world = World::default();
    let mut request = world.request();
    let asked =
        |request: &proto::RunFunctionRequest| run(request, &Options::default(), world.now).requirements;
    let first = asked(&request);
    request.required_resources.clear();
    assert_eq!(asked(&request), first);
    assert!(
        first.as_ref().unwrap().extra_resources.contains_key("envcfg"),
        "for cores that announce nothing"
    );
    request.meta.as_mut().unwrap().capabilities = vec![1, 2];
    let lean = asked(&request).unwrap();
    assert!(lean.extra_resources.is_empty() && lean.resources.contains_key("envcfg"));
    // A requirement that the Composition fetches beforehand is not requested again.
    let items = world.request().required_resources.remove("envcfg").unwrap();
    request.required_resources.insert("environment-config".into(), items);
    assert_eq!(asked(&request), None);
}

/// Core ≤ 2.3 watches nothing of what such a request waits for.
#[test]
fn blocked_claim_is_reconciled_every_fifteen_seconds() {
    let mut world = World { environment: None, ..World::default() };
    world.input["ttl"] = json!("1h");
    let ttl = |world: &mut World| world.pass().meta.unwrap().ttl.unwrap().seconds;
    assert_eq!(ttl(&mut world), 15);
    world.environment = World::default().environment;
    // The answer that makes the request; the one after it expires with the quiet period.
    assert_eq!(world.pass_once().meta.unwrap().ttl.unwrap().seconds, 3600);
}

#[test]
fn ttl_alone_follows_a_deadline() {
    let mut world = World::default();
    world.spec["lifetime"] = json!("1h");
    world.settle();
    world.hub_ready();
    world.settle();
    let ttl = |world: &mut World| world.pass().meta.unwrap().ttl.unwrap().seconds;
    assert_eq!(ttl(&mut world), 60);
    // Expiring is called out a tenth of the lifetime before the end.
    world.advance_time(SignedDuration::from_secs(54 * 60 - 20));
    assert_eq!(ttl(&mut world), 18);
    world.advance_time(SignedDuration::from_secs(20));
    assert_eq!(ttl(&mut world), 60);
    world.advance_time(SignedDuration::from_secs(359));
    assert_eq!(ttl(&mut world), 1);
    let _ = (NAME, wire::MAX_DEPTH);
}
