//! Composite → [`Validated`], or all of its problems.
//!
//! **Invariant:** once a cluster was requested, validation cannot lose it. Immutable values come from the observed primary Object, whatever
//! the claim has now.

mod access;
mod lifetime;
mod pool_claim;
pub(crate) mod transfer;

use serde_json::{Map, Value};
use testplatform_apis::{
    byoc::BESIDE_OTHERS,
    ci_operator::{self, CiOperator},
    cleanup, collect,
    condition::Request,
    input::Settings,
    names::{ShortName, Uid, ephemeral_cluster as annotations, name_within, ours},
    text::bounded,
};

pub(crate) use lifetime::{HIVE_ENDS_IT, HIVES_END};

use lifetime::Limits;

use crate::{
    cluster::{
        catalog::{
            self,
            environment::missing_environment,
            templates::{self, Rollout},
        },
        observed::{CLUSTER_CLAIM, Observed},
        request::{
            AdmissionIssue, Block, COMPANIONS, Lifetime, PoolClaim, Resolution, Templated, Validated,
            size::{self, is_within},
        },
    },
    sdk::composite::{FieldProblem, Flavour},
};

/// Validates a claim, and returns all problems. `rollout`: that of its cluster by template.
pub fn validate(
    observed: &Observed,
    settings: Settings,
    schema: &Value,
    rollout: Option<&dyn Rollout>,
) -> Result<Validated, Vec<FieldProblem>> {
    let spec = &observed.composite.spec;
    let mut issues = Vec::new();
    let mut problems = Vec::new();

    let name = ShortName::try_from(name_for_objects(observed))
        .map_err(|e| problems.push(FieldProblem { field: "metadata.name".into(), sentence: e.to_string() }));
    let tenant = observed.composite.tenant().map(str::to_owned);
    let mut refused = None;
    let block = match &observed.primary {
        _ if templates::is_templated(observed) => {
            match Templated::resolve(spec, tenant.as_deref(), observed, rollout) {
                Ok((templated, refusal)) => {
                    refused = refusal;
                    issues.extend(templated.collect_issues());
                    issues.extend(catalog::tenant_credentials::collect_issues(observed));
                    Some(Block::Template(Box::new(templated)))
                }
                Err(mut wrong) => {
                    problems.append(&mut wrong);
                    None
                }
            }
        }
        // The cluster exists and its request cannot change, whatever the claim has now.
        Some(primary) if primary.name == CLUSTER_CLAIM => {
            let pool_claim = PoolClaim::from_primary(primary, observed, &settings, &mut issues);
            Some(Block::ClusterClaim(Box::new(pool_claim)))
        }
        Some(primary) => Some(keep_request(&primary.manifest()["spec"]["ciOperator"], spec, &mut issues)),
        None if observed.cluster_may_exist() => Some(restore_request(observed, spec, schema, &mut issues)),
        None => read_request(spec, schema, &mut problems).map(|block| match block {
            Block::ClusterClaim(claimed) if !spec["byoc"].is_null() => {
                let claimed =
                    claimed.with_tenant_credentials(&spec["byoc"], tenant.as_deref(), &mut problems);
                Block::ClusterClaim(Box::new(claimed))
            }
            block => block,
        }),
    };
    // Beside another block it would be left out without a word.
    let beside = observed.primary.is_none() && spec["clusterClaim"].is_null() && !spec["byoc"].is_null();
    if beside && !observed.cluster_may_exist() && !templates::is_templated(observed) {
        problems.push(FieldProblem { field: "spec.byoc".into(), sentence: BESIDE_OTHERS.into() });
    }
    let access = access::resolve_access(observed, &mut problems, &mut issues);
    let (Ok(name), Some(mut block), true) = (name, block, problems.is_empty()) else { return Err(problems) };
    if let Block::Template(templated) = &mut block {
        templated.restore_placement(name.as_str(), tenant.as_deref(), observed, &settings);
    }
    // A transfer target never creates a cluster.
    let waits = crate::cluster::admission::transfer::transfer_blocked_by(observed);
    let blocker = waits
        .or(refused)
        .or_else(|| find_blocker(&mut block, name.as_str(), tenant.as_deref(), observed, &settings));

    if let Block::CiOperator(forwarded) = &block {
        let unknown = ci_operator::unknown_fields(schema, forwarded);
        if !unknown.is_empty() {
            issues.push(AdmissionIssue::new(
                Request::UnknownFieldForwarded,
                format!(
                    "passed to the hub unchanged, because this version does not know them: {}",
                    claim_paths(&unknown)
                ),
            ));
        }
    }
    let teardown = read_teardown(spec, &mut issues);
    // A released cluster is not this composite's to end.
    let released = observed.transfer.is_released();
    let teardown = teardown.map(|asked| asked && !released);
    let limits = Limits::of(&block, &settings);
    let lifetime = Lifetime::of(&spec["lifetime"], observed, &limits, &mut issues);
    let run_names = collect_run_annotations(observed, &mut issues);
    if matches!(cleanup::debug_retention(spec), Some(Err(_))) {
        issues.push(AdmissionIssue::new(
            Request::ChangeIgnored,
            "spec.cleanup.keepForDebug is not a duration such as 30m; spec.cleanup is ignored",
        ));
    }
    // An explicit `false` prevents the cleanup.
    let recorded =
        observed.composite.metadata.annotation(ours::CLEANUP_SINCE).filter(|_| teardown != Some(false));
    let cleanup_at = cleanup::teardown_due(spec, recorded).filter(|_| !released);
    if tenant.is_none() {
        issues.push(AdmissionIssue::new(
            Request::NoTenant,
            "no claim: an administrator's composite, provisioned without a tenant",
        ));
    }
    collect::sort_few(&mut issues, |a, b| a.reason.cmp(&b.reason));
    Ok(Validated {
        name,
        tenant,
        block,
        teardown,
        lifetime,
        access,
        cleanup_at,
        run_annotations: run_names,
        settings,
        blocked_by: blocker,
        issues,
    })
}

/// `spec.tearDownCluster`, if it is a boolean.
fn read_teardown(spec: &Value, issues: &mut Vec<AdmissionIssue>) -> Option<bool> {
    match &spec["tearDownCluster"] {
        Value::Bool(asked) => Some(*asked),
        Value::Null => None,
        _ => {
            issues.push(AdmissionIssue::new(
                Request::ChangeIgnored,
                "spec.tearDownCluster is neither true nor false and is ignored",
            ));
            None
        }
    }
}

/// Under what the composite's Objects and what is made for it on a hub are known. Composites in namespaces share the names of others,
/// also with ones that were there before, whose clusters may still be on their way out: theirs are kept apart by a hash. Once there
/// is an Object its name rules, because after a restore a composite has another uid.
fn name_for_objects(observed: &Observed) -> String {
    let metadata = &observed.composite.metadata;
    let Flavour::Namespaced(namespace) = &observed.composite.flavour else { return metadata.name.clone() };
    let of_writer = observed.primary.as_ref().and_then(|w| w.object.metadata.name.strip_prefix("managed-"));
    let credentials = observed.credentials.as_ref();
    let of_credentials = || credentials.and_then(|c| c.object.metadata.name.strip_prefix("credentials-"));
    if let Some(known) = of_writer.or_else(of_credentials) {
        return known.to_owned();
    }
    name_within(namespace, &metadata.name, metadata.uid.as_ref().map_or("", Uid::as_str))
}

/// Paths within the block as paths within the claim. The last may be a count of those that are left out.
fn claim_paths(unknown: &[String]) -> String {
    let path = |p: &String| if p.starts_with("and ") { p.clone() } else { format!("spec.ciOperator.{p}") };
    unknown.iter().map(path).collect::<Vec<_>>().join(", ")
}

/// The depth that `ciOperator` may have. Within what carries it to the hub it is deeper still.
const MAX_DEPTH: usize = 64;

/// Request of a claim for which nothing was created yet.
fn read_request(spec: &Value, schema: &Value, problems: &mut Vec<FieldProblem>) -> Option<Block> {
    let mut problem = |field: &str, sentence: String| {
        problems.push(FieldProblem { field: field.to_owned(), sentence });
        None
    };
    let (built, pooled) = (&spec["ciOperator"], &spec["clusterClaim"]);
    let set = if built.is_null() { "clusterClaim" } else { "ciOperator" };
    let other = !built.is_null() || !pooled.is_null();
    if other && !spec["template"].is_null() {
        return problem("spec", format!("sets both {set} and template; set one of them"));
    }
    for companion in COMPANIONS.iter().filter(|c| !spec[**c].is_null()) {
        problem(&format!("spec.{companion}"), format!("belongs to template, not to {set}"));
    }
    match (built, pooled) {
        (Value::Null, Value::Null) => {
            problem("spec", "sets none of ciOperator, clusterClaim and template; set one of them".into())
        }
        (Value::Null, block @ Value::Object(_)) => {
            PoolClaim::read_claim(block, problems).map(|asked| Block::ClusterClaim(Box::new(asked)))
        }
        (Value::Null, _) => problem("spec.clusterClaim", "is not an object".into()),
        (Value::Object(block), Value::Null) => {
            if !is_within(built, MAX_DEPTH) {
                let sentence = format!("is nested deeper than {MAX_DEPTH} levels");
                return problem("spec.ciOperator", sentence);
            }
            if let Some(wrong) = size::block_problem("spec.ciOperator", built) {
                problems.push(wrong);
                return None;
            }
            let forwarded = CiOperator(block.clone()).to_forwarded();
            for (path, sentence) in ci_operator::find_problems(schema, &forwarded) {
                let field = if path.is_empty() {
                    "spec.ciOperator".into()
                } else {
                    format!("spec.ciOperator.{path}")
                };
                problem(&bounded(&field, 256), bounded(&sentence, 256));
            }
            Some(Block::CiOperator(forwarded))
        }
        (_, Value::Null) => problem("spec.ciOperator", "is not an object".into()),
        _ => problem("spec", "sets both ciOperator and clusterClaim; set one of them".into()),
    }
}

/// Request of a claim whose cluster has to be searched for. Problems of its current spec, such as after a stricter schema, do not affect
/// that.
fn restore_request(
    observed: &Observed,
    spec: &Value,
    schema: &Value,
    issues: &mut Vec<AdmissionIssue>,
) -> Block {
    let mut problems = Vec::new();
    let requested = read_request(spec, schema, &mut problems);
    if let Some(FieldProblem { field, sentence }) = problems.first() {
        issues.push(AdmissionIssue::new(
            Request::ChangeIgnored,
            format!("{field}: {sentence}; a cluster may exist for this claim nevertheless, and is being searched for"),
        ));
    }
    let otherwise = !spec["clusterClaim"].is_null() && !spec["ciOperator"].is_object();
    match (observed.came_from_pool().unwrap_or(otherwise), requested) {
        (true, Some(block @ Block::ClusterClaim(_))) | (false, Some(block @ Block::CiOperator(_))) => block,
        (true, _) => Block::ClusterClaim(Box::new(PoolClaim::unknown())),
        (false, _) => Block::CiOperator(spec["ciOperator"].as_object().cloned().unwrap_or_default()),
    }
}

/// Request of a claim for which something was created.
fn keep_request(manifest: &Value, spec: &Value, issues: &mut Vec<AdmissionIssue>) -> Block {
    let frozen = manifest.as_object().cloned().unwrap_or_default();
    let same = |asked: &Map<String, Value>| {
        *asked == frozen
            || CiOperator(asked.clone()).to_forwarded() == CiOperator(frozen.clone()).to_forwarded()
    };
    if !spec["ciOperator"].as_object().is_some_and(same) {
        issues.push(AdmissionIssue::new(
            Request::ChangeIgnored,
            "spec.ciOperator cannot change after a cluster was requested; the cluster stays as requested",
        ));
    }
    Block::CiOperator(frozen)
}

fn collect_run_annotations(
    observed: &Observed,
    issues: &mut Vec<AdmissionIssue>,
) -> Vec<(&'static str, ShortName)> {
    let mut legal = Vec::new();
    for key in [annotations::PIPELINE_RUN_NAME, annotations::TASK_RUN_NAME] {
        let Some(value) = observed.composite.metadata.annotation(key) else { continue };
        match ShortName::try_from(value) {
            Ok(name) => legal.push((key, name)),
            Err(error) => issues.push(AdmissionIssue::new(
                Request::AnnotationIgnored,
                format!("annotation {key} was left out, its value is {error}"),
            )),
        }
    }
    legal
}

fn find_blocker(
    block: &mut Block,
    name: &str,
    tenant: Option<&str>,
    observed: &Observed,
    settings: &Settings,
) -> Option<AdmissionIssue> {
    match block {
        Block::CiOperator(_) => missing_environment(&observed.environment, settings).or_else(|| {
            let counts = settings.quotas_for_ci_operator && observed.is_unplaced();
            counts
                .then(|| crate::cluster::catalog::pools::check_quota(1, tenant, observed, settings).err())
                .flatten()
        }),
        Block::ClusterClaim(claimed) => claimed.choose_pool(name, tenant, observed, settings).err(),
        Block::Template(templated) => {
            let open = matches!(templated.resolution, Resolution::Resolved(_)) && observed.is_unplaced();
            let blocked =
                open.then(|| templates::blocked_by(templated, tenant, observed, settings)).flatten();
            // A hub is chosen last, with everything else in place: from then on it counts this one.
            blocked.or_else(|| {
                open.then(|| templated.choose_placement(name, tenant, observed, settings).err()).flatten()
            })
        }
    }
}
