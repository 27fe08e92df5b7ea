//! Status, issues and requirements of a transfer.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use testplatform_apis::{
    claim::API_VERSION,
    collect,
    condition::Request,
    input::Settings,
    names::{ObjectName, ours},
    status::{HandedOverStatus, TakeOverStage, TakeOverStatus},
};

use crate::{
    cluster::{
        lifecycle::{ClusterEvaluation, transfer::TransferDecision},
        observed::{COUNTERPART, Observed, Transfer},
        request::AdmissionIssue,
    },
    sdk::{
        composite::Flavour,
        proto::{ResourceSelector, resource_selector::Match},
        requirements::selector,
    },
};

/// TTL during a transfer: core ≤ 2.3 does not watch the other side.
pub const IN_PROGRESS_TTL: SignedDuration = SignedDuration::from_secs(10);

/// Requirement for the other side, by name. It depends on claim and observed state: after a takeover, or an end, nothing is requested.
pub(crate) fn counterpart_requirements(
    observed: &Observed,
    settings: &Settings,
) -> BTreeMap<String, ResourceSelector> {
    let by_name = |kind: &str, namespace: Option<&str>, name: &str| {
        let mut selector = selector(API_VERSION, kind, Match::MatchName(name.to_owned()));
        selector.namespace = namespace.map(str::to_owned);
        collect::to_map([(COUNTERPART.dynamic().to_owned(), selector)])
    };
    let (_, other) = observed.composite.kinds();
    match &observed.transfer {
        // A kind that core does not know fails the whole pass.
        Transfer::Source(source) if settings.both_flavours && !observed.is_final() => {
            match &source.receiver {
                Some(to) if to.is_in_claim_namespace(observed) => {
                    by_name(other, Some(&to.namespace), &to.name)
                }
                Some(_) | None => BTreeMap::new(),
            }
        }
        Transfer::Target(target) if !target.was_adopted && !observed.is_final() => {
            match ObjectName::try_from(target.source_name.as_str()) {
                Ok(_) => by_name(other, None, &target.source_name),
                Err(_) => BTreeMap::new(),
            }
        }
        Transfer::None | Transfer::Source(_) | Transfer::Target(_) => BTreeMap::new(),
    }
}

/// Whether a transfer is in progress and waits for the other side.
pub(crate) fn is_in_progress(evaluation: &ClusterEvaluation) -> bool {
    let settled = evaluation.plan.lifecycle.is_complete();
    match &evaluation.observed.transfer {
        Transfer::None => false,
        Transfer::Source(source) => !settled && !source.is_adopted,
        Transfer::Target(target) => !settled && target.adopted.is_none(),
    }
}

/// `status.handedOver`: set once this composite is observed to be unable to end the cluster.
pub(crate) fn handed_over_status(evaluation: &ClusterEvaluation) -> Option<HandedOverStatus> {
    let (Transfer::Source(source), Some(TransferDecision::Release(to))) =
        (&evaluation.observed.transfer, &evaluation.plan.transfer)
    else {
        return None;
    };
    let before = evaluation.observed.composite.status.handed_over.is_some();
    (source.released && (source.is_read_only || before)).then(|| HandedOverStatus {
        namespace: Some(to.namespace.clone()),
        name: Some(to.name.clone()),
        uid: Some(to.uid.0.clone()),
    })
}

/// `status.takeOver`.
pub(crate) fn take_over_status(observed: &Observed) -> Option<TakeOverStatus> {
    let Transfer::Target(target) = &observed.transfer else { return None };
    let watching = target.watched.as_ref().filter(|watching| watching.is_own && watching.is_observed);
    let (stage, place) = match (&target.adopted, watching) {
        (Some(place), _) => (TakeOverStage::Taken, Some(place)),
        (None, Some(watching)) => (TakeOverStage::Watching, Some(&watching.object)),
        (None, None) => (TakeOverStage::Waiting, None),
    };
    let uid = place.map(|place| place.uid.0.clone());
    Some(TakeOverStatus { from: Some(target.source_name.clone()), stage: Some(stage), uid })
}

/// Message about a released cluster.
pub(crate) fn released_message(observed: &Observed) -> String {
    let Transfer::Source(source) = &observed.transfer else { return String::new() };
    let to = source.receiver.as_ref().map(|to| to.name.as_str()).unwrap_or_default();
    if source.is_adopted {
        format!("the cluster was handed over to TestCluster {to}, which ends it; delete this claim")
    } else {
        format!(
            "the cluster was released and waits for TestCluster {to} to take it over; do not delete that TestCluster"
        )
    }
}

/// Issue about a transfer for the owner.
pub(crate) fn transfer_issue(evaluation: &ClusterEvaluation) -> Option<AdmissionIssue> {
    match evaluation.plan.transfer.as_ref() {
        Some(TransferDecision::Wait(why)) => Some(AdmissionIssue::new(
            Request::HandOverWaits,
            format!("the cluster is not handed over: {why}"),
        )),
        Some(TransferDecision::Release(_)) if evaluation.observed.transfer.is_released() => {
            Some(AdmissionIssue::new(Request::HandedOver, released_message(&evaluation.observed)))
        }
        Some(TransferDecision::Release(_) | TransferDecision::Reclaim) => None,
        None => ignored_annotation_issue(&evaluation.observed),
    }
}

/// Issue about an annotation that came too late.
fn ignored_annotation_issue(observed: &Observed) -> Option<AdmissionIssue> {
    let late = matches!(observed.transfer, Transfer::None)
        && matches!(observed.composite.flavour, Flavour::Namespaced(_))
        && observed.composite.metadata.annotation(ours::TAKE_OVER).is_some();
    late.then(|| {
        let message = format!(
            "annotation {} has an effect only if the TestCluster is created with it",
            ours::TAKE_OVER
        );
        AdmissionIssue::new(Request::ChangeIgnored, message)
    })
}
