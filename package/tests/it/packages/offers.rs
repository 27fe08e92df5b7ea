//! `cargo xpkg generate offers`: what everybody may read of the catalogues, what nobody may, and that a claim made of an offer is served.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use proptest::prelude::*;
use serde_json::{Value, json};
use testplatform_apis::offer::{self, Block, Offer, Offers};
use testplatform_package::offers::{GeneratedOffers, config_map, generate_offers};

mod served;

use crate::packages::support::{run, stdout, tool};

/// Catalogue samples behind the sample of an installation.
const SAMPLES: [&str; 5] = [
    "template-hypershift-kubevirt.yaml",
    "template-cluster-api.yaml",
    "template-osac.yaml",
    "template-caas.yaml",
    "pool-catalogue.yaml",
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn samples() -> Vec<(String, String)> {
    let folder = repository().join("package/install/examples");
    let read = |name: &&str| ((*name).to_owned(), fs::read_to_string(folder.join(name)).unwrap());
    SAMPLES.iter().map(read).collect()
}

/// All of them in one file.
fn joined() -> String {
    let texts: Vec<String> = samples().into_iter().map(|(_, text)| text).collect();
    texts.join("\n---\n")
}

fn of(text: &str) -> Result<GeneratedOffers, Vec<String>> {
    generate_offers(&[("a.yaml".to_owned(), text.to_owned())], &BTreeSet::new())
        .map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

fn offers(text: &str) -> Vec<Offer> {
    of(text).unwrap().offers.offers
}

fn entry(name: &str, data: &Value) -> String {
    let object = json!({
        "apiVersion": "apiextensions.crossplane.io/v1beta1", "kind": "EnvironmentConfig",
        "metadata": { "name": name, "labels": { "testplatform.ci.openshift.org/catalogue": "true" } },
        "data": data,
    });
    format!("---\n{}", testplatform_package::to_yaml(&object).unwrap())
}

/// An entry whose clusters have nodes, with more.
fn hosted(more: &Value) -> String {
    let mut data = json!({
        "backend": "osac", "backendRef": { "templateID": "osac.small" }, "allowedTenants": ["*"],
        "releases": [{ "version": "4.20.3", "image": "quay.io/x:4.20.3" }],
        "allowedNodeClasses": { "metal": { "machine": { "resourceClass": "fc430" } } },
    });
    data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry("hosted", &data)
}

fn pools(pools: &Value) -> String {
    let hubs = json!([{ "name": "hive-1", "providerConfig": "hive-one" }, { "name": "hive-2" }]);
    let object = json!({
        "apiVersion": "apiextensions.crossplane.io/v1beta1", "kind": "EnvironmentConfig",
        "metadata": { "name": "testplatform-pools" }, "data": { "hubs": hubs, "pools": pools },
    });
    format!("---\n{}", testplatform_package::to_yaml(&object).unwrap())
}

fn pool(name: &str, more: &Value) -> Value {
    let mut pool = json!({
        "name": name, "namespace": "pools", "hub": "hive-1", "allowedTenants": ["*"],
        "labels": { "product": "ocp", "version": "4.20", "architecture": "amd64", "cloud": "aws" },
        "subject": { "name": "provider", "namespace": "provider" },
    });
    pool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    pool
}

#[test]
fn an_offer_has_the_options_of_a_claim() {
    let more = json!({
        "title": "Metal", "cost": 4, "maxLifetime": "24h", "defaultLifetime": "4h",
        "releases": [
            { "version": "4.21.0", "image": "quay.io/x:4.21.0", "enabled": false },
            { "version": "4.20.3", "image": "quay.io/x:4.20.3" },
        ],
        "defaultNodeGroups": [{ "name": "workers", "class": "metal", "count": 2 }],
        "limits": { "minNodes": 2, "maxNodes": 8 },
        "parameters": {
            "routers": { "type": "integer", "minimum": 1, "maximum": 3, "target": "ingress_replicas" },
            "size": { "enum": ["small", "large"], "required": true },
            "owner": { "required": true },
            "key": { "required": true, "secret": true, "enum": ["key-of-east"] },
        },
    });
    let offer = offers(&hosted(&more)).remove(0);
    let said = serde_json::to_value(&offer).unwrap();
    assert_eq!(said["versions"], json!([{ "version": "4.20.3" }]));
    assert_eq!(said["defaultVersion"], "4.20.3");
    assert_eq!(said["nodeClasses"], json!({ "metal": {} }));
    assert_eq!(said["limits"], json!({ "minNodes": 2, "maxNodes": 8 }));
    let key = json!({ "type": "string", "required": true, "immutable": false, "secret": true });
    assert_eq!(said["parameters"]["key"], key);
    assert_eq!(offer.fill_in, ["spec.parameters.key", "spec.parameters.owner"]);
    let starter = json!({
        "template": "hosted", "version": "4.20.3", "lifetime": "4h", "parameters": { "size": "small" },
        "nodeGroups": [{ "name": "workers", "class": "metal", "count": 2 }],
    });
    assert_eq!(said["starter"], starter);
    assert_eq!((offer.block, offer.restricted, offer.cost), (Block::Template, false, 4));
    // Whole numbers are written as such.
    let text = config_map(&Offers { format: 1, offers: vec![offer] }, "x").unwrap();
    assert!(text.contains("maximum: 3\n") && !text.contains("3.0"), "{text}");
}

#[test]
fn starter_groups_are_within_the_limits() {
    let groups = |more: Value| offers(&hosted(&more))[0].starter.get("nodeGroups").cloned();
    let one = json!([{ "name": "workers", "class": "metal", "count": 1 }]);
    assert_eq!(groups(json!({})), Some(one));
    let three = json!([{ "name": "workers", "class": "metal", "count": 3 }]);
    assert_eq!(groups(json!({ "limits": { "minNodes": 3 } })), Some(three));
    assert_eq!(groups(json!({ "limits": { "maxNodes": 0 } })), None);
    assert_eq!(groups(json!({ "limits": { "maxNodeGroups": 0 } })), None);
    let short = json!({ "limits": { "minNodes": 3 }, "defaultNodeGroups": [{ "name": "a", "class": "metal", "count": 2 }] });
    assert_eq!(groups(short), None);
}

#[test]
fn entries_that_nobody_may_request_are_omitted() {
    let made = of(&format!(
        "{}{}",
        hosted(&json!({ "enabled": false })),
        pools(&json!([
            pool("a", &json!({ "allowedTenants": [] })),
            pool(
                "own",
                &json!({ "bringYourOwn": { "imageSet": "ocp-4.20.3", "carrier": { "name": "c", "namespace": "n" } } })
            ),
        ]))
    ));
    let made = made.unwrap();
    assert_eq!(made.offers.offers, []);
    let said = [
        "pool a: no namespace may use it",
        "pool own: only claims with spec.byoc may use it",
        "template hosted: it is not enabled",
    ];
    assert_eq!(made.omitted, said);
    assert!(offers(&hosted(&json!({ "allowedTenants": ["team-a"] })))[0].restricted);
}

#[test]
fn pools_are_offered_by_labels_of_claims() {
    let all = offers(&pools(&json!([
        pool("one", &json!({ "cost": 2, "maxLifetime": "8h", "defaultLifetime": "2h" })),
        pool("two", &json!({ "hub": "hive-2", "maxLifetime": "4h", "defaultLifetime": "2h" })),
        pool("dear", &json!({ "cost": 9, "allowedTenants": ["team-a"] })),
        pool("special", &json!({ "weight": 0 })),
        pool("special", &json!({ "weight": 0, "namespace": "other" })),
        pool("bare", &json!({ "labels": {} })),
        pool(
            "gpu",
            &json!({ "labels": { "product": "ocp", "version": "4.20", "architecture": "amd64", "gpu": "A100" } })
        ),
    ])));
    let said: Vec<_> =
        all.iter().map(|o| (o.name.as_str(), o.cost, o.starter["clusterClaim"].clone())).collect();
    let words = json!({ "product": "ocp", "version": "4.20", "architecture": "amd64", "cloud": "aws" });
    let gpu =
        json!({ "product": "ocp", "version": "4.20", "architecture": "amd64", "labels": { "gpu": "A100" } });
    assert_eq!(
        said,
        [
            ("bare", 1, json!({ "pool": { "name": "bare" } })),
            ("ocp-4.20-amd64-aws", 2, words),
            ("ocp-4.20-amd64-gpu-a100", 1, gpu),
            ("other.special", 1, json!({ "pool": { "name": "special", "namespace": "other" } })),
            ("pools.special", 1, json!({ "pool": { "name": "special", "namespace": "pools" } })),
        ]
    );
    let hours = |hours| Some(testplatform_apis::duration::GoDuration::from_hours(hours));
    assert_eq!((all[1].default_lifetime, all[1].max_lifetime), (hours(2), hours(4)));
    assert_eq!(all[1].starter["lifetime"], "2h");
}

/// Whatever a catalogue says for hubs alone, in fields of hubs, is in no offer.
#[test]
fn offers_contain_nothing_about_hubs_and_tenants() {
    let mut text = joined();
    let hidden = [
        ("hosted-kubevirt", "pull-secret"),
        ("namespace: clusters", "namespace: mark-1"),
        ("magnum-system", "mark-2"),
        ("openstack-v3", "mark-3"),
        ("osac.templates.ocp_4_20_small", "mark_4.x"),
        ("fc430", "mark-5"),
        ("m1.xlarge", "mark-6"),
        ("hypershift-aws-cluster", "mark-7"),
        ("name: hive-1", "name: mark-8"),
        ("hub: hive-1", "hub: mark-8"),
        ("testplatform-hive-1", "mark-9"),
        ("namespace: cluster-pools", "namespace: mark-10"),
        ("testplatform-credentials", "mark-11"),
        ("name: ocp-4-20-amd64-aws", "name: mark-12"),
        ("team-a, team-b", "mark-13, mark-14"),
        ("ingress_replicas", "mark-15"),
        ("hostedCluster.channel", "hostedCluster.mark-16"),
        ("quay.io/openshift-release-dev", "mark-17.example/x"),
        ("2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a11", "mark-18"),
        ("6a6d7a5e-29f8-4b0f-8b5a-6b7c2d3e4f50", "mark-19"),
    ];
    for (plain, marked) in hidden.into_iter().skip(1) {
        assert!(text.contains(plain), "{plain}");
        text = text.replace(plain, marked);
    }
    let made = of(&text).unwrap();
    let said = config_map(&made.offers, "x").unwrap();
    assert!(!said.contains("mark-") && !said.contains("mark_") && !said.contains("pull-secret"), "{said}");
    assert_eq!(made.offers.offers.len(), 5);
}

#[test]
fn internal_names_in_texts_are_reported() {
    let config = "---\napiVersion: kubernetes.crossplane.io/v1alpha1\nkind: ProviderConfig\nmetadata:\n  name: hub-east\n  labels: { testplatform.ci.openshift.org/hub: \"true\" }\n  annotations: { testplatform.ci.openshift.org/tenants-deny: team-q }\n";
    let catalogue = pools(&json!([pool("a", &json!({ "allowedTenants": ["team-p", "*"] }))]));
    let names = [
        ("hub-east", "hub"),
        ("hive-1", "hub"),
        ("hive-one", "hub"),
        ("team-p", "tenant"),
        ("team-q", "tenant"),
    ];
    for (name, of_what) in names {
        let said = format!("made on {name}.");
        for (more, path) in [
            (json!({ "title": said }), "data.title"),
            (json!({ "description": said }), "data.description"),
            (json!({ "deprecated": said }), "data.deprecated"),
            (json!({ "parameters": { "a": { "description": said } } }), "data.parameters.a.description"),
            (json!({ "parameters": { "a": { "enum": [said] } } }), "data.parameters.a.enum[0]"),
            (
                json!({ "parameters": { "a": { "pattern": format!("^{name}-") } } }),
                "data.parameters.a.pattern",
            ),
            (
                json!({ "allowedNodeClasses": { name: { "machine": { "resourceClass": "x" } } } }),
                &format!("data.allowedNodeClasses.{name}"),
            ),
        ] {
            let problems = of(&format!("{}{catalogue}{config}", hosted(&more))).unwrap_err();
            let wanted = format!("{path}: hosted says {name}, which is the name of a {of_what}");
            assert!(problems.len() == 1 && problems[0].contains(&wanted), "{wanted}: {problems:?}");
        }
    }
    let text = format!("{}{catalogue}", hosted(&json!({ "title": "for TEAM-P" })));
    let files = [("a.yaml".to_owned(), text)];
    let problems = generate_offers(&files, &BTreeSet::new()).unwrap_err();
    let line = files[0].1.lines().position(|line| line.contains("title")).unwrap() + 1;
    assert!(
        problems[0].to_string().starts_with(&format!("error: a.yaml:{line}: data.title: ")),
        "{problems:?}"
    );
    assert!(generate_offers(&files, &BTreeSet::from(["team-p".to_owned()])).is_ok(), "a word like any other");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever people write: either it is refused, or no word of what is offered is the name of a hub or of a tenant.
    #[test]
    fn no_protected_name_is_published(
        hub in "[a-z][a-z0-9-]{0,6}[a-z0-9]",
        tenant in "[a-z][a-z0-9-]{0,6}[a-z0-9]",
        texts in prop::array::uniform3(prop::collection::vec((0..4_usize, "[ .,:/_-]|[a-z]{1,3}"), 0..6)),
    ) {
        let text = |parts: &[(usize, String)]| -> String {
            parts.iter().map(|(which, other)| match which {
                0 => hub.clone(),
                1 => tenant.to_uppercase(),
                _ => other.clone(),
            }).collect()
        };
        let [title, description, class] = [text(&texts[0]), text(&texts[1]), text(&texts[2])];
        let more = json!({
            "title": title, "allowedTenants": [tenant],
            "parameters": { "a": { "description": description } },
            "allowedNodeClasses": { "metal": { "description": class, "machine": { "resourceClass": "x" } } },
        });
        let mut own = pool("a", &json!({}));
        own["hub"] = hub.as_str().into();
        let all = json!({ "hubs": [{ "name": hub }], "pools": [own] });
        let pools = pools(&json!([])).replace("hive-1", &hub);
        let pools = pools.replace("pools: []", &format!("pools: {}", all["pools"]));
        if let Ok(made) = of(&format!("{}{pools}", hosted(&more))) {
            let said = config_map(&made.offers, "x").unwrap().to_lowercase();
            let object: Value = serde_saphyr::from_str(&said).unwrap();
            let said = object["data"]["offers"].as_str().unwrap();
            let words = said.split(|c: char| !c.is_alphanumeric() && !".-_".contains(c));
            for word in words.map(|word| word.trim_matches(['.', '-', '_'])) {
                prop_assert!(word != hub && word != tenant, "{word} in {said}");
            }
        }
    }
}

#[test]
fn offers_too_large_to_apply_are_refused() {
    let made = of(&hosted(&json!({ "description": "x".repeat(offer::MAX_SIZE) }))).unwrap();
    let error = config_map(&made.offers, "x").unwrap_err().to_string();
    assert!(error.contains("shorten descriptions"), "{error}");
}

#[test]
fn equal_catalogues_give_equal_bytes() {
    let mut files = samples();
    let text = |files: &[(String, String)]| {
        config_map(&generate_offers(files, &BTreeSet::new()).unwrap().offers, "x").unwrap()
    };
    let one = text(&files);
    files.reverse();
    assert_eq!(text(&files), one);
}

#[test]
fn the_program_writes_all_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (entry, out) = (path("entry.yaml"), path("offers.yaml"));
    fs::write(&entry, hosted(&json!({}))).unwrap();
    let generate = |more: &[&str]| {
        let words: Vec<&str> =
            ["generate", "offers", &entry].into_iter().chain(more.iter().copied()).collect();
        let output = run(&mut tool(&words));
        (output.status.code().unwrap(), stdout(&output) + &String::from_utf8_lossy(&output.stderr))
    };
    let (code, printed) = generate(&[]);
    assert!(
        code == 0 && printed.contains("kind: ConfigMap") && printed.contains("namespace: crossplane-system")
    );
    let (code, said) = generate(&["--output", &out, "--check"]);
    assert!(code == 3 && said.contains("is not what the catalogues say"), "{said}");
    assert!(!Path::new(&out).exists(), "a check writes nothing");
    assert_eq!(generate(&["--output", &out]), (0, format!("wrote {out}, 1 offer\n")));
    assert_eq!(fs::read_to_string(&out).unwrap(), printed);
    assert_eq!(generate(&["--output", &out, "--check"]), (0, format!("{out} is up to date, 1 offer\n")));
    // A flaw: the file stays what it was.
    fs::write(&entry, hosted(&json!({ "cost": "much" }))).unwrap();
    let (code, said) = generate(&["--output", &out]);
    assert!(code == 3 && said.contains("data.cost: invalid type"), "{said}");
    fs::write(&entry, hosted(&json!({ "title": "for team-a", "allowedTenants": ["team-a"] }))).unwrap();
    let (code, said) = generate(&["--output", &out]);
    assert!(code == 3 && said.contains("--may-say team-a"), "{said}");
    assert_eq!(fs::read_to_string(&out).unwrap(), printed);
    assert_eq!(generate(&["--output", &out, "--may-say", "team-a"]).0, 0);
    fs::write(&entry, hosted(&json!({}))).unwrap();
    for (more, words) in [
        (&["--namespace", "No.Name"][..], "is not a name of a namespace"),
        (&["--check"], "--output"),
        (&["--output", "/nowhere/x"], "cannot write /nowhere/x"),
    ] {
        let (code, said) = generate(more);
        assert!(code == 1 && said.contains(words), "{more:?}: {said}");
    }
    let none = run(&mut tool(&["generate", "offers", &path("none.yaml")]));
    assert_eq!(none.status.code(), Some(1));
    assert_eq!(run(&mut tool(&["generate", "offers"])).status.code(), Some(1));
}

/// Who may read it, and that it is where the plugin looks.
#[test]
fn everybody_may_read_that_config_map_and_nothing_else() {
    let text = fs::read_to_string(repository().join("package/install/components/offers/rbac.yaml")).unwrap();
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    let [role, binding] = objects.as_slice() else { panic!("{objects:?}") };
    let allowed = json!([{
        "apiGroups": [""], "resources": ["configmaps"], "resourceNames": [offer::CONFIG_MAP], "verbs": ["get"],
    }]);
    assert_eq!((&role["kind"], &role["rules"]), (&json!("Role"), &allowed));
    let everybody =
        json!([{ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated" }]);
    assert_eq!((&binding["kind"], &binding["subjects"]), (&json!("RoleBinding"), &everybody));
    assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
    for object in &objects {
        assert_eq!(object["metadata"]["namespace"], offer::NAMESPACE);
    }
}
