//! Offers: the sample fits its schema, and the format has no place for private data.

use std::{fs, path::Path};

use serde_json::{Value, json};
use testplatform_apis::offer::{CONFIG_MAP, FORMAT, KEY, NAMESPACE, Offers, build_schema};

fn sample() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../package/install/examples/offers.yaml");
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn offers() -> Value {
    serde_saphyr::from_str(sample()["data"][KEY].as_str().unwrap()).unwrap()
}

#[test]
fn sample_matches_plugin_and_schema() {
    let metadata = &sample()["metadata"];
    assert_eq!(
        (metadata["name"].as_str(), metadata["namespace"].as_str()),
        (Some(CONFIG_MAP), Some(NAMESPACE))
    );
    let schema = serde_json::to_value(build_schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut offers = offers();
    assert_eq!(validator.iter_errors(&offers).map(|e| e.to_string()).collect::<Vec<_>>(), [""; 0]);
    offers["offers"][0]["block"] = "ciOperator".into();
    assert!(!validator.is_valid(&offers), "the schema sees nothing");
}

#[test]
fn offers_round_trip() {
    let read: Offers = serde_json::from_value(offers()).unwrap();
    assert_eq!(read.format, FORMAT);
    let again: Offers = serde_json::from_value(serde_json::to_value(&read).unwrap()).unwrap();
    assert_eq!(again, read);
    // A newer writer says more of an offer.
    let mut newer = offers();
    newer["offers"][0]["newer"] = json!({ "than": "this" });
    newer["newer"] = true.into();
    assert_eq!(serde_json::from_value::<Offers>(newer).unwrap(), read);
}
