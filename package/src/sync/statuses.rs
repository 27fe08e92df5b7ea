//! Statuses: whether the hub's CRD accepts and preserves the statuses that this version's provider writes.

use serde_json::Value;

use super::{
    compatibility::{evaluate_change, is_cosmetic},
    differences::{Difference, describe_change},
    schema::{Change, PROPERTY, diff_schemas},
};
use crate::bump::schema::Verdict;

/// Fields that our schema of `status` allows and the CRD refuses or drops, without listed differences.
pub fn unsafe_statuses(crd: &Value, ours: &Value, list: &[Difference]) -> Vec<String> {
    let changes = if crd.is_null() {
        let (path, keyword) = ("status".to_owned(), PROPERTY.to_owned());
        vec![Change { path, keyword, before: None, after: Some(ours.clone()), demanded: false }]
    } else {
        diff_schemas("status", crd, ours)
    };
    let is_unsafe =
        |change: &&Change| !is_cosmetic(change) && evaluate_change(&reverse_change(change)) >= Verdict::Maybe;
    let is_listed = |change: &Change| list.iter().any(|difference| difference.matches_change(change));
    changes.iter().filter(is_unsafe).filter(|change| !is_listed(change)).map(advise_change).collect()
}

fn reverse_change(change: &Change) -> Change {
    let Change { path, keyword, before, after, .. } = change.clone();
    Change { path, keyword, before: after, after: before, demanded: false }
}

fn advise_change(change: &Change) -> String {
    let effect = if change.keyword == PROPERTY {
        "the provider reads it back and would miss it"
    } else {
        "the API server would refuse the whole status that this version writes"
    };
    format!(
        "{}; {effect}. Do not install this CRD before the provider is updated; list the difference in \
         package/sync/differences.yaml once the provider is right under both",
        describe_change(change)
    )
}
