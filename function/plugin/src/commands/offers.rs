//! `offers`: lists offers and writes claims to start from.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use serde_json::Value;
use testplatform_apis::{offer::CONFIG_MAP, yaml::to_yaml};

use super::super::{
    claim::Flavour,
    exit::{Exit, Stop},
    offers::{build_claim, describe_offer, fill_in, find_offer, fresh_name, label, parse_offers, table},
    session::Session,
    trouble::Trouble,
};

/// The requested arguments.
#[derive(Clone, Copy, Debug)]
pub struct OffersRequest<'a> {
    /// Only this one.
    pub offer: Option<&'a str>,
    /// How to print.
    pub output: Option<&'a str>,
    /// Write a claim.
    pub claim: bool,
    /// The claim's name, with its kind before it or without.
    pub name: Option<&'a str>,
    /// Namespace of the ConfigMap.
    pub from: &'a str,
}

/// Runs it.
pub fn run(session: &mut Session<'_>, request: &OffersRequest<'_>) -> Result<(), Stop> {
    let all = read_published(session, request.from)?;
    let Some(name) = request.offer else {
        return match request.output.unwrap_or("wide") {
            "wide" if all.is_empty() => {
                session.note("No offers found.");
                Ok(())
            }
            "wide" => table(&all).iter().try_for_each(|line| session.print_line(line)),
            "name" => all.iter().try_for_each(|offer| session.print_line(&label(offer))),
            other => print(session, &Value::Array(all), other),
        };
    };
    let offer = find_offer(all, name)?;
    if request.claim {
        return write_manifest(session, &offer, request.name);
    }
    match request.output.unwrap_or("wide") {
        "wide" => describe_offer(&offer).iter().try_for_each(|line| session.print_line(line)),
        "name" => session.print_line(&label(&offer)),
        other => print(session, &offer, other),
    }
}

/// Content of the ConfigMap, which is not in the namespace of the claims.
pub(super) fn read_published(session: &Session<'_>, from: &str) -> Result<Vec<Value>, Stop> {
    let mut kubectl = session.kubectl.clone();
    kubectl.flags.retain(|flag| !flag.starts_with("--namespace="));
    match kubectl.json(&["get", "configmap", CONFIG_MAP, "--namespace", from, "-ojson"]) {
        Ok(found) => parse_offers(&found.unwrap_or_default()),
        Err(Trouble::NotFound(_)) => Err(Stop::new(
            Exit::NotFound,
            format!("there is no ConfigMap {CONFIG_MAP} in namespace {from}: no offers are published there"),
            "The platform team may have published it elsewhere: name the namespace with --from.",
        )),
        Err(trouble @ Trouble::Forbidden(_)) => Err(Stop::new(
            Exit::Error,
            trouble.words(),
            "Every logged-in user should be able to read it: ask the platform team for component offers, or name another namespace with --from.",
        )),
        Err(trouble) => Err(trouble.into()),
    }
}

fn print(session: &mut Session<'_>, value: &Value, output: &str) -> Result<(), Stop> {
    let text = match output {
        "json" => format!("{value:#}\n"),
        "yaml" => yaml(value)?,
        other => {
            let message = format!("-o {other}: offers are printed as wide, name, yaml or json");
            return Err(Stop::new(Exit::Usage, message, "See --help."));
        }
    };
    session.print(&text)
}

/// Writes a claim to stdout, with what is left to do beside it.
fn write_manifest(session: &mut Session<'_>, offer: &Value, name: Option<&str>) -> Result<(), Stop> {
    let (flavour, name) = match name.map(|name| name.split_once('/').ok_or(name)) {
        Some(Ok((kind, name))) => (Flavour::parse(kind).ok_or_else(|| Session::no_kind(kind))?, Some(name)),
        Some(Err(name)) => (may_create(session)?, Some(name)),
        None => (may_create(session)?, None),
    };
    // By the same name `up` would change the claim that somebody else made of the offer.
    let name = name.map_or_else(|| fresh_name(offer, random_number()), str::to_owned);
    let claim = build_claim(offer, flavour, Some(&name), session.way.namespace.as_deref());
    for path in fill_in(offer) {
        session.print_line(&format!("# Fill in {path}."))?;
        session.note(&format!("note: {path} must be filled in"));
    }
    let text = yaml(&claim)?;
    session.print(&text)
}

/// The kind of claim that the caller may create; of both, and of none, the one that is there longer.
fn may_create(session: &Session<'_>) -> Result<Flavour, Stop> {
    let served = session.served_kinds()?;
    let may = |flavour: &Flavour| {
        session.kubectl.run(&["auth", "can-i", "create", flavour.resource()], None).is_ok()
    };
    let allowed = if served.len() > 1 { served.iter().copied().find(may) } else { None };
    Ok(allowed.unwrap_or(served[0]))
}

/// Randomness that differs between runs: the seed that the system gives each for its hash tables.
fn random_number() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn yaml(value: &Value) -> Result<String, Stop> {
    to_yaml(value).map_err(|error| Stop::error(format!("cannot write YAML: {error}")))
}
