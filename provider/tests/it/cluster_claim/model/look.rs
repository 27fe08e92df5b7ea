//! One look of the provider, piece by piece, and what has to hold of it.

use std::sync::Arc;

use provider_testplatform::{
    controllers::cluster_claim::{
        object::ClusterPool,
        observed_state::{ClaimSettings, ClaimState, CredentialsSource, DeploymentState},
        operation::{ClaimAnnotations, ClaimOperation},
        plan,
    },
    credentials::Published,
};

use super::{
    Claim, LOOKED_AT, Look, Secret, State, Write,
    moves::{begin, is_orphan},
    objects::{claim_object, cluster_object, credentials},
};
use crate::cluster_claim::fixture::born;

/// Plans from the state that the provider has read.
pub(super) fn decide(state: &mut State) {
    let Some(Look::Claim(claim)) = state.looking.take() else { return };
    let object = claim_object(&claim);
    let deployment = match claim.assigned {
        None => DeploymentState::Unassigned,
        Some(c) => match &state.clusters[c] {
            None => DeploymentState::Gone,
            Some(cluster) => DeploymentState::Here(Arc::new(cluster_object(c, cluster))),
        },
    };
    let source = match claim.assigned.and_then(|c| Some((c, state.clusters[c].as_ref()?))) {
        Some((c, cluster)) if plan::may_read(&object, &deployment) => {
            CredentialsSource::Complete(credentials(c, cluster.kubeconfig))
        }
        Some(_) | None => CredentialsSource::Unread,
    };
    let published = match &state.secret {
        None => Published::Absent,
        Some(secret) if secret.uid == claim.uid => Published::Ours {
            revision: secret.version.to_string(),
            source_revision: Some(format!("{}@{}", secret.cluster, secret.kubeconfig)),
        },
        Some(_) => Published::Foreign("another's".into()),
    };
    let world = ClaimState {
        settings: ClaimSettings::default(),
        pool: Some(Arc::new(ClusterPool::default())),
        queue: vec![Some(born())],
        unclaimed: vec![],
        deployment,
        source,
        published,
    };
    let step = plan::plan(&object, &world, born());
    let mut writes: Vec<Write> = step
        .actions
        .into_iter()
        .filter_map(|action| match action {
            ClaimOperation::Publish(made) => {
                let (cluster, kubeconfig) = made.source_revision.split_once('@').unwrap();
                Some(Write::Publish {
                    cluster: cluster.parse().unwrap(),
                    kubeconfig: kubeconfig.parse().unwrap(),
                })
            }
            ClaimOperation::Issue(_) => panic!("nobody wished for a ServiceAccount"),
            ClaimOperation::Withdraw => Some(Write::Withdraw),
            ClaimOperation::Resume { .. } | ClaimOperation::Emit(_) => None,
        })
        .collect();
    if let Some(ClaimAnnotations { status, credentials_revision, .. }) = step.status {
        let notes = (Some(status.to_annotation().unwrap()), credentials_revision);
        if notes != claim.notes {
            writes.push(Write::Note(notes.0, notes.1));
        }
    }
    state.looking = (!writes.is_empty()).then_some(Look::Writes(claim, writes));
}

/// The next write. An answer that is lost ends the look, as the executor does.
pub(super) fn write(state: &mut State, answer_lost: bool) -> Result<(), String> {
    let Some(Look::Writes(seen, mut writes)) = state.looking.take() else { return Ok(()) };
    let mut goes_on = !answer_lost;
    match writes.remove(0) {
        Write::Publish { cluster, kubeconfig } => {
            promised(state, &seen, cluster)?;
            match &mut state.secret {
                Some(secret) if secret.uid == seen.uid => {
                    *secret = Secret { cluster, kubeconfig, version: secret.version + 1, ..*secret };
                }
                Some(_) => goes_on = false,
                none => *none = Some(Secret { uid: seen.uid, cluster, kubeconfig, version: 1 }),
            }
        }
        Write::Withdraw => {
            if state.secret.as_ref().is_some_and(|secret| secret.uid == seen.uid) {
                state.secret = None;
            }
        }
        Write::Note(status, revision) => match &mut state.claims[LOOKED_AT] {
            // The version that was read is required.
            Some(claim) if !state.changed => {
                claim.notes = (status, revision);
            }
            Some(_) | None => goes_on = false,
        },
    }
    if !goes_on || writes.is_empty() {
        state.changed = false;
    } else {
        state.looking = Some(Look::Writes(seen, writes));
    }
    Ok(())
}

/// Publications that must not happen.
fn promised(state: &State, seen: &Claim, cluster: usize) -> Result<(), String> {
    if state.clusters[cluster].as_ref().is_some_and(|cluster| cluster.claim != Some(LOOKED_AT)) {
        return Err("credentials of another claim's cluster are published".into());
    }
    if seen.deleted {
        return Err("credentials are published of what was already ending when it was read".into());
    }
    if !seen.has_run && seen.notes.1.is_none() {
        return Err("credentials are published before the cluster has run".into());
    }
    if !seen.served {
        return Err("credentials are published before Hive has acknowledged the assignment".into());
    }
    Ok(())
}

/// Left alone, all ends well: what should be there is there and nothing else, and nothing more is written.
pub(super) fn left_alone(mut state: State) -> Result<(), String> {
    // A look that is under way ends with its process, which is the worse.
    (state.looking, state.changed) = (None, false);
    let mut quiet = 0;
    for _ in 0..12 {
        let mut wrote = is_orphan(&state);
        if wrote {
            state.secret = None;
        }
        begin(&mut state);
        decide(&mut state);
        while state.looking.is_some() {
            wrote = true;
            write(&mut state, false)?;
        }
        quiet = if wrote { 0 } else { quiet + 1 };
        if quiet == 2 {
            return settled(&state);
        }
    }
    Err("it is written again and again".into())
}

fn settled(state: &State) -> Result<(), String> {
    let claim = state.claims[LOOKED_AT].as_ref();
    let wanted = claim.and_then(|claim| {
        let c = claim.assigned?;
        let cluster = state.clusters[c].as_ref()?;
        let own = cluster.claim == Some(LOOKED_AT) && !cluster.ending && !claim.deleted && claim.served;
        (own && (claim.runs || claim.notes.1.is_some())).then_some((claim.uid, c, cluster.kubeconfig))
    });
    let there = state.secret.as_ref().map(|secret| (secret.uid, secret.cluster, secret.kubeconfig));
    if wanted != there {
        return Err(format!("published is {there:?} and not {wanted:?}"));
    }
    if let Some(claim) = claim {
        let told = claim.notes.0.as_deref().is_some_and(|status| status.contains("secretName"));
        if told != there.is_some() || claim.notes.1.is_some() != there.is_some() {
            return Err(format!("what is told is not what is there: {:?}", claim.notes));
        }
    }
    Ok(())
}
