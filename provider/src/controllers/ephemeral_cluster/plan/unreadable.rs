//! Status that cannot be read. It may name a job or may be final: the provider therefore creates nothing, and does not overwrite it. Requests
//! are still carried out for jobs whose labels name their owner.

use testplatform_apis::names::ours;

use super::{own_jobs::BoundJob, planner::Planner, teardown};
use crate::controllers::ephemeral_cluster::event_reason::EventReason;

/// The annotation remembers that it was said; a status cannot.
const MESSAGE: &str = r#"{"reason":"StatusUnreadable"}"#;

/// Ends the jobs if the end was requested, and reports the problem.
pub fn plan_unreadable(pass: &mut Planner<'_>) {
    let deleted = pass.object.is_deleted();
    if pass.own.runs() {
        pass.add_finalizer();
    }
    if deleted || pass.object.spec.value.tear_down_cluster {
        let mut jobs = pass.own.strays.clone();
        if let BoundJob::To(job) = pass.own.bound
            && !job.prow_job.state().is_final()
        {
            jobs.push(job);
        }
        for job in jobs {
            let end = teardown::end_unserved_job(pass, job);
            pass.afterwards.extend(end);
        }
    }
    if deleted {
        pass.remove_finalizer();
    } else if pass.object.annotation(ours::DIAGNOSTICS).is_none() {
        pass.set_annotation(ours::DIAGNOSTICS, MESSAGE);
        let text = "the status cannot be read, so nothing is made and nothing written over it; \
                    an administrator has to repair or remove it";
        pass.emit(true, EventReason::StatusUnreadable.as_str(), text);
    }
}
