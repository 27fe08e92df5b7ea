//! Catalogue entry of a claim, and the message if there is no usable one.

use testplatform_apis::{condition::Request, template::entry::Entry, text::bounded};

use crate::cluster::{
    observed::{TemplateEntry, Templates},
    request::AdmissionIssue,
};

/// The most templates or versions that a refusal names.
pub(super) const MAX_NAMED: usize = 10;

/// The entry. `has`: a cluster of it is there, which an entry that is switched off, or offered to others by now, leaves alone.
pub(super) fn find_entry(
    templates: &Templates,
    name: &str,
    tenant: Option<&str>,
    has: bool,
) -> Result<Entry, AdmissionIssue> {
    let shown = bounded(name, 253);
    let listed = match templates {
        Templates::Found(listed) => listed,
        // This response is not the last one: core fetches the required resources and calls again.
        Templates::NotFetched => {
            return Err(AdmissionIssue::new(
                Request::TemplateNotFound,
                format!("template {shown} is not known yet: the catalogue of templates was not read"),
            ));
        }
    };
    let refused = |reason, why: &str| {
        Err(AdmissionIssue::new(reason, format!("{why}; {}", usable_templates(listed, tenant))))
    };
    let Some(found) = listed.iter().find(|l| l.name == name) else {
        return refused(Request::TemplateNotFound, &format!("there is no template {shown}"));
    };
    let entry = match Entry::from_data(name, &found.data) {
        Ok(entry) => entry,
        Err(flaws) => {
            let first: Vec<String> = flaws.iter().take(3).map(|f| bounded(&f.to_string(), 256)).collect();
            let more = flaws.len().saturating_sub(first.len());
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            return Err(AdmissionIssue::new(
                Request::CatalogueInvalid,
                format!(
                    "the catalogue's entry for template {shown} cannot be used: {}{more}; ask the platform team to repair it",
                    first.join("; ")
                ),
            ));
        }
    };
    if has {
        return Ok(entry);
    }
    if !entry.is_allowed_for(tenant) {
        let namespace = tenant.unwrap_or_default();
        let why = format!("template {shown} is not offered to namespace {namespace}");
        return refused(Request::TemplateNotAllowed, &why);
    }
    if !entry.is_enabled() {
        return refused(Request::TemplateNotFound, &format!("template {shown} is switched off"));
    }
    Ok(entry)
}

/// Up to ten templates that the tenant may use.
fn usable_templates(listed: &[TemplateEntry], tenant: Option<&str>) -> String {
    if listed.is_empty() {
        return "the catalogue has no templates; ask the platform team for one".into();
    }
    let entries = listed.iter().filter_map(|l| Entry::from_data(&l.name, &l.data).ok());
    let offered: Vec<Entry> = entries.filter(|e| e.is_enabled() && e.is_allowed_for(tenant)).collect();
    if offered.is_empty() {
        return "no template is offered to this namespace; ask the platform team for one".into();
    }
    let shown = |entry: &Entry| match &entry.document.title {
        Some(title) => format!("{} ({})", entry.name, bounded(title, 64)),
        None => entry.name.clone(),
    };
    // Deprecated templates come last, if at all.
    let (old, new): (Vec<&Entry>, Vec<&Entry>) =
        offered.iter().partition(|e| e.document.deprecated.is_some());
    let names: Vec<String> = new.into_iter().chain(old).map(shown).collect();
    format!("set spec.template to one of: {}", first_ten(&names))
}

/// The first ten, and how many more there are.
pub(super) fn first_ten(names: &[String]) -> String {
    let mut shown: Vec<String> = names.iter().take(MAX_NAMED).cloned().collect();
    if names.len() > MAX_NAMED {
        shown.push(format!("and {} more", names.len() - MAX_NAMED));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every answer names the template, so that a typo shows; a name that no object can have is cut.
    #[test]
    fn every_refusal_names_the_template() {
        let listed = |name: &str| TemplateEntry { name: name.to_owned(), data: serde_json::json!({}) };
        let all = [
            Templates::NotFetched,
            Templates::Found(vec![]),
            Templates::Found(vec![listed("hosted")]),
            Templates::Found(vec![listed("hostde")]),
        ];
        for templates in all {
            let refusal = find_entry(&templates, "hostde", Some("team-a"), false).unwrap_err();
            assert!(refusal.message.contains("template hostde"), "{}", refusal.message);
        }
        let long = find_entry(&Templates::NotFetched, &"x".repeat(4096), None, false).unwrap_err();
        assert!(long.message.len() < 400, "{}", long.message);
    }
}
