//! `up`, over a watch that does everything a watch can do.

use std::{fs, io::Write as _, process::Stdio};

use serde_json::json;

use crate::fake::{FORBIDDEN, Fake, claim, event, ready};

const ARMS: &str = r#"
  apply*) cat >"$room/applied"; cat "$room/claim" ;;
  *--watch*) n=$(grep -c -- --watch "$room/calls"); cat "$room/watch-$n" ;;
  "get secret"*) cat "$room/secret" ;;"#;

fn fake() -> Fake {
    let fake = Fake::new(ARMS);
    fake.object("claim", &claim("Pending", &[]));
    fake.object("claim.yaml", &claim("", &[]));
    fake
}

/// Each end is followed by another beginning, until it is decided.
#[test]
fn watches_end_and_are_opened_again() {
    let fake = fake();
    let provisioning = claim("Provisioning", &[]);
    fake.write("watch-1", &event("ADDED", &claim("Pending", &[])));
    fake.write("watch-2", &(event("ADDED", &provisioning) + &event("BOOKMARK", &json!({})) + "nonsense\n"));
    fake.write("watch-3", &event("MODIFIED", &ready()));
    let up = fake.run("up claim.yaml");
    up.is(0, "testplatformcluster/demo is ready after 40m")
        .is(0, "kubectl testplatform kubeconfig demo -n team-a --merge");
    let lines: Vec<&str> = up.err.lines().collect();
    assert_eq!(lines.len(), 2, "one line for each change: {lines:?}");
    assert!(lines[0].starts_with("Pending ") && lines[0].ends_with(": it is Pending"), "{lines:?}");
    assert!(lines[1].starts_with("Provisioning "), "{lines:?}");
    assert!(!up.err.contains('\u{1b}'), "nobody's terminal");
}

/// Crossplane or the function is stopped: waiting alone helps nobody.
#[test]
fn unprocessed_claim_is_reported() {
    let fake = fake();
    let untouched = claim("", &[]);
    fake.object("claim", &untouched);
    fake.write("watch-1", &event("ADDED", &untouched));
    fake.write("watch-2", &event("MODIFIED", &ready()));
    let up = fake.run("up claim.yaml");
    up.is(0, "note: Crossplane has not processed it for").is(0, "whether Crossplane and the function run");
    assert_eq!(up.err.matches("note: Crossplane").count(), 1, "{}", up.err);
}

/// The context may have another namespace, in which there is no such claim.
#[test]
fn up_stays_in_the_namespace_of_the_manifest() {
    let fake = fake();
    fake.write("watch-1", &event("MODIFIED", &ready()));
    fake.run("up claim.yaml --context east").is(0, "kubectl testplatform down demo -n team-a --context east");
    let calls = fake.calls();
    let after = calls.lines().skip_while(|call| !call.starts_with("apply")).skip(1);
    assert!(after.clone().count() > 1, "{calls}");
    assert!(after.into_iter().all(|call| call.contains("--namespace=team-a")), "{calls}");
    // The flag wins: kubectl refuses a manifest that says otherwise.
    let fake = self::fake();
    fake.write("watch-1", &event("MODIFIED", &ready()));
    fake.run("up claim.yaml -n team-b").is(0, "kubectl testplatform down demo -n team-b");
    assert!(!fake.calls().contains("team-a"), "{}", fake.calls());
}

#[test]
fn up_exits_as_the_claim_ends() {
    let cases = [
        (event("MODIFIED", &claim("Failed", &[])), "30m", 4, "is Failed: it is Failed"),
        (event("MODIFIED", &claim("Deprovisioned", &[])), "30m", 7, "is Deprovisioned"),
        (event("DELETED", &claim("Pending", &[])), "30m", 5, "was deleted"),
        (
            event("MODIFIED", &claim("Provisioning", &[])),
            "2s",
            3,
            "not in time: testplatformcluster/demo is not ready",
        ),
    ];
    for (watch, patience, code, words) in cases {
        let fake = fake();
        fake.write("watch-1", &watch);
        fake.run(&format!("up claim.yaml --timeout {patience}")).is(code, words);
    }
}

#[test]
fn up_without_the_right_to_watch_fails() {
    let fake = Fake::new(&format!("  *--watch*) echo '{FORBIDDEN}' >&2; exit 1 ;;\n{ARMS}"));
    fake.object("claim", &claim("Pending", &[]));
    fake.object("claim.yaml", &claim("", &[]));
    fake.run("up claim.yaml --timeout 1m").is(1, "it is forbidden");
    let tried = fake.calls().lines().filter(|c| c.contains("--watch")).count();
    assert_eq!(tried, 3);
}

#[test]
fn an_api_server_that_is_away_is_waited_for() {
    let away = "  *--watch*) if [ \"$(grep -c -- --watch \"$room/calls\")\" = 1 ]; then echo 'connection refused' >&2; exit 1; fi; cat \"$room/watch-2\" ;;";
    let fake = Fake::new(&format!("{away}\n{ARMS}"));
    fake.object("claim", &claim("Pending", &[]));
    fake.object("claim.yaml", &claim("", &[]));
    fake.write("watch-2", &event("ADDED", &ready()));
    fake.run("up claim.yaml").is(0, "trying again: connection refused").is(0, "is ready");
}

/// The cluster is there, whatever becomes of one look at its Secret.
#[test]
fn missing_secret_is_read_again() {
    let once = "  \"get secret\"*) if [ \"$(grep -c '^get secret' \"$room/calls\")\" = 1 ]; then echo 'connection refused' >&2; exit 1; fi; cat \"$room/secret\" ;;";
    let fake = Fake::new(&format!("{once}\n{ARMS}"));
    fake.object("claim", &claim("Pending", &[]));
    fake.object("claim.yaml", &claim("", &[]));
    fake.write("watch-1", &event("ADDED", &ready()));
    fake.run("up claim.yaml").is(0, "is ready");
}

#[test]
fn estimates_come_from_the_claims_beside_it() {
    let fake = Fake::new(&format!(
        "  \"get testplatformclusters.ci.openshift.org -ojson\"*) printf '{{\"items\":[%s]}}' \"$(cat \"$room/past\")\" ;;\n{ARMS}"
    ));
    let begun = claim("Provisioning", &[]);
    fake.object("claim", &begun);
    fake.object("claim.yaml", &claim("", &[]));
    fake.object("past", &ready());
    fake.write("watch-1", &event("ADDED", &begun));
    fake.run("up claim.yaml --timeout 1s").is(3, ", later than usual, which is 40m: it is Provisioning");
}

#[test]
fn manifests_are_judged_before_anything_is_applied() {
    let fake = fake();
    let cases = [
        ("", "holds 0 objects"),
        ("kind: Pod\napiVersion: v1\n", "holds a Pod of v1"),
        ("kind: A\n---\nkind: B\n", "holds 2 objects"),
        ("kind: [", "bad.yaml"),
        ("kind: TestPlatformCluster\napiVersion: ci.openshift.org/v1alpha1\nspec: {}\n", "has no name"),
    ];
    for (text, words) in cases {
        fake.write("bad.yaml", text);
        fake.run("up bad.yaml").is(2, words);
    }
    let wrong = [
        ("/metadata", "demo", "metadata of the claim in bad.yaml is not an object"),
        ("/spec", "4.20", "spec of the claim in bad.yaml is not an object"),
        (
            "/spec/writeConnectionSecretToRef",
            "demo-kubeconfig",
            "spec.writeConnectionSecretToRef of the claim",
        ),
    ];
    for (at, value, words) in wrong {
        let mut object = claim("", &[]);
        *object.pointer_mut(at).unwrap() = value.into();
        fake.object("bad.yaml", &object);
        fake.run("up bad.yaml").is(2, words);
        fake.run("up bad.yaml --name two").is(2, words);
    }
    fake.run("up gone.yaml").is(2, "cannot read gone.yaml");
    assert_eq!(fake.calls(), "");
}

#[test]
fn another_name_has_a_secret_of_its_own() {
    let fake = fake();
    fake.write("watch-1", &event("ADDED", &ready()));
    let mut up = fake.command();
    let mut child =
        up.args(["up", "-", "--name", "two"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(claim("", &[]).to_string().as_bytes()).unwrap();
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let applied: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(fake.path("applied")).unwrap()).unwrap();
    assert_eq!(applied["metadata"]["name"], "two");
    assert_eq!(applied["spec"]["writeConnectionSecretToRef"]["name"], "two-kubeconfig");
}

#[test]
fn refusal_of_the_api_server_is_passed_on() {
    let refusal = "The TestPlatformCluster \"demo\" is invalid: spec: set exactly one of ciOperator, clusterClaim and template";
    let fake = Fake::new(&format!("  apply*) echo '{refusal}' >&2; exit 1 ;;"));
    fake.object("claim.yaml", &claim("", &[]));
    fake.run("up claim.yaml").is(1, refusal);
    let conflict = "error: Apply failed with 1 conflict: conflict with \"kubectl-patch\": .spec.lifetime";
    let fake = Fake::new(&format!("  apply*) echo '{conflict}' >&2; exit 1 ;;"));
    fake.object("claim.yaml", &claim("", &[]));
    fake.run("up claim.yaml").is(1, ".spec.lifetime").is(1, "--force-conflicts");
}
