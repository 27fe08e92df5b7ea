//! Events of a claim in the answer of `why`: those of the present phase are warnings, and every other one has its age.

use jiff::Timestamp;
use kubectl_testplatform::{
    claim::Claim, command_context::CommandContext, commands::why::explain_claim, events::ClaimEvent,
    facts::Facts,
};
use rstest::rstest;
use serde_json::{Value, json};

use crate::fake::{Fake, claim, ready};

/// Prints the claim in file `claim` and the events in file `events`.
const READS: &str = r#"
  "get testplatformclusters.ci.openshift.org demo -ojson"*) cat "$room/claim" ;;
  "get secret"*) cat "$room/secret" ;;
  "get events"*) cat "$room/events" ;;"#;

/// A warning about the claim, for the last time at `at`.
fn warning(reason: &str, message: &str, at: &str) -> Value {
    event("Warning", reason, message, at)
}

fn event(type_: &str, reason: &str, message: &str, at: &str) -> Value {
    json!({
        "kind": "Event", "type": type_, "reason": reason, "message": message, "count": 1,
        "involvedObject": { "kind": "TestPlatformCluster", "name": "demo", "uid": "of-demo" },
        "firstTimestamp": at, "lastTimestamp": at,
    })
}

/// A claim in a phase since 10:40.
fn since(phase: &str, status: &str) -> Value {
    let mut object = claim(phase, &[["ClusterReady", status, phase, "it is so"]]);
    object["status"]["conditions"][0]["lastTransitionTime"] = "2026-03-02T10:40:00Z".into();
    object
}

/// The lines about events in the answer at 12:00.
fn lines(object: Value, events: &[Value]) -> Vec<String> {
    let mut facts = Facts::new(Claim::read(object).unwrap());
    facts.events = ClaimEvent::of_claim(&facts.claim, events);
    let now: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
    let answer = explain_claim(&facts, &CommandContext::default(), now);
    let after = answer.into_iter().skip_while(|line| !line.starts_with("To do")).skip(1);
    after.collect()
}

#[test]
fn a_warning_of_the_present_phase_has_its_age() {
    let late = warning("ProvisioningLate", "slower than usual", "2026-03-02T11:55:00Z");
    assert_eq!(
        lines(since("Provisioning", "False"), &[late]),
        ["Warning    ProvisioningLate: slower than usual (5m ago)"]
    );
}

#[test]
fn a_repeated_event_is_shown_once_as_kubectl_describe_does() {
    let mut bound = warning("BindCompositeResource", "cannot bind", "2026-03-02T11:58:00Z");
    bound["firstTimestamp"] = "2026-03-02T11:00:00Z".into();
    bound["count"] = 12.into();
    let before = warning("BindCompositeResource", "cannot bind it", "2026-03-02T11:30:00Z");
    assert_eq!(
        lines(since("Provisioning", "False"), &[bound, before]),
        ["Warning    BindCompositeResource: cannot bind (2m ago, x12 over 58m)"]
    );
}

/// The API `events.k8s.io` writes no `lastTimestamp`.
#[test]
fn both_forms_of_an_events_time_are_read() {
    let mut series = warning("CannotSync", "refused", "");
    series["eventTime"] = "2026-03-02T11:00:00.000000Z".into();
    series["firstTimestamp"] = Value::Null;
    series["lastTimestamp"] = Value::Null;
    series["count"] = Value::Null;
    let once = lines(since("Provisioning", "False"), std::slice::from_ref(&series));
    assert_eq!(once, ["Warning    CannotSync: refused (1h ago)"]);
    series["series"] = json!({ "count": 3, "lastObservedTime": "2026-03-02T11:50:00.000000Z" });
    let often = lines(since("Provisioning", "False"), &[series]);
    assert_eq!(often, ["Warning    CannotSync: refused (10m ago, x3 over 50m)"]);
}

/// A claim that is ready since 10:40 no longer waits for what kept it at 10:05.
#[test]
fn warning_before_the_current_phase_is_outdated() {
    let quota = warning("QuotaExceeded", "1 of 1 clusters", "2026-03-02T10:05:00Z");
    assert_eq!(
        lines(since("Ready", "True"), std::slice::from_ref(&quota)),
        ["Earlier    QuotaExceeded: 1 of 1 clusters (1h55m ago)"]
    );
    // A current one takes its place.
    let degraded = warning("RemoteUnavailable", "the hub is away", "2026-03-02T11:59:00Z");
    assert_eq!(
        lines(since("Ready", "True"), &[degraded, quota]),
        ["Warning    RemoteUnavailable: the hub is away (60s ago)"]
    );
    // The event of a transition may be some seconds older than the time in its condition.
    let same = warning("ClusterDegraded", "nodes are away", "2026-03-02T10:39:55Z");
    assert_eq!(
        lines(since("Degraded", "True"), &[same]),
        ["Warning    ClusterDegraded: nodes are away (1h20m ago)"]
    );
}

/// Each pair is about one thing, which the later event says is over.
#[rstest]
#[case("RemoteUnavailable", "RemoteAvailable")]
#[case("TemplateNotFound", "RequestAccepted")]
#[case("ValidationFailed", "RequestAccepted")]
#[case("CredentialsNotDelivered", "CredentialsPublished")]
#[case("Expiring", "ClusterReady")]
#[case("BindCompositeResource", "BindCompositeResource")]
fn a_later_event_supersedes_a_warning(#[case] first: &str, #[case] then: &str) {
    let before = warning(first, "it is not", "2026-03-02T11:00:00Z");
    let after = event("Normal", then, "it is", "2026-03-02T11:10:00Z");
    let object = since("Ready", "True");
    assert_eq!(
        lines(object.clone(), &[after.clone(), before]),
        [format!("Earlier    {first}: it is not (1h ago)")]
    );
    let again = warning(first, "it is not", "2026-03-02T11:20:00Z");
    assert_eq!(lines(object, &[after, again]), [format!("Warning    {first}: it is not (40m ago)")]);
}

/// Another subject's event ends nothing.
#[test]
fn an_event_about_something_else_supersedes_nothing() {
    let away = warning("RemoteUnavailable", "the hub is away", "2026-03-02T11:00:00Z");
    let job = event("Normal", "ProwJobCreated", "https://prow.example", "2026-03-02T11:10:00Z");
    assert_eq!(
        lines(since("Provisioning", "False"), &[away, job]),
        ["Warning    RemoteUnavailable: the hub is away (1h ago)"]
    );
}

#[test]
fn at_most_three_warnings_are_shown_the_newest_first() {
    let at = |minute: u8| format!("2026-03-02T11:{minute:02}:00Z");
    let all: Vec<Value> = (10..15).map(|m| warning(&format!("Of{m}"), "no", &at(m))).collect();
    let shown = lines(since("Provisioning", "False"), &all);
    assert_eq!(
        shown,
        ["Warning    Of14: no (46m ago)", "Warning    Of13: no (47m ago)", "Warning    Of12: no (48m ago)"]
    );
}

/// An API server asks for the uid; nothing of an older claim of that name is shown where one does not.
#[test]
fn events_of_an_older_claim_of_the_name_are_left_out() {
    let fake = Fake::new(READS);
    fake.object("claim", &ready());
    let mut other = warning("ClusterLost", "somebody deleted it", "2026-03-02T11:00:00Z");
    other["involvedObject"]["uid"] = "of-the-first-demo".into();
    fake.object("events", &json!({ "items": [other] }));
    let said = fake.run("why demo");
    assert!(said.code == 0 && !said.out.contains("ClusterLost"), "{}", said.out);
    let calls = fake.calls();
    assert!(calls.contains("get events --field-selector=involvedObject.uid=of-demo "), "{calls}");
    let own = warning("RemoteUnavailable", "the hub is away", "2026-03-02T11:00:00Z");
    fake.object("events", &json!({ "items": [own] }));
    fake.run("why demo").is(0, "Warning    RemoteUnavailable: the hub is away (");
}
