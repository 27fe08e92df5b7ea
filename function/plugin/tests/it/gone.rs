//! Reports on a claim that is not found. Only an API server's answer about the claim counts. Any other 404 says nothing of it.

use crate::fake::{Fake, claim, event, not_found, ready};

/// Answer of a proxy, or of an API server that has lost the kind.
const NO_WORD_OF_IT: &str = "Error from server (NotFound): the server could not find the requested resource";

/// The cluster runs and costs money.
#[test]
fn other_not_found_answers_do_not_mean_a_deleted_claim() {
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
fn claim_is_gone_only_by_an_answer_about_it() {
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

/// provider-kubernetes tries what was asked for last before it deletes, too. At an end that the claim asks for that is taken back first; of one that is
/// deleted at once nobody is asked any more, and its cluster would stay.
#[test]
fn cluster_with_a_refused_change_is_torn_down_before_deletion() {
    let run = |conditions: &[[&str; 4]], deleted: bool| {
        let arms =
            "  *--watch*) cat \"$room/watch\" ;;\n  get*demo*) cat \"$room/claim\" ;;\n  patch*|delete*) ;;";
        let fake = Fake::new(arms);
        let mut now = claim("Ready", conditions);
        if deleted {
            now["metadata"]["deletionTimestamp"] = "2026-03-02T11:00:00Z".into();
        }
        fake.object("claim", &now);
        let over = claim("Deprovisioned", &[["ProwJobCompleted", "True", "TornDown", "it is torn down"]]);
        fake.write("watch", &event("MODIFIED", &over));
        (fake.run("down demo --delete"), fake.calls())
    };
    let spec = |reason: &'static str, message: &'static str| ["SpecApplied", "False", reason, message];
    let refused = spec("Rejected", "the hub refuses it: spec.release.image: no");
    let ignored = spec("Immutable", "spec.network cannot change");
    let remote = |reason: &'static str| ["RemoteConsistent", "False", reason, "the hub says no"];
    for (conditions, why) in [
        (&[refused][..], "the hub refuses it: spec.release.image: no"),
        (&[ignored, remote("HubRefused")][..], "the hub says no"),
        (&[spec("Applying", "it has not answered"), remote("UnknownField")][..], "the hub says no"),
    ] {
        let (ended, calls) = run(conditions, false);
        ended.is(0, "is gone (TornDown)").is(0, "testplatformcluster/demo is deleted\n");
        assert!(ended.err.contains(why), "{}", ended.err);
        let (asked, deleted) = (calls.find("tearDownCluster"), calls.find("\ndelete "));
        assert!(asked.is_some() && asked < deleted, "{calls}");
        assert!(calls.contains("demo --wait=false"), "{calls}");
    }
    // A change that the template alone refuses never got to the hub, whose last one is in effect; and nobody takes back a deletion.
    for (conditions, deleted) in [
        (&[spec("Rejected", "spec.cost: no"), ["RemoteConsistent", "True", "InSync", ""]][..], false),
        (&[spec("Applying", "the release is being rolled out"), remote("HubUnreachable")][..], false),
        (&[remote("HubRefused")][..], false),
        (&[refused][..], true),
    ] {
        let (ended, calls) = run(conditions, deleted);
        ended.is(0, "is deleted, and its cluster goes with it");
        assert!(!calls.contains("patch") && !calls.contains("--watch"), "{calls}");
    }
}
