//! Where a command works: in the cluster, in the namespace and on the claim with which it began, whatever comes to have their names.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value;

use crate::fake::{Fake, claim, ended, event, ready};

/// Between two watches somebody calls another context and another namespace the current ones.
const ARMS: &str = r#"
  "config current-context"*) cat "$room/context" ;;
  apply*) cat "$room/claim" ;;
  patch*|delete*) ;;
  *--watch*) n=$(grep -c -- --watch "$room/calls"); [ ! -f "$room/later" ] || cp "$room/later" "$room/claim"; echo prod >"$room/context"; cat "$room/watch-$n" ;;
  "get testplatformclusters.ci.openshift.org demo -ojson"*) cat "$room/claim" ;;
  "get secret"*) cat "$room/secret" ;;"#;

fn fake(watches: &[&str]) -> Fake {
    let fake = Fake::new(ARMS);
    fake.write("context", "staging\n");
    fake.object("claim", &claim("Pending", &[]));
    let mut manifest = claim("", &[]);
    manifest["metadata"]["namespace"] = Value::Null;
    fake.object("claim.yaml", &manifest);
    for (at, watch) in watches.iter().enumerate() {
        fake.write(&format!("watch-{}", at + 1), watch);
    }
    fake
}

fn over() -> Value {
    claim("Deprovisioned", &[["ProwJobCompleted", "True", "TornDown", "it is torn down"]])
}

/// One that somebody made under the name of another.
fn namesake() -> Value {
    let mut other = ready();
    other["metadata"]["uid"] = "of-another".into();
    other
}

/// That context is asked for once, and every call after it says where.
#[track_caller]
fn stays(fake: &Fake, after: &str) {
    let calls = fake.calls();
    let calls: Vec<&str> = calls.lines().collect();
    assert_eq!(calls.iter().filter(|c| c.contains("current-context")).count(), 1, "{calls:#?}");
    assert!(calls[0].starts_with("config current-context"), "{calls:#?}");
    assert!(calls[1..].iter().all(|c| c.contains("--context=staging")), "{calls:#?}");
    let known = calls.iter().position(|c| c.starts_with(after)).unwrap() + 1;
    assert!(calls.len() > known + 1, "{calls:#?}");
    assert!(calls[known..].iter().all(|c| c.contains("--namespace=team-a")), "{calls:#?}");
}

#[test]
fn up_keeps_its_context() {
    let fake = fake(&[&event("ADDED", &claim("Pending", &[])), &event("ADDED", &ready())]);
    let up = fake.run("up claim.yaml");
    // The suggested command repeats the flags of this one, and no more.
    up.is(0, "is ready after 40m").is(0, "kubectl testplatform down demo\n");
    stays(&fake, "apply");
}

#[test]
fn down_keeps_its_context() {
    let tearing = claim("Deprovisioning", &[["ProwJobCompleted", "False", "TearingDown", ""]]);
    let fake = fake(&[&event("ADDED", &tearing), &event("ADDED", &over())]);
    fake.run("down demo --wait --delete").is(0, "is gone (TornDown)").is(0, "is deleted");
    stays(&fake, "get");
    assert!(fake.calls().contains("delete testplatformclusters.ci.openshift.org demo --wait=true"));
}

/// Who says which context is meant is not asked, and a cluster from within which it runs has none.
#[test]
fn given_context_is_used() {
    let fake = fake(&[&event("ADDED", &over())]);
    fake.run("down demo --wait --context east").is(0, "is gone");
    assert!(!fake.calls().contains("current-context"), "{}", fake.calls());
    let within = Fake::new(&ARMS.replace("cat \"$room/context\"", "echo 'not set' >&2; exit 1"));
    within.object("claim", &ready());
    within.write("watch-1", &event("ADDED", &over()));
    let said = within.run("down demo --wait");
    said.is(0, "is gone");
    assert!(!within.calls().contains("--context") && !said.err.contains("not set"), "{}", said.err);
}

#[test]
fn a_namesake_is_not_followed() {
    for line in ["up claim.yaml", "down demo --wait --delete"] {
        let fake = fake(&["", &event("ADDED", &namesake())]);
        fake.run(line).is(5, "testplatformcluster/demo was deleted");
        assert!(!fake.calls().contains("delete"), "{}", fake.calls());
    }
}

/// That took the name after the last word of the one that was meant.
#[test]
fn a_namesake_is_not_deleted() {
    let fake = fake(&[&event("ADDED", &over())]);
    fake.object("later", &namesake());
    fake.run("down demo --wait --delete").is(5, "another has its name");
    assert!(!fake.calls().contains("delete"), "{}", fake.calls());
}

/// The report after a patch is about the patched object.
#[test]
fn a_namesake_has_not_got_the_lifetime() {
    let arms = ARMS.replace("patch*|delete*) ;;", "patch*) cp \"$room/later\" \"$room/claim\" ;;");
    let fake = Fake::new(&arms);
    fake.object("claim", &claim("Provisioning", &[]));
    fake.object("later", &namesake());
    fake.run("extend demo --to 5h").is(5, "another has its name");
}

/// As a script has it whose variables nobody set. kubectl takes what is empty for not given.
#[test]
fn flags_of_kubectl_that_are_empty_are_not_given() {
    let fake = fake(&[]);
    let line = ["down", "demo", "-n", "", "--context", "", "--kubeconfig=", "--as="];
    // It stays where it is, and what comes next is said without them.
    ended(fake.command().args(line)).is(0, "Wait for it: kubectl testplatform down --wait demo\n");
    let calls = fake.calls();
    let patch = calls.lines().last().unwrap();
    assert!(patch.ends_with("-oname --context=staging --namespace=team-a"), "{calls}");
    for empty in ["--namespace= ", "--context= ", "--kubeconfig=", "--as="] {
        assert!(!calls.contains(empty), "{calls}");
    }
}

/// Nor is a file without a name the person's own.
#[test]
fn default_kubeconfig_is_in_the_home_directory() {
    let with = "  \"get secret demo-kubeconfig -o go-template={{with\"*) cat \"$room/kubeconfig\" \"$room/owner\" ;;";
    let fake = Fake::new(&format!("{with}\n{ARMS}"));
    fake.object("claim", &ready());
    let own = "current-context: c\nclusters: [{ name: c, cluster: { server: 'https://api' } }]\nusers: [{ name: u, user: {} }]\ncontexts: [{ name: c, context: { cluster: c, user: u } }]\n";
    fake.write("kubeconfig", &BASE64_STANDARD.encode(own));
    let line = ["kubeconfig", "demo", "--merge", "--kubeconfig", ""];
    ended(fake.command().args(line)).is(0, ".kube/config as context testplatform-team-a-demo");
    assert!(fake.path(".kube/config").exists());
}
