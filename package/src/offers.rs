//! `cargo xpkg generate offers`: the catalogues of templates and pools → ConfigMap `testplatform-offers`, which is public.
//!
//! Input: names and texts of files. Output: the offers, or all problems that prevent them. Only [`command`] touches the disk.
//!
//! **Invariant:** a catalogue with a problem gives no offers at all.
//! **Invariant:** no offer contains the name of a hub or tenant that is in the files, whoever wrote it there.

pub mod command;
mod pool;
mod protected_names;
mod starter;
mod template;

use std::collections::BTreeSet;

use anyhow::Context as _;
use serde_json::{Value, json};
use testplatform_apis::{
    catalogue::Catalogue,
    offer::{CONFIG_MAP, FORMAT, KEY, MAX_SIZE, Offer, Offers},
    template::entry::Entry,
};

use crate::{
    check::{
        CheckProblem,
        catalogue::{self, CataloguePart},
        stream::split_documents,
    },
    to_yaml,
};
use protected_names::{DocumentPlace, ProtectedNames};

/// Offers, and omitted entries.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedOffers {
    /// Offers of the catalogues.
    pub offers: Offers,
    /// Catalogue entries that nobody may request: name and reason of each.
    pub omitted: Vec<String>,
}

/// Builds the offers of the catalogues in these files, or returns all problems.
///
/// `sayable` are names of hubs and tenants that are also everyday words, and allowed in offers.
///
/// # Errors
/// Problems of `cargo xpkg check catalogue`; otherwise each place with the name of a hub or tenant.
pub fn generate_offers(
    files: &[(String, String)],
    sayable: &BTreeSet<String>,
) -> Result<GeneratedOffers, Vec<CheckProblem>> {
    let checked = catalogue::check_catalogue(files);
    if !checked.problems.is_empty() {
        return Err(checked.problems);
    }
    let mut secretive = ProtectedNames::default();
    let mut offers: Vec<(Offer, DocumentPlace)> = Vec::new();
    let mut omitted = Vec::new();
    for (file, text) in files {
        for (line, document) in split_documents(text) {
            // The catalogue check above reports invalid YAML.
            let Ok(value) = serde_saphyr::from_str::<Value>(document) else { continue };
            secretive.collect_names(&value);
            let place = || DocumentPlace::of(file, line, document);
            match CataloguePart::classify(&value) {
                Some(CataloguePart::Template) => {
                    let name = value["metadata"]["name"].as_str().unwrap_or_default();
                    let Ok(entry) = Entry::from_data(name, &value["data"]) else { continue };
                    match template::build_offer(&entry) {
                        Ok(offer) => offers.push((offer, place())),
                        Err(why) => omitted.push(format!("template {name}: {why}")),
                    }
                }
                Some(CataloguePart::Pools) => {
                    let Ok((read, _)) = Catalogue::from_data(&value["data"]) else { continue };
                    let (own, without) = pool::build_offers(&read);
                    offers.extend(own.into_iter().map(|offer| (offer, place())));
                    omitted.extend(without);
                }
                Some(CataloguePart::Neither) | None => {}
            }
        }
    }
    offers.sort_by(|(one, _), (other, _)| (one.block, &one.name).cmp(&(other.block, &other.name)));
    let mut problems = Vec::new();
    for pair in offers.windows(2) {
        if let [(one, _), (other, place)] = pair
            && (one.block, &one.name) == (other.block, &other.name)
        {
            let text = format!("data: {} is offered by another catalogue of pools too", other.name);
            problems.push(CheckProblem::error(place.at("data"), text));
        }
    }
    for (offer, place) in &offers {
        problems.extend(secretive.find_leaks(offer, place, sayable));
    }
    omitted.sort();
    let offers = Offers { format: FORMAT, offers: offers.into_iter().map(|(offer, _)| offer).collect() };
    if problems.is_empty() { Ok(GeneratedOffers { offers, omitted }) } else { Err(problems) }
}

/// The ConfigMap as YAML. Equal offers give equal bytes.
///
/// # Errors
/// If it is too large to apply.
pub fn config_map(offers: &Offers, namespace: &str) -> anyhow::Result<String> {
    let mut text = serde_json::to_value(offers).context("offers have no form in JSON")?;
    text["offers"].as_array_mut().into_iter().flatten().for_each(simplify_offer);
    let text = to_yaml(&strip_fraction(text))?;
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": CONFIG_MAP,
            "namespace": namespace,
            "annotations": { "argocd.argoproj.io/sync-wave": "4" },
        },
        "data": { KEY: text },
    });
    let size = object.to_string().len();
    anyhow::ensure!(
        size <= MAX_SIZE,
        "the ConfigMap has {size} bytes, and `kubectl apply` takes {MAX_SIZE} at most: shorten descriptions, or leave files out"
    );
    Ok(format!(
        "# Generated by `cargo xpkg generate offers` from the catalogues of templates and pools. Do not edit.\n{}",
        to_yaml(&object)?
    ))
}

/// Simplifies an offer for readers: `2h` for `2h0m0s`, and no irrelevant fields of parameters.
fn simplify_offer(offer: &mut Value) {
    for path in ["/defaultLifetime", "/maxLifetime", "/timeouts/provision", "/timeouts/teardown"] {
        if let Some(Value::String(text)) = offer.pointer_mut(path) {
            *text = starter::shorten_duration(text);
        }
    }
    for list in ["parameters", "nodeParameters"] {
        let rules = offer.get_mut(list).and_then(Value::as_object_mut);
        for rule in rules.into_iter().flatten().filter_map(|(_, rule)| rule.as_object_mut()) {
            rule.retain(|key, value| key == "default" || *value != Value::Bool(false));
        }
    }
}

/// Whole numbers without a fraction: 3 for 3.0.
fn strip_fraction(value: Value) -> Value {
    match value {
        Value::Number(number) => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "within 2^53, where doubles are whole numbers"
            )]
            let short = number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 9e15).map(|n| n as i64);
            short.map_or(Value::Number(number), Value::from)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(strip_fraction).collect()),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(k, v)| (k, strip_fraction(v))).collect())
        }
        other => other,
    }
}
