//! The table of hub requirements, in the reference of the documentation.

use super::needs::{CheckPlan, Permission, Subject};

/// The table.
pub fn render_table() -> String {
    let plan = CheckPlan::default();
    let mut out = String::from(
        "| `--backend` | claims with | served | rights of the Konflux identity | advised, in every namespace |\n\
         | --- | --- | --- | --- | --- |\n",
    );
    for subject in Subject::ALL {
        let served = subject.kinds().into_iter();
        let served: Vec<String> = served
            .map(|kind| format!("`{}.{}` {}", kind.plural, kind.group, kind.versions.join(" or ")))
            .collect();
        let needs = plan.needs(subject);
        let of = |advised: bool, somewhere: &dyn Fn(&Permission) -> bool| {
            describe_rights(
                needs.iter().filter(|n| n.advised == advised && somewhere(&n.right)).map(|n| &n.right),
            )
        };
        let mut here = of(false, &|_| true);
        here.extend(
            of(true, &|right| right.namespace.is_some()).into_iter().map(|text| format!("advised: {text}")),
        );
        let everywhere = of(true, &|right| right.namespace.is_none());
        let cells = [
            subject.as_str().to_owned(),
            subject.claims().to_owned(),
            served.join(", "),
            here.join("; "),
            everywhere.join("; "),
        ];
        out.push_str("| ");
        out.push_str(&cells.join(" | "));
        out.push_str(" |\n");
    }
    out
}

/// Rights as text. Rights with equal verbs and place share an entry.
fn describe_rights<'r>(rights: impl Iterator<Item = &'r Permission>) -> Vec<String> {
    let mut verbs: Vec<(&Permission, Vec<&str>)> = Vec::new();
    for right in rights {
        match verbs.iter_mut().find(|(known, _)| is_same_thing(known, right)) {
            Some((_, verbs)) => verbs.push(right.verb),
            None => verbs.push((right, vec![right.verb])),
        }
    }
    let mut places: Vec<(Vec<&str>, &Option<String>, Vec<String>)> = Vec::new();
    for (Permission { resource, namespace, name, .. }, verbs) in verbs {
        let what = match name {
            Some(name) => format!("{} `{name}`", resource.trim_end_matches('s')),
            None => (*resource).to_owned(),
        };
        match places.iter_mut().find(|(known, place, _)| *known == verbs && *place == namespace) {
            Some((_, _, all)) => all.push(what),
            None => places.push((verbs, namespace, vec![what])),
        }
    }
    let words = |(verbs, namespace, all): (Vec<&str>, &Option<String>, Vec<String>)| {
        let place = namespace.as_ref().map(|namespace| format!(" in `{namespace}`")).unwrap_or_default();
        format!("{} {}{place}", verbs.join(", "), all.join(", "))
    };
    places.into_iter().map(words).collect()
}

fn is_same_thing(one: &Permission, other: &Permission) -> bool {
    let key = |right: &Permission| (right.group, right.resource, right.name);
    key(one) == key(other) && one.namespace == other.namespace
}
