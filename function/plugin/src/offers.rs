//! Offers of the platform team, as published in ConfigMap `testplatform-offers`: tables of them, and claims to begin with.
//!
//! Input: the ConfigMap. Output: lines, and a claim. Only shown members are read, so that additions of a newer version do no harm.

use std::path::Path;

use serde_json::{Map, Value, json};
use testplatform_apis::{
    claim::API_VERSION,
    offer::{CONFIG_MAP, FORMAT, KEY},
    test_cluster::default_secret,
    text::bounded,
    yaml,
};

use super::{
    claim::{Flavour, text},
    exit::{Exit, Stop},
    table::align_columns,
};

/// The most of a cell.
const CELL: usize = 60;
/// The most of an offer's name in that of a claim, so that there is room for what Crossplane appends.
const ROOM: usize = 50;
/// Letters of Kubernetes' generated names: they form no words.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// The offers in the ConfigMap.
pub fn parse_offers(config_map: &Value) -> Result<Vec<Value>, Stop> {
    let wrong = |why: String| {
        let advice = "Tell the platform team: `cargo xpkg generate offers` writes it.";
        Stop::new(Exit::Error, format!("ConfigMap {CONFIG_MAP} cannot be read: {why}"), advice)
    };
    let Some(yaml) = config_map["data"][KEY].as_str() else {
        return Err(wrong(format!("it has no key {KEY}")));
    };
    let mut all = yaml::parse_one(Path::new(KEY), yaml).map_err(|error| wrong(error.to_string()))?;
    match all["format"].as_u64() {
        Some(format) if format == u64::from(FORMAT) => {}
        Some(format) => {
            let message =
                format!("ConfigMap {CONFIG_MAP} is of format {format}, and this program reads {FORMAT}");
            return Err(Stop::new(
                Exit::Error,
                message,
                "Use the plugin's version that matches the installation.",
            ));
        }
        None => return Err(wrong("it does not say its format".to_owned())),
    }
    match all["offers"].take() {
        Value::Array(offers) => Ok(offers),
        _ => Err(wrong("it has no list of offers".to_owned())),
    }
}

/// Block and name, which are unique.
pub fn label(offer: &Value) -> String {
    bounded(&format!("{}/{}", text(offer, "/block"), text(offer, "/name")), 600)
}

/// The one of a name, with its block before it or without.
pub fn find_offer(mut offers: Vec<Value>, name: &str) -> Result<Value, Stop> {
    offers.retain(|offer| text(offer, "/name") == name || label(offer) == name);
    match (offers.pop(), offers.first()) {
        (Some(offer), None) => Ok(offer),
        (Some(one), Some(other)) => {
            let advice = format!("Say {} or {}.", label(other), label(&one));
            Err(Stop::new(Exit::Usage, format!("there are several offers named {name}"), advice))
        }
        (None, _) => {
            let advice = "`kubectl testplatform offers` lists the existing ones.";
            Err(Stop::new(Exit::NotFound, format!("there is no offer {name}"), advice))
        }
    }
}

/// The table of all.
pub fn table(offers: &[Value]) -> Vec<String> {
    let mut rows = vec![["NAME", "BLOCK", "FOR", "VERSIONS", "CLASSES", "COST", "TITLE"].map(str::to_owned)];
    rows.extend(offers.iter().map(|offer| {
        let old = if offer["deprecated"].is_null() { "" } else { " (deprecated)" };
        let versions = list(offer, "versions").map(|version| text(version, "/version")).collect::<Vec<_>>();
        let row = [
            text(offer, "/name").to_owned(),
            text(offer, "/block").to_owned(),
            describe_audience(offer).to_owned(),
            bounded(&versions.join(", "), CELL),
            bounded(&keys(&offer["nodeClasses"]), CELL),
            word(&offer["cost"]),
            format!("{}{old}", text(offer, "/title")),
        ];
        row.map(|cell| bounded(&cell, 600))
    }));
    align_columns(&rows)
}

/// Everything that is told of one.
pub fn describe_offer(offer: &Value) -> Vec<String> {
    let version = |version: &Value| {
        let own = text(version, "/version");
        let default = if own == text(offer, "/defaultVersion") { " (default)" } else { "" };
        let old = text(version, "/deprecated");
        let old = if old.is_empty() { String::new() } else { format!(" (deprecated: {old})") };
        format!("{own}{default}{old}")
    };
    let class = |(name, class): (&String, &Value)| match text(class, "/description") {
        "" => name.clone(),
        description => format!("{name} ({description})"),
    };
    let group = |group: &Value| {
        let size =
            if group["count"].is_null() { members(&group["autoscale"], &[]) } else { word(&group["count"]) };
        format!("{}: {size} of {}", text(group, "/name"), text(group, "/class"))
    };
    let joined = |all: Vec<String>| all.join(", ");
    let mut planes = Map::new();
    for (what, of) in [("classes", "controlPlaneClasses"), ("nodes", "defaultControlPlaneReplicas")] {
        planes.extend(offer.get(of).map(|value| (what.to_owned(), value.clone())));
    }
    let planes = Value::Object(planes);
    let lines = [
        ("title", text(offer, "/title").to_owned()),
        ("description", text(offer, "/description").to_owned()),
        ("deprecated", text(offer, "/deprecated").to_owned()),
        ("for", describe_audience(offer).to_owned()),
        ("versions", joined(list(offer, "versions").map(version).collect())),
        ("classes", joined(object(&offer["nodeClasses"]).map(class).collect())),
        ("nodes", joined(list(offer, "defaultNodeGroups").map(group).collect())),
        ("control planes", members(&planes, &[])),
        ("limits", members(&offer["limits"], &[])),
        ("lifetime", word(&offer["defaultLifetime"])),
        ("at most", word(&offer["maxLifetime"])),
        ("timeouts", members(&offer["timeouts"], &[])),
        ("cost", word(&offer["cost"])),
    ];
    let filled = lines.into_iter().filter(|(_, text)| !text.is_empty());
    let rows: Vec<[String; 2]> =
        filled.map(|(what, value)| [format!("  {what}"), bounded(&value, 2048)]).collect();
    let mut lines = vec![label(offer)];
    lines.extend(align_columns(&rows));
    let mut rows = vec![["PARAMETER", "TYPE", "DEFAULT", "RULES", "DESCRIPTION"].map(str::to_owned)];
    for (before, of) in [("", "parameters"), ("nodeGroups[].", "nodeParameters")] {
        rows.extend(object(&offer[of]).map(|(name, rule)| {
            let row = [
                format!("{before}{name}"),
                word(&rule["type"]),
                word(&rule["default"]),
                members(rule, &["type", "default", "description"]),
                text(rule, "/description").to_owned(),
            ];
            row.map(|cell| bounded(&cell, 600))
        }));
    }
    if rows.len() > 1 {
        lines.push(String::new());
        lines.extend(align_columns(&rows));
    }
    lines
}

/// A name for a claim that nobody else's has: the offer's, and an end by chance, as Kubernetes makes them. With `metadata.generateName` in its place
/// kubectl would not apply the claim.
pub fn fresh_name(offer: &Value, chance: u64) -> String {
    let bytes = chance.to_le_bytes().into_iter().take(5);
    let end: String = bytes.map(|byte| char::from(LETTERS[usize::from(byte) % LETTERS.len()])).collect();
    format!("{}-{end}", own_name(offer, ROOM - end.len() - 1))
}

fn own_name(offer: &Value, most: usize) -> String {
    let cut: String = text(offer, "/name").chars().take(most).collect();
    cut.trim_end_matches(['.', '-']).to_owned()
}

/// A claim to begin with.
pub fn build_claim(offer: &Value, flavour: Flavour, name: Option<&str>, namespace: Option<&str>) -> Value {
    let name = name.map_or_else(|| own_name(offer, ROOM), str::to_owned);
    let mut spec = offer["starter"].as_object().cloned().unwrap_or_default();
    spec.insert("writeConnectionSecretToRef".into(), json!({ "name": default_secret(&name) }));
    let mut metadata = json!({ "name": name });
    if let Some(namespace) = namespace {
        metadata["namespace"] = namespace.into();
    }
    json!({ "apiVersion": API_VERSION, "kind": flavour.kind(), "metadata": metadata, "spec": spec })
}

/// The fields of that claim which its owner has to fill in.
pub fn fill_in(offer: &Value) -> Vec<String> {
    list(offer, "fillIn").filter_map(Value::as_str).map(|path| bounded(path, 253)).collect()
}

fn describe_audience(offer: &Value) -> &'static str {
    if offer["restricted"] == true { "some" } else { "all" }
}

fn list<'a>(offer: &'a Value, of: &str) -> impl Iterator<Item = &'a Value> {
    offer[of].as_array().into_iter().flatten()
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn keys(value: &Value) -> String {
    object(value).map(|(key, _)| key.as_str()).collect::<Vec<_>>().join(", ")
}

/// The members of an object on one line.
fn members(value: &Value, but: &[&str]) -> String {
    let member = |(key, value): (&String, &Value)| match value {
        Value::Bool(true) => key.clone(),
        value => format!("{key} {}", word(value)),
    };
    object(value)
        .filter(|(key, value)| !but.contains(&key.as_str()) && **value != Value::Bool(false))
        .map(member)
        .collect::<Vec<_>>()
        .join("; ")
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(word).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
