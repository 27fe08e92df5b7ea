//! `fleet`: an overview of all claims and hubs, as lines or as pages for a browser.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use testplatform_apis::{hub::Mirror, names::hub};

use super::{
    super::{
        claim::{Claim, Flavour},
        exit::{Exit, Stop},
        fleet::{Fleet, FleetFacts, page},
        page_server::{Answer, PageServer, Question},
        session::Session,
        trouble::Trouble,
    },
    get::{Selection, list_claims},
    offers::read_published,
};

/// How long an answer of the API server is shown before it is asked again.
const FRESH: SignedDuration = SignedDuration::from_secs(3);

/// The requested arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetRequest {
    /// Which claims.
    pub selection: Selection,
    /// Namespace in which offers are published.
    pub offers_from: String,
    /// Port of the pages; none: print lines.
    pub port: Option<u16>,
}

/// Runs it.
pub fn run(session: &mut Session<'_>, request: &FleetRequest) -> Result<(), Stop> {
    session.stay();
    let reader = FleetReader::new(session, request)?;
    let fleet = reader.read_fleet(session)?;
    let Some(port) = request.port else {
        for line in fleet.lines(session.around.columns) {
            session.print_line(&line)?;
        }
        return Ok(());
    };
    let server = PageServer::start(port).map_err(|error| {
        let advice = "Choose another port, or leave --port out for any free one.";
        Stop::new(Exit::Error, format!("cannot listen on 127.0.0.1:{port}: {error}"), advice)
    })?;
    session.print_line(&server.url)?;
    session.flush()?;
    session.note("The pages are read-only. Whoever has the address can see them, on this machine alone. Ctrl-C ends it.");
    let mut desk = Desk { reader, read_at: fleet.at, fleet, revision: 0, trouble: None };
    while let Ok(visit) = server.visits.recv() {
        let answer = desk.answer_question(session, &visit.question);
        visit.answer(answer);
    }
    Err(Stop::error("the web server has ended"))
}

/// Reads everything for an overview.
struct FleetReader {
    request: FleetRequest,
    kinds: Vec<Flavour>,
    /// They change so rarely that they are read once.
    offers: Vec<Value>,
}

impl FleetReader {
    fn new(session: &Session<'_>, request: &FleetRequest) -> Result<Self, Stop> {
        let kinds = session.served_kinds()?;
        // Without offers only their costs are missing.
        let offers = read_published(session, &request.offers_from).unwrap_or_default();
        Ok(Self { request: request.clone(), kinds, offers })
    }

    fn read_fleet(&self, session: &Session<'_>) -> Result<Fleet, Stop> {
        let (_, claims) = list_claims(session, &self.kinds, &self.request.selection)?;
        let facts = FleetFacts { claims, offers: self.offers.clone(), mirrors: read_mirrors(session)? };
        Ok(Fleet::new(facts, &session.way, session.now()))
    }

    /// Which claims there are, in words.
    fn describe_scope(&self, session: &Session<'_>) -> String {
        let labels = self.request.selection.selector.as_ref();
        let labels = labels.map_or_else(String::new, |labels| format!(" with labels {labels}"));
        match &session.way.namespace {
            _ if self.request.selection.everywhere => format!("of all namespaces{labels}"),
            Some(namespace) => format!("of namespace {namespace}{labels}"),
            None => format!("of your namespace{labels}"),
        }
    }
}

/// Mirrors of hub facts. Tenants may usually not read them, and not every cluster has them.
fn read_mirrors(session: &Session<'_>) -> Result<Vec<Mirror>, Stop> {
    let selector = format!("--selector={}=true", hub::FACTS);
    match session.kubectl.items(&["get", "objects.kubernetes.crossplane.io", &selector, "-ojson"]) {
        Ok(items) => Ok(items.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect()),
        Err(trouble @ Trouble::NotRun(_)) => Err(trouble.into()),
        Err(_) => Ok(vec![]),
    }
}

/// Answers visitors from the last reading, or from a new one.
struct Desk {
    reader: FleetReader,
    fleet: Fleet,
    /// The number of the content of `fleet`.
    revision: u64,
    /// When it was last tried to read it.
    read_at: Timestamp,
    /// Why that did not succeed.
    trouble: Option<String>,
}

impl Desk {
    fn answer_question(&mut self, session: &mut Session<'_>, question: &Question) -> Answer {
        self.refresh_fleet(session);
        match question {
            Question::Revision => Answer::Revision(self.revision),
            Question::Overview => {
                let scope = self.reader.describe_scope(session);
                Answer::Page(page::render_overview(&self.fleet, &scope, self.trouble.as_deref()))
            }
            Question::Claim(kind, namespace, name) => self.show_claim(session, [kind, namespace, name]),
        }
    }

    fn refresh_fleet(&mut self, session: &Session<'_>) {
        let now = session.now();
        if now.duration_since(self.read_at) < FRESH {
            return;
        }
        self.read_at = now;
        let trouble = match self.reader.read_fleet(session) {
            Ok(fleet) => {
                self.revision += u64::from(fleet.differs_from(&self.fleet));
                self.fleet = fleet;
                None
            }
            Err(stop) => Some(stop.message),
        };
        self.revision += u64::from(trouble != self.trouble);
        self.trouble = trouble;
    }

    /// Only a claim of the overview has a page, so no text of a visitor gets into a command line.
    fn show_claim(&self, session: &mut Session<'_>, [kind, namespace, name]: [&String; 3]) -> Answer {
        const ROOT: &str = "../../../";
        let is_wanted = |claim: &Claim| {
            claim.flavour.word() == kind && claim.namespace() == namespace && claim.name() == name
        };
        let found = self.fleet.claims.iter().map(|of| &of.claim).find(|claim| is_wanted(claim)).cloned();
        let Some(claim) = found else {
            return Answer::Missing(page::render_message("There is no such claim any more.", ROOT));
        };
        let kubectl = session.kubectl.clone();
        // The last flag wins.
        session.kubectl.flags.push(format!("--namespace={}", claim.namespace()));
        let facts = session.collect_facts(claim);
        session.kubectl = kubectl;
        match facts {
            Ok(facts) => Answer::Page(page::render_claim(&facts, &session.way, ROOT, session.now())),
            Err(stop) => Answer::Page(page::render_message(&stop.message, ROOT)),
        }
    }
}
