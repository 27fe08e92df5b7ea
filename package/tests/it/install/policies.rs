//! Every policy judges Crossplane's fields of tenants' objects alike, and each comes with its kind. Their refusals are tested on a real API
//! server
//! (`tests/tests/crossplane_fields`).

use serde_json::{Value, json};

use crate::install::{documents, repository};

const FILE: &str = "crossplane-fields-policy.yaml";
/// Where a policy is, of what kind it is, and the Composition that is shipped for that.
const POLICIES: [(&str, &str, &str); 3] = [
    ("tenants", "testplatformclusters", "compositions/testplatform-ephemeral-cluster.yaml"),
    ("components/spaces", "namespaces", "install/components/spaces/composition.yaml"),
    ("components/test-clusters", "testclusters", "install/components/test-clusters/composition.yaml"),
];

/// The policy of a folder, and its binding.
fn policy(folder: &str) -> [Value; 2] {
    documents(&repository().join("package/install").join(folder).join(FILE)).try_into().unwrap()
}

#[test]
fn each_comes_with_its_kind() {
    for (folder, kind, composition) in POLICIES {
        let kustomization = repository().join("package/install").join(folder).join("kustomization.yaml");
        let resources = documents(&kustomization).remove(0)["resources"].clone();
        assert!(resources.as_array().unwrap().contains(&FILE.into()), "{folder}: {resources}");
        let [policy, binding] = policy(folder);
        let name = format!("{kind}-crossplane-fields");
        for object in [&policy, &binding] {
            assert_eq!(object["metadata"]["name"], name);
            // Before the definition, and so before there is anything to judge.
            assert_eq!(object["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"], "-2", "{name}");
        }
        assert_eq!(binding["spec"], json!({ "policyName": name, "validationActions": ["Deny"] }));
        assert_eq!(policy["spec"]["failurePolicy"], "Fail", "{name}");
        let rules = policy["spec"]["matchConstraints"]["resourceRules"].as_array().unwrap();
        assert_eq!(rules.len(), 1, "{name}");
        assert_eq!(rules[0]["resources"], json!([kind]));
        let shipped = documents(&repository().join("package").join(composition)).remove(0);
        let offered = policy["spec"]["variables"].as_array().unwrap().iter().find(|v| v["name"] == "offered");
        let expected = format!("['{}']", shipped["metadata"]["name"].as_str().unwrap());
        assert_eq!(offered.unwrap()["expression"], expected, "{name}");
    }
}

/// Where there is more than one, Crossplane takes any for what names none: other limits would be a matter of drawing again.
#[test]
fn claims_without_a_composition_get_the_shipped_one() {
    for (definition, composition) in [
        ("xrds/xtestplatformclusters.ci.openshift.org.yaml", POLICIES[0].2),
        ("install/components/spaces/definition.yaml", POLICIES[1].2),
        ("install/components/test-clusters/definition.yaml", POLICIES[2].2),
        ("install/components/cluster-pools/definition.yaml", "compositions/testplatform-cluster-pool.yaml"),
    ] {
        let [definition, shipped] = [definition, composition]
            .map(|file| documents(&repository().join("package").join(file)).remove(0));
        assert_eq!(definition["spec"]["defaultCompositionRef"]["name"], shipped["metadata"]["name"]);
        let kind = &shipped["spec"]["compositeTypeRef"]["kind"];
        assert_eq!(definition["spec"]["names"]["kind"], *kind);
    }
}

#[test]
fn policies_treat_claims_of_every_kind_alike() {
    let [[clusters, _], [spaces, _]] = [policy("tenants"), policy("components/spaces")];
    let renamed = clusters.to_string();
    let renamed = [
        ("testplatformclusters", "namespaces"),
        ("ci.openshift.org", "eaas.konflux-ci.dev"),
        ("testplatform-ephemeral-cluster", "eaas-namespace"),
    ]
    .iter()
    .fold(renamed, |text, (theirs, ours)| text.replace(theirs, ours));
    assert_eq!(renamed, spaces.to_string());
}
