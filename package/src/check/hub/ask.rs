//! Queries of a hub, with the identity of the kubeconfig. Edge.

use anyhow::Context as _;
use jiff::Timestamp;
use k8s_openapi::api::{
    authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec},
    core::v1::Namespace,
};
use kube::{Api, Client, Error, api::PostParams};

use super::{
    Report, Seen, Verdict,
    needs::{Plan, Right, Subject},
    of_token, report, token,
};
use crate::cluster::{Access, said};

/// Asks a hub everything that a plan requires.
///
/// # Errors
/// If the hub is unreachable.
pub async fn ask(access: &Access, plan: &Plan, now: Timestamp) -> anyhow::Result<Report> {
    let kubeconfig = access.read()?;
    let end = token::end(&kubeconfig, access.context(&kubeconfig));
    // The hub would only refuse an expired token.
    let ended = of_token(&end, now);
    if ended.verdict == Verdict::Gap {
        return Ok(Report(vec![ended]));
    }
    let client = access.client(kubeconfig).await?;
    let seen = seen(&client, plan).await?;
    Ok(report(plan, &seen, &end, now))
}

async fn seen(client: &Client, plan: &Plan) -> anyhow::Result<Seen> {
    let mut seen = Seen::default();
    let groups = client.list_api_groups().await.map_err(said).context("cannot ask what is served")?.groups;
    for subject in &plan.subjects {
        for kind in subject.kinds() {
            let of_kind = groups.iter().filter(|group| group.name == kind.group);
            let versions = of_kind.flat_map(|group| group.versions.iter());
            for version in versions.filter(|version| kind.versions.contains(&version.version.as_str())) {
                let resources = client.list_api_group_resources(&version.group_version).await;
                let resources = resources
                    .map_err(said)
                    .with_context(|| format!("cannot ask what is served in {}", version.group_version))?;
                let plurals = resources.resources.into_iter().map(|resource| resource.name).collect();
                seen.served.insert((kind.group.to_owned(), version.version.clone()), plurals);
            }
        }
        rights(client, plan, *subject, &mut seen).await?;
    }
    for right in plan.excess() {
        let may = may(client, &right).await?;
        seen.rights.insert(right, may);
    }
    Ok(seen)
}

async fn rights(client: &Client, plan: &Plan, subject: Subject, seen: &mut Seen) -> anyhow::Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    for name in plan.namespaces(subject) {
        let there = match namespaces.get_opt(name).await {
            Ok(found) => Some(found.is_some()),
            Err(Error::Api(status)) if status.code == 403 => None,
            Err(error) => {
                return Err(said(error)).with_context(|| format!("cannot look at namespace {name}"));
            }
        };
        seen.namespaces.insert(name.to_owned(), there);
    }
    for need in plan.needs(subject) {
        let may = may(client, &need.right).await?;
        seen.rights.insert(need.right, may);
    }
    Ok(())
}

/// Every authenticated user may ask about their own permissions.
async fn may(client: &Client, right: &Right) -> anyhow::Result<bool> {
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
    let answer = reviews.create(&PostParams::default(), &review).await.map_err(said);
    let answer = answer.with_context(|| format!("cannot ask whether it may {right}"))?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}
