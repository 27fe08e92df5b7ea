//! HyperShift on a hub: a HostedCluster with a NodePool for each group of nodes.
//!
//! The writer carries the HostedCluster, and taking it away ends the cluster, as with a ClusterClaim: what is on its way out is desired
//! again as one that only looks, and what has to be remembered beyond it is noted on `credentials`. Each NodePool has an Object of its own
//! that depends on the writer: whatever is deleted, NodePools go first.
//!
//! **Invariant:** a NodePool is asked for only once the HostedCluster was seen, and goes only with its group or with the cluster.

mod cluster;
mod document;
mod facts;
mod levels;
mod pool_spec;
mod pools;
mod report;
mod rollout;
mod trouble;

use serde_json::{Map, Value};
use testplatform_apis::{
    foreign::hypershift::HOSTED_CLUSTER as KIND,
    names::{hub, ours},
    template::kind,
};

use super::{Backend, Desired, Ending, Health, object};
use crate::{
    hubs,
    intent::Write,
    observed::{HOSTED_CLUSTER, Observed, Writer},
    templates::{Asked, Order, Site, Stand, Templated, Whole},
    validate::Validated,
};

/// The backend of templates for HyperShift.
pub struct HyperShift;

/// Readiness of the writer, which governs the 30 s poll where watches are dead: true while the cluster answers and its credentials are
/// published.
const CEL: &str = "!has(object.metadata.deletionTimestamp) && has(object.status) && has(object.status.conditions) && \
object.status.conditions.exists(c, c.type == 'Available' && c.status == 'True') && has(object.metadata.annotations) && \
'testplatform.ci.openshift.org/credentials-revision' in object.metadata.annotations";

/// What is asked of HyperShift, where all is known.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    whole: &'a Whole,
    order: &'a Order<kind::HyperShift>,
}

impl<'a> Wanted<'a> {
    fn of(templated: &'a Templated) -> Option<Self> {
        match &templated.stand {
            Stand::Whole(whole) => match &whole.order {
                Asked::HyperShift(order) => Some(Self { whole, order }),
                Asked::ClusterApi(_) | Asked::Caas(_) | Asked::Osac(_) => None,
            },
            Stand::Held | Stand::Kept { .. } => None,
        }
    }
}

impl Backend for HyperShift {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn writer(&self) -> &'static str {
        HOSTED_CLUSTER
    }

    fn ending(&self) -> Ending {
        Ending::Removed
    }

    fn resources(&self, request: &Validated, observed: &Observed) -> Vec<Desired> {
        let Some(templated) = request.templated() else { return vec![] };
        let Some(site) = &templated.site else {
            // Without a hub nothing can be asked for. What is there all the same remembers what was given up.
            return observed.credentials.iter().filter_map(|_| credentials(request, observed)).collect();
        };
        let wanted = Wanted::of(templated);
        let manifest = cluster::manifest(request, observed, wanted, site);
        let writer =
            object::writer(HOSTED_CLUSTER, request, observed, manifest, CEL, notes(request, templated));
        let pools = pools::resources(request, observed, wanted, site);
        writer.into_iter().chain(pools).chain(credentials(request, observed)).collect()
    }

    fn health(&self, request: &Validated, observed: &Observed) -> Health {
        match request.templated() {
            Some(templated) => report::health(templated, request, observed),
            None => Health::default(),
        }
    }
}

fn credentials(request: &Validated, observed: &Observed) -> Option<Desired> {
    let health = HyperShift.health(request, observed);
    object::credentials(request, observed, &health, memory(request, observed))
}

/// Noted on the writer: where the credentials are on the hub, which what only looks does not know, and which hubs were given up.
fn notes(request: &Validated, templated: &Templated) -> Map<String, Value> {
    let looks = matches!(request.intent.write, Write::Look { .. });
    let site = templated.site.as_ref().filter(|_| !looks);
    let published = site.map(|site| (ours::CREDENTIALS_NAMESPACE, site.credentials_namespace.clone()));
    let given_up = hubs::note(&templated.excluded).map(|note| (hub::EXCLUDED, note));
    published.into_iter().chain(given_up).map(|(key, value)| (key.to_owned(), value.into())).collect()
}

/// What `credentials` remembers: where the cluster is, which one it is, how it is ended, and which hubs were given up.
fn memory(request: &Validated, observed: &Observed) -> Map<String, Value> {
    let Some(templated) = request.templated() else { return Map::new() };
    let leaves = request.intent.write == Write::Elsewhere;
    let mut excluded = templated.excluded.clone();
    excluded.extend(templated.site.iter().filter(|_| leaves).map(|site| site.hub.clone()));
    let asked = observed.writer.is_some() || observed.made_before() || request.intent.write == Write::Create;
    let place = |site: &Site| format!("{}/{}", site.namespace, site.name);
    let uid = observed.writer.as_ref().and_then(Writer::uid).or_else(|| observed.remembered_uid());
    let notes = [
        (ours::REMOTE, templated.site.as_ref().filter(|_| asked && !leaves).map(place)),
        (ours::REMOTE_UID, uid.map(|u| u.0)),
        (ours::ENDING, request.intent.ending.clone()),
        (ours::FAILED, request.intent.failed.map(|f| f.as_str().to_owned())),
        (ours::READY_AT, request.intent.ready_at.map(|at| at.to_string())),
        (hub::EXCLUDED, hubs::note(&excluded)),
    ];
    notes.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into()))).collect()
}
