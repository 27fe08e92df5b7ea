//! `wait`: the states that can be waited for, and how each wait ends.

use crate::fake::{Fake, claim, event, not_found, ready};

const ARMS: &str = r#"
  "get testplatformclusters.ci.openshift.org demo --watch"*) cat "$room/watch"; exec sleep 300 ;;
  "get testplatformclusters.ci.openshift.org demo -ojson"*) cat "$room/claim" ;;"#;

/// A claim that is in the first state, and then in the second.
fn fake(first: &serde_json::Value, then: &serde_json::Value) -> Fake {
    let fake = Fake::new(ARMS);
    fake.object("claim", first);
    fake.write("watch", &event("MODIFIED", then));
    fake
}

#[test]
fn a_state_that_comes_ends_the_wait() {
    let provisioning = claim("Provisioning", &[["ClusterReady", "False", "Provisioning", "not yet"]]);
    let fake = fake(&provisioning, &ready());
    for state in
        ["", "--for=condition=ClusterReady", "--for condition=clusterready=true", "--for=phase=Ready"]
    {
        let said = fake.run(&format!("wait demo {state}"));
        said.is(0, "");
        assert_eq!(said.out, "testplatformcluster/demo condition met\n", "{state}");
        assert!(said.err.starts_with("Provisioning "), "{}", said.err);
    }
    fake.run("wait demo --for=condition=Absent --timeout 1s")
        .is(3, "timed out waiting for condition Absent=True of testplatformcluster/demo, which is Ready")
        .is(3, "More: kubectl testplatform why demo");
}

/// A timeout of zero checks once.
#[test]
fn a_state_can_be_checked() {
    let fake = fake(&ready(), &ready());
    fake.run("wait demo --timeout=0").is(0, "condition met");
    let not = fake.run("wait demo --for=phase=Failed --timeout=0");
    not.is(3, "timed out waiting for phase Failed of testplatformcluster/demo, which is Ready: it is Ready");
    assert!(!fake.calls().contains("--watch"), "{}", fake.calls());
}

/// Nobody waits for a cluster that cannot come.
#[test]
fn a_state_that_cannot_come_ends_the_wait() {
    let provisioning = claim("Provisioning", &[]);
    for (phase, code) in [("Failed", 4), ("Deprovisioning", 7), ("Deprovisioned", 7)] {
        let fake = fake(&provisioning, &claim(phase, &[]));
        fake.run("wait demo").is(code, &format!("testplatformcluster/demo is {phase}: it is {phase}"));
    }
    let fake = fake(&provisioning, &claim("Failed", &[["ProwJobCompleted", "True", "ProwJobFailure", "x"]]));
    fake.run("wait demo --for=condition=ProwJobCompleted").is(0, "condition met");
    fake.run("wait demo --for=phase=Failed").is(0, "condition met");
    for lost in ["CredentialsPublished", "InfrastructureReady=true", "ClusterRedy"] {
        fake.run(&format!("wait demo --for=condition={lost}")).is(4, "testplatformcluster/demo is Failed");
    }
}

#[test]
fn condition_that_a_claim_does_not_have_is_named() {
    let fake = fake(&ready(), &ready());
    let said = fake.run("wait demo --for=condition=ClusterRedy --timeout=0");
    said.is(3, "note: testplatformcluster/demo has no condition ClusterRedy yet; it has ClusterReady");
    let known = fake.run("wait demo --for=condition=CredentialsPublished --timeout=0");
    assert!(!known.err.contains("note:"), "{}", known.err);
}

#[test]
fn a_deletion_can_be_waited_for() {
    let fake = Fake::new(ARMS);
    fake.object("claim", &ready());
    fake.write("watch", &event("DELETED", &ready()));
    let said = fake.run("wait demo --for=delete");
    said.is(0, "testplatformcluster/demo deleted\n");
    fake.run("wait demo --for=phase=Failed").is(5, "was deleted");
    // As with kubectl, a claim that does not exist is deleted.
    let missing = not_found("testplatformclusters.ci.openshift.org", "demo");
    let gone = Fake::new(&format!("  get*demo*) echo '{missing}' >&2; exit 1 ;;"));
    gone.run("wait demo --for=delete").is(0, "demo deleted").is(0, "note: there is no claim demo");
    gone.run("wait demo").is(5, "there is no claim demo");
}

#[test]
fn wrong_states_are_explained() {
    let fake = Fake::new("");
    fake.run("wait demo --for=ready")
        .is(2, "expected condition=TYPE, condition=TYPE=STATUS, phase=PHASE or delete");
    fake.run("wait demo --for=phase=Gone").is(2, "phases are Pending, Provisioning, Ready");
    fake.run("wait demo --timeout soon").is(2, "--timeout soon: expected a duration");
    assert_eq!(fake.calls(), "");
}
