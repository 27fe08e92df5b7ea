//! That a claim made of an offer is served, by the catalogue that it was made of.

use std::{collections::BTreeSet, fs, path::PathBuf};

use jiff::Timestamp;
use kubectl_testplatform::{claim::Flavour, offers as plugin};
use serde_json::{Value, json};
use testplatform_apis::{
    foreign::{object, provider_config},
    names as ours,
    offer::{self, Offers},
    template::Backend,
};
use testplatform_composites::sdk::proto::Status;
use testplatform_package::offers::{config_map, generate_offers};
use testplatform_render::RenderArgs;

use super::{SAMPLES, joined, of, repository, samples};

/// Results of claims, with a hub that can make everything.
struct Judge {
    folder: tempfile::TempDir,
    environment: Vec<PathBuf>,
    now: Timestamp,
}

impl Judge {
    fn new(environment: &[PathBuf]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [envcfg, hubs] = ["envcfg.yaml", "hubs.yaml"].map(|name| folder.path().join(name));
        let own = "apiVersion: apiextensions.crossplane.io/v1beta1\nkind: EnvironmentConfig\nmetadata: { name: envcfg }\ndata: { clusterName: x }\n";
        fs::write(&envcfg, own).unwrap();
        // One for each kind of claim, on which everything can be made.
        let hub = |api_version: &str, kind: &str| {
            let mut labels = json!({ ours::hub::HUB: "true" });
            let mut annotations = json!({});
            for backend in Backend::ALL {
                labels[format!("{}{backend}", ours::hub::BACKEND)] = "true".into();
                annotations[format!("{}{backend}", ours::hub::NAMESPACE)] = "clusters".into();
            }
            let metadata = json!({ "name": "everything", "labels": labels, "annotations": annotations });
            json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {} }).to_string()
        };
        let both = [
            hub(provider_config::API_VERSION, provider_config::KIND),
            hub(object::NAMESPACED_API_VERSION, provider_config::CLUSTER_KIND),
        ];
        fs::write(&hubs, both.join("\n---\n")).unwrap();
        let has_own =
            environment.iter().any(|path| fs::read_to_string(path).unwrap().contains("name: envcfg"));
        let more = (!has_own).then_some(envcfg).into_iter().chain([hubs]);
        let environment = environment.iter().cloned().chain(more).collect::<Vec<_>>();
        let now = "2026-03-02T12:00:00Z".parse().unwrap();
        Self { folder, environment, now }
    }

    /// `true` if a claim is accepted as it is, and the message about it.
    fn judged(&self, claim: &Value) -> (bool, String) {
        let file = self.folder.path().join("claim.yaml");
        fs::write(&file, testplatform_package::to_yaml(claim).unwrap()).unwrap();
        let composition = if claim["kind"] == Flavour::Cluster.kind() {
            "testplatform-test-cluster.yaml"
        } else {
            "testplatform-ephemeral-cluster.yaml"
        };
        let arguments = RenderArgs {
            xr: file,
            composition: repository().join("package/compositions").join(composition),
            required_resources: self.environment.clone(),
            now: Some(self.now),
            ..RenderArgs::default()
        };
        let (input, _) = testplatform_render::Input::load(&arguments, self.now).unwrap();
        let response = testplatform_render::run(&input, self.now).unwrap().passes.pop().unwrap().response;
        let said = response.conditions.iter().find(|c| c.r#type == "RequestAccepted").unwrap();
        let accepted = said.status() == Status::ConditionTrue;
        // Prerequisites were requested, so the claim is not refused.
        let begun = ["PlatformCredentialsNotReady", "PrerequisitesNotReady"].contains(&said.reason.as_str());
        let good = begun || accepted && ["Accepted", "TemplateDeprecated"].contains(&said.reason.as_str());
        (good, format!("{}: {:?}", said.reason, said.message))
    }
}

/// Of every offer a claim of either kind is taken, by the catalogue that it was made of.
fn are_served(what: &str, environment: &[PathBuf], tenants: &[String], offers: &Offers) {
    let judge = Judge::new(environment);
    for offer in &offers.offers {
        assert_eq!(offer.fill_in, [""; 0], "{what}: {}", offer.name);
        let value = serde_json::to_value(offer).unwrap();
        for flavour in Flavour::ALL {
            let judged =
                |tenant: &String| judge.judged(&plugin::build_claim(&value, flavour, None, Some(tenant)));
            let judged: Vec<(bool, String)> = tenants.iter().map(judged).collect();
            let served = judged.iter().filter(|(good, _)| *good).count();
            assert!(served > 0, "{what}: {} as {}: {judged:#?}", offer.name, flavour.kind());
            assert!(offer.restricted || served == tenants.len(), "{what}: {}: {judged:#?}", offer.name);
        }
    }
}

fn tenants(text: &str) -> Vec<String> {
    let mut found = BTreeSet::from(["anybody".to_owned()]);
    for document in serde_saphyr::from_multiple::<Value>(text).unwrap() {
        let data = &document["data"];
        let of_pools = data["pools"].as_array().into_iter().flatten().map(|pool| &pool["allowedTenants"]);
        let lists = of_pools.chain([&data["allowedTenants"]]);
        found
            .extend(lists.filter_map(Value::as_array).flatten().filter_map(Value::as_str).map(str::to_owned));
    }
    found.remove("*");
    found.into_iter().collect()
}

/// The documents and the plugin's tests read this file. `SNAPSHOTS=overwrite` writes it.
#[test]
fn the_sample_is_what_the_samples_of_catalogues_offer() {
    let made = generate_offers(&samples(), &BTreeSet::new()).unwrap();
    let text = config_map(&made.offers, offer::NAMESPACE).unwrap();
    let path = repository().join("package/install/examples/offers.yaml");
    if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), text);
    assert_eq!((made.offers.offers.len(), made.omitted), (5, vec![]));
    let object: Value = serde_saphyr::from_str(&text).unwrap();
    let read: Offers = serde_saphyr::from_str(object["data"][offer::KEY].as_str().unwrap()).unwrap();
    assert_eq!(read, made.offers, "what is written reads back as what was meant");
    let folder = repository().join("package/install/examples");
    let files: Vec<PathBuf> = SAMPLES.iter().map(|name| folder.join(name)).collect();
    let all = joined();
    are_served("samples", &files, &tenants(&all), &read);
}

#[test]
fn the_conformance_recipe_requests_served_offers() {
    let folder = repository().join("package/install/examples");
    let judge = Judge::new(&SAMPLES.map(|name| folder.join(name)));
    for name in ["openshift.yaml", "kubernetes.yaml"] {
        let path = repository().join("examples/conformance").join(name);
        let claim: Value = serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let (good, said) = judge.judged(&claim);
        assert!(good, "{name}: {said}");
    }
}

/// Every catalogue that the examples have.
#[test]
fn offers_are_served() {
    let (mut served, mut refused) = (0, vec![]);
    let mut folders: Vec<_> =
        fs::read_dir(repository().join("examples")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    for folder in folders {
        let path = folder.join("environment.yaml");
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let what = folder.file_name().unwrap().to_string_lossy().into_owned();
        match of(&text) {
            Ok(made) => {
                served += made.offers.offers.len();
                are_served(&what, &[path], &tenants(&text), &made.offers);
            }
            // Of claims for ci-operator.
            Err(problems) if problems[0].contains("has no EnvironmentConfig with the label") => {}
            Err(_) => refused.push(what),
        }
    }
    assert!(served > 20, "{served}");
    assert_eq!(refused, ["hive-catalogue"], "which is there to show a broken one");
}
