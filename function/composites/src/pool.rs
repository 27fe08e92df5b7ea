//! The other composite: a pool of clusters. Input is a definition in Git; output is a Hive ClusterPool on a hub.
//!
//! ```text
//! request ──decode──▶ PoolState ──validate_pool──▶ PoolPlan ──build_resources──▶ desired ──build_response──▶ response ──check──▶ out
//! ```
//!
//! Differences from a claim, and their reasons:
//! - **Nothing is pinned by uid.** A claim's cluster exists once and has an owner; a pool is a setting. An administrator deletes it by hand
//!   on the hub, and Git recreates it once Hive has released the old one: its claimed clusters live on until they are given back.
//! - **Nothing is final.** An invalid definition may be corrected later; until then the running pool stays as it was last requested.
//!
//! **Invariant:** pure, like the rest of the core. An OK response repeats every observed resource of ours, except those that are removed on
//! purpose.

mod check;
mod conditions;
mod drain;
mod explain;
mod observed;
mod resources;
mod respond;
pub mod schedule;
mod size_release;
mod sizing;
mod status;
mod validate;

use jiff::Timestamp;
use serde::Deserialize;
use testplatform_apis::{
    input::Settings,
    pool::{POOL_KIND, ScalingMode},
    pool_status::PoolPhase,
};

pub use observed::{ObservedPool, PeerPool, PoolState};
pub use sizing::PoolSize;
pub use validate::{PoolAdmissionIssue, PoolPlan};

use self::drain::DrainStage;
use crate::{
    Options,
    composite::CompositeEvaluation,
    sdk::{
        composite::FieldProblem,
        proto::{RunFunctionRequest, RunFunctionResponse},
        request::{UnusableRequest, read_settings},
        response::DesiredResource,
        wire,
    },
};

/// Composition resource name of the Object that carries the ClusterPool.
pub const POOL: &str = "pool";
/// Composition resource name of the Object that carries the administrators' RoleBinding.
pub const ADMINS: &str = "admins";
/// Composition resource name of the Object that takes over `spec.size` where somebody else scales.
pub const SIZE: &str = "size";

/// Composition resource names of ours, in the order of names.
pub const OURS: [&str; 3] = [ADMINS, POOL, SIZE];

/// A decoded and planned request for a pool.
#[derive(Debug)]
pub struct PoolEvaluation {
    /// The step's input with every default filled in.
    pub settings: Settings,
    /// Observed state.
    pub observed: PoolState,
    /// Desired state, or the problems of an invalid pool.
    pub plan: Result<PoolPlan, Vec<FieldProblem>>,
    /// Desired resources.
    pub resources: Vec<DesiredResource>,
    /// Phase of the pool.
    pub phase: PoolPhase,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PoolKind<'a> {
    kind: &'a str,
}

/// Whether a request is for a pool.
pub fn handles_kind(request: &RunFunctionRequest) -> bool {
    let composite = request.observed.as_ref().and_then(|o| o.composite.as_ref());
    composite
        .is_some_and(|c| wire::from_struct::<PoolKind<'_>>(&c.resource).is_ok_and(|k| k.kind == POOL_KIND))
}

impl CompositeEvaluation for PoolEvaluation {
    fn handles_kind(request: &RunFunctionRequest) -> bool {
        handles_kind(request)
    }

    fn evaluate(request: &RunFunctionRequest, now: Timestamp) -> Result<Self, UnusableRequest> {
        let settings = read_settings(request)?;
        let mut observed = PoolState::decode(request)?;
        // Nobody needs it but as what it was read to.
        let spec = std::mem::take(&mut observed.composite.spec);
        let wanted = validate::validate_pool(spec, &observed, now);
        let resources = resources::build_resources(wanted.as_ref().ok(), &observed);
        let phase = status::decide_phase(&observed, wanted.as_ref());
        Ok(Self { settings, observed, plan: wanted, resources, phase })
    }

    fn build_response(
        &self,
        request: &RunFunctionRequest,
        options: &Options,
        now: Timestamp,
    ) -> RunFunctionResponse {
        respond::build_response(request, self, options, now)
    }

    fn find_violation(&self, response: &RunFunctionResponse, request: &RunFunctionRequest) -> Option<String> {
        check::find_violation(response, request, self)
    }

    fn explain_response(&self, response: &RunFunctionResponse) -> Vec<String> {
        explain::explain_response(self, response)
    }
}

impl PoolEvaluation {
    /// How far it is, if it is to drain.
    fn drain_stage(&self) -> DrainStage {
        drain::drain_stage(self.plan.as_ref().is_ok_and(|w| w.drain), &self.observed)
    }

    /// Observed resources that may be missing from the desired state, because they are removed on purpose.
    pub(crate) fn removed_resources(&self) -> Vec<&'static str> {
        let Ok(wanted) = &self.plan else { return vec![] };
        let external = wanted.spec.scaling_mode == Some(ScalingMode::External);
        let mut away = Vec::new();
        let stage = self.drain_stage();
        if matches!(stage, DrainStage::Removed | DrainStage::Complete) {
            away.push(POOL);
        }
        if wanted.spec.admins.is_empty() || stage == DrainStage::Complete {
            away.push(ADMINS);
        }
        // It never has the policy Delete, so taking it away touches nothing on the hub.
        if !external || wanted.drain {
            away.push(SIZE);
        }
        away
    }
}
