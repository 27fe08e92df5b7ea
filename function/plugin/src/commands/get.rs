//! `get`: claims of both flavours, as a table or however kubectl prints them.

use testplatform_apis::collect;

use super::super::{
    claim::{Claim, Flavour},
    exit::Stop,
    session::Session,
    table::{Columns, table},
    trouble::Trouble,
};

/// The requested arguments.
#[derive(Clone, Copy, Debug)]
pub struct GetRequest<'a> {
    /// Only this one.
    pub name: Option<&'a str>,
    /// How to print.
    pub output: Option<&'a str>,
    /// Of all namespaces.
    pub everywhere: bool,
    /// Label selector.
    pub selector: Option<&'a str>,
}

/// Runs it.
pub fn run(session: &mut Session<'_>, request: &GetRequest<'_>) -> Result<(), Stop> {
    if let Some(name) = request.name {
        let claim = session.find_claim(name)?;
        return match request.output.filter(|o| *o != "wide") {
            Some(output) => {
                hand_over(session, &["get", claim.flavour.resource(), claim.name(), "-o", output])
            }
            None => print_claims(session, request, &[claim]),
        };
    }
    let mut common = vec![];
    common.extend(request.everywhere.then_some("--all-namespaces"));
    common.extend(request.selector.into_iter().flat_map(|s| ["--selector", s]));
    let list = |flavour: Flavour| {
        session.kubectl.items(&[&["get", flavour.resource(), "-ojson"], common.as_slice()].concat())
    };
    let lists = Session::query_kinds(&session.served_kinds()?, list)
        .map_err(|trouble| explain_refusal(trouble, request))?;
    let readable: Vec<Flavour> = lists.iter().map(|(flavour, _)| *flavour).collect();
    let mut claims: Vec<Claim> =
        lists.into_iter().flat_map(|(_, items)| items).filter_map(Claim::read).collect();
    if let Some(output) = request.output.filter(|o| *o != "wide") {
        let kinds: Vec<&str> = readable.into_iter().map(Flavour::resource).collect();
        let kinds = kinds.join(",");
        return hand_over(session, &[&["get", kinds.as_str(), "-o", output], common.as_slice()].concat());
    }
    if claims.is_empty() {
        session.note("No claims found.");
        return Ok(());
    }
    collect::sort_few(&mut claims, |a, b| (a.namespace(), a.name()).cmp(&(b.namespace(), b.name())));
    print_claims(session, request, &claims)
}

/// Tenants often have a right in their own namespaces alone.
fn explain_refusal(trouble: Trouble, request: &GetRequest<'_>) -> Stop {
    let narrower = request.everywhere && matches!(trouble, Trouble::Forbidden(_) | Trouble::Neither(_));
    let stop = Stop::from(trouble);
    let more = if narrower { " Without -A only those of one namespace are asked for." } else { "" };
    Stop { advice: format!("{}{more}", stop.advice), ..stop }
}

fn print_claims(session: &mut Session<'_>, request: &GetRequest<'_>, claims: &[Claim]) -> Result<(), Stop> {
    let columns = Columns {
        namespace: request.everywhere,
        kind: Flavour::ALL.into_iter().all(|f| claims.iter().any(|c| c.flavour == f)),
        wide: request.output == Some("wide"),
    };
    table(claims, columns, session.now()).iter().try_for_each(|line| session.print_line(line))
}

fn hand_over(session: &mut Session<'_>, arguments: &[&str]) -> Result<(), Stop> {
    let printed = session.kubectl.run(arguments, None)?;
    session.print(&printed)
}
