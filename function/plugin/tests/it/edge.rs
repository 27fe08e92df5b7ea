//! The plugin as a program: what it asks of kubectl, and how it ends.

use crate::fake::{FORBIDDEN, Fake, claim, ended, not_found, ready};

/// Prints the claim that is in file `claim`, and the keys of its Secret.
const READS: &str = r#"
  "get testplatformclusters.ci.openshift.org demo -ojson"*) cat "$room/claim" ;;
  "get secret demo-kubeconfig -o go-template={{range"*) cat "$room/secret" ;;
  "get secret demo-kubeconfig -o go-template={{with"*) cat "$room/kubeconfig" "$room/owner" ;;
"#;

#[test]
fn help_is_an_answer_and_tells_the_exit_codes() {
    let fake = Fake::new("");
    let help = fake.run("--help");
    help.is(0, "Exit codes:").is(0, "kubectl testplatform up claim.yaml");
    assert_eq!((help.err.as_str(), fake.calls().as_str()), ("", ""));
    fake.run("up --help").is(0, "Usage: kubectl testplatform up [OPTIONS] <FILE>");
    fake.run("").is(2, "Usage: kubectl testplatform");
    fake.run("fly").is(2, "unrecognized subcommand 'fly'");
    fake.run("extend demo --by soon").is(2, "error: --by soon: expected a duration");
    fake.run("extend demo").is(2, "<--by <DURATION>|--to <DURATION>>");
}

#[test]
fn flags_of_kubectl_go_with_each_call() {
    let fake = Fake::new(READS);
    fake.object("claim", &ready());
    fake.run("why demo -n team-a --context east --as someone").is(0, "ready");
    let calls = fake.calls();
    assert!(calls.lines().count() > 2, "{calls}");
    for call in calls.lines() {
        assert!(call.ends_with("--namespace=team-a --context=east --as=someone"), "{call}");
    }
    // The suggested command is about the same claim.
    fake.run("why demo -n team-a --context east")
        .is(0, "`kubectl testplatform kubeconfig demo -n team-a --context east --merge`");
}

#[test]
fn without_kubectl_or_the_right_cluster() {
    let fake = Fake::new("");
    let missing = ended(fake.command().env("KUBECTL", "/nowhere/kubectl").args(["why", "demo"]));
    missing.is(1, "cannot run /nowhere/kubectl").is(1, "Set KUBECTL");
    fake.write("served", "");
    fake.run("get").is(1, "this cluster serves neither testplatformclusters nor testclusters");
}

/// kubectl tells which kinds it found and fails for those it did not, whosever they are.
#[test]
fn a_group_of_others_that_is_down_is_no_matter() {
    let fake = Fake::new(READS);
    fake.object("claim", &ready());
    let words =
        "error: unable to retrieve the complete list of server APIs: metrics.k8s.io/v1beta1: unavailable";
    fake.write("down", words);
    let said = fake.run("why demo");
    said.is(0, "✓ testplatformcluster/demo");
    assert_eq!(said.err, "");
    fake.write("served", "");
    fake.run("why demo").is(1, "unable to retrieve the complete list of server APIs: metrics.k8s.io");
}

#[test]
fn missing_and_forbidden_claims_have_exit_codes() {
    let fake = Fake::new("");
    fake.run("why demo -n team-a").is(5, "there is no claim demo in namespace team-a");
    fake.run("why pod/demo").is(2, "pod is not a kind of claim");
    let fake = Fake::new(&format!("  get*demo*) echo '{FORBIDDEN}' >&2; exit 1 ;;"));
    fake.run("down demo").is(1, "it is forbidden").is(1, "ask its administrators");
}

/// Tenants may often read neither composites nor Objects nor events.
#[test]
fn why_uses_the_objects_that_may_be_read() {
    let arms = format!("{READS}\n  get*xtest*|\"get events\"*) echo '{FORBIDDEN}' >&2; exit 1 ;;");
    let fake = Fake::new(&arms);
    let message = "EnvironmentConfig envcfg does not exist";
    fake.object(
        "claim",
        &claim("Pending", &[["RequestAccepted", "False", "EnvironmentConfigMissing", message]]),
    );
    let said = fake.run("why demo");
    said.is(0, "? xtestplatformcluster/demo-x").is(0, "no permission to read it").is(0, message);
    assert!(!fake.calls().contains("objects.kubernetes"), "{}", fake.calls());
}

#[test]
fn down_uses_the_uid_and_reports_the_result() {
    let arms = format!("{READS}\n  patch*|delete*) ;;\n  *--watch*) cat \"$room/watch\" ;;");
    let fake = Fake::new(&arms);
    fake.object("claim", &ready());
    fake.run("down demo").is(0, "testplatformcluster/demo is being torn down");
    let patch = r#"--patch={"metadata":{"uid":"of-demo"},"spec":{"tearDownCluster":true}}"#;
    assert!(fake.calls().contains(patch), "{}", fake.calls());

    let over =
        |reason: &str| claim("Deprovisioned", &[["ProwJobCompleted", "True", reason, "in the job's words"]]);
    fake.write("watch", &crate::fake::event("MODIFIED", &over("TornDown")));
    fake.run("down demo --wait --delete").is(0, "is gone (TornDown)").is(0, "is deleted");
    assert!(fake.calls().contains("delete testplatformclusters.ci.openshift.org demo --wait=true"));
    for reason in ["ProwJobFailure", "RemoteReplaced"] {
        fake.write("watch", &crate::fake::event("MODIFIED", &over(reason)));
        fake.run("down demo --wait --delete").is(6, reason).is(6, "leftover resources");
    }
    // Which a job that was asked to end, or ended well, says too.
    for reason in ["EndedWithoutSignal", "ProwJobGone"] {
        fake.write("watch", &crate::fake::event("MODIFIED", &over(reason)));
        fake.run("down demo --wait").is(0, &format!("is gone ({reason})"));
        let failed = claim("Failed", &[["ProwJobCompleted", "True", reason, "in the job's words"]]);
        fake.write("watch", &crate::fake::event("MODIFIED", &failed));
        fake.run("down demo --wait").is(6, reason).is(6, "leftover resources");
    }
    let tearing = claim("Deprovisioning", &[["ProwJobCompleted", "False", "TearingDown", ""]]);
    fake.write("watch", &crate::fake::event("MODIFIED", &tearing));
    fake.run("down demo --wait --timeout 2s").is(3, "is not gone in time").is(3, "The teardown continues");
    let away = ["RemoteConsistent", "False", "HubUnreachable", "the hub cannot be reached"];
    let unheard = claim("Deprovisioning", &[["ProwJobCompleted", "False", "TearingDown", ""], away]);
    fake.write("watch", &crate::fake::event("MODIFIED", &unheard));
    fake.run("down demo --wait --timeout 1s")
        .is(3, "The hub makes no progress at the moment, and the cluster incurs cost");
    fake.write("watch", &crate::fake::event("DELETED", &tearing));
    fake.run("down demo --wait").is(5, "was deleted, and its cluster goes with it");
    // Deleted at once, it does not have to be told before.
    let fake = Fake::new(&arms);
    fake.object("claim", &ready());
    fake.run("down demo --delete").is(0, "is deleted, and its cluster goes with it");
    assert!(!fake.calls().contains("patch"), "{}", fake.calls());
}

/// A claim that something keeps does not keep who waits for longer than was said.
#[test]
fn the_time_is_over_for_the_deletion_too() {
    let late = "error: timed out waiting for the condition on testplatformclusters/demo";
    let arms = format!(
        "{READS}\n  patch*) ;;\n  delete*--timeout=*) echo '{late}' >&2; exit 1 ;;\n  delete*) ;;\n  *--watch*) cat \"$room/watch\" ;;"
    );
    let fake = Fake::new(&arms);
    fake.object("claim", &ready());
    let over = claim("Deprovisioned", &[["ProwJobCompleted", "True", "TornDown", "it is torn down"]]);
    fake.write("watch", &crate::fake::event("MODIFIED", &over));
    fake.run("down demo --wait --delete --timeout 20s -n team-a")
        .is(3, "is gone (TornDown)")
        .is(3, "testplatformcluster/demo was deleted, but is not gone in time")
        .is(3, "kubectl testplatform why demo -n team-a");
    let calls = fake.calls();
    let rest = calls.split("--wait=true --timeout=").nth(1).and_then(|rest| rest.split_once('s'));
    let rest: u8 = rest.unwrap().0.parse().unwrap();
    assert!((1..=20).contains(&rest), "{calls}");
    fake.run("down demo --wait --delete").is(0, "is deleted");
}

/// A transferred cluster is another claim's to end, and the output promises no teardown that does not happen.
#[test]
fn down_ends_no_cluster_that_was_handed_over() {
    let fake = Fake::new(&format!("{READS}\n  delete*) ;;"));
    let words = "the cluster was handed over to TestCluster demo, which ends it; delete this claim";
    fake.object("claim", &claim("Ready", &[["RequestAccepted", "True", "HandedOver", words]]));
    for line in ["down demo -n team-a", "down demo --wait -n team-a"] {
        fake.run(line)
            .is(7, "has no cluster to give back: the cluster was handed over to TestCluster demo")
            .is(7, "End the cluster with: kubectl testplatform down testcluster/NAME -n team-a");
    }
    assert!(!fake.calls().contains("patch"), "{}", fake.calls());
    fake.run("down demo --delete").is(0, "is deleted; its cluster was handed over and keeps running");
    assert!(fake.calls().contains("delete testplatformclusters.ci.openshift.org demo --wait=false"));
}

#[test]
fn extend_keeps_no_cluster_that_was_handed_over() {
    let fake = Fake::new(READS);
    let words = "the cluster was handed over to TestCluster demo, which ends it; delete this claim";
    let ready = ["ClusterReady", "True", "Ready", "the cluster is ready"];
    fake.object("claim", &claim("Ready", &[ready, ["RequestAccepted", "True", "HandedOver", words]]));
    fake.run("extend demo --to 5h")
        .is(7, "has no cluster to keep: the cluster was handed over to TestCluster demo")
        .is(7, "Keep the cluster with: kubectl testplatform extend testcluster/NAME");
    assert!(!fake.calls().contains("patch"), "{}", fake.calls());
}

#[test]
fn extend_tells_the_new_end() {
    let patched = r#"  patch*) cp "$room/after" "$room/claim" ;;"#;
    let fake = Fake::new(&format!("{READS}{patched}"));
    let mut before = ready();
    before["status"]["readyAt"] = "2090-01-01T00:00:00Z".into();
    before["status"]["expiresAt"] = "2090-01-01T03:00:00Z".into();
    let mut after = before.clone();
    after["status"]["expiresAt"] = "2090-01-01T05:00:00Z".into();
    fake.object("claim", &before);
    fake.object("after", &after);
    fake.run("extend demo --by 2h").is(0, "at 2090-01-01T05:00:00Z");
    assert!(fake.calls().contains(r#""spec":{"lifetime":"5h"}"#), "{}", fake.calls());
    fake.object("claim", &claim("Failed", &[]));
    fake.run("extend demo --by 2h").is(4, "is Failed");
    fake.object("claim", &ready());
    fake.run("extend demo --by 2h").is(2, "has no lifetime to extend");
    fake.run("extend demo --to 1h").is(2, "would end at once");
    fake.object("claim", &claim("Provisioning", &[]));
    fake.run("extend demo --by 2h").is(2, "is not ready yet");
}

/// A connection that was refused once does not repeat a completed change.
#[test]
fn extend_reads_the_claim_again_after_the_patch() {
    let once = "  get*demo*) if [ -f \"$room/patched\" ] && [ ! -f \"$room/refused\" ]; then : >\"$room/refused\"; echo 'connection refused' >&2; exit 1; fi; cat \"$room/claim\" ;;\n  patch*) : >\"$room/patched\"; cp \"$room/after\" \"$room/claim\" ;;";
    let fake = Fake::new(once);
    let mut object = ready();
    object["status"]["readyAt"] = "2090-01-01T00:00:00Z".into();
    object["status"]["expiresAt"] = "2090-01-01T03:00:00Z".into();
    fake.object("claim", &object);
    object["status"]["expiresAt"] = "2090-01-01T05:00:00Z".into();
    fake.object("after", &object);
    fake.run("extend demo --by 2h").is(0, "at 2090-01-01T05:00:00Z");
    assert!(fake.path("refused").exists());
    assert_eq!(fake.calls().matches("patch ").count(), 1, "{}", fake.calls());
}

#[test]
fn a_secret_that_is_not_there_is_waited_for() {
    let gone = not_found("secrets", "demo-kubeconfig");
    let arms = format!("  \"get secret\"*) echo '{gone}' >&2; exit 1 ;;\n{READS}");
    let fake = Fake::new(&arms);
    fake.object("claim", &ready());
    fake.run("why demo").is(0, "… secret/demo-kubeconfig").is(0, "Crossplane to write the kubeconfig");
    fake.run("kubeconfig demo").is(3, "Secret demo-kubeconfig is not created yet");
}
