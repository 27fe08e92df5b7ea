//! Phases: what each shows.

use std::collections::BTreeSet;

use function_model::world::World;
use jiff::SignedDuration;
use serde_json::{Value, json};
use testplatform_apis::{ci_operator, phase::Phase};
use testplatform_composites::{
    cluster::{ClusterEvaluation, evaluate},
    sdk::proto::Ready,
};

use crate::tables::Change;

/// How to get there; then what is shown: the hub's word, composite ready, `ClusterReady`, `ProwJobCompleted`, and which
/// connection details the composite's Secret is told to hold. The table of the design, row by row.
struct Row {
    phase: Phase,
    to: fn() -> World,
    word: &'static str,
    ready: bool,
    cluster_ready: &'static str,
    job_completed: &'static str,
    details: Option<bool>,
}

const ROWS: &[Row] = &[
    Row {
        phase: Phase::Pending,
        to: || World { environment: None, ..World::default() },
        word: "",
        ready: false,
        cluster_ready: "False",
        job_completed: "False",
        details: None,
    },
    Row {
        phase: Phase::Pending,
        to: World::default,
        word: "",
        ready: false,
        cluster_ready: "False",
        job_completed: "False",
        details: None,
    },
    Row {
        phase: Phase::Provisioning,
        to: || after(World::default(), |w| w.report_phase("Provisioning", &[])),
        word: "Provisioning",
        ready: false,
        cluster_ready: "False",
        job_completed: "False",
        details: None,
    },
    Row {
        phase: Phase::Ready,
        to: World::ready,
        word: "Ready",
        ready: true,
        cluster_ready: "True",
        job_completed: "False",
        details: Some(true),
    },
    Row {
        phase: Phase::Degraded,
        to: || after(World::ready(), |w| w.report_phase("Provisioning", &[])),
        word: "Ready",
        ready: true,
        cluster_ready: "True",
        job_completed: "False",
        details: Some(true),
    },
    Row {
        phase: Phase::Deprovisioning,
        to: || after(World::ready(), tear_down),
        word: "Deprovisioning",
        ready: true,
        cluster_ready: "True",
        job_completed: "False",
        details: Some(true),
    },
    Row {
        phase: Phase::Deprovisioning,
        to: || after(provisioning(), tear_down),
        word: "Deprovisioning",
        ready: false,
        cluster_ready: "False",
        job_completed: "False",
        details: None,
    },
    Row {
        phase: Phase::Deprovisioned,
        to: || after(World::ready(), |w| w.hub_done("Deprovisioned")),
        word: "Deprovisioned",
        ready: true,
        cluster_ready: "False",
        job_completed: "True",
        details: Some(false),
    },
    Row {
        phase: Phase::Deprovisioned,
        to: || after(provisioning(), |w| w.hub_done("Deprovisioned")),
        word: "Deprovisioned",
        ready: false,
        cluster_ready: "False",
        job_completed: "True",
        details: Some(false),
    },
    Row {
        phase: Phase::Failed,
        to: || after(provisioning(), |w| w.advance_time(SignedDuration::from_hours(4))),
        word: "Failed",
        ready: false,
        cluster_ready: "False",
        job_completed: "False",
        details: None,
    },
    Row {
        phase: Phase::Failed,
        to: || after(provisioning(), |w| w.hub_done("Failed")),
        word: "Failed",
        ready: false,
        cluster_ready: "False",
        job_completed: "True",
        details: Some(false),
    },
    Row {
        phase: Phase::Failed,
        to: || after(World::ready(), |w| w.hub_done("Failed")),
        word: "Failed",
        ready: true,
        cluster_ready: "False",
        job_completed: "True",
        details: Some(false),
    },
    Row {
        phase: Phase::Failed,
        to: || after(World::ready(), |w| w.remote = None),
        word: "Failed",
        ready: true,
        cluster_ready: "False",
        job_completed: "True",
        details: Some(false),
    },
];

/// Rows of claims for a cluster out of a pool, of whose phases the hub has no word.
const POOL_ROWS: &[Row] = &[
    Row {
        phase: Phase::Pending,
        to: World::hive_claim,
        word: "Provisioning",
        ready: false,
        cluster_ready: "False",
        job_completed: "False",
        details: None,
    },
    Row {
        phase: Phase::Provisioning,
        to: || after(World::hive_claim(), World::hive_runs),
        word: "Provisioning",
        ready: false,
        cluster_ready: "False",
        job_completed: "False",
        details: None,
    },
    Row {
        phase: Phase::Ready,
        to: World::hive_ready,
        word: "Ready",
        ready: true,
        cluster_ready: "True",
        job_completed: "False",
        details: Some(true),
    },
    Row {
        phase: Phase::Degraded,
        to: || after(World::hive_ready(), |w| w.hive_stops("Hibernating")),
        word: "Ready",
        ready: true,
        cluster_ready: "True",
        job_completed: "False",
        details: Some(true),
    },
    Row {
        phase: Phase::Deprovisioning,
        to: || after(World::hive_ready(), tear_down),
        word: "Deprovisioning",
        ready: true,
        cluster_ready: "True",
        job_completed: "False",
        details: Some(true),
    },
    Row {
        phase: Phase::Deprovisioned,
        to: || {
            after(after(World::hive_ready(), tear_down), |w| {
                w.settle();
                w.hive_is_done();
            })
        },
        word: "Deprovisioned",
        ready: true,
        cluster_ready: "False",
        job_completed: "True",
        details: Some(false),
    },
    Row {
        phase: Phase::Deprovisioned,
        to: || after(World::hive_claim(), tear_down),
        word: "Deprovisioned",
        ready: false,
        cluster_ready: "False",
        job_completed: "True",
        details: Some(false),
    },
    Row {
        phase: Phase::Failed,
        to: || {
            after(after(World::hive_claim(), World::hive_assigns), |w| {
                w.advance_time(SignedDuration::from_hours(4));
            })
        },
        word: "Failed",
        ready: false,
        cluster_ready: "False",
        job_completed: "False",
        details: None,
    },
    Row {
        phase: Phase::Failed,
        to: || after(World::hive_ready(), |w| w.remote = None),
        word: "Failed",
        ready: true,
        cluster_ready: "False",
        job_completed: "True",
        details: Some(false),
    },
];

fn after(mut world: World, what: fn(&mut World)) -> World {
    world.settle();
    what(&mut world);
    world
}

fn provisioning() -> World {
    after(World::default(), |w| w.report_phase("Provisioning", &[]))
}

fn tear_down(world: &mut World) {
    world.spec["tearDownCluster"] = json!(true);
}

#[test]
fn every_phase_matches_its_row() {
    for (i, row) in ROWS.iter().chain(POOL_ROWS).enumerate() {
        let mut world = (row.to)();
        world.settle();
        let response = world.pass();
        let composite = response.desired.unwrap().composite.unwrap();
        let filled =
            composite.connection_details.iter().map(|e| e.value.as_ref().is_some_and(|v| !v.is_empty()));
        let filled: BTreeSet<bool> = filled.collect();
        let shown = |type_: &str| world.condition(type_).0;
        let context = format!("row {i}, {}", row.phase);
        assert_eq!(world.phase(), row.phase.as_str(), "{context}");
        assert_eq!(world.incumbent_phase(), row.word, "{context}");
        assert_eq!(composite.ready == i32::from(Ready::True), row.ready, "{context}");
        assert_eq!(shown("ClusterReady"), row.cluster_ready, "{context}");
        assert_eq!(shown("ProwJobCompleted"), row.job_completed, "{context}");
        assert_eq!(filled, row.details.into_iter().collect(), "{context}: both keys or none");
    }
    for rows in [ROWS, POOL_ROWS] {
        let rows: BTreeSet<_> = rows.iter().map(|r| r.phase).collect();
        assert_eq!(rows, Phase::ALL.iter().copied().collect(), "every phase has its row");
    }
}

/// All conditions of ours are there from the first answer on, with a CamelCase reason, in every row.
#[test]
fn every_condition_is_given_in_every_phase() {
    let ours =
        ["ClusterReady", "ProwJobCompleted", "CredentialsPublished", "RequestAccepted", "RemoteConsistent"];
    for row in ROWS.iter().chain(POOL_ROWS) {
        let mut world = (row.to)();
        let response = world.pass();
        for type_ in ours {
            let given: Vec<_> = response.conditions.iter().filter(|c| c.r#type == type_).collect();
            let [one] = given[..] else { panic!("{type_}: {given:?}") };
            let camel =
                one.reason.starts_with(char::is_uppercase) && one.reason.chars().all(char::is_alphanumeric);
            assert!(camel && !one.message.as_deref().unwrap_or_default().is_empty(), "{one:?}");
        }
    }
}

/// The same claim with its input gone missing in part: what lives is emitted exactly as before.
#[test]
fn live_objects_are_emitted_from_observed_ones() {
    let world = World::ready();
    let emitted = |world: &World| -> Vec<Value> {
        let ClusterEvaluation { plan, .. } =
            evaluate(&world.request(), world.now, ci_operator::xrd_schema()).unwrap();
        plan.resources.into_iter().map(|r| r.object).collect()
    };
    let before = emitted(&world);
    let changes: &[Change] = &[
        |w| w.environment = None,
        |w| w.environment = Some(json!({ "clusterName": "another" })),
        |w| w.environment = Some(json!({})),
        |w| w.spec = json!({}),
        |w| w.spec = json!({ "ciOperator": { "test": { "workflow": "another" } } }),
        |w| w.input["providerConfig"] = json!("another"),
        |w| w.input["namespace"] = json!("another"),
        |w| w.input["credentialsNamespace"] = json!("another"),
        |w| w.input["defaults"] = json!({ "lifetime": "1h", "provisionTimeout": "1h" }),
        |w| w.input["maxima"] = json!({ "lifetime": "1h" }),
        World::drop_status,
        World::fail_pass,
    ];
    for (i, change) in changes.iter().enumerate() {
        let mut other = world.clone();
        change(&mut other);
        assert_eq!(emitted(&other), before, "change {i}");
    }
}
