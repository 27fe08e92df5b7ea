//! Reasons behind the response for a pool: one line per decision, read from where it was made.

use testplatform_apis::pool_status::PoolPhase;

use super::{POOL, PoolEvaluation, drain::DrainStage, sizing::PoolSize, validate::PoolPlan};
use crate::sdk::proto::{RunFunctionResponse, Severity};

/// The reasons behind a response, most important first.
pub fn explain_response(evaluation: &PoolEvaluation, response: &RunFunctionResponse) -> Vec<String> {
    if let Some(fatal) = response.results.iter().find(|r| r.severity == i32::from(Severity::Fatal)) {
        return vec![format!("fatal: {}", fatal.message)];
    }
    let status = super::status::build_status(evaluation);
    let mut lines =
        vec![format!("phase {}: {}", evaluation.phase, status["message"].as_str().unwrap_or_default())];
    match &evaluation.plan {
        Err(problems) => {
            lines.extend(problems.iter().map(|p| format!("problem: {}: {}", p.field, p.sentence)));
            lines.push(format!(
                "{POOL}: {}",
                if evaluation.observed.pool.is_some() {
                    "repeated as it was last asked for"
                } else {
                    "not made, because the definition is invalid"
                }
            ));
        }
        Ok(wanted) => lines.extend(plan_lines(evaluation, wanted)),
    }
    if let Some(ttl) = response.meta.as_ref().and_then(|m| m.ttl.as_ref()) {
        lines.push(format!("answer: good for {} s", ttl.seconds));
    }
    lines
}

fn plan_lines(evaluation: &PoolEvaluation, wanted: &PoolPlan) -> Vec<String> {
    let place = format!(
        "{}/{} on the hub of ProviderConfig {}",
        wanted.namespace, wanted.name, wanted.provider_config
    );
    let what = match (evaluation.drain_stage(), &wanted.blocked_by, &evaluation.observed.pool) {
        (DrainStage::Announced | DrainStage::Removed | DrainStage::Observed, _, _) => {
            format!("{place}: taken away, as asked; Hive holds it until its claimed clusters are given back")
        }
        (DrainStage::Proven | DrainStage::Complete, _, _) => {
            format!("{place}: not made, because it is to drain")
        }
        (DrainStage::NotDraining, Some(blocker), None) => format!("{place}: not made: {}", blocker.message),
        (DrainStage::NotDraining, None, None) => format!("{place}: made"),
        (DrainStage::NotDraining, _, Some(_)) => format!("{place}: kept"),
    };
    let mut lines = vec![format!("{POOL}: {what}")];
    if evaluation.phase != PoolPhase::Drained {
        lines.extend(size_lines(wanted));
        lines.extend(wanted.credentials.as_ref().map(|name| {
            let requested = wanted.spec.credentials_ref.as_ref().is_some_and(|c| c.name == *name);
            let why = if requested { "" } else { ", until the pool is empty" };
            format!("credentials: Secret {name}{why}")
        }));
    }
    lines.extend(wanted.issues.iter().map(|r| format!("remark: {}: {}", r.reason, r.message)));
    lines
}

fn size_lines(wanted: &PoolPlan) -> Vec<String> {
    let Some(size) = wanted.size else { return vec!["size: not known, because of the schedule".into()] };
    let message = |size: PoolSize| {
        let number = |n: Option<i64>| n.map_or_else(|| "none given".to_owned(), |n| n.to_string());
        format!("{}, running {}, at most {}", size.size, number(size.running_count), number(size.max_size))
    };
    let mut lines = vec![format!("size: {}", message(size))];
    if let Some(usual) = wanted.steady_size.filter(|usual| *usual != size) {
        lines.push(format!("size: usually {}; a refresh or a rotation lowers it", message(usual)));
    }
    if wanted.spec.schedule.is_some() {
        let part = wanted
            .schedule
            .window
            .as_ref()
            .map_or("outside all windows".to_owned(), |w| format!("window {w}"));
        let until = wanted.schedule.next.map_or_else(|| "for ever".to_owned(), |at| format!("until {at}"));
        lines.push(format!("schedule: {part}, {until}"));
    }
    lines
}
