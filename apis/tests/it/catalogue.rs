//! The catalogue of pools: an entry that cannot be used is named and hurts no other.

use serde_json::{Value, json};
use testplatform_apis::catalogue::{Catalogue, Pool};
use testplatform_apis::duration::GoDuration;

fn pool(name: &str) -> Value {
    json!({
        "name": name, "namespace": "hive-pools", "hub": "a", "allowedTenants": ["team-a"],
        "subject": { "name": "provider", "namespace": "testplatform" },
    })
}

fn read(data: &Value) -> (Vec<String>, Vec<String>) {
    let (catalogue, flaws) = Catalogue::from_data(data).unwrap();
    let names = catalogue.pools.iter().map(|p| p.name.to_string()).collect();
    (names, flaws.iter().map(ToString::to_string).collect())
}

#[test]
fn every_flaw_is_named_and_the_rest_is_used() {
    let mut broken = vec![pool("good")];
    for (field, value) in [
        ("hub", json!("b")),
        ("defaultLifetime", json!("1d")),
        ("maxLifetime", json!("5s")),
        ("weight", json!(101)),
        ("cost", json!(-1)),
        ("allowedTenants", json!("team-a")),
        ("subject", json!({ "name": "provider" })),
        ("namespace", json!("Not A Namespace")),
    ] {
        let mut entry = pool(&format!("x-{}", field.to_lowercase()));
        entry[field] = value;
        broken.push(entry);
    }
    broken.push(pool("good"));
    broken.push(json!("no pool"));
    let data = json!({
        "pools": broken, "hubs": [{ "name": "a" }, { "name": "a", "cordon": true }, { "name": "Not A Name" }],
        "quotas": [{ "tenant": "team-a", "maxConcurrent": 2 }, { "tenant": "team-a" }, { "budget": 5 }], "later": {},
    });
    let (names, flaws) = read(&data);
    assert_eq!(names, ["good"]);
    let expected = [
        ("quotas[2]", "tenant"),
        ("hubs[1] (a)", "above"),
        ("hubs[2] (Not A Name)", "ProviderConfig"),
        ("pools[1] (x-hub)", "is not one of hubs"),
        ("pools[2] (x-defaultlifetime)", "not a duration"),
        ("pools[3] (x-maxlifetime)", "at least 1m"),
        ("pools[4] (x-weight)", "above 100"),
        ("pools[5] (x-cost)", "-1"),
        ("pools[6] (x-allowedtenants)", "sequence"),
        ("pools[7] (x-subject)", "namespace"),
        ("pools[8] (x-namespace)", "RFC 1123"),
        ("pools[9] (good)", "above"),
        ("pools[10]", "expected struct"),
        ("quotas[1] (team-a)", "above"),
    ];
    assert_eq!(flaws.len(), expected.len(), "{flaws:#?}");
    for (entry, part) in expected {
        let says = |f: &&String| f.starts_with(&format!("{entry}: ")) && f.contains(part);
        assert!(flaws.iter().any(|f| says(&f)), "{entry}: {part} is not in {flaws:#?}");
    }
    for (list, word) in [("pools", json!({})), ("hubs", json!("a")), ("quotas", json!(5))] {
        let error = Catalogue::from_data(&json!({ list: word })).unwrap_err();
        assert_eq!(error, format!("data.{list} is not a list"));
    }
}

#[test]
fn unset_fields_have_defaults() {
    let (catalogue, flaws) =
        Catalogue::from_data(&json!({ "pools": [pool("p")], "hubs": [{ "name": "a" }] })).unwrap();
    assert_eq!(flaws, []);
    let pool: &Pool = &catalogue.pools[0];
    assert_eq!((pool.cost, pool.weight, pool.max_lifetime), (1, 1, None));
    let hub = catalogue.find_hub(pool).unwrap();
    assert_eq!((hub.provider_config(), hub.max_clusters, hub.cordon), ("a", None, false));
    assert_eq!(catalogue.find_quota("team-a"), None);
    assert_eq!(Catalogue::from_data(&Value::Null), Ok((Catalogue::default(), vec![])));
    let mut data = json!({ "pools": [self::pool("p")], "hubs": [{ "name": "a", "maxClusters": 3 }] });
    data["pools"][0]["cost"] = json!(2);
    data["pools"][0]["maxLifetime"] = json!("4h");
    let (catalogue, _) = Catalogue::from_data(&data).unwrap();
    assert_eq!(catalogue.pools[0].max_lifetime, Some(GoDuration::from_hours(4)));
    assert_eq!((catalogue.pools[0].cost, catalogue.hubs[0].max_clusters), (2, Some(3)));
}

#[test]
fn pools_with_tenant_credentials_need_a_cloud() {
    let carrier = json!({ "name": "carrier", "namespace": "hub" });
    let mut data = json!({ "hubs": [{ "name": "hive-1" }], "pools": [pool("a"), pool("b")] });
    let hub = data["pools"][0]["hub"].clone();
    data["hubs"][0]["name"] = hub;
    for (index, cloud) in ["gcp", "vsphere"].into_iter().enumerate() {
        data["pools"][index]["labels"]["cloud"] = cloud.into();
        data["pools"][index]["bringYourOwn"] = json!({ "imageSet": "ocp", "carrier": carrier });
    }
    let (catalogue, flaws) = Catalogue::from_data(&data).unwrap();
    assert_eq!(catalogue.pools.len(), 1);
    assert_eq!(catalogue.pools[0].bring_your_own.as_ref().unwrap().image_set.as_str(), "ocp");
    assert_eq!(
        flaws[0].to_string(),
        "pools[1] (b): with bringYourOwn it needs label cloud: aws, azure or gcp"
    );
}

#[test]
fn tenants_are_exact_names_or_everybody() {
    let tenants = |list: &[&str]| -> Pool {
        let mut entry = pool("p");
        entry["allowedTenants"] = json!(list);
        serde_json::from_value(entry).unwrap()
    };
    assert!(tenants(&["team-a"]).is_allowed_for(Some("team-a")));
    assert!(!tenants(&["team-*"]).is_allowed_for(Some("team-a")));
    assert!(tenants(&["x", "*"]).is_allowed_for(Some("team-a")));
    assert!(!tenants(&[]).is_allowed_for(Some("team-a")));
    assert!(tenants(&[]).is_allowed_for(None), "an administrator may use any");
    let data = json!({ "quotas": [{ "tenant": "*", "budget": 1 }, { "tenant": "team-a", "budget": 9 }] });
    let (catalogue, _) = Catalogue::from_data(&data).unwrap();
    assert_eq!(catalogue.find_quota("team-a").unwrap().budget, Some(9));
    assert_eq!(catalogue.find_quota("team-b").unwrap().budget, Some(1));
}
