//! Permitted changes of an existing cluster. A single forbidden change keeps the whole cluster as it is: nobody requested half of a change.

use testplatform_apis::{
    collect,
    condition::SpecLevel,
    template::{
        Backend,
        companions::{ControlPlane, Network},
        effective::Effective,
        entry::{Entry, Rules, TemplateOffer, find_upgrade_path, within_reach},
        parameter::{Rule, join_path},
        version::Version,
    },
    text::bounded,
};

use super::NumberedRequest;

/// A change that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ForbiddenChange {
    /// Immutable, or Rejected for what could be otherwise.
    reason: SpecLevel,
    path: String,
    sentence: String,
}

const IMMUTABLE: &str = "cannot change after a cluster was requested";

/// All of them as one sentence; the weightier reason.
pub(super) fn combine_changes(changes: &[ForbiddenChange]) -> (SpecLevel, String) {
    let immutable = changes.iter().any(|c| c.reason == SpecLevel::Immutable);
    let reason = if immutable { SpecLevel::Immutable } else { SpecLevel::Rejected };
    let listed = super::join_problems(changes.iter().map(|c| (&c.path, &c.sentence)));
    (reason, format!("{listed}; the cluster stays as requested"))
}

/// The cluster as it is.
pub(super) struct ExistingCluster<'a> {
    /// The version that it has, where the release that was last asked for was refused.
    pub blocked_at_version: Option<&'a Version>,
    /// Its requests for nodes, where its backend numbers them by their place, in that order.
    pub numbered_requests: Vec<NumberedRequest>,
}

/// The changes from what was asked for to what is asked for now that cannot be.
pub(super) fn find_forbidden_changes(
    entry: &Entry,
    cluster: &ExistingCluster<'_>,
    old: &Effective,
    new: &Effective,
) -> Vec<ForbiddenChange> {
    let offer = entry.made.as_offer();
    let mut found = Vec::new();
    let mut refuse = |reason, path: &str, sentence: &str| {
        found.push(ForbiddenChange { reason, path: path.to_owned(), sentence: sentence.to_owned() });
    };
    let mut fixed = |path: &str, changed: bool| {
        if changed {
            refuse(SpecLevel::Immutable, path, IMMUTABLE);
        }
    };
    let (was, is) = (control_plane_of(old), control_plane_of(new));
    fixed("spec.controlPlane.class", was.class != is.class);
    let resized = was.replicas != is.replicas;
    fixed("spec.controlPlane.replicas", !offer.resizes_control_plane() && resized);
    for (path, changed) in compare_networks(old.network.as_ref(), new.network.as_ref()) {
        fixed(path, changed);
    }
    fixed("spec.hub", old.hub != new.hub);
    fixed("spec.timeouts", old.timeouts != new.timeouts);
    for path in changed_parameters(offer, old, new) {
        fixed(&path, true);
    }
    for path in changed_groups(offer, old, new) {
        fixed(&path, true);
    }
    let moves = old.template != new.template;
    let movable = offer.backend().capabilities().moves;
    if moves && (!movable || !may_upgrade_from(entry, old)) {
        let sentence = "does not name the template by which the cluster was made in its upgradesFrom";
        refuse(SpecLevel::Immutable, "spec.template", if movable { sentence } else { IMMUTABLE });
    }
    let path = if new.version.is_some() { "spec.version" } else { "spec.releaseImage" };
    if (&old.version, &old.release_image) != (&new.version, &new.release_image) {
        if !offer.can_upgrade() {
            refuse(SpecLevel::Immutable, path, IMMUTABLE);
        } else if let Some(sentence) = version_problem(entry, (old, cluster.blocked_at_version), new) {
            refuse(SpecLevel::Rejected, path, &sentence);
        }
    }
    if let Some(sentence) = renumbering_problem(offer.backend(), &cluster.numbered_requests, old, new) {
        refuse(SpecLevel::Rejected, "spec.nodeGroups", &sentence);
    }
    collect::sort_few(&mut found, |a, b| a.path.cmp(&b.path));
    found
}

fn may_upgrade_from(entry: &Entry, old: &Effective) -> bool {
    old.template.as_ref().is_some_and(|old| entry.document.upgrades_from.contains(old))
}

/// Why a version cannot be reached from the one that the cluster has. Of an image that somebody brought along nobody knows.
fn version_problem(
    entry: &Entry,
    (old, left_at): (&Effective, Option<&Version>),
    new: &Effective,
) -> Option<String> {
    let version = |of: &Effective| Version::try_from(of.version.clone()?).ok();
    let (from, to) = (left_at.cloned().or_else(|| version(old))?, version(new)?);
    if to < from {
        return Some(format!("would be a downgrade from {from} to {to}"));
    }
    if entry.backend().capabilities().walks {
        let gap = || format!("cannot be reached from {from}: the template lacks an intermediate version");
        return find_upgrade_path(&entry.releases, &from, &to).is_none().then(gap);
    }
    let own = entry.releases.iter().find(|r| r.version == from).filter(|_| old.template == new.template);
    let may = own.map_or_else(|| within_reach(&from, &to), |own| own.may_become(&to));
    (!may).then(|| format!("cannot be reached from {from} in one step: upgrade through the versions between"))
}

fn control_plane_of(of: &Effective) -> ControlPlane {
    of.control_plane.clone().unwrap_or_default()
}

fn compare_networks(old: Option<&Network>, new: Option<&Network>) -> [(&'static str, bool); 6] {
    let (old, new) = (old.cloned().unwrap_or_default(), new.cloned().unwrap_or_default());
    [
        ("spec.network.podCIDR", old.pod_cidr != new.pod_cidr),
        ("spec.network.serviceCIDR", old.service_cidr != new.service_cidr),
        ("spec.network.machineCIDR", old.machine_cidr != new.machine_cidr),
        ("spec.network.internal", old.internal != new.internal),
        ("spec.network.external", old.external != new.external),
        ("spec.network.dnsNameservers", old.dns_nameservers != new.dns_nameservers),
    ]
}

/// Parameters that changed and may not. A parameter that the entry no longer has is dropped.
fn changed_parameters(offer: &dyn TemplateOffer, old: &Effective, new: &Effective) -> Vec<String> {
    let moves = old.template != new.template;
    let (old, new) = (old.parameters.clone().unwrap_or_default(), new.parameters.clone().unwrap_or_default());
    let names = collect::to_set(old.0.keys().chain(new.0.keys()));
    let rules = offer.parameters();
    let fixed = |name: &&&String| {
        // A parameter that the previous template lacked was never set in its cluster.
        if moves && !old.0.contains_key(**name) {
            return false;
        }
        let rule = find_rule(&rules, name);
        rule.is_some_and(|rule| rule.immutable || !offer.can_tune_parameters())
            && old.0.get(**name) != new.0.get(**name)
    };
    names.iter().filter(fixed).map(|name| join_path("spec.parameters", name)).collect()
}

/// Members of groups that changed and may not. Groups come and go, and grow and shrink.
fn changed_groups(offer: &dyn TemplateOffer, old: &Effective, new: &Effective) -> Vec<String> {
    let mut found = Vec::new();
    let rules = offer.node_parameters();
    let old = old.node_groups.as_deref().unwrap_or_default();
    for (i, group) in new.node_groups.iter().flatten().enumerate() {
        let Some(before) = old.iter().find(|b| b.name == group.name) else { continue };
        let mut fixed = |member: &str| found.push(format!("spec.nodeGroups[{i}].{member}"));
        if before.class != group.class && !offer.nodes_may_become(&before.class, &group.class) {
            fixed("class");
        }
        if before.arch != group.arch {
            fixed("arch");
        }
        let immutable = |name: &&String| {
            find_rule(&rules, name).is_some_and(|rule| rule.immutable)
                && before.parameters.0.get(*name) != group.parameters.0.get(*name)
        };
        let names = collect::to_set(before.parameters.0.keys().chain(group.parameters.0.keys()));
        names.into_iter().filter(immutable).for_each(|name| fixed(&join_path("parameters", name)));
    }
    found
}

/// Why groups cannot go: another one is behind them, whose nodes would be made again under the number that it gets.
fn renumbering_problem(
    backend: Backend,
    numbered: &[NumberedRequest],
    old: &Effective,
    new: &Effective,
) -> Option<String> {
    let find = |effective: &Effective, request: &NumberedRequest| {
        let mut groups = effective.node_groups.iter().flatten();
        groups.find(|group| request.includes(group)).map(|group| bounded(&group.name, 63))
    };
    let stays = |request: &&NumberedRequest| find(new, request).is_some();
    let removed = numbered.iter().find(|request| !stays(request))?;
    let behind = numbered.iter().skip_while(|request| *request != removed).find(stays)?;
    let name = |request: &NumberedRequest| match request {
        NumberedRequest::Group(name) => Some(bounded(name, 63)),
        NumberedRequest::Classes(_) => find(old, request),
    };
    let (missing, behind) = (name(removed)?, find(new, behind)?);
    let title = backend.descriptor().title;
    Some(format!(
        "must keep group {missing}: {title} numbers node groups by their order, and would make the nodes of {behind} again; groups can be removed from the end only, and {missing} can be made smaller"
    ))
}

fn find_rule<'a>(rules: &Rules<'a>, name: &str) -> Option<&'a Rule> {
    rules.iter().find(|(known, _)| *known == name).map(|(_, rule)| *rule)
}
