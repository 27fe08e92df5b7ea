//! `up`, where its claim's name is taken: what is there is changed and not made, and not ended by that.

use jiff::Timestamp;
use kubectl_testplatform::{
    claim::Claim,
    existing::{describe_existing, find_refusal, is_of_now},
};
use rstest::rstest;
use serde_json::{Value, json};

use crate::fake::{Fake, claim, event, ready};

/// The claim that is there is in file `there`, and what is made of it in file `claim`.
const ARMS: &str = r#"
  "get testplatformclusters.ci.openshift.org demo -ojson"*) [ ! -e "$room/there" ] || cat "$room/there" ;;
  apply*) cat >"$room/applied"; cat "$room/claim" ;;
  *--watch*) cat "$room/watch" ;;
  "get secret"*) cat "$room/secret" ;;"#;
/// Note about an existing claim.
const CHANGED: &str =
    "note: testplatformcluster/demo already exists (created 2026-03-02T10:00:00Z); updating it\n";

fn now() -> Timestamp {
    "2026-03-02T12:00:00Z".parse().unwrap()
}

fn with(mut object: Value, changes: &[(&str, Value)]) -> Claim {
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[key] = value.clone();
    }
    Claim::read(object).unwrap()
}

/// One that is ready, and what is made of it, as which it is watched.
fn fake(there: &Value, then: &Value) -> Fake {
    let fake = Fake::new(ARMS);
    fake.object("there", there);
    fake.object("claim", then);
    fake.object("claim.yaml", &claim("", &[]));
    fake.write("watch", &event("ADDED", then));
    fake
}

#[test]
fn existing_claim_is_reported_before_the_change() {
    let fake = fake(&ready(), &ready());
    let up = fake.run("up claim.yaml");
    up.is(0, "is ready after 40m");
    assert_eq!(up.err, CHANGED);
    let calls = fake.calls();
    let calls: Vec<&str> = calls.lines().collect();
    let at = |of: &str| calls.iter().position(|call| call.starts_with(of)).unwrap();
    // It is looked for where the manifest says that it is.
    let looked = at("get testplatformclusters.ci.openshift.org demo -ojson");
    assert!(looked < at("apply") && calls[looked].contains("--namespace=team-a"), "{calls:#?}");
    // Whoever makes one is told nothing.
    std::fs::remove_file(fake.path("there")).unwrap();
    let made = fake.run("up claim.yaml");
    made.is(0, "is ready after 40m");
    assert_eq!(made.err, "");
    fake.owned_by("\nconnection\nof-demo TestPlatformCluster two");
    let two = fake.run("up claim.yaml --name two");
    assert_eq!((two.code, two.err.as_str()), (0, ""));
}

/// It ends as it did, after it was said why.
#[rstest]
#[case("Failed", 4, ", and is Failed; create a claim with another name")]
#[case("Deprovisioning", 7, ", and is Deprovisioning; create a claim with another name")]
#[case("Deprovisioned", 7, ", and is Deprovisioned; create a claim with another name")]
fn completed_claim_stays_completed(#[case] phase: &str, #[case] code: i32, #[case] words: &str) {
    let over = claim(phase, &[]);
    let fake = fake(&over, &over);
    fake.object("claim.yaml", &with(claim("", &[]), &[("/spec/lifetime", "1m".into())]).object);
    fake.run("up claim.yaml").is(code, words).is(code, &format!("testplatformcluster/demo is {phase}: "));
    assert!(fake.path("applied").exists());
}

#[test]
fn claim_under_deletion_is_reported() {
    let made = "note: testplatformcluster/demo already exists (created 2026-03-02T10:00:00Z)";
    let of = |changes: &[(&str, Value)]| describe_existing(&with(ready(), changes));
    let going = of(&[("/metadata/deletionTimestamp", "2026-03-02T11:00:00Z".into())]);
    assert_eq!(going, format!("{made}, and is being deleted; its name is free after the deletion"));
    let asked = of(&[("/spec/tearDownCluster", true.into())]);
    assert_eq!(asked, format!("{made}, and its teardown was requested; create a claim with another name"));
    // Of whatever has no time nothing is made up.
    let timeless = of(&[("/metadata/creationTimestamp", Value::Null)]);
    assert_eq!(timeless, "note: testplatformcluster/demo already exists; updating it");
}

#[test]
fn no_cluster_is_ended_by_the_manifest_of_another() {
    let fake = fake(&ready(), &ready());
    for (field, value, words) in [
        ("/spec/lifetime", json!("1h"), "with a lifetime of 1h testplatformcluster/demo would end at once"),
        (
            "/spec/tearDownCluster",
            json!(true),
            "with spec.tearDownCluster testplatformcluster/demo would end at once",
        ),
    ] {
        fake.object("claim.yaml", &with(claim("", &[]), &[(field, value)]).object);
        for line in ["up claim.yaml", "up claim.yaml --force-conflicts"] {
            let up = fake.run(line);
            up.is(2, words).is(2, "For another cluster give --name; to end this one, use down.");
            assert!(up.err.starts_with(CHANGED), "{}", up.err);
        }
    }
    assert!(!fake.path("applied").exists());
}

#[test]
fn changes_that_end_a_cluster_at_once_are_refused() {
    let refused = |there: &Claim, spec: &[(&str, Value)]| {
        find_refusal(there, &with(claim("", &[]), spec), now()).map(|stop| stop.message)
    };
    let lifetime = |text: &str| vec![("/spec/lifetime", Value::from(text))];
    // Ready at 10:40.
    let there = with(ready(), &[("/spec/lifetime", "2h".into())]);
    assert!(refused(&there, &lifetime("70m")).unwrap().contains("a lifetime of 1h10m"));
    for good in ["3h", "2h", "120m", "90m", "soon"] {
        assert_eq!(refused(&there, &lifetime(good)), None, "{good}");
    }
    // Set by somebody else, it stays.
    assert_eq!(refused(&there, &[]), None);
    let fields = |manager: &str| json!([{ "manager": manager, "operation": "Apply", "fieldsV1": { "f:spec": { "f:lifetime": {} } } }]);
    let whose = |manager: &str| {
        let changes = [("/spec/lifetime", "2h".into()), ("/metadata/managedFields", fields(manager))];
        refused(&with(ready(), &changes), &[])
    };
    assert_eq!(whose("kubectl-patch"), None);
    let words = "without a lifetime testplatformcluster/demo may end at once";
    assert_eq!(whose("kubectl-testplatform").as_deref(), Some(words));
    // With a clock that is ahead, too, one gets more.
    let short = with(ready(), &[("/spec/lifetime", "1h".into())]);
    assert_eq!(refused(&short, &lifetime("70m")), None);
    // A claim without an end, or with its end behind it, is not ended.
    let begun = with(claim("Provisioning", &[]), &[]);
    assert_eq!(refused(&begun, &lifetime("1m")), None);
    assert!(refused(&begun, &[("/spec/tearDownCluster", true.into())]).is_some());
    for over in [with(claim("Failed", &[]), &[]), with(ready(), &[("/spec/tearDownCluster", true.into())])] {
        assert_eq!(refused(&over, &lifetime("1m")), None);
        assert_eq!(refused(&over, &[("/spec/tearDownCluster", true.into())]), None);
    }
    let words = "the cluster was handed over";
    let given = claim("Ready", &[["RequestAccepted", "True", "HandedOver", words]]);
    let given = with(given, &[("/status/readyAt", "2026-03-02T10:40:00Z".into())]);
    assert_eq!(refused(&given, &lifetime("1m")), None);
}

/// A note says that the runs are over for which it was made, and it is kept for a while.
#[test]
fn cluster_kept_for_debugging_stays() {
    let kept = |text: &str| json!({ "onOwnerCompletion": true, "keepForDebug": text });
    let note = json!({ "testplatform.ci.openshift.org/cleanup-since": "2026-03-02T11:30:00Z" });
    let there = [("/spec/cleanup", kept("2h")), ("/metadata/annotations", note)];
    let there = with(ready(), &there);
    let refused = |spec: &[(&str, Value)]| find_refusal(&there, &with(claim("", &[]), spec), now());
    let stop = refused(&[("/spec/cleanup", kept("10m"))]).unwrap();
    assert_eq!(stop.message, "with spec.cleanup testplatformcluster/demo would end at once");
    assert!(
        stop.advice.starts_with("The runs that own it are over: set a longer spec.cleanup.keepForDebug.")
    );
    assert_eq!(refused(&[("/spec/cleanup", kept("1h"))]), None);
    assert_eq!(refused(&[("/spec/cleanup", kept("10m")), ("/spec/tearDownCluster", false.into())]), None);
    assert_eq!(refused(&[]), None);
}

/// A claim of a generation, of which core has looked at another.
fn seen(generation: i64, looked_at: i64) -> Value {
    let mut seen = ready();
    seen["metadata"]["generation"] = generation.into();
    let synced = json!({
        "type": "Synced", "status": "True", "reason": "ReconcileSuccess", "observedGeneration": looked_at,
    });
    seen["status"]["conditions"].as_array_mut().unwrap().push(synced);
    seen
}

/// It was ready until it was changed. Whether it still is, is said by who has looked at the change.
#[test]
fn status_before_the_change_does_not_count() {
    let fake = fake(&seen(1, 1), &seen(2, 1));
    let up = fake.run("up claim.yaml --timeout 2s");
    up.is(3, "not in time: testplatformcluster/demo was changed, and the change is not processed yet")
        .is(3, "More: kubectl testplatform why demo -n team-a");
    let mut after = seen(2, 2);
    after["status"]["version"] = "4.21.0".into();
    fake.write("watch", &(event("ADDED", &seen(2, 1)) + &event("MODIFIED", &after)));
    fake.run("up claim.yaml").is(0, "is ready after 40m, version 4.21.0");
    after["status"]["phase"] = "Deprovisioning".into();
    fake.write("watch", &(event("ADDED", &seen(2, 1)) + &event("MODIFIED", &after)));
    fake.run("up claim.yaml").is(7, "is Deprovisioning");
}

#[test]
fn processed_status_is_known_by_generation_or_end() {
    let of = |object: Value| with(object, &[]);
    let is = |claim: &Claim, before: Option<&Claim>| is_of_now(claim, before, false);
    assert!(is(&of(seen(2, 2)), None) && !is(&of(seen(3, 2)), None));
    assert!(!is_of_now(&of(seen(3, 2)), None, true), "however late it is");
    // An old core tells nothing of that, nor does the composite, whose generations are others.
    assert!(is(&of(ready()), None));
    let template = with(seen(9, 9), &[("/status/appliedGeneration", 4.into())]);
    assert!(is(&template, None));
    // Core copies what the composite said before, once it has looked at the claim.
    let ends = |lifetime: &str, end: &str| {
        with(seen(2, 2), &[("/spec/lifetime", lifetime.into()), ("/status/expiresAt", end.into())])
    };
    let before = ends("4h", "2026-03-02T14:40:00Z");
    assert!(is(&before, Some(&before)));
    assert!(is(&ends("240m", "2026-03-02T14:40:00Z"), Some(&before)), "it is the same span");
    let copied = ends("3h", "2026-03-02T14:40:00Z");
    assert!(!is(&copied, Some(&before)));
    assert!(is(&ends("3h", "2026-03-02T13:40:00Z"), Some(&before)));
    // An extension that was not processed yet moves the end the other way first.
    assert!(!is(&ends("3h", "2026-03-02T16:40:00Z"), Some(&before)));
    // One that is clamped as before gets no other end.
    assert!(is_of_now(&copied, Some(&before), true));
}
