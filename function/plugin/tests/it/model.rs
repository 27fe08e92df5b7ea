//! Output of `why` in situations that no example covers: before Crossplane, without it, and with changes by others.

use jiff::Timestamp;
use kubectl_testplatform::{
    args::Span,
    chain::{Mark, build_chain},
    claim::{Claim, ClaimState, Flavour},
    command_context::CommandContext,
    commands::extend::{describe_outcome, extended_lifetime},
    facts::{Facts, Lookup, composed_objects},
    observed_secret::ObservedSecret,
    style::Paint,
    table::{ClaimTable, Columns},
    wait::find_pending_step,
};
use serde_json::{Value, json};
use testplatform_apis::duration::GoDuration;

fn now() -> Timestamp {
    "2026-03-02T12:00:00Z".parse().unwrap()
}

fn bound() -> Value {
    json!({
        "apiVersion": "ci.openshift.org/v1alpha1", "kind": "TestPlatformCluster",
        "metadata": { "name": "demo", "namespace": "team-a", "uid": "of-demo", "creationTimestamp": "2026-03-02T11:00:00Z" },
        "spec": { "resourceRef": { "name": "demo-x" }, "writeConnectionSecretToRef": { "name": "demo-kubeconfig" } },
        "status": {},
    })
}

fn with(mut claim: Value, changes: &[(&str, Value)]) -> Facts {
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        claim.pointer_mut(parent).unwrap()[key] = value.clone();
    }
    Facts::new(Claim::read(claim).unwrap())
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({ "type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-03-02T11:30:00Z" })
}

fn object(name: &str, synced: &[Value]) -> Value {
    json!({
        "apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object",
        "metadata": { "name": name }, "status": { "conditions": synced },
    })
}

fn says(facts: &Facts, words: &str) {
    let wait = find_pending_step(facts, &CommandContext::default(), now());
    let said = format!("{} | {}", wait.what, wait.todo);
    assert!(said.contains(words), "{said}");
}

#[test]
fn unprocessed_claim_has_a_reason() {
    let facts = with(bound(), &[("/spec/resourceRef", Value::Null)]);
    says(&facts, "Crossplane to create a composite: Crossplane does not run");
    let refused =
        condition("Synced", "False", "ReconcileError", "cannot select composition: no compatible one");
    let facts =
        with(bound(), &[("/spec/resourceRef", Value::Null), ("/status/conditions", json!([refused]))]);
    says(&facts, "cannot select composition");
}

#[test]
fn a_composite_that_does_not_get_on() {
    let mut facts = with(bound(), &[]);
    facts.composite = Lookup::Missing;
    says(&facts, "composite demo-x, which was deleted");
    facts.composite = Lookup::Found(json!({ "metadata": { "name": "demo-x" } }));
    says(&facts, "Crossplane, which has not processed it for 1h | ask the administrators whether Crossplane");
    facts.claim.object["metadata"]["creationTimestamp"] = "2026-03-02T11:59:50Z".into();
    says(&facts, "Crossplane to process it for the first time | wait; it usually takes a few seconds");
    facts.claim.object["metadata"]["creationTimestamp"] = bound()["metadata"]["creationTimestamp"].clone();
    // A tenant may read neither composite nor Objects.
    facts.composite = Lookup::Forbidden;
    says(&facts, "Crossplane, which has not processed it for 1h");
    let fatal = condition("Synced", "False", "ReconcileError", "pipeline step returned a fatal result");
    facts.composite = Lookup::Found(json!({ "status": { "conditions": [fatal] } }));
    says(&facts, "a fatal result | ask the administrators (docs/runbook/alerts-konflux.md#functionerrors)");
    let paused =
        json!({ "metadata": { "name": "demo-x", "annotations": { "crossplane.io/paused": "true" } } });
    facts.composite = Lookup::Found(paused);
    says(&facts, "composite demo-x, which somebody paused");
    // A tenant sees what core makes of the claim's conditions then.
    let unknown = condition("ClusterReady", "Unknown", "FatalError", "the function answered: no");
    let facts =
        with(bound(), &[("/status/conditions", json!([unknown])), ("/status/phase", "Pending".into())]);
    says(&facts, "the function answered: no");
}

#[test]
fn objects_that_do_not_get_on() {
    let phase = ("/status/phase", "Pending".into());
    let mut facts = with(bound(), &[phase]);
    let synced = condition("Synced", "True", "ReconcileSuccess", "");
    facts.composite = Lookup::Found(json!({ "status": { "conditions": [synced] } }));
    facts.objects = Lookup::Found(vec![object("managed-demo-x", &[])]);
    says(&facts, "provider-kubernetes to request the cluster from the hub");
    let mut paused = object("managed-demo-x", &[]);
    paused["metadata"]["annotations"] = json!({ "crossplane.io/paused": "true" });
    facts.objects = Lookup::Found(vec![paused]);
    says(&facts, "object/managed-demo-x, which an administrator paused");
    // The Object's report is printed as well.
    let away = condition("RemoteConsistent", "False", "HubUnreachable", "the hub cannot be reached");
    facts.claim.object["status"]["conditions"] = json!([away]);
    let error = condition("Synced", "False", "ReconcileError", "dial tcp: connection refused");
    let other = object("pool-demo-x", &[condition("Synced", "False", "ReconcileError", "no such class")]);
    facts.objects = Lookup::Found(vec![object("managed-demo-x", &[error]), other]);
    says(&facts, "the hub cannot be reached (dial tcp: connection refused)");
    let links = build_chain(&facts);
    assert!(links.iter().any(|l| l.what == "object/pool-demo-x" && l.mark == Mark::Bad), "{links:?}");
}

#[test]
fn a_cluster_that_is_ready_and_cannot_be_used() {
    let ready = json!([condition("ClusterReady", "True", "Ready", "the cluster is ready")]);
    let mut facts =
        with(bound(), &[("/status/phase", "Ready".into()), ("/status/conditions", ready.clone())]);
    facts.secret = Lookup::Missing;
    says(&facts, "Crossplane to write the kubeconfig into Secret demo-kubeconfig");
    facts.secret = Lookup::Found(ObservedSecret::parse_output(
        "kubeconfig=12 kubeAdminPassword=0 \nconnection\nof-demo Claim demo",
    ));
    says(&facts, "nothing, the cluster is ready; it runs until teardown");
    facts.claim.object["status"]["expiresAt"] = "2026-03-02T13:30:00Z".into();
    says(&facts, "it ends in 1h30m");
    let nameless = [("/spec/writeConnectionSecretToRef", Value::Null), ("/status/phase", "Ready".into())];
    let facts = with(bound(), &[nameless.as_slice(), &[("/status/conditions", ready)]].concat());
    says(&facts, "set spec.writeConnectionSecretToRef.name");
}

#[test]
fn a_composite_in_the_tenants_namespace_is_its_own_chain() {
    let mut own = bound();
    own["kind"] = "TestCluster".into();
    own["spec"]["resourceRef"] = Value::Null;
    own["spec"]["crossplane"] = json!({ "resourceRefs": [
        { "apiVersion": "kubernetes.m.crossplane.io/v1alpha1", "kind": "Object", "name": "managed-demo" },
        { "apiVersion": "v1", "kind": "Secret", "name": "demo-kubeconfig" },
    ]});
    own["status"] = json!({ "phase": "Provisioning", "conditions": [condition("Synced", "True", "ReconcileSuccess", "")] });
    assert_eq!(
        composed_objects(&own),
        [("objects.kubernetes.m.crossplane.io".to_owned(), "managed-demo".to_owned())]
    );
    let mut facts = Facts::new(Claim::read(own).unwrap());
    assert_eq!(facts.claim.flavour, Flavour::Cluster);
    facts.objects = Lookup::Found(vec![]);
    says(&facts, "the hub to create the cluster");
    let kinds: Vec<_> = build_chain(&facts).into_iter().map(|l| l.what).collect();
    assert_eq!(kinds[0], "testcluster/demo");
    assert!(!kinds.iter().any(|k| k.starts_with("xtestplatformcluster")), "{kinds:?}");
    // As the schema has it: the Secret has a name, whether it says one or not.
    let mut nameless = facts.claim.clone();
    nameless.object["spec"]["writeConnectionSecretToRef"] = Value::Null;
    assert_eq!(nameless.secret(), "demo-kubeconfig");
    nameless.flavour = Flavour::Claim;
    assert_eq!(nameless.secret(), "");
}

/// Another function gives no status, and tasks go by conditions.
#[test]
fn claims_of_the_incumbent_have_a_phase_too() {
    let conditions = json!([
        condition("_EphemeralClusterPhase", "True", "", "Ready"),
        condition("ClusterReady", "True", "x", ""),
    ]);
    let claim = with(bound(), &[("/status/conditions", conditions)]).claim;
    assert_eq!((claim.phase_word(), claim.state()), ("Ready", ClaimState::Ready));
    assert!(claim.is_delivered());
}

/// Core sets conditions to Unknown that a failed pass does not report. Delivered credentials exist nevertheless.
#[test]
fn delivered_credentials_stay_while_passes_fail() {
    let of = |phase: &str, conditions: &[Value]| {
        with(bound(), &[("/status/phase", phase.into()), ("/status/conditions", conditions.into())]).claim
    };
    let fatal = || condition("ClusterReady", "Unknown", "FatalError", "the function answered: no");
    for phase in ["Ready", "Degraded"] {
        let claim = of(phase, &[fatal()]);
        assert_eq!((claim.state(), claim.is_delivered()), (ClaimState::Waiting, true), "{phase}");
        for other in [
            vec![],
            vec![condition("ClusterReady", "False", "FatalError", "")],
            vec![condition("ClusterReady", "Unknown", "NotObserved", "")],
        ] {
            assert!(!of(phase, &other).is_delivered(), "{phase} {other:?}");
        }
    }
    for phase in ["Pending", "Provisioning", "Failed", "Deprovisioning", "Deprovisioned"] {
        assert!(!of(phase, &[fatal()]).is_delivered(), "{phase}");
    }
    let mut deleted = of("Ready", &[fatal()]);
    deleted.object["metadata"]["deletionTimestamp"] = "2026-03-02T11:59:00Z".into();
    assert!(!deleted.is_delivered());
}

/// Core shows conditions of before for a moment, beside the status of now.
#[test]
fn published_status_wins_over_older_conditions() {
    let words = "Secret demo-credentials has no kubeconfig yet";
    let old = json!([
        condition("ClusterReady", "False", "WaitingForCredentials", words),
        condition("CredentialsPublished", "False", "KeyMissing", words),
    ]);
    let of = |phase: &str, state: &str| {
        let set = [
            ("/status/phase", phase.into()),
            ("/status/credentials", json!({ "state": state })),
            ("/status/conditions", old.clone()),
        ];
        with(bound(), &set)
    };
    for phase in ["Ready", "Degraded"] {
        let claim = of(phase, "Published").claim;
        assert_eq!((claim.state(), claim.is_delivered()), (ClaimState::Ready, true), "{phase}");
        assert_eq!(of(phase, "Pending").claim.state(), ClaimState::Waiting, "{phase}");
    }
    assert_eq!(of("Provisioning", "Published").claim.state(), ClaimState::Waiting);
    assert_eq!(of("Deprovisioning", "Published").claim.state(), ClaimState::Ended);
    let mut facts = of("Ready", "Published");
    facts.secret = Lookup::Missing;
    says(&facts, "Crossplane to write the kubeconfig into Secret demo-kubeconfig");
    facts.secret =
        Lookup::Found(ObservedSecret::parse_output("kubeconfig=12 \nconnection\nof-demo Claim demo"));
    says(&facts, "nothing, the cluster is ready");
}

#[test]
fn the_table_has_both_flavours() {
    let mut other = bound();
    other["kind"] = "TestCluster".into();
    other["metadata"]["name"] = "new".into();
    other["status"] = json!({
        "phase": "Ready", "version": "4.20.3", "expiresAt": "2026-03-02T14:00:00Z",
        "backend": { "kind": "HostedCluster" }, "hub": { "name": "east" },
    });
    let claims = [bound(), other].map(|o| Claim::read(o).unwrap());
    let print = |columns: Columns, room: Option<usize>| {
        let table = ClaimTable::new(&claims, columns, room, now());
        let mut lines = vec![table.head_line()];
        lines.extend(claims.iter().map(|claim| table.claim_line(claim, Paint(false), now())));
        lines.join("\n")
    };
    let columns = Columns { namespace: true, kind: true, wide: false };
    let expected = "\
NAMESPACE   NAME                       PHASE     VERSION   EXPIRES   AGE
team-a      testplatformcluster/demo   Pending                       1h
team-a      testcluster/new            Ready     4.20.3    2h        1h";
    assert_eq!(print(columns, None), expected);
    assert_eq!(print(columns, Some(72)), expected);
    let expected = "\
NAME                       PHASE     BACKEND         VERSION   EXPIRES   HUB    AGE   MESSAGE
testplatformcluster/demo   Pending                                              1h
testcluster/new            Ready     HostedCluster   4.20.3    2h        east   1h";
    assert_eq!(print(Columns { wide: true, namespace: false, kind: true }, Some(40)), expected);
    // Of columns that do not fit, the least important ones are left out.
    let narrow = print(columns, Some(60));
    assert!(narrow.starts_with("NAMESPACE   NAME                       PHASE     EXPIRES\n"), "{narrow}");
    let narrowest = print(columns, Some(10));
    assert!(narrowest.starts_with("NAMESPACE   NAME                       PHASE\n"), "{narrowest}");
}

/// Names of 20 characters in the namespace and the name, and the longest phase, fit a terminal of 80 columns.
#[test]
fn usual_rows_fit_eighty_columns() {
    let mut claim = bound();
    claim["metadata"]["name"] = "a-name-of-20-letters".into();
    claim["status"] =
        json!({ "phase": "Deprovisioning", "version": "4.20.13", "expiresAt": "2026-03-02T14:59:00Z" });
    let claims = [Claim::read(claim).unwrap()];
    for namespace in [false, true] {
        let columns = Columns { namespace, kind: false, wide: false };
        let table = ClaimTable::new(&claims, columns, Some(80), now());
        for line in [table.head_line(), table.claim_line(&claims[0], Paint(false), now())] {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

#[test]
fn keys_of_a_secret_are_counted_not_read() {
    let has_kubeconfig = |printed: &str| ObservedSecret::parse_output(printed).has_kubeconfig();
    assert!(has_kubeconfig("kubeconfig=4 x=1"));
    assert!(!has_kubeconfig("kubeconfig=0"));
    assert!(!has_kubeconfig(""));
    assert!(!has_kubeconfig("kubeconfig=many"));
    // Whose it is follows, and is no key.
    assert!(!has_kubeconfig("\nconnection\nuid Kind kubeconfig=4"));
    assert!(!has_kubeconfig("x=1\n\nuid Kind name\nkubeconfig=4"));
}

fn hours(hours: i64) -> GoDuration {
    GoDuration::from_hours(hours)
}

#[test]
fn extension_adds_to_the_current_lifetime() {
    let of = |status: Value, spec: Value| {
        let facts = with(bound(), &[("/status", status), ("/spec/lifetime", spec)]);
        facts.claim
    };
    // The clamped lifetime counts, not the requested one.
    let four = json!({ "readyAt": "2026-03-02T11:00:00Z", "expiresAt": "2026-03-02T15:00:00Z" });
    let told = |reason: &str, words: &str| {
        let mut status = four.clone();
        status["conditions"] = json!([condition("RequestAccepted", "True", reason, words)]);
        status
    };
    let clamped = "spec.lifetime is clamped to 4h, the longest allowed";
    let held = of(told("LifetimeClamped", clamped), "99h".into());
    assert_eq!(extended_lifetime(&held, Span::By(hours(2)), now()), Ok(hours(6)));
    assert_eq!(extended_lifetime(&held, Span::To(hours(3)), now()), Ok(hours(3)));
    assert!(extended_lifetime(&held, Span::To(hours(1)), now()).is_err(), "it would end at once");
    // A request that nobody processed yet, because the function is down, is not taken back.
    let unseen =
        [four.clone(), told("LifetimeBeyondHub", "spec.lifetime is 4h, but the hub …"), told("Accepted", "")];
    for status in unseen {
        assert_eq!(extended_lifetime(&of(status, "48h".into()), Span::By(hours(1)), now()), Ok(hours(49)));
    }
    assert_eq!(extended_lifetime(&of(four, "2h".into()), Span::By(hours(1)), now()), Ok(hours(5)));
    let waiting = of(json!({}), "3h".into());
    assert_eq!(extended_lifetime(&waiting, Span::By(hours(2)), now()), Ok(hours(5)));
    let endless = of(json!({}), Value::Null);
    assert!(extended_lifetime(&endless, Span::By(hours(2)), now()).is_err());
    assert_eq!(extended_lifetime(&endless, Span::To(hours(2)), now()), Ok(hours(2)));
}

#[test]
fn lifetime_outcome_is_reported_once_processed() {
    let status = |end: &str| json!({ "readyAt": "2026-03-02T11:00:00Z", "expiresAt": end });
    let claim = |status: Value| with(bound(), &[("/status", status)]).claim;
    let before = claim(status("2026-03-02T13:00:00Z"));
    assert_eq!(describe_outcome(&before, hours(6), false, now()), None);
    let late = describe_outcome(&before, hours(6), true, now()).unwrap().text;
    assert!(late.ends_with("not processed yet, or the hub ends it before"), "{late}");
    let after = claim(status("2026-03-02T17:00:00Z"));
    let said = "testplatformcluster/demo ends in 5h, at 2026-03-02T17:00:00Z";
    let whole = describe_outcome(&after, hours(6), false, now()).unwrap();
    assert_eq!((whole.text.as_str(), whole.is_shorter), (said, false));
    // The earlier end comes first.
    let mut beyond = status("2026-03-02T17:00:00Z");
    let words = "spec.lifetime is 6h, but the hub's own controller ends a cluster after 2h";
    beyond["conditions"] = json!([condition("RequestAccepted", "True", "LifetimeBeyondHub", words)]);
    let said = describe_outcome(&claim(beyond), hours(6), false, now()).unwrap();
    assert!(said.is_shorter && said.text.starts_with("testplatformcluster/demo may end earlier: spec.life"));
    assert!(said.text.ends_with("otherwise it ends in 5h, at 2026-03-02T17:00:00Z"), "{}", said.text);
    let mut clamped = status("2026-03-02T15:00:00Z");
    let words = "spec.lifetime is clamped to 4h, the longest allowed";
    clamped["conditions"] = json!([condition("RequestAccepted", "True", "LifetimeClamped", words)]);
    let said = describe_outcome(&claim(clamped), hours(6), false, now()).unwrap();
    assert!(said.is_shorter);
    let said = said.text;
    assert!(said.starts_with("testplatformcluster/demo ends in 3h") && said.ends_with(words), "{said}");
}

/// A longer lifetime does not keep what nobody needs, and what ends by that tells nothing of the lifetime.
#[test]
fn unneeded_cluster_is_not_extended() {
    let hours = GoDuration::from_hours;
    let spec = json!({ "lifetime": "4h", "cleanup": { "onOwnerCompletion": true, "keepForDebug": "1h" } });
    let note = json!({ "testplatform.ci.openshift.org/cleanup-since": "2026-03-02T11:30:00Z" });
    let status = json!({ "readyAt": "2026-03-02T11:00:00Z", "expiresAt": "2026-03-02T12:30:00Z" });
    let changes = [("/spec", spec), ("/status", status), ("/metadata/annotations", note)];
    let claim = with(bound(), &changes).claim;
    assert_eq!(extended_lifetime(&claim, Span::By(hours(2)), now()).unwrap(), hours(6));
    let said = describe_outcome(&claim, hours(6), false, now()).unwrap();
    assert!(said.is_shorter);
    let said = said.text;
    assert!(
        said.starts_with("testplatformcluster/demo ends in 30m") && said.contains("keepForDebug"),
        "{said}"
    );
    let otherwise = [("/status/expiresAt", json!("2026-03-02T15:00:00Z"))];
    let otherwise = with(claim.object.clone(), &otherwise).claim;
    assert_eq!(
        extended_lifetime(&otherwise, Span::By(hours(2)), now()).unwrap(),
        hours(6),
        "it is the lifetime that ends it"
    );
    assert_eq!(describe_outcome(&otherwise, hours(6), false, now()), None);
    let by_default = with(claim.object.clone(), &[("/spec/lifetime", Value::Null)]).claim;
    let stopped = extended_lifetime(&by_default, Span::By(hours(2)), now()).unwrap_err();
    assert!(format!("{stopped:?}").contains("longer spec.cleanup.keepForDebug keeps it"), "{stopped:?}");
}
