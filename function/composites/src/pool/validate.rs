//! Definition × observed × now → [`PoolPlan`], or all of its problems.

use jiff::Timestamp;
use serde_json::{Value, json};
use testplatform_apis::{
    collect,
    condition::PoolRequested,
    names::ShortName,
    pool::{AdminKind, PlatformKind, RotationMode, ScalingMode, TestPlatformClusterPoolSpec},
    pool_report::RotationPhase,
    text::bounded,
};

use super::{
    observed::PoolState,
    schedule::{self, ScheduleError, ScheduleState},
    sizing::{PoolSize, size_ceiling},
};
use crate::sdk::composite::FieldProblem;

/// A definition of which everything that can be judged was judged.
#[derive(Clone, Debug)]
pub struct PoolPlan {
    /// Name of the ClusterPool.
    pub name: ShortName,
    /// Its namespace.
    pub namespace: String,
    /// The hub's ProviderConfig.
    pub provider_config: String,
    /// The definition.
    pub spec: TestPlatformClusterPoolSpec,
    /// Which cloud.
    pub platform: PlatformKind,
    /// How large it is when nothing else is going on; none: that cannot be told, and nothing was made yet.
    pub steady_size: Option<PoolSize>,
    /// How large it is to be now.
    pub size: Option<PoolSize>,
    /// Which part of the schedule holds.
    pub schedule: ScheduleState,
    /// The Secret with the credentials to use now: the old one while a rotation empties the pool.
    pub credentials: Option<String>,
    /// Whether it is to go.
    pub drain: bool,
    /// Why nothing may be made.
    pub blocked_by: Option<PoolAdmissionIssue>,
    /// Issues for the administrators.
    pub issues: Vec<PoolAdmissionIssue>,
}

/// Something that the administrators should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolAdmissionIssue {
    /// The reason that the condition shows.
    pub reason: PoolRequested,
    /// A sentence.
    pub message: String,
}

/// All problems, not the first. `spec`: that of the composite.
pub fn validate_pool(
    spec: Value,
    observed: &PoolState,
    now: Timestamp,
) -> Result<PoolPlan, Vec<FieldProblem>> {
    let own = &observed.composite.metadata.name;
    let spec = TestPlatformClusterPoolSpec::read(spec)
        .map_err(|e| vec![build_problem("spec", bounded(&e.to_string(), 256))])?;
    let mut problems = Vec::new();
    let mut issues = Vec::new();
    let name = spec.name.as_deref().unwrap_or(own);
    let field = if spec.name.is_some() { "spec.name" } else { "metadata.name" };
    let name = ShortName::try_from(name).map_err(|e| problems.push(build_problem(field, e.to_string())));
    let platform = check_platform(&spec, &mut problems);
    check_running(&spec, platform, &mut problems);
    if spec.scaling_mode == Some(ScalingMode::External) && spec.schedule.is_some() {
        problems.push(build_problem(
            "spec.schedule",
            "scalingMode External leaves the size to another controller; remove one of them".into(),
        ));
    }
    for (index, admin) in spec.admins.iter().enumerate() {
        if (admin.kind == AdminKind::ServiceAccount) != admin.namespace.is_some() {
            let sentence = "a ServiceAccount has a namespace, and nobody else has one";
            problems.push(build_problem(&format!("spec.admins[{index}]"), sentence.into()));
        }
    }
    let (Ok(name), Some(platform), true) = (name, platform, problems.is_empty()) else {
        return Err(problems);
    };

    let (name, namespace, provider_config) = resolve_place(name, &spec, observed, &mut issues);
    let mut blocker = duplicate_name_issue(&name, &namespace, &provider_config, observed);
    let drain = spec.drain == Some(true);
    let runs = platform.always_runs();
    let scheduled =
        spec.schedule.as_ref().map_or(Ok(ScheduleState::default()), |s| schedule::schedule_at(s, now));
    let (moment, usual) = match scheduled {
        Ok(moment) => {
            let usual = PoolSize::of(&spec, moment.sizing, runs);
            (moment, Some(usual))
        }
        // A running pool keeps its size; a new one waits.
        Err(ScheduleError { reason, message }) => {
            // Size on the hub, where this function released it.
            let hub_size = || PoolSize::requested(&json!({ "spec": observed.remote()?.spec }));
            let requested =
                observed.pool.as_ref().and_then(|p| PoolSize::requested(p.manifest()).or_else(hub_size));
            let consequence = if requested.is_some() {
                "the pool keeps its size until that is corrected"
            } else {
                "the pool is made once that is corrected"
            };
            let issue = PoolAdmissionIssue { reason, message: format!("{message}; {consequence}") };
            if requested.is_none() && blocker.is_none() {
                blocker = Some(issue.clone());
            }
            issues.push(issue);
            (ScheduleState::default(), requested)
        }
    };
    let ceiling = size_ceiling(&spec, observed.report());
    let size = usual.map(|usual| ceiling.map_or(usual, |c| usual.capped_by(c, runs)));
    let credentials = current_credentials(&spec, platform, observed);
    if super::size_release::is_handing_over(&spec, observed) {
        let message = "the size is about to be left to the controller that scales the pool on the hub; until then it is kept as it is";
        issues.push(PoolAdmissionIssue { reason: PoolRequested::HandingOver, message: message.into() });
    }
    collect::sort_few(&mut issues, |a, b| a.reason.cmp(&b.reason));
    Ok(PoolPlan {
        name,
        namespace,
        provider_config,
        spec,
        platform,
        steady_size: usual,
        size,
        schedule: moment,
        credentials,
        drain,
        blocked_by: blocker,
        issues,
    })
}

fn build_problem(field: &str, sentence: String) -> FieldProblem {
    FieldProblem { field: field.to_owned(), sentence }
}

/// Exactly one, with credentials that are named in one place.
fn check_platform(
    spec: &TestPlatformClusterPoolSpec,
    problems: &mut Vec<FieldProblem>,
) -> Option<PlatformKind> {
    let Some((kind, block)) = spec.platform.only_platform() else {
        let sentence =
            "set exactly one of aws, azure, gcp, openstack and vsphere, for which Hive builds pools";
        problems.push(build_problem("spec.platform", sentence.into()));
        return None;
    };
    if block.contains_key("credentialsSecretRef") {
        let field = format!("spec.platform.{kind}.credentialsSecretRef");
        problems.push(build_problem(&field, "use spec.credentialsRef, which is what is rotated".into()));
    }
    let assumes =
        kind == PlatformKind::Aws && block.get("credentialsAssumeRole").is_some_and(|r| !r.is_null());
    if assumes == spec.credentials_ref.is_some() {
        let sentence = if assumes {
            "excludes spec.platform.aws.credentialsAssumeRole; set one of them"
        } else {
            "is needed: the Secret with the credentials for the cloud"
        };
        problems.push(build_problem("spec.credentialsRef", sentence.into()));
    }
    Some(kind)
}

/// Hive does nothing at all for a pool of clusters that cannot hibernate unless all of them run.
fn check_running(
    spec: &TestPlatformClusterPoolSpec,
    platform: Option<PlatformKind>,
    problems: &mut Vec<FieldProblem>,
) {
    let Some(kind) = platform.filter(|p| p.always_runs()) else { return };
    let mut must = |field: String, running: Option<i32>, size: i32| {
        if running.is_some_and(|r| r != size) {
            problems.push(build_problem(
                &field,
                format!("must be equal to size ({size}): clusters on {kind} cannot hibernate"),
            ));
        }
    };
    must("spec.runningCount".into(), Some(spec.running_count.unwrap_or(0)), spec.size);
    if let Some(schedule) = &spec.schedule {
        if let Some(default) = schedule.default {
            must("spec.schedule.default.runningCount".into(), default.running_count, default.size);
        }
        for (index, window) in schedule.windows.iter().enumerate() {
            must(format!("spec.schedule.windows[{index}].runningCount"), window.running_count, window.size);
        }
    }
    if spec.scaling_mode == Some(ScalingMode::External) {
        problems.push(build_problem(
            "spec.scalingMode",
            format!("External is not supported on {kind}, where runningCount must follow size"),
        ));
    }
}

/// A pool that was asked for stays where it is.
fn resolve_place(
    name: ShortName,
    spec: &TestPlatformClusterPoolSpec,
    observed: &PoolState,
    issues: &mut Vec<PoolAdmissionIssue>,
) -> (ShortName, String, String) {
    let requested = (name, spec.namespace.clone(), spec.provider_config.clone());
    let Some(pool) = &observed.pool else { return requested };
    let text = |key: &str| pool.manifest()["metadata"][key].as_str().unwrap_or_default();
    let hub = &pool.object.spec.provider_config_ref.name;
    let Ok(name) = ShortName::try_from(text("name")) else { return requested };
    let existing = (name, text("namespace").to_owned(), hub.clone());
    if existing != requested {
        let (name, namespace, hub) = &existing;
        let message = format!(
            "a pool cannot move: it stays {namespace}/{name} on the hub of ProviderConfig {hub}; create another pool"
        );
        issues.push(PoolAdmissionIssue { reason: PoolRequested::ChangeIgnored, message });
    }
    existing
}

/// Hive lets the administrators of one pool into the clusters of every pool of that name on the hub.
fn duplicate_name_issue(
    name: &ShortName,
    namespace: &str,
    provider_config: &str,
    observed: &PoolState,
) -> Option<PoolAdmissionIssue> {
    if observed.pool.is_some() {
        return None;
    }
    let metadata = &observed.composite.metadata;
    let age = (metadata.creation_timestamp, metadata.name.clone());
    let Some(peers) = &observed.peers else {
        // This response is not the last one: core fetches the required resources and calls again.
        let message = "the other pools were not read yet".into();
        return Some(PoolAdmissionIssue { reason: PoolRequested::PoolsNotRead, message });
    };
    let same = |p: &&super::PeerPool| p.pool == name.as_str() && p.provider_config == provider_config;
    let other = peers.iter().filter(same).find(|p| p.made || p.age < age)?;
    let message = format!(
        "XTestPlatformClusterPool {} has a pool {name} on this hub already, in namespace {}{}; choose another name",
        other.age.1,
        other.namespace,
        if other.namespace == namespace { ", the very same" } else { "" },
    );
    Some(PoolAdmissionIssue { reason: PoolRequested::NameTaken, message })
}

/// The Secret to use now. While a rotation empties the pool that is the old one.
fn current_credentials(
    spec: &TestPlatformClusterPoolSpec,
    platform: PlatformKind,
    observed: &PoolState,
) -> Option<String> {
    let wanted = &spec.credentials_ref.as_ref()?.name;
    let mode = spec.credentials_rotation.unwrap_or_default().mode.unwrap_or_default();
    let used = observed.pool.as_ref().and_then(|p| {
        p.manifest()["spec"]["platform"][platform.as_str()]["credentialsSecretRef"]["name"].as_str()
    });
    match (mode, used) {
        (RotationMode::Drain, Some(used)) if used != wanted => {
            let rotation = observed.report().and_then(|r| r.rotation.as_ref()).filter(|r| r.name == *wanted);
            let may = rotation.is_some_and(|r| match r.phase {
                RotationPhase::Switching | RotationPhase::Replacing | RotationPhase::Done => true,
                RotationPhase::First | RotationPhase::Draining => false,
            });
            Some(if may { wanted.clone() } else { used.to_owned() })
        }
        (RotationMode::Drain | RotationMode::Replace, _) => Some(wanted.clone()),
    }
}
