//! The checks that compare the source at two commits, and the risk that follows from them.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::schema::{self, Verdict};
use super::upstream::{self, CommitKind, Upstream};
use super::{Finding, FindingSeverity, Right, image, rights, text};

/// Allowed sources of packages.
const REGISTRIES: [&str; 1] = ["quay.io/konflux-ci/"];

/// Message prefix of a finding that makes the risk high.
const WIDE: &str = "wide rights added";

/// Risk of a bump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Risk {
    /// Only digests change.
    Low,
    /// Composed resources, rights or definitions change.
    Medium,
    /// Existing claims can break, or rights become much wider.
    High,
}

/// Findings about the source between two commits.
pub fn check_upstream(
    range: &Upstream,
    crd: Option<&Value>,
    rollback: bool,
    registries: &[String],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    check_ancestry(range, rollback, &mut findings);
    check_requests(range, crd, &mut findings);
    if range.known {
        check_definitions(range, &mut findings);
        check_compositions(range, &mut findings);
        check_rights(range, &mut findings);
    }
    check_packages(range, registries, &mut findings);
    findings
}

/// B02: the target is a descendant of the deployed commit.
fn check_ancestry(range: &Upstream, rollback: bool, findings: &mut Vec<Finding>) {
    let (from, to) = (range.from.short(), range.to.short());
    if !range.known {
        findings
            .push(Finding::warning("B02", format!("the clone has no {from}: fetch it to see what changes")));
    } else if range.descendant {
        let count = range.commits.len();
        findings.push(Finding::note("B02", format!("{from}..{to}: {count} commits without merges")));
    } else if rollback {
        findings.push(Finding::warning(
            "B02",
            format!("{to} does not come after {from}: a rollback, as asked for"),
        ));
    } else {
        let message = format!("{to} does not come after {from}: a rollback has to be asked for (--rollback)");
        findings.push(Finding::error("B02", message));
    }
}

/// B04: the remote object's CRD accepts every value that a claim can have.
fn check_requests(range: &Upstream, crd: Option<&Value>, findings: &mut Vec<Finding>) {
    let Some(crd) = crd else { return };
    let group = text::str_at(crd, &["spec", "names", "kind"]);
    for xrd in upstream::composite_definitions(&range.after) {
        // Only claims that become such an object have its schema.
        if group == Some("EphemeralCluster")
            && text::str_at(&xrd, &["spec", "names", "kind"]) != Some("XTestPlatformCluster")
        {
            continue;
        }
        for change in
            schema::compare_request(crd, &xrd).into_iter().filter(|change| change.verdict > Verdict::Fine)
        {
            findings.push(Finding::warning(
                "B04",
                format!("XRD against CRD, spec{}: {}", change.path, change.what),
            ));
        }
    }
}

/// B05 and B06: definitions keep existing claims valid, and keep their names.
fn check_definitions(range: &Upstream, findings: &mut Vec<Finding>) {
    let after = upstream::composite_definitions(&range.after);
    for old in upstream::composite_definitions(&range.before) {
        let name = text::str_at(&old, &["metadata", "name"]).unwrap_or_default();
        let Some(new) = after.iter().find(|new| text::str_at(new, &["metadata", "name"]) == Some(name))
        else {
            let message = format!("XRD {name} is gone: Argo CD prunes it, and every claim with it");
            findings.push(Finding::error("B06", message));
            continue;
        };
        for change in schema::compare_definitions(&old, new) {
            let id = if change.path.starts_with("spec.") || change.path == "metadata.name" {
                "B06"
            } else {
                "B05"
            };
            let message = format!("{name} {}: {}", change.path, change.what);
            findings.push(match change.verdict {
                Verdict::Breaking => Finding::error(id, message),
                Verdict::Maybe | Verdict::Warn => Finding::warning(id, message),
                Verdict::Fine => Finding::note(id, message),
            });
        }
    }
}

/// B06: Compositions keep name and type; composed resources keep their names.
fn check_compositions(range: &Upstream, findings: &mut Vec<Finding>) {
    let after = upstream::objects_of_kind(&range.after, "Composition");
    for old in upstream::objects_of_kind(&range.before, "Composition") {
        let name = text::str_at(&old, &["metadata", "name"]).unwrap_or_default();
        let is_unchanged = after.iter().any(|new| {
            text::str_at(new, &["metadata", "name"]) == Some(name)
                && text::at(new, &["spec", "compositeTypeRef"])
                    == text::at(&old, &["spec", "compositeTypeRef"])
        });
        if !is_unchanged {
            let message =
                format!("Composition {name} is gone or composes another type: running clusters hang");
            findings.push(Finding::error("B06", message));
        }
    }
    let ours =
        range.after.files().any(|(_, bytes)| text::find_line(bytes, "name: function-testplatform").is_some());
    if ours {
        let message = "function-testplatform names composed resources itself, as the incumbent does";
        findings.push(Finding::note("B06", message));
        return;
    }
    let names = upstream::resource_names(&range.after);
    for name in upstream::resource_names(&range.before).difference(&names) {
        let message = format!("nothing composes {name} any more: what exists under that name is deleted");
        findings.push(Finding::error("B06", message));
    }
}

/// B11: packages come from known registries, by digest. Reports changed packages.
fn check_packages(range: &Upstream, registries: &[String], findings: &mut Vec<Finding>) {
    let (before, after) = (upstream::list_packages(&range.before), upstream::list_packages(&range.after));
    for (name, package) in &after {
        if !package.split_once('@').is_some_and(|(_, digest)| image::is_digest(digest)) {
            findings.push(Finding::error("B11", format!("package {name} is not at a digest: {package}")));
        }
        let known = REGISTRIES.iter().copied().chain(registries.iter().map(String::as_str));
        if !known.into_iter().any(|registry| package.starts_with(registry)) {
            let message = format!("package {name} comes from elsewhere: {package}; --registry allows one");
            findings.push(Finding::error("B11", message));
        }
    }
    for (name, package) in after.difference(&before).filter(|_| range.known) {
        let digest = package.rsplit(':').next().and_then(|digest| digest.get(..12)).unwrap_or_default();
        findings.push(Finding::note("B11", format!("package {name} is at sha256:{digest}… now")));
    }
}

/// B14: added and removed rights.
fn check_rights(range: &Upstream, findings: &mut Vec<Finding>) {
    let of = |tree| {
        let mut roles = upstream::objects_of_kind(tree, "ClusterRole");
        roles.extend(upstream::objects_of_kind(tree, "Role"));
        rights::rights_by_namespace(&roles)
    };
    // A right of a ClusterRole covers the same right of a Role, not the other way round.
    let covers = |(had, right): &NamespacedRight, (place, other): &NamespacedRight| {
        (had.is_none() || had == place) && right.covers_right(other)
    };
    let uncovered = |rights: &[NamespacedRight], by: &[NamespacedRight]| -> Vec<NamespacedRight> {
        rights.iter().filter(|right| !by.iter().any(|had| covers(had, right))).cloned().collect()
    };
    let (before, after) = (of(&range.before), of(&range.after));
    let new = uncovered(&after, &before);
    let (wide, plain): (Vec<NamespacedRight>, Vec<NamespacedRight>) =
        new.into_iter().partition(|(_, right)| {
            right.verb == "*"
                || right.resource == "*"
                || right.group == "*"
                || (right.resource == "secrets" && right.name.is_none())
        });
    for (what, rights) in [(WIDE, &wide), ("rights added", &plain)] {
        findings.extend(describe_rights(what, rights).map(|message| Finding::warning("B14", message)));
    }
    let removed = uncovered(&before, &after);
    findings.extend(describe_rights("rights removed", &removed).map(|message| Finding::note("B14", message)));
    let bound = |tree| {
        let mut bindings = upstream::objects_of_kind(tree, "ClusterRoleBinding");
        bindings.extend(upstream::objects_of_kind(tree, "RoleBinding"));
        let mut bound = rights::list_bindings(&bindings);
        bound.extend(rights::list_aggregations(&upstream::objects_of_kind(tree, "ClusterRole")));
        bound
    };
    for binding in bound(&range.after).difference(&bound(&range.before)) {
        let width = if binding.is_wide() { WIDE } else { "rights added" };
        let place = match &binding.place {
            None => " in all namespaces".to_owned(),
            Some(namespace) => describe_namespace(Some(namespace)),
        };
        let message = format!("{width}: {} gets {}{place}", binding.subject, binding.role);
        findings.push(Finding::warning("B14", message));
    }
}

/// A right with its namespace; none: all namespaces.
type NamespacedRight = (Option<String>, Right);

/// One sentence per namespace. Rights of a ClusterRole apply to every namespace with a binding.
fn describe_rights<'a>(what: &'a str, rights: &'a [NamespacedRight]) -> impl Iterator<Item = String> + 'a {
    let places: BTreeSet<Option<&str>> = rights.iter().map(|(place, _)| place.as_deref()).collect();
    places.into_iter().map(move |place| {
        let in_namespace =
            rights.iter().filter(|(other, _)| other.as_deref() == place).map(|(_, right)| right);
        format!("{what}: {}{}", rights::format_rules(in_namespace), describe_namespace(place))
    })
}

fn describe_namespace(place: Option<&str>) -> String {
    place.map_or_else(String::new, |namespace| format!(" in namespace {namespace}"))
}

/// The risk level of the riskiest change, independent of the size of the diff, with the reason.
pub fn assess_risk(ranges: &[Upstream], findings: &[Finding]) -> (Risk, String) {
    if let Some(finding) = findings.iter().find(|finding| {
        (finding.severity == FindingSeverity::Error && matches!(finding.id, "B02" | "B05" | "B06" | "B11"))
            || finding.message.starts_with(WIDE)
    }) {
        return (Risk::High, finding.message.clone());
    }
    if ranges.is_empty() {
        return (Risk::Medium, "the commits in between were not read (no clone was given)".to_owned());
    }
    if let Some(range) = ranges.iter().find(|range| !range.known) {
        return (Risk::Medium, format!("{} is not in the clone", range.from.short()));
    }
    let riskiest = ranges.iter().flat_map(|range| &range.commits).max_by_key(|commit| commit.kind);
    let maybe = findings.iter().find(|finding| {
        finding.severity == FindingSeverity::Warning && matches!(finding.id, "B02" | "B05" | "B06" | "B14")
    });
    match (riskiest, maybe) {
        (_, Some(finding)) => (Risk::Medium, finding.message.clone()),
        (Some(commit), None) if commit.kind > CommitKind::Digests => {
            (Risk::Medium, format!("{}: {}", commit.kind.heading(), commit.subject))
        }
        (Some(_), None) => (Risk::Low, "digests and versions only".to_owned()),
        (None, None) => (Risk::Low, "no commits in between".to_owned()),
    }
}
