//! `PoolEvaluation` → `status`, and its message.

use serde_json::Value;
use testplatform_apis::{
    foreign::cluster_pool::conditions,
    pool_report::PoolStatus,
    pool_status::{
        PoolFailure, PoolHub, PoolPhase, PoolPlace, RefreshStatus, Rollout, RotationStatus, ScheduleStatus,
        TestPlatformClusterPoolStatus,
    },
    text::bounded,
};

use super::{
    PoolEvaluation,
    conditions::{find_failure, messages},
    drain::{DrainStage, drain_stage},
    observed::{MAX_NAMES, ObservedPool, PoolState, parse_names},
    validate::PoolPlan,
};
use crate::sdk::composite::FieldProblem;

/// Phase of the pool.
pub(super) fn decide_phase(observed: &PoolState, wanted: Result<&PoolPlan, &Vec<FieldProblem>>) -> PoolPhase {
    match drain_stage(wanted.is_ok_and(|w| w.drain), observed) {
        DrainStage::Announced | DrainStage::Removed | DrainStage::Observed => return PoolPhase::Draining,
        DrainStage::Proven | DrainStage::Complete => return PoolPhase::Drained,
        DrainStage::NotDraining => {}
    }
    match &observed.pool {
        Some(pool) if pool.is_deleting() => PoolPhase::Draining,
        Some(pool) if pool.remote().is_some() => {
            if find_failure(observed).is_some() {
                PoolPhase::Degraded
            } else {
                PoolPhase::Ready
            }
        }
        // A definition that became invalid meanwhile does not end the deletion.
        None if wanted.is_err() && observed.shown == Some(PoolPhase::Draining) => PoolPhase::Draining,
        Some(_) | None => PoolPhase::Pending,
    }
}

/// The whole status.
pub(super) fn build_status(evaluation: &PoolEvaluation) -> Value {
    let observed = &evaluation.observed;
    let pool = observed.pool.as_ref();
    let counts = observed.remote().map(|r| &r.status.value);
    let report = observed.report();
    let nothing = PoolStatus::default();
    let pool_report = report.unwrap_or(&nothing);
    let status = TestPlatformClusterPoolStatus {
        phase: Some(evaluation.phase),
        message: Some(status_message(evaluation)),
        pool: pool_place(evaluation),
        hub: pool_hub(evaluation),
        size: counts.map(|c| c.size.max(0)),
        standby: counts.map(|c| c.standby.max(0)),
        ready: counts.map(|c| c.ready.max(0)),
        installing: counts.map(|c| (c.size - c.standby - c.ready).max(0)),
        claimed: pool_report.claimed.filter(|c| *c >= 0),
        claimed_clusters: pool.map(ObservedPool::holding_clusters).unwrap_or_default(),
        rollout: pool.and_then(rollout_status),
        schedule: schedule_status(evaluation),
        refresh: refresh_status(evaluation, pool_report),
        rotation: rotation_status(pool_report),
        last_provision_failure: pool_report.last_provision_failure.as_ref().map(bounded_failure),
    };
    serde_json::to_value(status).unwrap_or_default()
}

fn pool_place(evaluation: &PoolEvaluation) -> Option<PoolPlace> {
    if let Ok(wanted) = &evaluation.plan {
        return Some(PoolPlace { name: wanted.name.to_string(), namespace: wanted.namespace.clone() });
    }
    let metadata = &evaluation.observed.pool.as_ref()?.manifest()["metadata"];
    let text = |key: &str| metadata[key].as_str().unwrap_or_default().to_owned();
    Some(PoolPlace { name: text("name"), namespace: text("namespace") })
}

fn pool_hub(evaluation: &PoolEvaluation) -> Option<PoolHub> {
    let of_object =
        || evaluation.observed.pool.as_ref().map(|p| p.object.spec.provider_config_ref.name.clone());
    let name = evaluation.plan.as_ref().ok().map(|w| w.provider_config.clone()).or_else(of_object);
    name.map(|name| PoolHub { name: Some(name), reason: None })
}

/// The sentence: what is wrong or going on, else how many there are.
fn status_message(evaluation: &PoolEvaluation) -> String {
    let problems = match &evaluation.plan {
        Err(problems) => Some(super::conditions::join_problems(problems)),
        Ok(_) => None,
    };
    let blocked =
        || evaluation.plan.as_ref().ok().and_then(|w| w.blocked_by.as_ref()).map(|h| h.message.clone());
    let text = match evaluation.phase {
        PoolPhase::Draining => messages::draining_message(evaluation),
        PoolPhase::Drained => "the pool was deleted as requested".into(),
        PoolPhase::Pending => problems
            .or_else(blocked)
            .unwrap_or_else(|| "the pool was requested; waiting for the hub to answer".into()),
        PoolPhase::Degraded | PoolPhase::Ready => {
            let trouble = find_failure(&evaluation.observed).map(|(_, message)| message);
            problems.or(trouble).unwrap_or_else(|| messages::counts_message(evaluation))
        }
    };
    bounded(&text, 1024)
}

fn rollout_status(pool: &ObservedPool) -> Option<Rollout> {
    let current = pool.condition(conditions::ALL_CLUSTERS_CURRENT)?;
    let stale = if current.is_true() { vec![] } else { parse_names(&current.message) };
    let size = pool.remote()?.status.value.size.max(0);
    let counted = (current.is_true() || !stale.is_empty())
        .then(|| (size - i64::try_from(stale.len()).unwrap_or(0)).max(0));
    Some(Rollout { current: counted, stale, up_to_date: current.is_true() })
}

fn schedule_status(evaluation: &PoolEvaluation) -> Option<ScheduleStatus> {
    let wanted = evaluation.plan.as_ref().ok()?;
    wanted.spec.schedule.as_ref()?;
    let moment = &wanted.schedule;
    Some(ScheduleStatus { active_window: moment.window.clone(), next_transition: moment.next })
}

fn refresh_status(evaluation: &PoolEvaluation, said: &PoolStatus) -> Option<RefreshStatus> {
    let requested = evaluation.plan.as_ref().ok().and_then(|w| w.spec.refresh.as_ref()?.nonce.clone());
    let report =
        said.refresh.as_ref().filter(|r| requested.as_ref().is_none_or(|nonce| r.covers_nonce(nonce)));
    let nonce = report.map(|r| r.nonce.clone()).or(requested)?;
    Some(RefreshStatus {
        nonce: Some(bounded(&nonce, 128)),
        phase: report.map(|r| r.phase),
        remaining: report.and_then(|r| r.remaining).filter(|r| *r >= 0),
    })
}

fn rotation_status(said: &PoolStatus) -> Option<RotationStatus> {
    let report = said.rotation.as_ref()?;
    Some(RotationStatus {
        secret_name: Some(bounded(&report.name, 253)),
        phase: Some(report.phase),
        clusters_on_old: report.clusters_on_old.iter().take(MAX_NAMES).map(|n| bounded(n, 253)).collect(),
        claimed_on_old: Some(report.claimed_on_old).filter(|n| *n >= 0),
    })
}

fn bounded_failure(failure: &PoolFailure) -> PoolFailure {
    PoolFailure {
        cluster_deployment: bounded(&failure.cluster_deployment, 253),
        reason: bounded(&failure.reason, 256),
        message: bounded(&failure.message, 1024),
        time: failure.time,
        attempt: failure.attempt.filter(|a| *a >= 1),
    }
}
