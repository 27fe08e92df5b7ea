//! `offers`, of what the samples of catalogues offer: the tables, the claims to begin with, and what is said when there is nothing to read.

use std::{fs, path::Path, process::Stdio};

use kubectl_testplatform::offers::fresh_name;
use serde_json::{Value, json};
use testplatform_apis::offer::{CONFIG_MAP, KEY};

use crate::fake::{FORBIDDEN, Fake, ended, not_found};

const READS: &str =
    r#"  "get configmap testplatform-offers --namespace crossplane-system -ojson"*) cat "$room/offers" ;;"#;

/// The ConfigMap that `cargo xpkg generate offers` makes of the samples.
fn sample() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../package/install/examples/offers.yaml");
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn published() -> Fake {
    let fake = Fake::new(READS);
    fake.object("offers", &sample());
    fake
}

/// A ConfigMap with these offers.
fn of(offers: &Value) -> Value {
    json!({ "metadata": { "name": CONFIG_MAP }, "data": { KEY: json!({ "format": 1, "offers": offers }).to_string() } })
}

fn printed(fake: &Fake, line: &str) -> Value {
    let ended = fake.run(line);
    assert_eq!(ended.code, 0, "{line}: {}", ended.err);
    serde_saphyr::from_str(&ended.out).unwrap()
}

#[test]
fn all_are_listed_in_one_table() {
    let fake = published();
    let table = fake.run("offers -n team-a --context east");
    let lines: Vec<&str> = table.out.lines().collect();
    assert_eq!(table.code, 0, "{}", table.err);
    assert!(lines.len() == 6 && lines[0].starts_with("NAME "), "{}", table.out);
    let row = |name: &str| {
        let line = lines.iter().find(|line| line.starts_with(name)).unwrap();
        line.split("   ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>()
    };
    let hosted = ["hosted-kubevirt", "template", "all", "4.20.3, 4.19.17", "large, small", "1"];
    assert_eq!(row("hosted")[..6], hosted);
    assert_eq!(row("hosted")[6], "OpenShift with nodes on the hub");
    assert_eq!(row("openshift-metal")[1..6], ["template", "some", "4.20.3, 4.19.17", "large, metal", "4"]);
    assert_eq!(row("ocp-4.20")[..4], ["ocp-4.20-amd64-aws-dpp", "clusterClaim", "all", "4.20"]);
    // The namespace of the claims is not that of the offers.
    let call = "get configmap testplatform-offers --namespace crossplane-system -ojson --context=east\n";
    assert_eq!(fake.calls(), call);
}

#[test]
fn offers_are_printed_for_programs() {
    let fake = published();
    let names = fake.run("offers -o name");
    assert_eq!((names.code, names.out.lines().next()), (0, Some("template/hosted-kubevirt")));
    let json: Value = serde_json::from_str(&fake.run("offers -o json").out).unwrap();
    let yaml = printed(&fake, "offers -o yaml");
    assert_eq!((json.as_array().unwrap().len(), &json), (5, &yaml));
    assert_eq!(printed(&fake, "offers hosted-kubevirt -o json"), json[0]);
    assert_eq!(fake.run("offers hosted-kubevirt -o name").out, "template/hosted-kubevirt\n");
    fake.run("offers -o jsonpath={.x}").is(2, "-o jsonpath={.x}: offers are printed as");
}

#[test]
fn single_offer_lists_all_fields_of_a_claim() {
    let fake = published();
    let said = fake.run("offers template/hosted-kubevirt");
    for part in [
        "4.20.3 (default), 4.19.17 (deprecated: 4.19 goes at the end of the year)",
        "large (16 cores and 64 GiB), small (4 cores and 16 GiB)",
        "workers: 2 of small",
        "controlPlaneReplicas 1, 3; maxNodes 10; network podCIDR, serviceCIDR",
        "provision 1h; teardown 1h",
        "whether the cluster runs in FIPS mode",
        "pattern ^(stable|fast|candidate)-4\\.[0-9]+$",
    ] {
        said.is(0, part);
    }
    fake.run("offers openshift-by-chart").is(0, "enum m5.large, m5.xlarge, m6g.large");
    fake.run("offers kubernetes-openstack")
        .is(0, "nodeGroups[].bootVolumeSize")
        .is(0, "classes large, small; nodes 1")
        .is(0, "maximum 500; minimum 20");
    // Of a pool there is little to tell, and no empty line for the rest.
    let pool = fake.run("offers ocp-4.20-amd64-aws-dpp");
    assert!(
        pool.code == 0 && !pool.out.contains("PARAMETER") && !pool.out.contains("classes"),
        "{}",
        pool.out
    );
}

#[test]
fn written_claim_is_accepted_by_up() {
    let fake = published();
    let claim = printed(&fake, "offers hosted-kubevirt --claim");
    let name = claim["metadata"]["name"].as_str().unwrap();
    assert_eq!(
        claim,
        json!({
            "apiVersion": "ci.openshift.org/v1alpha1", "kind": "TestPlatformCluster",
            "metadata": { "name": name },
            "spec": {
                "template": "hosted-kubevirt", "version": "4.20.3", "lifetime": "2h",
                "nodeGroups": [{ "name": "workers", "class": "small", "count": 2 }],
                "writeConnectionSecretToRef": { "name": format!("{name}-kubeconfig") },
            },
        })
    );
    let claim = printed(&fake, "offers openshift-metal --claim --name demo -n team-a");
    assert_eq!(claim["metadata"], json!({ "name": "demo", "namespace": "team-a" }));
    assert_eq!(claim["spec"]["writeConnectionSecretToRef"]["name"], "demo-kubeconfig");
    let other = printed(&fake, "offers openshift-metal --claim --name testcluster/demo");
    assert_eq!((&other["kind"], &other["metadata"]["name"]), (&"TestCluster".into(), &"demo".into()));
    // Of both kinds the one that the cluster serves.
    fake.write("served", "testclusters.ci.openshift.org\n");
    assert_eq!(printed(&fake, "offers openshift-metal --claim")["kind"], "TestCluster");
    fake.run("offers openshift-metal --claim --name pod/demo").is(2, "pod is not a kind of claim");
    for wrong in ["offers --claim", "offers x --name y", "offers x --claim -o json"] {
        assert_eq!(fake.run(wrong).code, 2, "{wrong}");
    }
}

/// Under one name for all, each would change the cluster of who came first.
/// Where a cluster serves both kinds, a claim that its writer may not create is of no use.
#[test]
fn a_claim_is_of_the_kind_that_the_caller_may_create() {
    let both = "testplatformclusters.ci.openshift.org\ntestclusters.ci.openshift.org\n";
    for (answers, kind) in [
        ("*) echo yes ;;", "TestPlatformCluster"),
        ("*\\ testclusters.*) echo yes ;; *) echo no; exit 1 ;;", "TestCluster"),
        ("*) echo no; exit 1 ;;", "TestPlatformCluster"),
        ("*) echo 'error: You must be logged in' >&2; exit 1 ;;", "TestPlatformCluster"),
    ] {
        let fake = Fake::new(&format!("  auth\\ can-i*) case \"$*\" in {answers} esac ;;\n{READS}"));
        fake.object("offers", &sample());
        fake.write("served", both);
        assert_eq!(printed(&fake, "offers openshift-metal --claim")["kind"], kind, "{answers}");
        let named = "offers openshift-metal --claim --name testcluster/demo";
        assert_eq!(printed(&fake, named)["kind"], "TestCluster", "{answers}");
    }
}

#[test]
fn each_claim_has_a_name_of_its_own() {
    let fake = published();
    let name = || {
        let claim = printed(&fake, "offers hosted-kubevirt --claim");
        claim["metadata"]["name"].as_str().unwrap().to_owned()
    };
    let (one, other) = (name(), name());
    assert_ne!(one, other);
    for name in [one, other] {
        let end = name.strip_prefix("hosted-kubevirt-").unwrap();
        assert!(
            end.len() == 5 && end.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()),
            "{name}"
        );
    }
    let offer = |name: &str| json!({ "name": name });
    assert_eq!(fresh_name(&offer("small"), 0), "small-bbbbb");
    assert_eq!(fresh_name(&offer("small"), 0x7f_7f7f_0403_0201), "small-cdfgz");
    // It has room for what Crossplane appends, and is one.
    assert_eq!(fresh_name(&offer(&"x".repeat(80)), 0), "x".repeat(44) + "-bbbbb");
    assert_eq!(fresh_name(&offer(&("x".repeat(42) + ".-y")), 0), "x".repeat(42) + "-bbbbb");
}

/// `up` reads the output of `offers`, for every offer.
#[test]
fn up_applies_the_output_of_offers() {
    let arms = format!("{READS}\n  apply*) cat >\"$room/applied\"; echo '{FORBIDDEN}' >&2; exit 1 ;;");
    let fake = Fake::new(&arms);
    fake.object("offers", &sample());
    let names = fake.run("offers -o name").out;
    assert_eq!(names.lines().count(), 5);
    for name in names.lines() {
        let claim = fake.run(&format!("offers {name} --claim")).out;
        fake.write("claim.yaml", &claim);
        let input = fs::File::open(fake.path("claim.yaml")).unwrap();
        ended(fake.command().args(["up", "-"]).stdin(Stdio::from(input))).is(1, "it is forbidden");
        let applied: Value =
            serde_json::from_str(&fs::read_to_string(fake.path("applied")).unwrap()).unwrap();
        assert_eq!(applied, serde_saphyr::from_str::<Value>(&claim).unwrap(), "{name}");
    }
}

#[test]
fn starter_leaves_fields_of_the_owner_to_fill_in() {
    let fake = Fake::new(READS);
    let offer = json!({
        "name": "x".repeat(48) + ".-y", "block": "template", "cost": 1, "fillIn": ["spec.parameters.owner\nkind: Pod"],
        "starter": { "template": "x" },
    });
    fake.object("offers", &of(&json!([offer])));
    let name = format!("offers template/{}.-y --claim", "x".repeat(48));
    let said = fake.run(&name);
    said.is(0, "# Fill in spec.parameters.owner kind: Pod.\n")
        .is(0, "note: spec.parameters.owner kind: Pod must be filled in");
    let claim: Value = serde_saphyr::from_str(&said.out).unwrap();
    assert_eq!(claim["kind"], "TestPlatformCluster");
    let name = claim["metadata"]["name"].as_str().unwrap();
    assert!(name.len() == 50 && name.starts_with(&("x".repeat(44) + "-")), "{name}");
}

#[test]
fn offers_of_one_name_are_distinguished() {
    let fake = Fake::new(READS);
    let offer = |block: &str| json!({ "name": "demo", "block": block, "cost": 1, "starter": {} });
    fake.object("offers", &of(&json!([offer("template"), offer("clusterClaim")])));
    fake.run("offers demo")
        .is(2, "there are several offers named demo")
        .is(2, "Say template/demo or clusterClaim/demo");
    fake.run("offers clusterClaim/demo").is(0, "clusterClaim/demo");
    fake.run("offers other").is(5, "there is no offer other");
    fake.object("offers", &of(&json!([])));
    let none = fake.run("offers");
    none.is(0, "No offers found.");
    assert_eq!((none.out.as_str(), fake.run("offers -o json").out.as_str()), ("", "[]\n"));
}

/// A ConfigMap with values that nobody should write: each stays in its cell, and nothing breaks.
#[test]
fn odd_values_of_offers_are_harmless() {
    let fake = Fake::new(READS);
    let offer = json!({
        "name": "a\nb\u{1b}[31m", "block": ["template"], "title": "x".repeat(2000), "versions": "4.20", "cost": "much",
        "nodeClasses": [1], "limits": 7, "parameters": { "p\n": null }, "defaultNodeGroups": [null],
        "newer": { "than": "this" },
    });
    fake.object("offers", &of(&json!([offer, null, 7])));
    let table = fake.run("offers");
    assert!(
        table.code == 0 && table.out.lines().count() == 4 && !table.out.contains('\u{1b}'),
        "{}",
        table.out
    );
    let all = fake.run("offers -o name");
    assert!(all.code == 0 && all.out.lines().count() == 3 && !all.out.contains('\u{1b}'), "{}", all.out);
    let whole = of(
        &json!([{ "name": "a", "block": "b", "parameters": { "p\n": null }, "defaultNodeGroups": [null] }]),
    );
    fake.object("offers", &whole);
    fake.run("offers a").is(0, "b/a");
    for starter in [json!(7), json!("template: x"), json!([]), Value::Null] {
        fake.object("offers", &of(&json!([{ "name": "a", "block": "b", "starter": starter, "fillIn": 7 }])));
        assert_eq!(printed(&fake, "offers a --claim")["spec"].as_object().unwrap().len(), 1);
    }
}

#[test]
fn unreadable_offers_are_reported_with_help() {
    let gone = not_found("configmaps", CONFIG_MAP);
    let fake = Fake::new(&format!("  \"get configmap\"*) echo '{gone}' >&2; exit 1 ;;"));
    fake.run("offers -n team-a")
        .is(5, "there is no ConfigMap testplatform-offers in namespace crossplane-system")
        .is(5, "--from");
    fake.run("offers --from elsewhere").is(5, "in namespace elsewhere");
    let fake = Fake::new(&format!("  \"get configmap\"*) echo '{FORBIDDEN}' >&2; exit 1 ;;"));
    fake.run("offers").is(1, "it is forbidden").is(1, "component offers");
    let fake = published();
    let missing = ended(fake.command().env("KUBECTL", "/nowhere/kubectl").arg("offers"));
    missing.is(1, "cannot run /nowhere/kubectl");
    let text = |text: &str| json!({ "data": { KEY: text } });
    for (object, words) in [
        (json!({}), "it has no key offers"),
        (text("{"), "offers:1:1: unclosed bracket"),
        (text("offers: []"), "it does not say its format"),
        (text("format: 1\noffers: {}"), "it has no list of offers"),
        (text("format: 2\noffers: []"), "is of format 2, and this program reads 1"),
    ] {
        fake.object("offers", &object);
        let said = fake.run("offers");
        said.is(1, words);
        assert!(said.out.is_empty() && said.err.lines().count() >= 2, "{}", said.err);
    }
}
