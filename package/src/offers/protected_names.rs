//! Protection of hub and tenant names in public offers. Offers have no field for such names, so this searches texts and names that people
//! write.

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
    CheckProblem,
    catalogue::{CataloguePart, lines::Lines},
};

/// Characters inside of a name, but not at its ends.
const ENDS: [char; 3] = ['.', '-', '_'];

/// Location of a document.
pub(super) struct DocumentPlace {
    file: String,
    line: usize,
    lines: Lines,
}

impl DocumentPlace {
    /// The location of a document that starts on a line.
    pub fn of(file: &str, line: usize, document: &str) -> Self {
        Self { file: file.to_owned(), line, lines: Lines::parse(document) }
    }

    /// The location of a field, as `file:line`.
    pub fn at(&self, path: &str) -> String {
        format!("{}:{}", self.file, self.line + self.lines.find_line(path).saturating_sub(1))
    }
}

/// The protected names, each with its type.
#[derive(Debug, Default)]
pub(super) struct ProtectedNames(BTreeMap<String, &'static str>);

impl ProtectedNames {
    /// Collects the names in an entry, a catalogue of pools or a ProviderConfig.
    pub fn collect_names(&mut self, document: &Value) {
        let data = &document["data"];
        match CataloguePart::classify(document) {
            Some(CataloguePart::Template) => {
                let tenants =
                    data["allowedTenants"].as_array().into_iter().flatten().filter_map(Value::as_str);
                self.add_names("a tenant", tenants);
            }
            Some(CataloguePart::Pools) => {
                let catalogue =
                    Catalogue::from_data(data).map(|(catalogue, _)| catalogue).unwrap_or_default();
                let hubs = catalogue.hubs.iter().flat_map(|hub| [hub.name.as_str(), hub.provider_config()]);
                self.add_names("a hub", hubs);
                let tenants =
                    catalogue.pools.iter().flat_map(|pool| pool.allowed_tenants.iter().map(String::as_str));
                self.add_names(
                    "a tenant",
                    tenants.chain(catalogue.quotas.iter().map(|quota| quota.tenant.as_str())),
                );
            }
            _ if document["kind"] == provider_config::KIND
                || document["kind"] == provider_config::CLUSTER_KIND =>
            {
                let Ok(config) = serde_json::from_value::<ProviderConfig>(document.clone()) else { return };
                self.add_names("a hub", [config.metadata.name.as_str()].into_iter());
                let Some(Ok(hub)) = Hub::from_provider_config(&config) else { return };
                let tenants =
                    hub.tenants.allow.iter().flatten().chain(&hub.tenants.deny).chain(&hub.tenants.dedicated);
                self.add_names("a tenant", tenants.map(String::as_str));
            }
            _ => {}
        }
    }

    fn add_names<'a>(&mut self, of: &'static str, names: impl Iterator<Item = &'a str>) {
        for name in names.filter(|name| *name != EVERYBODY && !name.is_empty()) {
            self.0.entry(name.to_lowercase()).or_insert(of);
        }
    }

    /// Each place in an offer with one of the names, except for allowed ones.
    pub fn find_leaks(
        &self,
        offer: &Offer,
        place: &DocumentPlace,
        sayable: &BTreeSet<String>,
    ) -> Vec<CheckProblem> {
        let mut texts = Vec::new();
        collect_texts("", &serde_json::to_value(offer).unwrap_or_default(), &mut texts);
        let mut reported = BTreeMap::new();
        for (path, text) in &texts {
            for word in split_words(text) {
                if let Some((name, of)) = self.0.get_key_value(&word).filter(|_| !sayable.contains(&word)) {
                    // A text that the starter claim repeats is reported once.
                    reported.entry(name).or_insert((path, of));
                }
            }
        }
        let problem = |(name, (path, of)): (&String, (&String, &&str))| {
            let path = catalogue_path(path);
            let text = format!(
                "{path}: {} says {name}, which is the name of {of}, and everybody reads what is offered: reword it, or allow the word with --may-say {name}",
                offer.name
            );
            CheckProblem::error(place.at(&path), text)
        };
        reported.into_iter().map(problem).collect()
    }
}

/// Texts and keys, with their paths. The starter claim comes last, because it repeats others.
fn collect_texts(path: &str, value: &Value, texts: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => texts.push((path.to_owned(), text.clone())),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(i, item)| collect_texts(&format!("{path}[{i}]"), item, texts));
        }
        Value::Object(members) => {
            let (last, first): (Vec<_>, Vec<_>) =
                members.iter().partition(|(key, _)| key.as_str() == "starter");
            for (key, member) in first.into_iter().chain(last) {
                let path = join_path(path, key);
                texts.push((path.clone(), key.clone()));
                collect_texts(&path, member, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Words that could be names.
fn split_words(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|c: char| !c.is_alphanumeric() && !ENDS.contains(&c));
    parts.map(|word| word.trim_matches(ENDS).to_lowercase()).filter(|word| !word.is_empty())
}

/// Source of a field in the catalogue.
fn catalogue_path(path: &str) -> String {
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
    fn only_complete_names_are_found() {
        let of = |text: &str| split_words(text).collect::<Vec<_>>();
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
            assert_eq!(catalogue_path(path), of);
        }
    }
}
