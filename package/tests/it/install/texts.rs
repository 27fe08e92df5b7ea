//! Texts that stand in several places are the same.

use std::fs;

use serde_json::Value;
use testplatform_apis::names::ours;

use crate::install::{documents, repository};

#[test]
fn overlays_name_the_version_of_this_workspace() {
    let version = format!(":v{}", env!("CARGO_PKG_VERSION"));
    let mut found = 0;
    for overlay in ["crossplane", "konflux", "development"] {
        let path = repository().join("package/install/overlays").join(overlay).join("kustomization.yaml");
        let text = fs::read_to_string(path).unwrap();
        let package = text.lines().find(|line| line.contains("/function-testplatform:")).unwrap();
        assert!(package.ends_with(&version), "{overlay}: {package}");
        found += 1;
    }
    let hub = &documents(&repository().join("package/install/overlays/hub/kustomization.yaml"))[0];
    assert_eq!(hub["images"][0]["newTag"], format!("v{}", env!("CARGO_PKG_VERSION")));
    assert_eq!(found, 3);
}

/// The annotation is a comment there until somebody knows the time.
#[test]
fn the_sample_provider_config_has_the_token_expiry_annotation() {
    let path = repository().join("package/install/components/hub-access/provider-config.yaml");
    assert!(fs::read_to_string(path).unwrap().contains(&format!("# {}: ", ours::KUBECONFIG_EXPIRES_AT)));
}

/// Hive lets in whom the catalogue names, and the function reads where it says: both have to be what is shipped. So that who
/// copies an example is served too, it names the same.
#[test]
fn the_sample_catalogue_references_shipped_hub_objects() {
    let folder = repository().join("package/install");
    let catalogue = documents(&folder.join("examples/pool-catalogue.yaml")).remove(0)["data"].clone();
    let provider = documents(&folder.join("hub/provider-rbac-clusterclaims.yaml"));
    let konflux = documents(&folder.join("hub/konflux-identity-clusterclaims-rbac.yaml"));
    let account = provider.iter().find(|object| object["kind"] == "ServiceAccount").unwrap();
    for pool in catalogue["pools"].as_array().unwrap() {
        assert_eq!(pool["subject"]["name"], account["metadata"]["name"]);
        assert_eq!(pool["subject"]["namespace"], account["metadata"]["namespace"]);
        assert_eq!(namespaces(&konflux, "clusterclaims"), [pool["namespace"].as_str().unwrap()]);
    }
    let mut examples = 0;
    for entry in fs::read_dir(repository().join("examples")).unwrap() {
        let path = entry.unwrap().path().join("environment.yaml");
        for config in documents(&path) {
            let pools = config["data"]["pools"].as_array().cloned().unwrap_or_default();
            for subject in pools.iter().map(|pool| &pool["subject"]).filter(|subject| !subject.is_null()) {
                assert_eq!(*subject, catalogue["pools"][0]["subject"], "{}", path.display());
                examples += 1;
            }
        }
    }
    assert!(examples > 3, "{examples}");
    for hub in catalogue["hubs"].as_array().unwrap() {
        for rights in [&provider, &konflux] {
            assert_eq!(namespaces(rights, "secrets"), [hub["credentialsNamespace"].as_str().unwrap()]);
        }
    }
}

/// Who carries what is brought along is named in five places on three sides: the component, its configuration, the hub, the tenant and the
/// catalogue.
#[test]
fn the_carrier_is_the_same_everywhere() {
    let install = repository().join("package/install");
    let component = |file: &str| documents(&install.join("components/carrier").join(file));
    let account = |objects: &[Value]| {
        let found = objects.iter().find(|object| object["kind"] == "ServiceAccount").unwrap();
        (found["metadata"]["name"].clone(), found["metadata"]["namespace"].clone())
    };
    let of = |subject: &Value| (subject["name"].clone(), subject["namespace"].clone());
    let beside = account(&component("rbac.yaml"));
    let binding = documents(&install.join("examples/byoc-role.yaml")).remove(1);
    assert_eq!(of(&binding["subjects"][0]), beside);
    let deployment = component("deployment.yaml").remove(0);
    assert_eq!(deployment["spec"]["template"]["spec"]["serviceAccountName"], beside.0);
    assert_eq!(deployment["metadata"]["namespace"], beside.1);
    assert_eq!(component("namespace.yaml")[0]["metadata"]["name"], beside.1);
    // Its namespace comes with it, so the Secret cannot be there before the pods. They start without, and read it when it is there.
    let volumes = deployment["spec"]["template"]["spec"]["volumes"].as_array().unwrap();
    let secrets: Vec<_> = volumes.iter().filter(|volume| volume["secret"].is_object()).collect();
    assert!(secrets.len() == 1 && secrets[0]["secret"]["optional"] == true, "{secrets:?}");
    let catalogue = documents(&install.join("examples/pool-catalogue.yaml")).remove(0)["data"].clone();
    let hubs = component("config.yaml").remove(0)["carry"]["hubs"].clone();
    let hub = &catalogue["hubs"][0]["providerConfig"];
    assert!(hubs[hub.as_str().unwrap()]["kubeconfig"].is_string(), "{hubs}");
    let there = account(&documents(&install.join("hub/byoc-rbac.yaml")));
    for example in ["byoc-asked", "byoc-forbidden"] {
        let path = repository().join("examples").join(example).join("environment.yaml");
        for config in documents(&path).iter().filter(|config| !config["data"]["pools"].is_null()) {
            assert_eq!(of(&config["data"]["pools"][0]["bringYourOwn"]["carrier"]), there, "{example}");
        }
    }
}

/// Who cleans up is named in four files, and by the words of who reads its events: the runbook has what to look at.
#[test]
fn the_cleaner_is_the_same_everywhere() {
    let folder = repository().join("package/install/components/cleanup");
    let one = |file: &str| documents(&folder.join(file)).remove(0);
    let (account, deployment) = (one("rbac.yaml"), one("deployment.yaml"));
    let name = account["metadata"]["name"].clone();
    assert_eq!(account["metadata"]["namespace"], one("namespace.yaml")["metadata"]["name"]);
    assert_eq!(deployment["metadata"]["namespace"], account["metadata"]["namespace"]);
    assert_eq!(deployment["spec"]["template"]["spec"]["serviceAccountName"], name);
    assert_eq!(one("config.yaml")["leaderElection"]["namespace"], account["metadata"]["namespace"]);
    let config = &deployment["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"];
    assert_eq!(one("kustomization.yaml")["configMapGenerator"][0]["name"], *config);
    let runbook = fs::read_to_string(repository().join("docs/runbook/alerts-konflux.md")).unwrap();
    let label = one("deployment.yaml")["spec"]["selector"]["matchLabels"]["app.kubernetes.io/name"].clone();
    let (namespace, label) = (name.as_str().unwrap(), label.as_str().unwrap());
    let log = format!("kubectl -n {namespace} logs -l app.kubernetes.io/name={label} --tail=200 --prefix");
    assert!(runbook.contains(&log), "{log}");
}

/// The namespaces whose Roles are about a kind.
fn namespaces<'a>(rights: &'a [Value], resource: &str) -> Vec<&'a str> {
    let is_about = |role: &&Value| {
        let rules = role["rules"].as_array();
        rules.is_some_and(|all| {
            all.iter().any(|rule| rule["resources"].as_array().unwrap().contains(&resource.into()))
        })
    };
    let roles = rights.iter().filter(|object| object["kind"] == "Role");
    roles.filter(is_about).map(|role| role["metadata"]["namespace"].as_str().unwrap()).collect()
}
