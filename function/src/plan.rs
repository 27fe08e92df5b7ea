//! Validated × Observed × now → what is to exist, and where the claim stands.

mod course;
mod policies;
mod verdict;

use jiff::Timestamp;

pub use course::{Course, Over};

use crate::{
    backend::{self, Backend, Desired, Ending, Health, Job},
    handover,
    observed::Observed,
    validate::{Problem, Remark, Validated},
};

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
    /// Composition resource name of the writer.
    pub writer: Option<&'static str>,
    /// How far the handing over of its cluster is, if that is asked for.
    pub giving: Option<handover::Giving>,
}

impl Plan {
    /// What an administrator, or somebody else, has to do before a cluster is asked for.
    pub fn held(&self) -> Option<&Remark> {
        self.request.as_ref().ok()?.hold.as_ref()
    }
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
                writer: None,
                giving: None,
            };
        }
    };
    let backend = backend::select(&request);
    let mut health = backend.map(|b| b.health(&request, observed)).unwrap_or_default();
    remember_job(&mut health, observed);
    backend::bundles::remember(&mut health, observed);
    backend::ahead::remember(&mut health, observed);
    let removal = backend.is_some_and(|b| b.ending() == Ending::Removed);
    let course = course::chart(&request, observed, &health, removal, now);
    request.intent = policies::intent(&request, observed, &health, &course, removal, now);
    let giving = handover::giving(&request, observed, &course);
    handover::bind(&mut request.intent, giving.as_ref(), observed);
    let mut resources = match backend {
        Some(backend) => backend.resources(&request, observed, &health),
        None => backend::left(&request, observed),
    };
    resources.extend(backend::brought::resources(&request, observed));
    resources.extend(backend::ahead::resources(&request, observed));
    resources.extend(backend::bundles::resources(&request, observed));
    resources.extend(backend::watch(&request, observed).filter(|_| !course.settled()));
    backend::dependents::held(&mut resources, observed);
    let resources = backend::placed(resources, &request, observed);
    Plan {
        request: Ok(request),
        health,
        course,
        resources,
        kind: backend.map(Backend::kind),
        writer: backend.map(Backend::writer),
        giving,
    }
}

/// A job that the hub does not report any more is still where the owner finds out what happened.
fn remember_job(health: &mut Health, observed: &Observed) {
    if let Some(job) = observed.composite.status.prow_job.clone().filter(|_| health.job == Job::default()) {
        health.job = Job { id: job.id.unwrap_or_default(), url: job.url.unwrap_or_default() };
    }
}
