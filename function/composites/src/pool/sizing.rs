//! Current size of the pool: its own size, the schedule's in its place, and the limit of a refresh or a rotation.

use serde_json::Value;
use testplatform_apis::{
    pool::{OnArtifactChange, RotationMode, ScalingMode, Sizing, TestPlatformClusterPoolSpec},
    pool_report::{Ceiling, PoolStatus, RotationPhase},
};

/// Prefix of refreshes that the hub-side provider starts by itself.
pub const ARTIFACT_REFRESH: &str = "artifact:";

/// Size fields of the ClusterPool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolSize {
    /// Clusters that nobody has claimed.
    pub size: i64,
    /// Of them running.
    pub running_count: Option<i64>,
    /// All clusters.
    pub max_size: Option<i64>,
}

impl PoolSize {
    /// By the definition and what the schedule says in its place.
    pub fn of(spec: &TestPlatformClusterPoolSpec, part: Option<Sizing>, always_runs: bool) -> Self {
        let part = part.unwrap_or(Sizing { size: spec.size, running_count: None, max_size: None });
        let running = part.running_count.or(spec.running_count).map(i64::from);
        let size = i64::from(part.size);
        // Where somebody else scales it is the size of the beginning and no limit; Hive lets no more run than there are.
        let external = spec.scaling_mode == Some(ScalingMode::External);
        let most = if external { i64::MAX } else { size };
        Self {
            size,
            running_count: if always_runs { Some(size) } else { running.map(|r| r.min(most)) },
            max_size: part.max_size.or(spec.max_size).map(i64::from),
        }
    }

    /// As it was last asked for.
    pub fn requested(manifest: &Value) -> Option<Self> {
        let number = |key: &str| manifest["spec"][key].as_i64();
        let (running_count, max_size) = (number("runningCount"), number("maxSize"));
        Some(Self { size: number("size")?, running_count, max_size })
    }

    /// No more than what is left of it for now.
    #[must_use]
    pub fn capped_by(self, ceiling: Ceiling, always_runs: bool) -> Self {
        let size = self.size.min(ceiling.size.max(0));
        let running = self.running_count.map(|r| r.min(size).min(ceiling.running_count.unwrap_or(r).max(0)));
        Self { size, running_count: if always_runs { Some(size) } else { running }, ..self }
    }
}

/// Limit that a refresh or a rotation puts on the size, as long as it is requested. An administrator ends one whose provider is down by
/// withdrawing the request.
pub fn size_ceiling(spec: &TestPlatformClusterPoolSpec, report: Option<&PoolStatus>) -> Option<Ceiling> {
    let report = report.filter(|_| spec.scaling_mode != Some(ScalingMode::External))?;
    let refresh = spec.refresh.clone().unwrap_or_default();
    let refreshes = report.refresh.as_ref().is_some_and(|r| {
        let requested = refresh.nonce.as_deref() == Some(r.nonce.as_str());
        let by_itself = refresh.on_artifact_change == Some(OnArtifactChange::Rolling)
            && r.nonce.starts_with(ARTIFACT_REFRESH);
        (requested || by_itself) && !r.phase.is_over()
    });
    report.ceiling.filter(|_| refreshes || is_draining_for_rotation(spec, report))
}

/// Whether a rotation empties the pool.
pub fn is_draining_for_rotation(spec: &TestPlatformClusterPoolSpec, report: &PoolStatus) -> bool {
    spec.credentials_rotation.unwrap_or_default().mode == Some(RotationMode::Drain)
        && report.rotation.as_ref().is_some_and(|r| {
            let is_current = spec.credentials_ref.as_ref().is_some_and(|c| c.name == r.name);
            is_current && matches!(r.phase, RotationPhase::Draining | RotationPhase::Switching)
        })
}
