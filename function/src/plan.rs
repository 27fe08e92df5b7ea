//! Validated × Observed × now → what is to exist, and where the claim stands.

mod course;
mod policies;
mod verdict;

use jiff::Timestamp;
use testplatform_apis::{condition::Failure, names::Uid};

pub use course::{Course, Over};

use crate::{
    backend::{self, Desired, Health, Job},
    observed::Observed,
    validate::{Problem, Validated},
};

/// What to do, decided before any resource is built: nothing is left to choose after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Write {
    /// No writer: none is wanted, or none may be made any more.
    #[default]
    Nothing,
    /// Ask the hub for the first time.
    Create,
    /// Repeat, or change, what was asked for.
    Update(Policies),
    /// Find out whether what was asked for is still there: its writer is gone. Nothing can be made by it.
    Look {
        /// The uid that pins it, if it is remembered.
        uid: Option<Uid>,
    },
    /// Ask once more: what was asked for vanished before it was taken up.
    Again {
        /// Uid of the one that vanished.
        vanished: Uid,
    },
}

/// What provider-kubernetes may do to the remote object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policies {
    /// Everything.
    Full,
    /// Only watch and, with the claim, delete: it is terminal or gone, and nothing may make it anew.
    ObserveDelete,
    /// Only watch: another object has its name, and Delete goes by name.
    Observe,
}

/// What the backend is told to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intent {
    /// What to do about the writer.
    pub write: Write,
    /// Whether the remote object is told to end.
    pub teardown: bool,
    /// Why the claim Failed, noted on the writer.
    pub failed: Option<Failure>,
    /// Why nothing is left that costs money, noted on the writer.
    pub over: Option<String>,
    /// When a cluster with a lifetime became ready, noted on the writer.
    pub ready_at: Option<Timestamp>,
    /// Whether the credentials have to be read again, because their connection Secret is lost.
    pub read_again: bool,
    /// Whether the credentials are wanted.
    pub credentials: bool,
    /// Whether the writer counts as ready.
    pub writer_ready: bool,
    /// Whether the credentials count as ready.
    pub credentials_ready: bool,
}

/// The outcome of one pass, before it is put into words.
#[derive(Debug)]
pub struct Plan {
    /// The request with its intent; the problems, when it is invalid.
    pub request: Result<Validated, Vec<Problem>>,
    /// What the hub says.
    pub health: Health,
    /// Where the claim stands.
    pub course: Course,
    /// What is to exist.
    pub resources: Vec<Desired>,
    /// Kind of the remote object.
    pub kind: Option<&'static str>,
}

/// Plans one pass.
pub fn plan(request: Result<Validated, Vec<Problem>>, observed: &Observed, now: Timestamp) -> Plan {
    let mut request = match request {
        Ok(request) => request,
        Err(problems) => {
            let course = course::invalid(observed);
            return Plan {
                request: Err(problems),
                health: Health::default(),
                course,
                resources: vec![],
                kind: None,
            };
        }
    };
    let backend = backend::select(&request);
    let mut health = backend.map(|b| b.health(&request, observed)).unwrap_or_default();
    remember_job(&mut health, observed);
    let course = course::chart(&request, observed, &health, now);
    request.intent = policies::intent(&request, observed, &health, &course);
    let resources = backend.map(|b| b.resources(&request, observed)).unwrap_or_default();
    Plan { request: Ok(request), health, course, resources, kind: backend.map(super::backend::Backend::kind) }
}

/// A job that the hub does not report any more is still where the owner finds out what happened.
fn remember_job(health: &mut Health, observed: &Observed) {
    if let Some(job) = observed.composite.status.prow_job.clone().filter(|_| health.job == Job::default()) {
        health.job = Job { id: job.id.unwrap_or_default(), url: job.url.unwrap_or_default() };
    }
}
