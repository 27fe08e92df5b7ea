//! The overview of claims and hubs, from objects as an API server has them.

use jiff::Timestamp;
use kubectl_testplatform::{
    claim::Claim,
    command_context::CommandContext,
    facts::Facts,
    fleet::{Concern, Fleet, FleetFacts, HubHealth, build_timeline, find_concern, page},
};
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::hub::Mirror;

use crate::fake::claim;

pub const NOW: &str = "2026-03-02T12:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// A claim of a namespace, with more status.
pub fn named(namespace: &str, name: &str, phase: &str, conditions: &[[&str; 4]], status: &Value) -> Value {
    let mut object = claim(phase, conditions);
    object["metadata"]["namespace"] = namespace.into();
    object["metadata"]["name"] = name.into();
    object["metadata"]["uid"] = format!("of-{namespace}-{name}").into();
    for (field, value) in status.as_object().unwrap() {
        object["status"][field] = value.clone();
    }
    object
}

/// The Object that mirrors the facts of a hub.
pub fn mirror(hub: &str, facts: &Value) -> Value {
    json!({
        "apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object",
        "metadata": { "name": format!("facts-{hub}") },
        "spec": { "providerConfigRef": { "name": hub } },
        "status": {
            "conditions": [{ "type": "Synced", "status": "True" }],
            "atProvider": { "manifest": {
                "metadata": { "name": "testplatform-hub" }, "data": { "facts": facts.to_string() },
            } },
        },
    })
}

fn fleet(claims: &[Value], offers: &[Value], mirrors: &[Value]) -> Fleet {
    let mirror = |object: &Value| serde_json::from_value::<Mirror>(object.clone()).unwrap();
    let facts = FleetFacts {
        claims: claims.iter().cloned().filter_map(Claim::read).collect(),
        offers: offers.to_vec(),
        mirrors: mirrors.iter().map(mirror).collect(),
    };
    Fleet::new(facts, &CommandContext::default(), now())
}

const READY: [[&str; 4]; 1] = [["ClusterReady", "True", "Ready", "the cluster is ready"]];

#[rstest]
#[case::healthy("Ready", &READY, json!({ "expiresAt": "2026-03-02T14:00:00Z" }), None)]
#[case::in_teardown("Deprovisioning", &[], json!({ "expiresAt": "2026-03-02T11:30:00Z" }), None)]
#[case::overdue("Deprovisioning", &[], json!({ "expiresAt": "2026-03-02T10:30:00Z" }), Some(Concern::Overdue))]
#[case::gone("Deprovisioned", &[], json!({ "expiresAt": "2026-03-02T10:30:00Z" }), None)]
#[case::failed("Failed", &[], json!({}), Some(Concern::Failed))]
#[case::late("Provisioning", &[["ClusterReady", "False", "Late", "it is late"]], json!({}), Some(Concern::Late))]
#[case::slower("Provisioning", &[], json!({ "estimatedReadyAt": "2026-03-02T11:00:00Z" }), Some(Concern::Late))]
#[case::in_time("Provisioning", &[], json!({ "estimatedReadyAt": "2026-03-02T12:30:00Z" }), None)]
#[case::degraded("Degraded", &READY, json!({}), Some(Concern::Degraded))]
#[case::hub_away(
    "Ready",
    &[READY[0], ["RemoteConsistent", "False", "HubUnreachable", "no answer"]],
    json!({}),
    Some(Concern::Hub)
)]
#[case::not_looked_yet("Pending", &[["RemoteConsistent", "False", "NotObserved", "not yet"]], json!({}), None)]
#[case::refused("Pending", &[["RequestAccepted", "False", "TemplateNotFound", "no such"]], json!({}), Some(Concern::Refused))]
#[case::full("Pending", &[["RequestAccepted", "False", "QuotaExceeded", "2 of 2"]], json!({}), None)]
fn concern_is_what_somebody_has_to_look_at(
    #[case] phase: &str,
    #[case] conditions: &[[&str; 4]],
    #[case] status: Value,
    #[case] concern: Option<Concern>,
) {
    let claim = Claim::read(named("team-a", "demo", phase, conditions, &status)).unwrap();
    assert_eq!(find_concern(&claim, now()), concern);
}

#[test]
fn secret_of_somebody_else_is_pressing() {
    let taken = ["CredentialsPublished", "False", "SecretTaken", "another claim has it"];
    let object =
        named("team-a", "demo", "Ready", &[taken, ["ClusterReady", "False", "Ready", "no"]], &json!({}));
    assert_eq!(find_concern(&Claim::read(object).unwrap(), now()), Some(Concern::Undelivered));
}

#[test]
fn claims_wait_in_the_order_of_their_age() {
    let full = ["RequestAccepted", "False", "HubFull", "the hub is full"];
    let mut old = named("team-b", "old", "Pending", &[full], &json!({ "startedAt": "2026-03-02T09:00:00Z" }));
    old["spec"] = json!({ "template": "hosted" });
    let mut queued = named("team-a", "queued", "Pending", &[], &json!({ "queue": { "position": 3 } }));
    queued["spec"] = json!({ "clusterClaim": { "pool": { "name": "aws" } } });
    let fleet = fleet(&[queued, old], &[], &[]);
    let queue: Vec<(&str, &str)> =
        fleet.list_queue().into_iter().map(|(of, why)| (of.claim.name(), why)).collect();
    assert_eq!(queue, [("old", "HubFull"), ("queued", "pool aws, place 3")]);
    assert!(fleet.list_concerns().is_empty());
}

/// A claim reports its own cost, which an administrator may have changed in the catalogue since.
#[test]
fn cost_is_that_of_living_claims() {
    let template = |name: &str, phase: &str, status: Value| {
        let mut object = named("team-a", name, phase, &READY, &status);
        object["spec"] = json!({ "template": "hosted" });
        object
    };
    let claims = [
        template("own", "Ready", json!({ "template": { "cost": 5 } })),
        template("offered", "Ready", json!({})),
        template("over", "Deprovisioned", json!({ "template": { "cost": 7 } })),
        named("team-a", "unknown", "Ready", &READY, &json!({})),
    ];
    let offers = [json!({ "block": "template", "name": "hosted", "cost": 3 })];
    assert_eq!(fleet(&claims, &offers, &[]).sum_costs(), (8, 1));
}

#[test]
fn hubs_are_those_of_claims_and_of_mirrors() {
    let on = |name: &str, phase: &str, hub: &str| {
        named("team-a", name, phase, &READY, &json!({ "hub": { "name": hub } }))
    };
    let claims = [on("a", "Ready", "east"), on("b", "Deprovisioned", "east"), on("c", "Ready", "west")];
    let facts = json!({
        "writtenAt": "2026-03-02T11:59:00Z",
        "health": { "ready": false, "message": "etcd is slow" },
        "backends": { "hypershift": { "clusters": 9, "provisioning": 2 }, "caas": { "problem": "no hub class" } },
        "classes": { "m5": { "free": 4 }, "on-demand": {} },
    });
    let old = json!({ "writtenAt": "2026-03-02T10:00:00Z", "health": { "ready": true } });
    let fleet = fleet(&claims, &[], &[mirror("east", &facts), mirror("north", &old)]);
    let names: Vec<&str> = fleet.hubs.iter().map(|hub| hub.name.as_str()).collect();
    assert_eq!(names, ["east", "north", "west"]);
    let east = &fleet.hubs[0];
    assert_eq!(east.health, HubHealth::NotReady("etcd is slow".to_owned()));
    // One backend was not counted, so their sum is unknown.
    assert_eq!((east.claims, east.clusters, east.provisioning), (1, None, None));
    assert_eq!(
        (east.format_free_nodes().as_str(), east.problems[0].as_str()),
        ("m5 4", "caas: no hub class")
    );
    assert_eq!(fleet.hubs[1].health, HubHealth::Unknown("its facts are too old".to_owned()));
}

#[test]
fn lines_have_phases_hubs_queue_and_concerns() {
    let full = ["RequestAccepted", "False", "QuotaExceeded", "2 of 2 clusters"];
    let late = ["ClusterReady", "False", "Late", "the cluster is late"];
    let fleet = fleet(
        &[
            named("team-b", "two", "Ready", &READY, &json!({ "hub": { "name": "east" } })),
            named("team-a", "waiting", "Pending", &[full], &json!({})),
            named("team-a", "slow", "Provisioning", &[late], &json!({})),
        ],
        &[],
        &[],
    );
    let text = fleet.lines(Some(80)).join("\n");
    for line in [
        "3 claims, 3 not over",
        "Ready          1        2h",
        "east   1        ?          ?                           unknown: no Object",
        "                                                       mirrors its facts",
        "team-a/waiting   QuotaExceeded   2h",
        "team-a/slow: late",
        "  To do      look at the job",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// Tenants write names and messages, and hubs write messages.
#[test]
fn foreign_text_stays_text() {
    let evil = "<script>alert(1)</script>\"><img src=x onerror=alert(2)>";
    let object = named(
        "team-a",
        "demo",
        "Provisioning",
        &[["ClusterReady", "False", "Late", evil]],
        &json!({
            "message": evil, "hub": { "name": evil }, "version": evil,
            "prowJob": { "url": "javascript:alert(3)" }, "consoleURL": "https://console.example/\"onclick=\"alert(4)",
        }),
    );
    let claim = Claim::read(object.clone()).unwrap();
    let overview = page::render_overview(&fleet(&[object], &[], &[]), "of all namespaces", Some(evil));
    let one = page::render_claim(&Facts::new(claim), &CommandContext::default(), "../../../", now());
    for page in [overview, one] {
        assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<img"), "{page}");
        assert_eq!(page.matches("<script").count(), 1, "its own only: {page}");
        assert!(!page.contains("href=\"javascript:") && !page.contains("\"onclick"), "{page}");
    }
}

#[test]
fn timeline_is_in_the_order_of_time() {
    let mut object = named(
        "team-a",
        "demo",
        "Ready",
        &READY,
        &json!({
            "readyAt": "2026-03-02T10:40:00Z", "expiresAt": "2026-03-02T14:00:00Z",
        }),
    );
    object["status"]["conditions"][0]["lastTransitionTime"] = "2026-03-02T10:40:02Z".into();
    let mut facts = Facts::new(Claim::read(object).unwrap());
    facts.events = kubectl_testplatform::events::ClaimEvent::of_claim(
        &facts.claim,
        &[json!({
            "involvedObject": { "uid": "of-team-a-demo" }, "type": "Warning", "reason": "RemoteUnavailable",
            "message": "the hub does not answer", "count": 4,
            "firstTimestamp": "2026-03-02T10:10:00Z", "lastTimestamp": "2026-03-02T10:20:00Z",
        })],
    );
    let told: Vec<String> =
        build_timeline(&facts).into_iter().map(|entry| format!("{} {}", entry.source, entry.text)).collect();
    assert_eq!(
        told,
        [
            "claim created",
            "event RemoteUnavailable the hub does not answer (4 times)",
            "claim the cluster was first ready",
            "ClusterReady True Ready: the cluster is ready",
            "claim end of the lifetime",
        ]
    );
}
