//! Secrets that a claim names and that are another's: Crossplane writes into none of them, and nobody is given what they hold.

use kubectl_testplatform::{
    chain::{Mark, build_chain},
    claim::Claim,
    command_context::CommandContext,
    facts::{Facts, Lookup},
    observed_secret::ObservedSecret,
    wait::find_pending_step,
};
use serde_json::{Value, json};

use crate::fake::{FORBIDDEN, Fake, OWNER, claim, event, ready};

/// kubectl's output for a Secret that has a kubeconfig and is another claim's.
const OTHERS: &str = "\nconnection\nof-other TestPlatformCluster other";

const ARMS: &str = r#"
  apply*) cat "$room/claim" ;;
  *--watch*) cat "$room/watch" ;;
  "get testplatformclusters.ci.openshift.org demo -ojson"*) cat "$room/claim" ;;
  "get secret demo-kubeconfig -o go-template={{range"*) cat "$room/secret" ;;
  "get secret demo-kubeconfig -o go-template={{with"*) cat "$room/kubeconfig" "$room/owner" ;;
"#;

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({ "type": type_, "status": status, "reason": reason, "message": message })
}

/// core's condition on a claim into whose Secret it may not write.
fn refused(words: &str) -> Value {
    let what = "cannot propagate connection details from composite resource: cannot create or update connection secret";
    condition("Synced", "False", "ReconcileError", &format!("{what}: {words}"))
}

/// A claim that is ready, but for that.
fn refused_claim() -> Value {
    let mut claim = ready();
    let synced = refused("existing secret is not controlled by UID \"of-demo\"");
    claim["status"]["conditions"].as_array_mut().unwrap().push(synced);
    claim
}

fn held(keys: &str, type_: &str, owner: &str) -> Lookup<ObservedSecret> {
    Lookup::Found(ObservedSecret::parse_output(&format!("{keys}\n{type_}\n{owner}")))
}

fn says(facts: &Facts, words: &str) {
    let wait = find_pending_step(facts, &CommandContext::default(), "2026-03-02T12:00:00Z".parse().unwrap());
    let said = format!("{} | {}", wait.what, wait.todo);
    assert!(said.contains(words), "{said}");
}

/// Core writes into no Secret that is another's, and copies the conditions by which a claim is ready before it tries.
#[test]
fn a_secret_that_is_anothers_is_not_its_own() {
    let said_ready = || condition("ClusterReady", "True", "Ready", "the cluster is ready");
    let published = || condition("CredentialsPublished", "True", "Published", "the kubeconfig is there");
    let of = |mut object: Value, more: &[Value]| {
        let all = [&[said_ready(), published()], more].concat();
        object["status"] = json!({ "phase": "Ready", "conditions": all });
        Facts::new(Claim::read(object).unwrap())
    };
    let keys = "kubeconfig=12 ";
    let own = "of-demo TestPlatformCluster demo";
    let controlled = || refused("existing secret is not controlled by UID \"of-demo\"");
    let uncontrolled = || refused("refusing to modify uncontrolled secret of type \"Opaque\"");
    let bad = |facts: &Facts, words: &str| {
        says(facts, &format!("its kubeconfig: Secret demo-kubeconfig {words} | name another in"));
        says(facts, "(docs/runbook/connections.md#secrettaken)");
        assert_eq!(build_chain(facts).last().unwrap().mark, Mark::Bad);
    };
    let good = |facts: &Facts| {
        says(facts, "nothing, the cluster is ready");
        assert_eq!(build_chain(facts).last().unwrap().mark, Mark::Good);
    };

    let mut facts = of(claim("Ready", &[]), &[controlled()]);
    facts.secret = held(keys, "connection", "of-other TestPlatformCluster other");
    bad(&facts, "belongs to TestPlatformCluster other");
    // One that was made anew has the name of the one before it.
    facts.secret = held(keys, "connection", "of-old TestPlatformCluster demo");
    bad(&facts, "belongs to TestPlatformCluster demo");
    facts.claim.object["status"]["phase"] = "Degraded".into();
    bad(&facts, "belongs to TestPlatformCluster demo");
    let mut facts = of(claim("Ready", &[]), &[uncontrolled()]);
    facts.secret = held(keys, "", "");
    bad(&facts, "was not created by Crossplane");
    // To those who may not read it the claim tells.
    for synced in [controlled(), uncontrolled()] {
        let mut facts = of(claim("Ready", &[]), &[synced]);
        for look in [Lookup::Forbidden, Lookup::NotAsked] {
            facts.secret = look;
            bad(&facts, "belongs to another owner");
        }
        // It was deleted, or is its own by now: the next try comes.
        facts.secret = Lookup::Missing;
        says(&facts, "Crossplane to write the kubeconfig into Secret demo-kubeconfig");
        facts.secret = held(keys, "connection", own);
        good(&facts);
    }
    // Other trouble takes nothing away.
    let mut facts = of(
        claim("Ready", &[]),
        &[condition("Synced", "False", "ReconcileError", "cannot get claim: timeout")],
    );
    facts.secret = held(keys, "connection", own);
    good(&facts);
    // core takes over a Secret of its type without a controller; until then, nobody knows its content.
    let mut facts = of(claim("Ready", &[]), &[]);
    facts.secret = held(keys, "connection", "");
    says(&facts, "Crossplane to write the kubeconfig into Secret demo-kubeconfig");
    let mut facts = of(claim("Ready", &[]), &[condition("Ready", "True", "Available", "")]);
    facts.secret = held(keys, "connection", "");
    good(&facts);
    // The Secret of a composite in a namespace is an Object's, and its function tells whose it is.
    let mut composite = claim("Ready", &[]);
    composite["kind"] = "TestCluster".into();
    let mut facts = of(composite, &[]);
    facts.secret = held(keys, "connection", "of-object Object credentials-demo");
    good(&facts);
    let told =
        json!([said_ready(), condition("CredentialsPublished", "False", "SecretTaken", "it is not its own")]);
    facts.claim.object["status"]["conditions"] = told;
    says(&facts, "Secret demo-kubeconfig belongs to another owner | delete the Secret of that name");
}

/// A manifest that was copied names the Secret of another claim. Its content leads to that claim's cluster.
#[test]
fn a_kubeconfig_of_another_claim_is_not_handed_out() {
    let fake = Fake::new(ARMS);
    fake.object("claim", &refused_claim());
    fake.write("kubeconfig", "a3ViZWNvbmZpZw==");
    for (owner, words) in [
        ("\nconnection\nof-other TestPlatformCluster other", "belongs to TestPlatformCluster other"),
        ("\n\n", "was not created by Crossplane"),
    ] {
        fake.owned_by(owner);
        for line in ["kubeconfig demo", "kubeconfig demo --merge", "kubeconfig demo --out out"] {
            let said = fake.run(line);
            said.is(3, &format!("Secret demo-kubeconfig {words}"))
                .is(3, "docs/runbook/connections.md#secrettaken");
            assert_eq!(said.out, "", "{line}");
        }
        fake.run("why demo").is(0, "✗ secret/demo-kubeconfig").is(0, words);
    }
    assert!(!fake.path("out").exists() && !fake.path(".kube/config").exists());
    // One that was not taken over yet may hold what another left.
    fake.owned_by("\nconnection\n");
    fake.run("kubeconfig demo").is(3, "Secret demo-kubeconfig has no kubeconfig yet");
    fake.owned_by(OWNER);
    fake.run("kubeconfig demo").is(0, "kubeconfig");
}

/// Which may pass: the other claim goes, somebody deletes the Secret, or the claim names another.
#[test]
fn secret_of_another_claim_is_reported_and_waited_for() {
    let once = |first: &str| {
        format!(
            "  \"get secret\"*) if [ \"$(grep -c '^get secret' \"$room/calls\")\" -lt 3 ]; then {first}; else cat \"$room/secret\"; fi ;;\n{ARMS}"
        )
    };
    let refused = [
        ("cat \"$room/others\"".to_owned(), "belongs to TestPlatformCluster other"),
        (format!("echo '{FORBIDDEN}' >&2; exit 1"), "belongs to another owner"),
    ];
    for (first, words) in refused {
        let fake = Fake::new(&once(&first));
        fake.write("others", &format!("kubeconfig=8 {OTHERS}"));
        fake.object("claim", &refused_claim());
        fake.object("claim.yaml", &claim("", &[]));
        fake.write("watch", &event("ADDED", &refused_claim()));
        let up = fake.run("up claim.yaml");
        up.is(0, "testplatformcluster/demo is ready after 40m");
        let note = format!("note: Secret demo-kubeconfig {words}: name another in");
        assert_eq!(up.err.matches(&note).count(), 1, "{}", up.err);
    }
    // A claim that ends meanwhile is not waited for.
    let fake = Fake::new(&ARMS.replace("apply*) cat \"$room/claim\"", "apply*) cat \"$room/claim.yaml\""));
    fake.owned_by(OTHERS);
    fake.object("claim", &claim("Deprovisioning", &[]));
    fake.object("claim.yaml", &claim("Pending", &[]));
    fake.write("watch", &event("ADDED", &refused_claim()));
    fake.run("up claim.yaml").is(7, "it is Deprovisioning");
}

/// The function tells it of a claim that core could not finish. Such a cluster is there, and its Secret is what is looked at.
#[test]
fn unwritable_secret_is_explained() {
    let undelivered = |reason: &str, message: &str| {
        let mut object = claim("Ready", &[]);
        object["status"] = json!({ "phase": "Ready", "credentials": { "state": "Pending" }, "conditions": [
            condition("ClusterReady", "False", "WaitingForCredentials", "its kubeconfig cannot be delivered"),
            condition("CredentialsPublished", "False", reason, message),
        ] });
        Facts::new(Claim::read(object).unwrap())
    };
    let mut facts = undelivered("SecretTaken", "Secret demo-kubeconfig is not this claim's");
    says(&facts, "its kubeconfig: Secret demo-kubeconfig is not this claim's | name another in");
    facts.secret = held("kubeconfig=12 ", "connection", "of-other TestPlatformCluster other");
    says(
        &facts,
        "its kubeconfig: Secret demo-kubeconfig belongs to TestPlatformCluster other | name another in",
    );
    let facts = undelivered("SecretMissing", "Secret demo-kubeconfig cannot be written: exceeded quota");
    says(&facts, "cannot be written: exceeded quota | fix the cause, such as an exhausted quota of Secrets");
    assert!(!facts.claim.is_delivered());
    // Core shows a status for a moment beside the conditions of before it.
    let mut facts = undelivered("SecretMissing", "Secret demo-credentials is not read yet");
    facts.claim.object["status"]["credentials"]["state"] = "Published".into();
    assert!(facts.claim.is_delivered());
    let wait = find_pending_step(&facts, &CommandContext::default(), "2026-03-02T12:00:00Z".parse().unwrap());
    assert!(!wait.what.contains("is not read yet"), "{}", wait.what);
}

/// A cluster whose kubeconfig cannot be written is paid for all the same.
#[test]
fn conflicting_secret_is_reported_before_the_apply() {
    for (owner, words) in [
        (Some(OTHERS), Some("already exists and belongs to TestPlatformCluster other")),
        (Some("\n\n"), Some("already exists and was not created by Crossplane")),
        (Some("\nconnection\n"), None),
        (Some(OWNER), None),
        (None, None),
    ] {
        let arms = r#"
  "get testplatformclusters.ci.openshift.org demo"*) ;;
  "get secret"*) [ -f "$room/secret" ] && cat "$room/secret" || { echo 'Error from server (NotFound): it is not found' >&2; exit 1; } ;;
  apply*) echo 'Error from server: it stops here' >&2; exit 1 ;;
"#;
        let fake = Fake::new(arms);
        fake.object("claim.yaml", &claim("", &[]));
        if let Some(owner) = owner {
            fake.owned_by(owner);
        }
        let up = fake.run("up claim.yaml");
        up.is(1, "it stops here");
        let note = "note: Secret demo-kubeconfig ";
        match words {
            Some(words) => {
                up.is(1, &format!("{note}{words}, so the kubeconfig cannot be written: name another in"));
            }
            None => assert!(!up.err.contains(note), "{}", up.err),
        }
    }
}

/// A manifest that was copied, while neither cluster is ready: no Secret shows it yet.
#[test]
fn claims_that_name_one_secret_are_reported_before_the_apply() {
    let other = |name: &str, secret: &str| {
        let mut other = claim("Provisioning", &[]);
        other["metadata"]["name"] = name.into();
        other["spec"]["writeConnectionSecretToRef"]["name"] = secret.into();
        other
    };
    let shared = "note: testplatformcluster/other names Secret demo-kubeconfig too";
    for (beside, secret, note) in [
        (other("other", "demo-kubeconfig"), None, true),
        (other("other", "other-kubeconfig"), None, false),
        (other("demo", "demo-kubeconfig"), None, false),
        // The Secret itself says more.
        (other("other", "demo-kubeconfig"), Some(OTHERS), false),
    ] {
        let arms = r#"
  "get testplatformclusters.ci.openshift.org -ojson"*) cat "$room/list" ;;
  "get testplatformclusters.ci.openshift.org demo"*) ;;
  "get secret"*) [ -f "$room/secret" ] && cat "$room/secret" || { echo 'Error from server (NotFound): it is not found' >&2; exit 1; } ;;
  apply*) echo 'Error from server: it stops here' >&2; exit 1 ;;
"#;
        let fake = Fake::new(arms);
        fake.object("claim.yaml", &claim("", &[]));
        fake.object("list", &json!({ "kind": "List", "items": [beside] }));
        if let Some(owner) = secret {
            fake.owned_by(owner);
        }
        let up = fake.run("up claim.yaml");
        up.is(1, "it stops here");
        assert_eq!(up.err.contains(shared), note, "{}", up.err);
        assert!(!note || up.err.contains("(docs/runbook/connections.md#secrettaken)"), "{}", up.err);
    }
}
