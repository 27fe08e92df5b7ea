//! Observed × desired → progress of the space, and its message.

use testplatform_apis::{condition::SpaceReady, space::SpacePhase};

use super::{CREDENTIALS, ROLE_BINDING, SpaceEvaluation, SpaceObject, SpaceState};
use crate::{objects::SyncState, sdk::response::DesiredResource};

/// Progress of a space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpaceProgress {
    /// Why.
    pub reason: SpaceReady,
    /// The same in a sentence.
    pub message: String,
}

impl SpaceEvaluation {
    /// Current stage.
    pub fn phase(&self) -> SpacePhase {
        match (self.details.is_some(), self.state.reason) {
            (false, _) => SpacePhase::Pending,
            (true, SpaceReady::SpaceAvailable) => SpacePhase::Ready,
            (true, _) => SpacePhase::Degraded,
        }
    }
}

/// Progress of the space: the first unfinished step.
pub(super) fn read_progress(
    namespace: Option<&str>,
    resources: &[DesiredResource],
    given: bool,
    observed: &SpaceState,
) -> SpaceProgress {
    let is = |reason, message: String| SpaceProgress { reason, message };
    let Some(namespace) = namespace else {
        let name = &observed.composite.metadata.name;
        let message = format!(
            "{name} with dashes for dots is not a name of a namespace: it must be of lower-case letters, digits and inner dashes, at \
            most 63"
        );
        return is(SpaceReady::SpaceNameInvalid, message);
    };
    if observed
        .namespace_object()
        .and_then(SpaceObject::remote)
        .is_some_and(|m| m.deletion_timestamp.is_some())
    {
        let message =
            format!("namespace {namespace} is being deleted on the hub; it is created again afterwards");
        return is(SpaceReady::SpaceTerminating, message);
    }
    if observed.is_foreign() {
        let message = format!(
            "the hub has a namespace {namespace} that was not created for this claim, so it is not used"
        );
        return is(SpaceReady::SpaceRefused, message);
    }
    let trouble = observed.objects.iter().find_map(|(name, item)| Some((name, sync_problem(&item.sync)?)));
    if let Some((name, (reason, words))) = trouble {
        return is(reason, format!("{name}: {words}"));
    }
    if !observed.namespace_object().is_some_and(SpaceObject::exists) {
        return is(SpaceReady::SpaceNamespacePending, format!("the hub is creating namespace {namespace}"));
    }
    let unready = |r: &&DesiredResource| r.name != CREDENTIALS && !r.ready;
    let mut waits: Vec<&str> = resources.iter().filter(unready).map(|r| &*r.name).collect();
    if !resources.iter().any(|r| r.name == ROLE_BINDING) {
        waits.push(ROLE_BINDING);
    }
    if !waits.is_empty() {
        let message = format!("namespace {namespace} exists; the hub is creating {}", waits.join(", "));
        return is(SpaceReady::SpaceContentPending, message);
    }
    if !given {
        let message = if observed.is_legacy() {
            "everything exists; the hub is creating the token"
        } else if observed.revision().is_none() {
            "everything exists; the provider on the hub has not published the credentials yet"
        } else {
            "everything exists; the published credentials are being read"
        };
        return is(SpaceReady::SpaceCredentialsPending, message.into());
    }
    is(SpaceReady::SpaceAvailable, format!("namespace {namespace} exists, with its credentials"))
}

/// Sync problem for an administrator.
fn sync_problem(sync: &SyncState) -> Option<(SpaceReady, String)> {
    Some(match sync {
        SyncState::Unknown | SyncState::InSync => return None,
        SyncState::Deleted | SyncState::Replaced => {
            (SpaceReady::SpaceRefused, "another object has its name".into())
        }
        SyncState::UnknownField(path) => {
            (SpaceReady::SpaceRefused, format!("the hub does not know the field {path}"))
        }
        SyncState::Refused(message) => (SpaceReady::SpaceRefused, format!("the hub refuses: {message}")),
        SyncState::Unavailable(outage) => (SpaceReady::SpaceHubUnreachable, outage.to_string()),
        SyncState::Paused => (SpaceReady::SpacePaused, "an administrator paused its Object".into()),
    })
}
