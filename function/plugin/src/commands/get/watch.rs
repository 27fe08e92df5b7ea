//! `get --watch`: the claims, and then a line or an object for each change.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;
use testplatform_apis::yaml::to_yaml;

use super::super::super::{
    claim::{Claim, Flavour},
    exit::{Exit, Stop},
    session::Session,
    steady_watch::{SteadyWatch, WatchStep},
    table::ClaimTable,
};
use super::{GetRequest, print_claims};

/// How long to wait for an event of one kind before looking at the other.
const TURN: Duration = Duration::from_millis(200);

/// Accepts the formats in which a change can be printed.
pub fn check_format(format: Option<&str>) -> Result<(), Stop> {
    match format {
        None | Some("json" | "yaml" | "name") => Ok(()),
        Some(other) => {
            let message = format!("-o {other}: a watch prints wide, name, json or yaml");
            Err(Stop::new(Exit::Usage, message, "See --help."))
        }
    }
}

/// Printed state of each claim, by uid: a claim is printed again if it changes.
type Printed = BTreeMap<String, Vec<String>>;

/// Prints claims, and then their changes until the user interrupts.
pub fn run(
    session: &mut Session<'_>,
    request: &GetRequest,
    kinds: &[Flavour],
    claims: &[Claim],
) -> Result<(), Stop> {
    let mut printed = Printed::new();
    let table = if request.format().is_none() {
        if claims.is_empty() {
            session.note("No claims found yet.");
        }
        let table = print_claims(session, request, claims)?;
        for claim in claims {
            printed.insert(claim.uid().to_owned(), table.stable_cells(claim, session.now()));
        }
        Some(table)
    } else {
        None
    };
    // The headings follow with the first claim.
    let mut needs_head = claims.is_empty() && !request.no_headers;
    let kubectl = session.kubectl.clone();
    let name = request.name.as_ref().and(claims.first()).map(|claim| claim.name().to_owned());
    let options = if name.is_some() { vec![] } else { request.list_options() };
    let now = session.now();
    let watch = |kind: &Flavour| SteadyWatch::new(&kubectl, kind.resource(), name.as_deref(), &options, now);
    let mut watches: Vec<SteadyWatch<'_>> = kinds.iter().map(watch).collect();
    while !session.is_unread {
        for watch in &mut watches {
            let step = watch.next(session.now(), TURN);
            if (session.around.interrupted)() {
                return Err(Stop::new(Exit::Interrupted, "interrupted", ""));
            }
            match step? {
                WatchStep::Nothing => {}
                WatchStep::Output(text) => session.note(&text),
                WatchStep::Object(object) => {
                    let Some(claim) = Claim::read(object) else { continue };
                    let state = stable_state(table.as_ref(), &claim, session);
                    if printed.get(claim.uid()) == Some(&state) {
                        continue;
                    }
                    printed.insert(claim.uid().to_owned(), state);
                    print_change(session, request, table.as_ref(), &claim, false, &mut needs_head)?;
                }
                WatchStep::Deleted(object) => {
                    let Some(claim) = Claim::read(object) else { continue };
                    printed.remove(claim.uid());
                    print_change(session, request, table.as_ref(), &claim, true, &mut needs_head)?;
                    if name.is_some() {
                        return Ok(());
                    }
                }
            }
        }
    }
    Ok(())
}

fn stable_state(table: Option<&ClaimTable>, claim: &Claim, session: &Session<'_>) -> Vec<String> {
    match table {
        Some(table) => table.stable_cells(claim, session.now()),
        None => vec![claim.object.to_string()],
    }
}

fn print_change(
    session: &mut Session<'_>,
    request: &GetRequest,
    table: Option<&ClaimTable>,
    claim: &Claim,
    is_deleted: bool,
    needs_head: &mut bool,
) -> Result<(), Stop> {
    if let Some(table) = table {
        if std::mem::take(needs_head) {
            session.print_line(&table.head_line())?;
        }
        let (paint, now) = (session.paint, session.now());
        let line = if is_deleted {
            table.deleted_line(claim, paint, now)
        } else {
            table.claim_line(claim, paint, now)
        };
        session.print_line(&line)?;
    } else {
        let printed = format_object(request.format(), claim)?;
        session.print(&printed)?;
    }
    // A reader of a pipe sees each change at once.
    session.flush()
}

fn format_object(format: Option<&str>, claim: &Claim) -> Result<String, Stop> {
    match format {
        Some("name") => Ok(format!("{}.ci.openshift.org/{}\n", claim.flavour.word(), claim.name())),
        Some("yaml") => {
            let object: &Value = &claim.object;
            let yaml = to_yaml(object).map_err(|e| Stop::error(format!("cannot write YAML: {e}")))?;
            Ok(format!("---\n{yaml}"))
        }
        _ => Ok(format!("{:#}\n", claim.object)),
    }
}
