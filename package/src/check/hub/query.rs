//! Queries of a hub, with the identity of the kubeconfig. Edge.

use anyhow::Context as _;
use jiff::Timestamp;
use k8s_openapi::api::{
    authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec},
    core::v1::Namespace,
};
use kube::{Api, Client, Error, api::PostParams};

use super::{
    HubAnswers, HubReport, RequirementStatus, evaluate_hub, evaluate_token,
    needs::{CheckPlan, Permission, Subject},
    token,
};
use crate::access::{Access, describe_error};

/// Asks a hub everything that a plan requires.
///
/// # Errors
/// If the hub is unreachable.
pub async fn query_hub(access: &Access, plan: &CheckPlan, now: Timestamp) -> anyhow::Result<HubReport> {
    let kubeconfig = access.read_kubeconfig()?;
    let end = token::token_expiry(&kubeconfig, access.context(&kubeconfig));
    // The hub would only refuse an expired token.
    let ended = evaluate_token(&end, now);
    if ended.verdict == RequirementStatus::Gap {
        return Ok(HubReport(vec![ended]));
    }
    let client = access.build_client(kubeconfig).await?;
    let answers = collect_answers(&client, plan).await?;
    Ok(evaluate_hub(plan, &answers, &end, now))
}

async fn collect_answers(client: &Client, plan: &CheckPlan) -> anyhow::Result<HubAnswers> {
    let mut answers = HubAnswers::default();
    let groups =
        client.list_api_groups().await.map_err(describe_error).context("cannot ask what is served")?.groups;
    for subject in &plan.subjects {
        for kind in subject.kinds() {
            let of_kind = groups.iter().filter(|group| group.name == kind.group);
            let versions = of_kind.flat_map(|group| group.versions.iter());
            for version in versions.filter(|version| kind.versions.contains(&version.version.as_str())) {
                let resources = client.list_api_group_resources(&version.group_version).await;
                let resources = resources
                    .map_err(describe_error)
                    .with_context(|| format!("cannot ask what is served in {}", version.group_version))?;
                let plurals = resources.resources.into_iter().map(|resource| resource.name).collect();
                answers.served.insert((kind.group.to_owned(), version.version.clone()), plurals);
            }
        }
        collect_rights(client, plan, *subject, &mut answers).await?;
    }
    for right in plan.excess_rights() {
        let allowed = is_allowed(client, &right).await?;
        answers.rights.insert(right, allowed);
    }
    Ok(answers)
}

async fn collect_rights(
    client: &Client,
    plan: &CheckPlan,
    subject: Subject,
    answers: &mut HubAnswers,
) -> anyhow::Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    for name in plan.namespaces(subject) {
        let exists = match namespaces.get_opt(name).await {
            Ok(found) => Some(found.is_some()),
            Err(Error::Api(status)) if status.code == 403 => None,
            Err(error) => {
                return Err(describe_error(error))
                    .with_context(|| format!("cannot look at namespace {name}"));
            }
        };
        answers.namespaces.insert(name.to_owned(), exists);
    }
    for need in plan.needs(subject) {
        let allowed = is_allowed(client, &need.right).await?;
        answers.rights.insert(need.right, allowed);
    }
    Ok(())
}

/// Every authenticated user may ask about their own permissions.
async fn is_allowed(client: &Client, right: &Permission) -> anyhow::Result<bool> {
    let attributes = ResourceAttributes {
        verb: Some(right.verb.to_owned()),
        group: Some(right.group.to_owned()),
        resource: Some(right.resource.to_owned()),
        namespace: right.namespace.clone(),
        name: right.name.map(str::to_owned),
        ..ResourceAttributes::default()
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let answer = reviews.create(&PostParams::default(), &review).await.map_err(describe_error);
    let answer = answer.with_context(|| format!("cannot ask whether it may {right}"))?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}
