//! What is said of a claim that is not found: an API server says so of the claim. Whatever else answers 404 says nothing of it.

use crate::fake::{Fake, claim, event, not_found, ready};

/// What a proxy answers, or an API server that has lost the kind.
const NO_WORD_OF_IT: &str = "Error from server (NotFound): the server could not find the requested resource";

/// The cluster runs and costs money.
#[test]
fn what_only_looks_like_it_is_no_claim_that_is_gone() {
    let fake = Fake::new(&format!("  get*demo*) echo '{NO_WORD_OF_IT}' >&2; exit 1 ;;"));
    for line in ["why demo", "down demo --wait", "get demo", "up claim.yaml"] {
        fake.object("claim.yaml", &claim("", &[]));
        fake.run(line).is(1, "the server could not find the requested resource");
    }
    assert!(!fake.calls().contains("apply") && !fake.calls().contains("patch"), "{}", fake.calls());
    let gone = not_found("testplatformclusters.ci.openshift.org", "demo");
    let fake = Fake::new(&format!("  get*demo*) echo '{gone}' >&2; exit 1 ;;"));
    fake.run("why demo -n team-a").is(5, "there is no claim demo in namespace team-a");
    // A claim is not where there is no namespace.
    let fake =
        Fake::new(&format!("  get*demo*) echo '{}' >&2; exit 1 ;;", not_found("namespaces", "team-a")));
    fake.run("why demo -n team-a").is(5, "there is no claim demo in namespace team-a");
    let fake = Fake::new(&format!("  apply*) echo '{}' >&2; exit 1 ;;", not_found("namespaces", "team-a")));
    fake.object("claim.yaml", &claim("", &[]));
    fake.run("up claim.yaml").is(5, "team-a");
}

#[test]
fn a_claim_is_gone_only_if_that_is_said_of_it() {
    let begun = "  apply*) cat \"$room/claim\" ;;\n  \"get secret\"*) cat \"$room/secret\" ;;";
    let once = |words: &str| {
        let first = format!("echo '{words}' >&2; exit 1");
        let fake = Fake::new(&format!(
            "  *--watch*) if [ \"$(grep -c -- --watch \"$room/calls\")\" = 1 ]; then {first}; fi; cat \"$room/watch-2\" ;;\n{begun}"
        ));
        fake.object("claim", &claim("Pending", &[]));
        fake.object("claim.yaml", &claim("", &[]));
        fake.write("watch-2", &event("ADDED", &ready()));
        fake.run("up claim.yaml")
    };
    once(NO_WORD_OF_IT).is(0, "trying again: Error from server (NotFound)").is(0, "is ready");
    once(&not_found("testplatformclusters.ci.openshift.org", "other")).is(0, "is ready");
    once(&not_found("testplatformclusters.ci.openshift.org", "demo"))
        .is(5, "demo was deleted, and its cluster");
}
