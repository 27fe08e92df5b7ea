//! `get --watch`: the claims, and then a line or an object for each change.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;
use testplatform_apis::yaml::to_yaml;

use super::super::super::{
    claim::{Claim, Flavour},
    exit::{Exit, Stop},
    session::Session,
    steady_watch::{SteadyWatch, WatchStep},
    table::ClaimTable,
    trouble::Trouble,
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

/// A claim as it was printed last.
struct PrintedClaim {
    claim: Claim,
    /// Its state: the claim is printed again if this changes.
    state: Vec<String>,
}

/// Printed claims, by uid.
type Printed = BTreeMap<String, PrintedClaim>;

/// Prints claims, and then their changes until the user interrupts.
pub fn run(
    session: &mut Session<'_>,
    request: &GetRequest,
    kinds: &[Flavour],
    claims: &[Claim],
) -> Result<(), Stop> {
    let table = if request.format().is_none() {
        if claims.is_empty() {
            session.note("No claims found yet.");
        }
        Some(print_claims(session, request, claims)?)
    } else {
        None
    };
    let mut printed = Printed::new();
    // Without a table, the watch prints what exists.
    for claim in claims.iter().filter(|_| table.is_some()) {
        let state = stable_state(table.as_ref(), claim, session);
        printed.insert(claim.uid().to_owned(), PrintedClaim { claim: claim.clone(), state });
    }
    // The headings follow with the first claim.
    let mut needs_head = claims.is_empty() && !request.no_headers;
    let kubectl = session.kubectl.clone();
    let name = request.name.as_ref().and(claims.first()).map(|claim| claim.name().to_owned());
    let options = if name.is_some() { vec![] } else { request.selection.options() };
    let now = session.now();
    let watch = |kind: &Flavour| SteadyWatch::new(&kubectl, kind.resource(), name.as_deref(), &options, now);
    let mut watches: Vec<SteadyWatch<'_>> = kinds.iter().map(watch).collect();
    while !session.is_unread {
        for (watch, &kind) in watches.iter_mut().zip(kinds) {
            let step = watch.next(session.now(), TURN);
            if (session.around.interrupted)() {
                return Err(Stop::new(Exit::Interrupted, "interrupted", ""));
            }
            let deleted: Vec<Claim> = match step {
                Ok(WatchStep::Nothing) => vec![],
                Ok(WatchStep::Output(text)) => {
                    session.note(&text);
                    vec![]
                }
                Ok(WatchStep::Object(object)) => {
                    let Some(claim) = Claim::read(object) else { continue };
                    let state = stable_state(table.as_ref(), &claim, session);
                    if printed.get(claim.uid()).is_some_and(|before| before.state == state) {
                        continue;
                    }
                    print_change(session, request, table.as_ref(), &claim, false, &mut needs_head)?;
                    printed.insert(claim.uid().to_owned(), PrintedClaim { claim, state });
                    vec![]
                }
                Ok(WatchStep::Deleted(object)) => Claim::read(object).into_iter().collect(),
                // The only claim is reported by its own watch.
                Ok(WatchStep::Restarted) if name.is_some() => vec![],
                Ok(WatchStep::Restarted) => find_deleted(session, request, kind, &printed),
                Err(Trouble::NotFound(_)) if name.is_some() && !claims.is_empty() => {
                    let last = std::mem::take(&mut printed).into_values().next();
                    last.map(|last| last.claim).or_else(|| claims.first().cloned()).into_iter().collect()
                }
                Err(trouble) => return Err(trouble.into()),
            };
            for claim in deleted {
                printed.remove(claim.uid());
                print_change(session, request, table.as_ref(), &claim, true, &mut needs_head)?;
                if name.is_some() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// The printed claims of a kind that were deleted while nobody watched. A list that fails reports none: the watch has the same trouble, and says so.
fn find_deleted(session: &Session<'_>, request: &GetRequest, kind: Flavour, printed: &Printed) -> Vec<Claim> {
    let listed = [&["get", kind.resource(), "-ojson"], request.selection.options().as_slice()].concat();
    let Ok(items) = session.kubectl.items(&listed) else { return vec![] };
    let existing: BTreeSet<String> =
        items.into_iter().filter_map(Claim::read).map(|claim| claim.uid().to_owned()).collect();
    let claims = printed.values().map(|printed| &printed.claim);
    claims.filter(|claim| claim.flavour == kind && !existing.contains(claim.uid())).cloned().collect()
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
