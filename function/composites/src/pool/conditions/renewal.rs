//! Conditions about replacing clusters: by a refresh, for another release, for other credentials.

use testplatform_apis::{
    condition::{
        Condition,
        ConditionStatus::{False, True, Unknown},
        PoolConditionType as Type, RefreshRecommended, Refreshing, Releasable,
    },
    pool::ScalingMode,
    pool_report::{RefreshPhase, RotationPhase},
    text::bounded,
};

use super::{super::PoolEvaluation, build_condition, messages};

/// How a refresh that was asked for gets on.
pub(super) fn refreshing_condition(evaluation: &PoolEvaluation) -> Condition {
    let make = |status, reason: Refreshing, message: &str| {
        build_condition(Type::Refreshing, status, reason.as_str(), message)
    };
    let wanted = evaluation.plan.as_ref().ok();
    let requested = wanted.and_then(|w| w.spec.refresh.as_ref()?.nonce.as_deref());
    let external = wanted.is_some_and(|w| w.spec.scaling_mode == Some(ScalingMode::External));
    let report = evaluation.observed.report().and_then(|r| r.refresh.as_ref());
    let report = report.filter(|r| requested.is_none_or(|nonce| r.covers_nonce(nonce)));
    let remaining = report
        .and_then(|r| r.remaining)
        .filter(|r| *r > 0)
        .map(|r| format!(", {r} left to replace"))
        .unwrap_or_default();
    match (report.map(|r| r.phase), requested) {
        (None, None) => make(False, Refreshing::NotAsked, "no refresh was requested"),
        (None, Some(_)) if external => make(
            False,
            Refreshing::ExternalScaling,
            "another controller sets the size, so clusters cannot be replaced by scaling",
        ),
        (None, Some(nonce)) => {
            let message = format!(
                "refresh {nonce} was requested; the hub-side provider has not started on it, or does not manage pools"
            );
            make(False, Refreshing::NotTakenUp, &message)
        }
        (Some(RefreshPhase::Settling), _) => make(
            True,
            Refreshing::Settling,
            &format!("waiting for clusters to settle before the oldest are removed{remaining}"),
        ),
        (Some(RefreshPhase::Down), _) => {
            make(True, Refreshing::Down, &format!("clusters are removed{remaining}"))
        }
        (Some(RefreshPhase::Up), _) => {
            make(True, Refreshing::Up, &format!("new clusters are installed{remaining}"))
        }
        (Some(RefreshPhase::Done), _) if report.is_some_and(|r| r.started_at.is_none()) => make(
            False,
            Refreshing::Done,
            "this nonce was there when the hub-side provider first saw the pool, so nothing was replaced for it",
        ),
        (Some(RefreshPhase::Done), _) => {
            make(False, Refreshing::Done, "every cluster that nobody had claimed was replaced")
        }
        (Some(RefreshPhase::Stalled), _) => make(
            False,
            Refreshing::Stalled,
            &format!(
                "removing clusters did not remove the old ones{remaining}; ask again with a larger maxUnavailable"
            ),
        ),
    }
}

/// Whether clusters are of another release than they would be made of now.
pub(super) fn recommended_condition(evaluation: &PoolEvaluation) -> Condition {
    let make = |status, reason: RefreshRecommended, message: &str| {
        build_condition(Type::RefreshRecommended, status, reason.as_str(), message)
    };
    match evaluation.observed.report().and_then(|r| r.artifacts.as_ref()) {
        None => make(
            Unknown,
            RefreshRecommended::NotWatched,
            "no provider on the hub watches the objects that the pool refers to",
        ),
        Some(artifacts) if artifacts.changed => {
            let message = format!(
                "ClusterImageSet {} has a different release than the existing clusters; a new refresh.nonce replaces them",
                bounded(&artifacts.image_set, 253)
            );
            make(True, RefreshRecommended::ImageSetChanged, &message)
        }
        Some(_) => {
            make(False, RefreshRecommended::Unchanged, "the objects that the pool refers to have not changed")
        }
    }
}

/// Whether the credentials that were used before are still needed.
pub(super) fn releasable_condition(evaluation: &PoolEvaluation) -> Condition {
    let make = |status, reason: Releasable, message: &str| {
        build_condition(Type::OldCredentialsReleasable, status, reason.as_str(), message)
    };
    let Some(rotation) = evaluation.observed.report().and_then(|r| r.rotation.as_ref()) else {
        return make(
            Unknown,
            Releasable::NotWatched,
            "no provider on the hub watches the credentials that clusters were created with",
        );
    };
    let used = messages::old_credentials_text(rotation);
    let requested = evaluation.plan.as_ref().ok().and_then(|w| w.spec.credentials_ref.as_ref());
    if requested.is_some_and(|a| a.name != rotation.name) {
        return make(
            False,
            Releasable::InUse,
            "new credentials were requested, and the hub has not started on them",
        );
    }
    match rotation.phase {
        RotationPhase::First => {
            make(False, Releasable::NoRotation, "no other credentials were seen before these")
        }
        RotationPhase::Draining if is_scaled_by_others(evaluation) => {
            let message = format!(
                "the pool must be empty before Secret {} is used{used}; another controller sets its size, so scale it to 0 yourself \
                until then, or use credentialsRotation.mode Replace",
                bounded(&rotation.name, 253)
            );
            make(False, Releasable::ExternalScaling, &message)
        }
        RotationPhase::Draining | RotationPhase::Switching => make(
            False,
            Releasable::Draining,
            &format!("the pool is emptied before Secret {} is used{used}", bounded(&rotation.name, 253)),
        ),
        RotationPhase::Replacing => make(
            False,
            Releasable::InUse,
            &format!("the old credentials are needed to destroy clusters{used}"),
        ),
        RotationPhase::Done => make(
            True,
            Releasable::NotInUse,
            "no cluster with the old credentials is left; they can be deleted",
        ),
    }
}

/// Whether the pool keeps clusters because somebody else scales it, and has not emptied it.
fn is_scaled_by_others(evaluation: &PoolEvaluation) -> bool {
    let wanted = evaluation.plan.as_ref().ok();
    let external = wanted.is_some_and(|w| w.spec.scaling_mode == Some(ScalingMode::External));
    external && evaluation.observed.remote().is_some_and(|remote| remote.spec["size"].as_i64() != Some(0))
}
