//! Claim × entry × previous request → resolved request, or all refusals.

use serde_json::Value;
use testplatform_apis::{
    byoc::SSH_KEY,
    collect,
    condition::Request,
    template::{
        companions::{ControlPlane, Network, Timeouts, Values},
        effective::Effective,
        entry::{Entry, Release},
        version::Version,
    },
};

use super::{
    ClaimSpec, ResolveError, catalogue, change, groups, network, parameters::resolve_parameters,
    refusal::Refusals, spec,
};
use crate::cluster::request::{BroughtCredentials, BundleSelection, ResolvedSpec, SelectedRelease};

/// Judges a claim. `memory`: what was asked for before, as far as the hub took it.
pub(super) fn resolve_claim(
    entry: &Entry,
    claim: &ClaimSpec,
    memory: Option<&Effective>,
    cluster: &change::ExistingCluster<'_>,
) -> Result<(ResolvedSpec, Effective), ResolveError> {
    let offer = entry.made.as_offer();
    let mut refusals = Refusals(vec![]);
    let before = memory.and_then(|m| m.parameters.clone()).unwrap_or_default();
    let fresh = memory.is_none_or(|m| m.template.as_ref() != Some(&entry.name));
    let release = resolve_release(entry, claim, (memory, cluster.blocked_at_version), &mut refusals);
    let (parameters, shown) = resolve_parameters(
        ("spec.parameters", "parameter"),
        &offer.parameters(),
        &claim.parameters,
        (&before, fresh),
        Request::InvalidParameter,
        &mut refusals,
    );
    let (groups, node_groups) = groups::resolve_groups(entry, claim, memory, &mut refusals);
    let control_plane = resolve_control_plane(entry, claim, memory, &mut refusals);
    let network = resolve_network(entry, claim, memory, &mut refusals);
    let hub = claim.hub.clone().or_else(|| memory.and_then(|m| m.hub.clone()));
    let timeouts = resolve_timeouts(entry, claim, memory);
    let brings = claim.byoc.as_ref().and_then(|byoc| resolve_tenant_credentials(entry, byoc, &mut refusals));
    if !refusals.0.is_empty() {
        return Err(ResolveError::Refused(refusals.0));
    }
    let some = |values: &Values| (!values.is_empty()).then(|| values.clone());
    let effective = Effective {
        template: Some(entry.name.clone()),
        backend: Some(entry.backend()),
        version: release.version.as_ref().map(ToString::to_string),
        release_image: release.image.clone(),
        parameters: some(&shown),
        control_plane: (control_plane != ControlPlane::default()).then(|| control_plane.clone()),
        node_groups: offer.backend().capabilities().node_groups.then_some(node_groups),
        network: (network != Network::default()).then(|| network.clone()),
        hub: hub.clone(),
        timeouts: (timeouts != Timeouts::default()).then_some(timeouts),
    };
    if let Some(memory) = memory {
        let changes = change::find_forbidden_changes(entry, cluster, memory, &effective);
        if !changes.is_empty() {
            return Err(ResolveError::Unchangeable(changes));
        }
    }
    let document = &entry.document;
    let before = memory.and_then(|m| m.template.clone());
    let resolved = ResolvedSpec {
        release,
        template: entry.name.clone(),
        moved_from: before.filter(|before| *before != entry.name),
        is_rollback: false,
        releases: if entry.backend().capabilities().walks { entry.releases.clone() } else { vec![] },
        control_plane,
        network,
        timeouts,
        hub: hub.unwrap_or_default(),
        hub_selector: document.hub_selector.clone().unwrap_or_default(),
        namespace: document.namespace.clone(),
        password: document.password.unwrap_or(true),
        observes: document.observes,
        bundles: BundleSelection::select(document, &parameters),
        tenant_credentials: brings,
        backend_spec: spec::build_backend_spec(&entry.made, groups, parameters),
    };
    Ok((resolved, effective))
}

/// Tenant credentials of the claim, as far as the entry accepts them.
fn resolve_tenant_credentials(
    entry: &Entry,
    block: &Value,
    refusals: &mut Refusals,
) -> Option<BroughtCredentials> {
    let mut refuse = |field: &str, what: &str| {
        let sentence = format!("cannot be served: template {} {what}", entry.name);
        refusals.add(Request::FieldRefused, format!("spec.byoc{field}"), sentence);
    };
    let Some(terms) = &entry.document.bring_your_own else {
        refuse("", "does not accept credentials of a claim");
        return None;
    };
    if !terms.ssh_key && !block[SSH_KEY].is_null() {
        refuse(&format!(".{SSH_KEY}"), "does not accept an SSH key");
    }
    Some(BroughtCredentials { byoc: block.clone(), terms: terms.clone() })
}

/// Resolves the release. The requested one stays, as long as it matches the claim and the template is the same: a catalogue change upgrades
/// no cluster. A release that the hub refuses is the exception: its image may have been repaired.
fn resolve_release(
    entry: &Entry,
    claim: &ClaimSpec,
    (memory, left_at): (Option<&Effective>, Option<&Version>),
    refusals: &mut Refusals,
) -> SelectedRelease {
    let own = memory.filter(|m| m.template.as_ref() == Some(&entry.name));
    let current = own.and_then(|m| Version::parse(m.version.as_deref()?).ok());
    let listed = current.as_ref().and_then(|blocked| entry.releases.iter().find(|r| r.version == *blocked));
    let refused = left_at.is_some_and(|left_at| current.as_ref() != Some(left_at));
    let repaired = || listed.filter(|_| refused)?.image.clone();
    let current_release = || SelectedRelease {
        version: current.clone(),
        image: repaired().or_else(|| own.and_then(|m| m.release_image.clone())),
        deprecated: listed.and_then(|r| r.deprecated.clone()),
    };
    let of = |release: &Release| {
        if Some(&release.version) == current.as_ref() {
            return current_release();
        }
        release.into()
    };
    if let Some(image) = &claim.release_image {
        return resolve_image(entry, image, own, refusals);
    }
    let Some(requested) = &claim.version else {
        if own.is_some() {
            return current_release();
        }
        return entry.default_release().map(of).unwrap_or_default();
    };
    if !entry.made.as_offer().takes_versions() || entry.releases.is_empty() {
        refusals.add(
            Request::VersionUnsupported,
            "spec.version",
            "cannot be set, because this template has its own",
        );
        return SelectedRelease::default();
    }
    if current.as_ref().is_some_and(|blocked| blocked.matches_request(requested)) {
        return current_release();
    }
    let Some(release) = entry.find_release(requested, None) else {
        let mut enabled: Vec<&Release> = entry.releases.iter().filter(|r| r.enabled).collect();
        collect::sort_few(&mut enabled, |a, b| b.version.cmp(&a.version));
        let names: Vec<String> = enabled.iter().map(|r| r.version.to_string()).collect();
        let sentence =
            format!("is not offered by the template; set one of: {}", catalogue::first_ten(&names));
        refusals.add(Request::VersionUnsupported, "spec.version", sentence);
        return SelectedRelease::default();
    };
    of(release)
}

/// An image that the claim brings along.
fn resolve_image(
    entry: &Entry,
    image: &str,
    own: Option<&Effective>,
    refusals: &mut Refusals,
) -> SelectedRelease {
    let listed = entry.releases.iter().find(|r| r.enabled && r.image.as_deref() == Some(image));
    if let Some(release) = listed {
        return release.into();
    }
    if let Some(own) = own.filter(|m| m.release_image.as_deref() == Some(image)) {
        let version = own.version.clone().and_then(|v| Version::try_from(v).ok());
        return SelectedRelease { version, image: Some(image.to_owned()), deprecated: None };
    }
    let path = "spec.releaseImage";
    if !entry.backend().capabilities().release_image {
        refusals.add(
            Request::FieldRefused,
            path,
            format!("cannot be set: {} does not accept any", entry.backend()),
        );
    } else if !entry.document.limits.release_images.iter().any(|prefix| image.starts_with(prefix.as_str())) {
        let allowed = &entry.document.limits.release_images;
        let what = if allowed.is_empty() {
            "cannot be set, because the template does not allow it; set version instead".to_owned()
        } else {
            format!("must begin with one of: {}", catalogue::first_ten(allowed))
        };
        refusals.add(Request::VersionUnsupported, path, what);
    } else if !image.chars().all(|c| c.is_ascii_graphic()) || !image.contains(['@', ':']) {
        refusals.add(Request::VersionUnsupported, path, "is not an image with a tag or a digest");
    }
    SelectedRelease { version: Version::of_tag(image), image: Some(image.to_owned()), deprecated: None }
}

fn resolve_control_plane(
    entry: &Entry,
    claim: &ClaimSpec,
    memory: Option<&Effective>,
    refusals: &mut Refusals,
) -> ControlPlane {
    let before = memory.and_then(|m| m.control_plane.clone()).unwrap_or_default();
    let own = &claim.control_plane;
    let can = entry.backend().capabilities().control_planes;
    let allowed = entry.document.limits.control_plane_replicas.as_deref().unwrap_or(can);
    if let Some(replicas) = own.replicas.filter(|own| Some(*own) != before.replicas)
        && !u32::try_from(replicas).is_ok_and(|replicas| allowed.contains(&replicas))
    {
        let numbers: Vec<String> = allowed.iter().map(u32::to_string).collect();
        let sentence = if numbers.is_empty() {
            format!("cannot be chosen: {} has its own", entry.backend())
        } else {
            format!("must be one of {}", numbers.join(", "))
        };
        refusals.add(Request::FieldRefused, "spec.controlPlane.replicas", sentence);
    }
    let classes = entry.made.as_offer().control_plane_classes();
    if let Some(class) = own.class.as_deref().filter(|own| Some(*own) != before.class.as_deref())
        && !classes.contains(&class)
    {
        let names: Vec<String> = classes.into_iter().map(str::to_owned).collect();
        let sentence = if names.is_empty() {
            "cannot be chosen: this template has no classes of control planes".into()
        } else {
            format!("must be one of {}", catalogue::first_ten(&names))
        };
        refusals.add(Request::FieldRefused, "spec.controlPlane.class", sentence);
    }
    let default = entry.document.default_control_plane_replicas.filter(|_| memory.is_none());
    ControlPlane {
        replicas: own.replicas.or(before.replicas).or(default),
        class: own.class.clone().or(before.class),
    }
}

/// The claim's network; for an existing cluster, the original request fills in omitted fields.
fn resolve_network(
    entry: &Entry,
    claim: &ClaimSpec,
    memory: Option<&Effective>,
    refusals: &mut Refusals,
) -> Network {
    let before = memory.and_then(|m| m.network.clone()).unwrap_or_default();
    let own = &claim.network;
    if memory.is_none() {
        let can = entry.backend().capabilities();
        let allowed = &entry.document.limits.network;
        refusals.0.extend(network::check_networks(
            own,
            allowed,
            &can,
            &entry.made.as_offer().network_variables(),
        ));
    }
    Network {
        pod_cidr: own.pod_cidr.clone().or(before.pod_cidr),
        service_cidr: own.service_cidr.clone().or(before.service_cidr),
        machine_cidr: own.machine_cidr.clone().or(before.machine_cidr),
        internal: own.internal.clone().or(before.internal),
        external: own.external.clone().or(before.external),
        dns_nameservers: if own.dns_nameservers.is_empty() {
            before.dns_nameservers
        } else {
            own.dns_nameservers.clone()
        },
    }
}

fn resolve_timeouts(entry: &Entry, claim: &ClaimSpec, memory: Option<&Effective>) -> Timeouts {
    let before = memory.and_then(|m| m.timeouts).unwrap_or_default();
    let (own, of_entry) = (&claim.timeouts, &entry.document.timeouts);
    let of_entry = if memory.is_some() { &Timeouts::default() } else { of_entry };
    Timeouts {
        provision: own.provision.or(before.provision).or(of_entry.provision),
        teardown: own.teardown.or(before.teardown).or(of_entry.teardown),
    }
}
