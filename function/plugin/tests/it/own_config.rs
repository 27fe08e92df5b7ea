//! The caller's own kubeconfig over the life of a claim: `--merge` adds a context, `down` removes it.

use std::fs;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use kubectl_testplatform::config::{mark_owner, remove_entry};
use serde_json::{Value, json};

use crate::fake::{Fake, claim, event, ready};

const ARMS: &str = r#"
  apply*) cat "$room/claim" ;;
  patch*) [ ! -e "$room/refused" ] || { cat "$room/refused" >&2; exit 1; } ;;
  delete*) ;;
  *--watch*) cat "$room/watch" ;;
  "get testplatformclusters.ci.openshift.org demo -ojson"*) cat "$room/claim" ;;
  "get secret demo-kubeconfig -o go-template={{with"*) cat "$room/kubeconfig" "$room/owner" ;;
  "get secret"*) cat "$room/secret" ;;"#;
const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
current-context: admin
clusters: [{ name: made, cluster: { server: 'https://api.demo.example:6443' } }]
users: [{ name: u, user: { token: of-demo } }]
contexts: [{ name: admin, context: { cluster: made, user: u } }]
";
const OWN: &str = "current-context: mine\nusers: [{ name: me, user: { token: mine } }]\n";
const CONTEXT: &str = "testplatform-team-a-demo";

fn fake() -> Fake {
    let fake = Fake::new(ARMS);
    fake.object("claim", &ready());
    fake.object("claim.yaml", &claim("", &[]));
    fake.write("kubeconfig", &BASE64_STANDARD.encode(KUBECONFIG));
    fs::create_dir(fake.path(".kube")).unwrap();
    fake.write(".kube/config", OWN);
    fake
}

fn own(fake: &Fake) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(fake.path(".kube/config")).unwrap()).unwrap()
}

fn has_context(fake: &Fake) -> bool {
    fs::read_to_string(fake.path(".kube/config")).unwrap().contains(CONTEXT)
}

#[test]
fn down_removes_the_context_that_merge_added() {
    for line in ["down demo", "down demo --delete"] {
        let fake = fake();
        fake.run("kubeconfig demo --merge").is(0, "Added");
        assert!(has_context(&fake));
        let said = fake.run(line);
        said.is(0, &format!("Removed context {CONTEXT} from"));
        assert!(!said.err.contains("current context"), "{}", said.err);
        let own = own(&fake);
        assert!(!has_context(&fake), "{own}");
        assert_eq!((&own["current-context"], &own["users"][0]["name"]), (&json!("mine"), &json!("me")));
        assert!(!fake.path(".kube/config.lock").exists());
        // The second time there is nothing to remove.
        assert!(!fake.run(line).err.contains("Removed"));
    }
}

#[test]
fn up_merges_when_the_cluster_is_ready() {
    let fake = fake();
    fake.write("watch", &event("ADDED", &ready()));
    let said = fake.run("up claim.yaml --merge");
    said.is(0, "is ready after 40m").is(0, &format!("kubectl --context {CONTEXT} get nodes"));
    assert!(!said.out.contains("use it:"), "{}", said.out);
    assert!(has_context(&fake));
}

#[test]
fn the_current_context_is_reported_when_it_goes() {
    let fake = fake();
    fake.run("kubeconfig demo --merge").is(0, "Added");
    let merged = fs::read_to_string(fake.path(".kube/config")).unwrap();
    fake.write(
        ".kube/config",
        &merged.replace("current-context: mine", &format!("current-context: {CONTEXT}")),
    );
    fake.run("down demo").is(0, "it was the current context; choose another");
    assert_eq!(own(&fake)["current-context"], "");
}

/// A context of that name may be somebody's own, or lead to another claim's cluster.
#[test]
fn contexts_of_others_stay() {
    let fake = fake();
    fake.run("kubeconfig demo --merge").is(0, "Added");
    let mut other = ready();
    other["metadata"]["uid"] = "of-another".into();
    fake.object("claim", &other);
    fake.run("down demo").is(0, "is being torn down");
    assert!(has_context(&fake));
    let mut entry = json!({ "contexts": [{ "name": CONTEXT, "context": {} }] });
    assert_eq!(remove_entry(entry.clone(), CONTEXT, "of-demo"), None, "nobody says whose it is");
    mark_owner(&mut entry, "of-demo");
    let (left, was_current) = remove_entry(entry, CONTEXT, "of-demo").unwrap();
    assert_eq!((&left["contexts"], was_current), (&json!([]), false));
}

/// The end of the cluster does not depend on a file.
#[test]
fn a_kubeconfig_that_cannot_be_changed_is_a_note() {
    let fake = fake();
    fake.run("kubeconfig demo --merge").is(0, "Added");
    fake.write(".kube/config.lock", "");
    fake.run("down demo").is(0, "is being torn down").is(0, &format!("note: context {CONTEXT} stays in"));
    assert!(has_context(&fake));
    fake.write(".kube/config", "{ broken");
    fake.run("down demo").is(0, "is being torn down");
    assert_eq!(fs::read_to_string(fake.path(".kube/config")).unwrap(), "{ broken");
}

/// A cluster that is not ended keeps its context.
#[test]
fn a_refused_teardown_removes_nothing() {
    let fake = fake();
    fake.run("kubeconfig demo --merge").is(0, "Added");
    fake.write("refused", crate::fake::FORBIDDEN);
    fake.run("down demo").is(1, "it is forbidden");
    assert!(has_context(&fake));
}
