//! [`Document`] → [`Entry`], and everything in it that contradicts itself or its backend.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::bundles;
use super::flaws::Flaws;
use super::groups;
use super::releases::{self, Needs};
use super::{Class, ClassDocument, Document, Entry, EntryFlaw, Kit, Made, NetworkField, Parameter, Release};
use crate::json;
use crate::names::ObjectName;
use crate::template::Backend;
use crate::template::companions::MAX_PARAMETERS;
use crate::template::descriptor::Underlying;
use crate::template::kind::{BackendDefinition, NetworkVariables};
use crate::template::parameter::{Rule, join_path};
use crate::{collect, duration::GoDuration};

/// The entry, if it could be made; it may be used only if nothing is wrong.
pub(super) fn check_entry(name: &str, document: Document, flaws: &mut Vec<EntryFlaw>) -> Option<Entry> {
    let mut flaws = Flaws(flaws);
    if ObjectName::try_from(name).is_err() {
        let sentence = "is not a name of a template: an RFC 1123 subdomain of at most 253 characters";
        flaws.0.push(EntryFlaw { path: "metadata.name".into(), sentence: sentence.into() });
    }
    if document.allowed_tenants.is_none() {
        flaws.add_flaw("allowedTenants", "is missing: say which namespaces may use it, \"*\" for all");
    }
    if document.backend_ref.is_none() {
        flaws.add_flaw(
            "backendRef",
            "is missing: say where the clusters come from, in the words of the backend",
        );
    }
    if document.upgrades_from.iter().any(|from| from == name) {
        flaws.add_flaw("upgradesFrom", "names the entry itself");
    }
    check_spans(&document, &mut flaws);
    bundles::find_flaws(&document, &mut flaws);
    let Some(backend) = document.backend else {
        let known = Backend::ALL.map(Backend::as_str).join(", ");
        flaws.add_flaw("backend", format!("is missing: one of {known}"));
        return None;
    };
    if !document.upgrades_from.is_empty() && !backend.capabilities().moves {
        flaws.add_flaw(
            "upgradesFrom",
            format!("is for others: {backend} cannot bring a cluster to another template"),
        );
    }
    let is_observing = |underlying| matches!(underlying, Some(Underlying::Observed(_)));
    if document.observes.is_some() && !is_observing(backend.descriptor().underlying) {
        let others = Backend::join_names(|other| is_observing(other.underlying));
        let sentence = format!("is for {others}: {backend} tells by itself how a cluster does");
        flaws.add_flaw("observes", sentence);
    }
    if document.bring_your_own.is_some() {
        check_bring_your_own(&document, backend, &mut flaws);
    }
    let mut releases = Vec::new();
    let made = Made::read_settings(backend, &document, &mut releases, &mut flaws);
    Some(Entry { name: name.to_owned(), made: made?, document, releases })
}

/// Whether claims can bring their own credentials to clusters of a backend at all, and to this entry's.
fn check_bring_your_own(document: &Document, backend: Backend, flaws: &mut Flaws<'_>) {
    if let Some(why) = backend.descriptor().refuses_tenant_credentials {
        let others = Backend::join_names(|other| other.refuses_tenant_credentials.is_none());
        flaws.add_flaw(
            "bringYourOwn",
            format!("is for {others}: {backend} takes no Secrets of claims, since {why}"),
        );
    }
    if bundles::has_bundles(document) {
        let words = "cannot stand beside prerequisites, preCreate, postInstall and preDelete: nobody applies bundles in the namespaces of claims";
        flaws.add_flaw("bringYourOwn", words);
    }
}

fn check_spans(document: &Document, flaws: &mut Flaws<'_>) {
    let minute = GoDuration::from_mins(1);
    for (path, span) in [
        ("defaultLifetime", document.default_lifetime),
        ("maxLifetime", document.max_lifetime),
        ("timeouts.provision", document.timeouts.provision),
        ("timeouts.teardown", document.timeouts.teardown),
    ] {
        if span.is_some_and(|span| span < minute) {
            flaws.add_flaw(path, "must be at least 1m");
        }
    }
    if document.default_lifetime.zip(document.max_lifetime).is_some_and(|(own, most)| own > most) {
        flaws.add_flaw("defaultLifetime", "is above maxLifetime");
    }
}

/// Reads the settings of a backend, and everything in them that is wrong. None: they cannot be read.
pub(super) fn check_kit<K: BackendDefinition>(
    document: &Document,
    releases: &mut Vec<Release>,
    flaws: &mut Flaws<'_>,
) -> Option<Kit<K>> {
    let reference = Value::Object(document.backend_ref.clone()?);
    let base: K = match json::read_value(reference) {
        Ok(base) => base,
        Err(error) => {
            flaws.add_flaw("backendRef", error.to_string());
            return None;
        }
    };
    for (member, sentence) in base.find_flaws() {
        flaws.add_flaw(&format!("backendRef.{member}"), sentence);
    }
    let needs = Needs {
        backend: K::BACKEND,
        release: K::BACKEND.descriptor().release.is_required(),
        image: base.needs_image(),
        takes_versions: base.takes_versions(),
    };
    *releases = releases::check_releases(document, needs, flaws);
    let classes = check_classes(document, &base, flaws);
    let choosing = bundles::choosing_parameters(document);
    let mut parameters = check_parameters("parameters", &document.parameters, &choosing, flaws, |words| {
        base.parse_target(words)
    });
    // A chosen bundle stays: it does not go away with a value.
    for (_, parameter) in parameters.iter_mut().filter(|(name, _)| choosing.contains(name.as_str())) {
        parameter.rule.immutable = true;
    }
    for (name, _) in document.parameters.iter().filter(|(_, rule)| !base.takes_type(rule.type_)) {
        let sentence = format!("must be string, integer, number or boolean: {} takes no other", K::BACKEND);
        flaws.add_flaw(&format!("{}.type", join_path("parameters", name)), sentence);
    }
    let none = BTreeSet::new();
    let node_target = |words: &str| base.node_target(words);
    let of_nodes =
        self::check_parameters("nodeParameters", &document.node_parameters, &none, flaws, node_target);
    let overlay = document.overlay.clone().unwrap_or_default();
    let targets: Vec<&K::Target> =
        parameters.values().chain(of_nodes.values()).filter_map(|p| p.target.as_ref()).collect();
    for (member, sentence) in
        document.overlay.iter().flat_map(|overlay| base.overlay_flaws(overlay, &targets))
    {
        flaws.add_flaw(&format!("overlay{member}"), sentence);
    }
    if document.bring_your_own.is_some() {
        for (member, sentence) in base.brought_flaws(&overlay, &targets) {
            flaws.add_flaw(&member, sentence);
        }
    }
    check_limits(document, K::BACKEND, &base.network_variables(), flaws);
    let to_zero = |class: &str| classes.get(class).map(|class| class.scale_to_zero);
    groups::find_flaws(document, K::BACKEND, &to_zero, flaws);
    Some(Kit { base, classes, parameters, node_parameters: of_nodes, overlay })
}

fn check_classes<K: BackendDefinition>(
    document: &Document,
    base: &K,
    flaws: &mut Flaws<'_>,
) -> BTreeMap<String, Class<K::Machine>> {
    let mut found = BTreeMap::new();
    each_class(document, K::BACKEND, flaws, &mut |name, class| {
        let machine: K::Machine = read_members(&class.machine)?;
        match base.machine_flaw(&machine) {
            Some(flaw) => return Err(flaw),
            None => found.insert(name.to_owned(), Class { machine, scale_to_zero: class.scale_to_zero }),
        };
        Ok(())
    });
    found
}

/// `take`: reads what the nodes of a class are; why it cannot.
fn each_class(
    document: &Document,
    backend: Backend,
    flaws: &mut Flaws<'_>,
    take: &mut dyn FnMut(&str, &ClassDocument) -> Result<(), String>,
) {
    for (name, class) in &document.allowed_node_classes {
        let path = join_path("allowedNodeClasses", name);
        if name.is_empty() || name.len() > 63 {
            flaws.add_flaw(&path, "has no name of 1 to 63 characters");
        }
        if !backend.capabilities().node_groups {
            flaws.add_flaw("allowedNodeClasses", format!("{backend} has no node groups"));
            continue;
        }
        if let Err(sentence) = take(name, class) {
            flaws.add_flaw(&format!("{path}.machine"), sentence);
        }
    }
}

fn read_members<T: DeserializeOwned>(members: &serde_json::Map<String, Value>) -> Result<T, String> {
    json::read_value(Value::Object(members.clone())).map_err(|e| e.to_string())
}

/// `choosing`: those that need nowhere to go, because they choose something.
fn check_parameters<T>(
    member: &str,
    rules: &BTreeMap<String, Rule>,
    choosing: &BTreeSet<&str>,
    flaws: &mut Flaws<'_>,
    target: impl Fn(&str) -> Result<T, String>,
) -> BTreeMap<String, Parameter<T>>
where
    T: PartialEq,
{
    let mut found: BTreeMap<String, Parameter<T>> = BTreeMap::new();
    each_parameter(member, rules, flaws, &mut |name, rule| {
        let alone = rule.target.is_none() && choosing.contains(name);
        let words = rule.target.as_deref().unwrap_or(name);
        let target = if alone { None } else { Some(target(words)?) };
        let has_same_target = |p: &Parameter<T>| target.is_some() && p.target == target;
        let other = found.iter().find(|(_, p)| has_same_target(p)).map(|(other, _)| other.clone());
        found.insert(name.to_owned(), Parameter { rule: rule.clone(), target });
        other.map_or(Ok(()), |other| Err(format!("is that of {other} too")))
    });
    found
}

/// `take`: finds where the value of a parameter goes; what is wrong with that.
fn each_parameter(
    member: &str,
    rules: &BTreeMap<String, Rule>,
    flaws: &mut Flaws<'_>,
    take: &mut dyn FnMut(&str, &Rule) -> Result<(), String>,
) {
    // Optional ones may be more: no claim has them all.
    let always = |rule: &&Rule| !rule.secret && (rule.required || rule.default.is_some());
    if rules.values().filter(always).count() > MAX_PARAMETERS {
        let sentence = format!(
            "has more than {MAX_PARAMETERS} that are required or have a default, which is more than a claim can set"
        );
        flaws.add_flaw(member, sentence);
    }
    for (name, rule) in rules {
        let path = join_path(member, name);
        if name.is_empty() || name.len() > 63 {
            flaws.add_flaw(&path, "has no name of 1 to 63 characters");
        }
        for (part, sentence) in rule.find_flaws() {
            flaws.add_flaw(&format!("{path}.{part}"), sentence);
        }
        if let Err(sentence) = take(name, rule) {
            flaws.add_flaw(&format!("{path}.target"), sentence);
        }
    }
}

fn check_limits(document: &Document, backend: Backend, variables: &NetworkVariables, flaws: &mut Flaws<'_>) {
    let can = backend.capabilities();
    let limits = &document.limits;
    if limits.min_nodes.zip(limits.max_nodes).is_some_and(|(least, most)| least > most) {
        flaws.add_flaw("limits.minNodes", "is above maxNodes");
    }
    let own = limits.control_plane_replicas.as_deref().unwrap_or(can.control_planes);
    if let Some(wrong) = own.iter().find(|n| !can.control_planes.contains(n)) {
        flaws.add_flaw("limits.controlPlaneReplicas", format!("has {wrong}, which {backend} cannot make"));
    }
    if let Some(default) = document.default_control_plane_replicas
        && !u32::try_from(default).is_ok_and(|default| own.contains(&default))
    {
        flaws.add_flaw("defaultControlPlaneReplicas", "is none of those that claims may have");
    }
    if !limits.release_images.is_empty() && !can.release_image {
        flaws.add_flaw("limits.releaseImages", format!("{backend} takes no image from a claim"));
    }
    if limits.release_images.iter().any(String::is_empty) {
        flaws.add_flaw("limits.releaseImages", "has an empty text, which lets claims bring any image");
    }
    let fields = collect::to_set(limits.network.iter().copied());
    for field in fields {
        let goes = match field {
            NetworkField::PodCidr | NetworkField::ServiceCidr => can.cluster_cidrs,
            NetworkField::MachineCidr => can.machine_cidr || variables.machine_cidr.is_some(),
            NetworkField::Internal => {
                variables.internal_network_id.is_some() || variables.internal_subnet_id.is_some()
            }
            NetworkField::External => variables.external_network_id.is_some(),
            NetworkField::DnsNameservers => variables.dns_nameservers.is_some(),
        };
        if !goes {
            let field = serde_json::to_value(field).unwrap_or_default();
            let field = field.as_str().unwrap_or_default();
            flaws.add_flaw("limits.network", format!("has {field}, which has nowhere to go"));
        }
    }
}
