//! `get`: claims of both flavours, as a table or however kubectl prints them.

mod watch;

use testplatform_apis::collect;

use super::super::{
    claim::{Claim, Flavour},
    exit::{Exit, Stop},
    field_path::FieldPath,
    session::Session,
    table::{ClaimTable, Columns},
    trouble::Trouble,
};

/// Which claims are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Of all namespaces.
    pub everywhere: bool,
    /// Label selector.
    pub selector: Option<String>,
}

impl Selection {
    /// The same, as kubectl takes it.
    pub(super) fn options(&self) -> Vec<&str> {
        let mut options = vec![];
        options.extend(self.everywhere.then_some("--all-namespaces"));
        options.extend(self.selector.iter().flat_map(|selector| ["--selector", selector.as_str()]));
        options
    }
}

/// The requested arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetRequest {
    /// Only this one.
    pub name: Option<String>,
    /// How to print.
    pub output: Option<String>,
    /// Which claims, without a name.
    pub selection: Selection,
    /// Field or column to sort by.
    pub sort_by: Option<String>,
    /// Print no line of headings.
    pub no_headers: bool,
    /// Print changes until interrupted.
    pub watch: bool,
}

impl GetRequest {
    /// The format, unless it is one of the tables.
    fn format(&self) -> Option<&str> {
        self.output.as_deref().filter(|output| *output != "wide")
    }

    /// The field to sort by.
    fn sort_field(&self) -> Result<Option<FieldPath>, Stop> {
        let Some(text) = &self.sort_by else { return Ok(None) };
        FieldPath::parse(text).map(Some).ok_or_else(|| {
            let columns: Vec<&str> = FieldPath::column_names().collect();
            let advice = format!("Use a path such as .metadata.name, or a column: {}.", columns.join(", "));
            Stop::new(Exit::Usage, format!("--sort-by {text}: this is no path of a field"), advice)
        })
    }
}

/// Runs it.
pub fn run(session: &mut Session<'_>, request: &GetRequest) -> Result<(), Stop> {
    let sort_field = request.sort_field()?;
    if request.watch {
        watch::check_format(request.format())?;
        session.stay();
    }
    if let Some(name) = &request.name {
        let claim = session.find_claim(name)?;
        if request.watch {
            return watch::run(session, request, &[claim.flavour], &[claim]);
        }
        return match request.format() {
            Some(format) => {
                let mut arguments = vec!["get", claim.flavour.resource(), claim.name(), "-o", format];
                arguments.extend(request.no_headers.then_some("--no-headers"));
                print_as_kubectl(session, &arguments)
            }
            None => print_claims(session, request, &[claim]).map(|_| ()),
        };
    }
    let (readable, mut claims) = list_claims(session, &session.served_kinds()?, &request.selection)?;
    sort_claims(&mut claims, sort_field.as_ref())?;
    if request.watch {
        return watch::run(session, request, &readable, &claims);
    }
    if let Some(format) = request.format() {
        let kinds: Vec<&str> = readable.into_iter().map(Flavour::resource).collect();
        let kinds = kinds.join(",");
        let sorted = sort_field.map(|field| format!("--sort-by={}", field.expression()));
        let mut arguments =
            [&["get", kinds.as_str(), "-o", format], request.selection.options().as_slice()].concat();
        arguments.extend(sorted.as_deref());
        arguments.extend(request.no_headers.then_some("--no-headers"));
        return print_as_kubectl(session, &arguments);
    }
    if claims.is_empty() {
        session.note("No claims found.");
        return Ok(());
    }
    print_claims(session, request, &claims).map(|_| ())
}

/// Lists claims of these kinds. Returns the kinds that the caller may read, too.
pub(super) fn list_claims(
    session: &Session<'_>,
    kinds: &[Flavour],
    selection: &Selection,
) -> Result<(Vec<Flavour>, Vec<Claim>), Stop> {
    let options = selection.options();
    let list = |flavour: Flavour| {
        session.kubectl.items(&[&["get", flavour.resource(), "-ojson"], options.as_slice()].concat())
    };
    let lists = Session::query_kinds(kinds, list).map_err(|trouble| explain_refusal(trouble, selection))?;
    let readable = lists.iter().map(|(flavour, _)| *flavour).collect();
    Ok((readable, lists.into_iter().flat_map(|(_, items)| items).filter_map(Claim::read).collect()))
}

/// Sorts by namespace and name, or by a field. A field that no claim has is probably a mistake, as in kubectl.
fn sort_claims(claims: &mut Vec<Claim>, field: Option<&FieldPath>) -> Result<(), Stop> {
    collect::sort_few(claims, |a, b| (a.namespace(), a.name()).cmp(&(b.namespace(), b.name())));
    let Some(field) = field else { return Ok(()) };
    if !claims.is_empty() && !claims.iter().any(|claim| field.is_in(&claim.object)) {
        let message = format!("--sort-by {}: no claim has this field", field.expression());
        return Err(Stop::new(Exit::Usage, message, ""));
    }
    collect::sort_few(claims, |a, b| field.compare(&a.object, &b.object));
    Ok(())
}

/// Tenants often have a right in their own namespaces alone.
fn explain_refusal(trouble: Trouble, selection: &Selection) -> Stop {
    let narrower = selection.everywhere && matches!(trouble, Trouble::Forbidden(_) | Trouble::Neither(_));
    let stop = Stop::from(trouble);
    let more = if narrower { " Without -A, only the claims of one namespace are listed." } else { "" };
    Stop { advice: format!("{}{more}", stop.advice), ..stop }
}

/// Prints the table, and returns it for rows that follow.
fn print_claims(
    session: &mut Session<'_>,
    request: &GetRequest,
    claims: &[Claim],
) -> Result<ClaimTable, Stop> {
    let columns = Columns {
        namespace: request.selection.everywhere,
        kind: Flavour::ALL.into_iter().all(|f| claims.iter().any(|c| c.flavour == f)),
        wide: request.output.as_deref() == Some("wide"),
    };
    let now = session.now();
    let table = ClaimTable::new(claims, columns, session.around.columns, now);
    if !request.no_headers && !claims.is_empty() {
        session.print_line(&table.head_line())?;
    }
    for claim in claims {
        session.print_line(&table.claim_line(claim, session.paint, now))?;
    }
    Ok(table)
}

fn print_as_kubectl(session: &mut Session<'_>, arguments: &[&str]) -> Result<(), Stop> {
    let printed = session.kubectl.run(arguments, None)?;
    session.print(&printed)
}
