//! No name of a hub or of a tenant is said to everybody. Offers have no field for one, so what is looked for here is what people write
//! into texts and names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use testplatform_apis::{
    catalogue::{Catalogue, EVERYBODY},
    foreign::provider_config::{self, ProviderConfig},
    hub::Hub,
    offer::Offer,
    template::parameter::join_path,
};

use crate::check::{
    Problem,
    catalogue::{Part, lines::Lines},
};

/// What is a part of a name, and not at its ends.
const ENDS: [char; 3] = ['.', '-', '_'];

/// Where a document is.
pub(super) struct Place {
    file: String,
    line: usize,
    lines: Lines,
}

impl Place {
    /// Of a document that begins on a line.
    pub fn of(file: &str, line: usize, document: &str) -> Self {
        Self { file: file.to_owned(), line, lines: Lines::of(document) }
    }

    /// A field of it, as `file:line`.
    pub fn at(&self, path: &str) -> String {
        format!("{}:{}", self.file, self.line + self.lines.line(path).saturating_sub(1))
    }
}

/// The names that are not said, each with what it is the name of.
#[derive(Debug, Default)]
pub(super) struct Secretive(BTreeMap<String, &'static str>);

impl Secretive {
    /// Takes the names out of an entry, a catalogue of pools or a ProviderConfig.
    pub fn hear(&mut self, document: &Value) {
        let data = &document["data"];
        match Part::of(document) {
            Some(Part::Template) => {
                let tenants =
                    data["allowedTenants"].as_array().into_iter().flatten().filter_map(Value::as_str);
                self.add("a tenant", tenants);
            }
            Some(Part::Pools) => {
                let catalogue =
                    Catalogue::from_data(data).map(|(catalogue, _)| catalogue).unwrap_or_default();
                let hubs = catalogue.hubs.iter().flat_map(|hub| [hub.name.as_str(), hub.provider_config()]);
                self.add("a hub", hubs);
                let tenants =
                    catalogue.pools.iter().flat_map(|pool| pool.allowed_tenants.iter().map(String::as_str));
                self.add(
                    "a tenant",
                    tenants.chain(catalogue.quotas.iter().map(|quota| quota.tenant.as_str())),
                );
            }
            _ if document["kind"] == provider_config::KIND
                || document["kind"] == provider_config::CLUSTER_KIND =>
            {
                let Ok(config) = serde_json::from_value::<ProviderConfig>(document.clone()) else { return };
                self.add("a hub", [config.metadata.name.as_str()].into_iter());
                let Some(Ok(hub)) = Hub::from_provider_config(&config) else { return };
                let tenants =
                    hub.tenants.allow.iter().flatten().chain(&hub.tenants.deny).chain(&hub.tenants.dedicated);
                self.add("a tenant", tenants.map(String::as_str));
            }
            _ => {}
        }
    }

    fn add<'a>(&mut self, of: &'static str, names: impl Iterator<Item = &'a str>) {
        for name in names.filter(|name| *name != EVERYBODY && !name.is_empty()) {
            self.0.entry(name.to_lowercase()).or_insert(of);
        }
    }

    /// Each place where an offer says one of the names, but for those that may be said.
    pub fn named(&self, offer: &Offer, place: &Place, sayable: &BTreeSet<String>) -> Vec<Problem> {
        let mut texts = Vec::new();
        collect("", &serde_json::to_value(offer).unwrap_or_default(), &mut texts);
        let mut said = BTreeMap::new();
        for (path, text) in &texts {
            for word in words(text) {
                if let Some((name, of)) = self.0.get_key_value(&word).filter(|_| !sayable.contains(&word)) {
                    // What is repeated in the claim to begin with is said once.
                    said.entry(name).or_insert((path, of));
                }
            }
        }
        let problem = |(name, (path, of)): (&String, (&String, &&str))| {
            let path = source(path);
            let text = format!(
                "{path}: {} says {name}, which is the name of {of}, and everybody reads what is offered: reword it, or allow the word with --may-say {name}",
                offer.name
            );
            Problem::error(place.at(&path), text)
        };
        said.into_iter().map(problem).collect()
    }
}

/// Texts and keys, with their paths. The claim to begin with comes last, as it repeats others.
fn collect(path: &str, value: &Value, texts: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => texts.push((path.to_owned(), text.clone())),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| collect(&format!("{path}[{i}]"), item, texts));
        }
        Value::Object(members) => {
            let (last, first): (Vec<_>, Vec<_>) =
                members.iter().partition(|(key, _)| key.as_str() == "starter");
            for (key, member) in first.into_iter().chain(last) {
                let path = join_path(path, key);
                texts.push((path.clone(), key.clone()));
                collect(&path, member, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Words as names are made of them.
fn words(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|c: char| !c.is_alphanumeric() && !ENDS.contains(&c));
    parts.map(|word| word.trim_matches(ENDS).to_lowercase()).filter(|word| !word.is_empty())
}

/// Where in the catalogue it comes from.
fn source(path: &str) -> String {
    let path = path.trim_start_matches('.');
    let renamed = [("nodeClasses", "allowedNodeClasses"), ("versions", "releases")];
    let renamed =
        renamed.iter().find_map(|(own, theirs)| Some(format!("{theirs}{}", path.strip_prefix(own)?)));
    match path {
        "name" => "metadata.name".to_owned(),
        _ if path.starts_with("starter") => "data".to_owned(),
        _ => format!("data.{}", renamed.unwrap_or_else(|| path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole_names() {
        let of = |text: &str| words(text).collect::<Vec<_>>();
        assert_eq!(of("on Hive-1, for team-a."), ["on", "hive-1", "for", "team-a"]);
        assert_eq!(of("^team-a-[a-z]+$"), ["team-a", "a-z"]);
        assert_eq!(of("quay.io/team-a/x:4.20.3"), ["quay.io", "team-a", "x", "4.20.3"]);
        assert_eq!(of(" .-_ "), [""; 0]);
    }

    #[test]
    fn paths_are_those_of_the_catalogue() {
        for (path, of) in [
            ("name", "metadata.name"),
            ("title", "data.title"),
            ("nodeClasses.small.description", "data.allowedNodeClasses.small.description"),
            ("versions[1].deprecated", "data.releases[1].deprecated"),
            ("starter.clusterClaim.owner", "data"),
        ] {
            assert_eq!(source(path), of);
        }
    }
}
