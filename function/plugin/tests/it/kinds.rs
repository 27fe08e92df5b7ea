//! The two kinds of a claim: commands are about the one that was asked for, else about those that the caller may read.

use crate::fake::{Fake, claim, ready};

const BOTH: &str = "testplatformclusters.ci.openshift.org\ntestclusters.ci.openshift.org\n";
/// Prints the claim that is in file `claim`, and its Secret.
const READS: &str = r#"
  "get testplatformclusters.ci.openshift.org demo -ojson"*) cat "$room/claim" ;;
  "get testplatformclusters.ci.openshift.org -ojson"*) cat "$room/claim" ;;
  "get secret"*) cat "$room/secret" ;;"#;
/// Only claims may be read.
const NO_TEST_CLUSTERS: &str = r#"  "get testclusters"*) echo 'Error from server (Forbidden): testclusters is forbidden' >&2; exit 1 ;;"#;
/// Nothing may be read.
const NEITHER: &str = r#"
  "get testplatformclusters"*) echo 'Error from server (Forbidden): testplatformclusters is forbidden' >&2; exit 1 ;;"#;

/// A cluster that serves both kinds.
fn fake(arms: &str) -> Fake {
    let fake = Fake::new(arms);
    fake.write("served", BOTH);
    fake.object("claim", &ready());
    fake
}

#[test]
fn kind_of_the_command_line_selects_between_namesakes() {
    let arms = r#"
  "get testplatformclusters.ci.openshift.org demo"*) cat "$room/claim" ;;
  "get testclusters.ci.openshift.org demo"*) cat "$room/other" ;;
  "get testplatformclusters.ci.openshift.org -ojson"*) printf '{"items":[%s]}' "$(cat "$room/claim")" ;;
  "get testclusters.ci.openshift.org -ojson"*) printf '{"items":[%s]}' "$(cat "$room/other")" ;;
  "get testplatformclusters.ci.openshift.org,testclusters.ci.openshift.org -o name"*) echo handed over ;;
  "get secret"*) cat "$room/secret" ;;"#;
    let fake = Fake::new(arms);
    fake.write("served", BOTH);
    fake.object("claim", &ready());
    let mut other = claim("Provisioning", &[]);
    other["kind"] = "TestCluster".into();
    fake.object("other", &other);
    fake.run("why demo").is(2, "there are claims of both kinds named demo").is(2, "testcluster/demo");
    fake.run("why testcluster/demo").is(0, "testcluster/demo ").is(0, "  Provisioning");
    fake.run("get").is(0, "testcluster/demo").is(0, "testplatformcluster/demo");
    fake.run("get -o name").is(0, "handed over");
    fake.run("get testplatformclusters/demo -o wide").is(0, "it is Ready");
}

/// The suggested command names the kind where the command line had to.
#[test]
fn suggested_command_names_the_same_kind() {
    let arms = r#"
  "get testclusters.ci.openshift.org demo"*) cat "$room/other" ;;
  "get secret demo-kubeconfig -o go-template={{range"*) cat "$room/secret" ;;
  "get secret demo-kubeconfig -o go-template={{with"*) cat "$room/kubeconfig" "$room/owner" ;;
  patch*) ;;"#;
    let fake = Fake::new(arms);
    fake.write("served", BOTH);
    let mut other = ready();
    other["kind"] = "TestCluster".into();
    other["spec"]["writeConnectionSecretToRef"] = serde_json::Value::Null;
    fake.object("other", &other);
    fake.write("kubeconfig", "a3ViZWNvbmZpZw==");
    fake.run("why testcluster/demo").is(0, "`kubectl testplatform kubeconfig testcluster/demo --merge`");
    fake.run("down testcluster/demo").is(0, "kubectl testplatform down --wait testcluster/demo");
    // Its Secret has a name, though it says none.
    fake.run("kubeconfig testcluster/demo").is(0, "kubeconfig");
}

/// A tenant reads of the kind that it may use.
#[test]
fn a_kind_without_a_right_is_not_mentioned() {
    let none = fake(NO_TEST_CLUSTERS);
    let some = fake(&format!("{NO_TEST_CLUSTERS}\n{READS}"));
    let lines = [
        (&none, "why demo -n team-a", 5, "there is no testplatformcluster demo in namespace team-a"),
        (&none, "down demo", 5, "there is no testplatformcluster demo in the namespace of your context"),
        (&none, "get demo", 5, "there is no testplatformcluster demo"),
        (&none, "get", 0, "No claims found."),
        (&some, "why demo", 0, "✓ testplatformcluster/demo"),
        (&some, "get", 0, "demo"),
        (&some, "get demo", 0, "demo"),
    ];
    for (fake, line, code, words) in lines {
        let said = fake.run(line);
        said.is(code, words);
        let whole = format!("{}{}", said.out, said.err).to_lowercase();
        assert!(!whole.contains("testclusters") && !whole.contains("testcluster "), "{line}: {whole}");
    }
    // A command about the other kind names it.
    none.run("why testcluster/demo").is(1, "testclusters is forbidden");
}

/// The kind of claims comes first, whichever answer came last.
#[test]
fn without_a_right_for_either_kind_both_are_named() {
    let neither = fake(&format!("{NEITHER}\n{NO_TEST_CLUSTERS}"));
    for line in ["why demo", "get demo", "get", "get -A", "down demo", "kubeconfig demo"] {
        let said = neither.run(line);
        said.is(1, "error: Error from server (Forbidden): testplatformclusters is forbidden\n").is(
            1,
            "You may read neither testplatformclusters nor testclusters there: ask the cluster's administrators for that right.",
        );
        assert!(!said.err.contains("testclusters is forbidden"), "{}", said.err);
    }
    neither.run("get -A").is(1, "Without -A, only the claims of one namespace are listed.");
    // With one kind served, nothing is said of the other.
    neither.write("served", "testplatformclusters.ci.openshift.org\n");
    for line in ["why demo", "get"] {
        let said = neither.run(line);
        said.is(1, "testplatformclusters is forbidden").is(1, "ask its administrators");
        assert!(!said.err.contains("testclusters"), "{}", said.err);
    }
}

/// Discovery may know a kind that is not served any more.
#[test]
fn a_kind_that_is_no_longer_served_hides_no_claim() {
    let lost = r#"  "get testclusters"*) echo "error: the server doesn't have a resource type \"testclusters\"" >&2; exit 1 ;;"#;
    let fake = fake(&format!("{lost}\n{READS}"));
    fake.run("why demo").is(0, "✓ testplatformcluster/demo");
    fake.run("get").is(0, "demo");
    fake.run("why testcluster/demo").is(1, "the server doesn't have a resource type");
}

/// A claim of a kind that is not there is no claim that was deleted.
#[test]
fn unserved_kind_is_reported() {
    let fake = fake(READS);
    fake.write("served", "testplatformclusters.ci.openshift.org\n");
    for line in ["why testcluster/demo", "get testcluster/demo"] {
        fake.run(line)
            .is(1, "this cluster does not serve testclusters.ci.openshift.org")
            .is(1, "is it the right --context?");
    }
}
