//! Values of parameters, of a cluster or of a node group.

use serde_json::Value;
use testplatform_apis::{
    condition::Request,
    template::{
        companions::Values,
        entry::Rules,
        parameter::{MAX_SIZE, join_path},
    },
};

use super::{catalogue, refusal::Refusals};

/// Parameters with their values: the claim's, else what was asked for before, else the default. The second is what may be shown.
///
/// `fresh`: by this template nothing was asked for before. Otherwise what was left out then stays left out, whatever the entry says by
/// now; of a Secret nothing is remembered, so that has its default.
pub(super) fn resolve_parameters(
    (path, what): (&str, &str),
    known: &Rules<'_>,
    requested: &Values,
    (before, fresh): (&Values, bool),
    reason: Request,
    refusals: &mut Refusals,
) -> (Vec<(String, Value)>, Values) {
    let size = |values: &Values| serde_json::to_string(values).map_or(0, |text| text.len());
    if size(requested) > MAX_SIZE {
        refusals.add(reason, path, format!("is larger than {} KiB in all", MAX_SIZE / 1024));
        return (vec![], Values::default());
    }
    for name in requested.0.keys().filter(|name| known.iter().all(|(k, _)| k != name)) {
        let names: Vec<String> = known.iter().map(|(name, _)| (*name).to_owned()).collect();
        let none = if names.is_empty() { "none".into() } else { catalogue::first_ten(&names) };
        refusals.add(
            reason,
            join_path(path, name),
            format!("is not a {what} of this template; it has {none}"),
        );
    }
    let (mut settings, mut shown) = (Vec::new(), Values::default());
    for (name, rule) in known {
        let remembered = before.0.get(*name);
        let own = requested.0.get(*name);
        let fresh = fresh || rule.secret;
        let default = rule.default.as_ref().filter(|_| fresh);
        let Some(value) = own.or(remembered).or(default) else {
            if rule.required && fresh {
                let for_what = rule.description.as_ref().map(|d| format!(": {d}")).unwrap_or_default();
                refusals.add(reason, join_path(path, name), format!("is required{for_what}"));
            }
            continue;
        };
        // A rule that became stricter holds for what is asked anew.
        if own.is_some() && own != remembered {
            let mut at = join_path(path, name);
            rule.check_value(&mut at, value, &mut |at, sentence| refusals.add(reason, at, sentence));
        }
        if !rule.secret {
            shown.0.insert((*name).to_owned(), value.clone());
        }
        settings.push(((*name).to_owned(), value.clone()));
    }
    (settings, shown)
}
