//! `doctor`: what it asks a cluster, and how it ends.

use serde_json::{Value, json};

use crate::fake::{Fake, ended};

const FORBIDDEN: &str = "Error from server (Forbidden): it is forbidden";

/// A cluster on which an administrator finds everything.
const ARMS: &str = r#"
  "version -ojson"*) cat "$room/version" ;;
  "auth can-i delete "*) cat "$room/delete"; grep -q yes "$room/delete" ;;
  "auth can-i "*) echo yes ;;
  "get resourcequotas -ojson"*) echo '{"items":[]}' ;;
  "get compositeresourcedefinitions"*|"get functions.pkg"*) cat "$room/healthy" ;;
  "get providerconfigs"*|"get environmentconfigs"*) echo '{"kind":"x"}' ;;"#;

fn fake(arms: &str) -> Fake {
    let fake = Fake::new(arms);
    let condition = |type_: &str| json!({ "type": type_, "status": "True" });
    let conditions = ["Established", "Offered", "Healthy"].map(condition);
    fake.object(
        "healthy",
        &json!({ "spec": { "package": "r/f@sha256:1" }, "status": { "conditions": conditions } }),
    );
    let version = json!({ "minor": "34", "gitVersion": "v1.34.2" });
    fake.object("version", &json!({ "clientVersion": version, "serverVersion": version }));
    fake.write("delete", "yes\n");
    fake
}

#[test]
fn complete_cluster_ends_with_zero() {
    let fake = fake(ARMS);
    let said = fake.run("doctor");
    said.is(0, "✓ API server ");
    assert!(said.out.contains("Kubernetes v1.34.2\n") && !said.out.contains("To do"), "{}", said.out);
    assert!(said.out.lines().all(|line| line.starts_with("✓ ")), "{}", said.out);
    let answer: Value = serde_json::from_str(&fake.run("doctor -o json").out).unwrap();
    assert_eq!(answer["complete"], true);
    assert!(answer["checks"].as_array().unwrap().iter().all(|check| check["state"] == "good"), "{answer:#}");
    fake.run("doctor -o yaml").is(0, "complete: true");
    assert!(!fake.calls().lines().any(|call| call.starts_with("get secret")), "{}", fake.calls());
}

/// What a tenant may not read is not missing; a right that they lack is.
#[test]
fn tenant_sees_rights_and_not_more() {
    let denied = format!(
        r#"
  "get compositeresourcedefinitions"*|"get functions.pkg"*|"get providerconfigs"*|"get environmentconfigs"*) echo '{FORBIDDEN}' >&2; exit 1 ;;{ARMS}"#
    );
    let tenant = fake(&denied);
    let said = tenant.run("doctor -n team-a");
    said.is(0, "? function/function-testplatform ");
    assert_eq!(said.out.matches("you may not read it").count(), 4, "{}", said.out);
    tenant.write("delete", "no\n");
    let said = tenant.run("doctor");
    said.is(9, "✗ rights on testplatformcluster ").is(9, "you may not delete, which `down --delete` needs");
    said.is(9, "  rights on testplatformcluster: ask the administrators").is(9, "cannot be used here");
    let answer: Value = serde_json::from_str(&tenant.run("doctor -o json").out).unwrap();
    assert_eq!(answer["complete"], false);
}

#[test]
fn cluster_without_the_product_is_told_so() {
    let fake = fake(ARMS);
    fake.write("served", "");
    let said = fake.run("doctor");
    said.is(9, "✗ claims ").is(9, "serves no claims of clusters").is(9, "docs/how-to/install.md");
    assert!(!fake.calls().contains("can-i"), "{}", fake.calls());
}

#[test]
fn cluster_that_does_not_answer_is_an_error() {
    let words = "Unable to connect to the server: dial tcp: lookup api.example: no such host";
    let fake = fake(&format!("  \"version -ojson\"*) echo '{words}' >&2; exit 1 ;;{ARMS}"));
    fake.run("doctor").is(1, words);
}

#[test]
fn old_cluster_is_refused_in_one_sentence() {
    let fake = fake(ARMS);
    let version = |minor: &str| json!({ "minor": minor, "gitVersion": format!("v1.{minor}.0") });
    fake.object("version", &json!({ "clientVersion": version("34"), "serverVersion": version("29") }));
    fake.run("doctor")
        .is(9, "Kubernetes v1.29.0 is too old")
        .is(9, "API server: update it to Kubernetes 1.30");
    let narrow = ended(fake.command().args(["doctor", "--color", "always"]));
    narrow.is(9, "\u{1b}[31m✗");
}
