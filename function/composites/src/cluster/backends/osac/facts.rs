//! Observed state of a ClusterOrder and of the HostedCluster that it became.

use jiff::Timestamp;
use serde_json::{Map, Value};
use testplatform_apis::{
    foreign::{
        meta::{ObservedCondition, find_condition},
        osac::{ClusterOrder, ClusterOrderStatus, Job, NodeSetWorker, conditions},
    },
    names::ours,
    template::kind::Host,
};

use super::{
    OsacRequest,
    nodes::{self, RequestName},
    order,
    remote::{newest_job, observed_order},
};
use crate::{
    cluster::{
        backends::hosted_cluster::{HostedClusterFacts as HostedFacts, NodeGroupFacts},
        observed::{HostedClusterObserver, NodePoolObject, Observed},
    },
    objects::{SyncState, is_current},
};

/// The whole picture.
pub(super) struct OrderFacts<'a> {
    pub remote: &'a ClusterOrder,
    pub status: &'a ClusterOrderStatus,
    /// Underlying HostedCluster as it is now; none: not observed.
    pub hosted: Option<HostedFacts<'a>>,
    /// Spec that the order requests.
    pub requested_spec: Map<String, Value>,
    /// Whether the name of a NodePool is not known yet.
    searches_nodes: bool,
}

impl<'a> OrderFacts<'a> {
    /// None: nothing was seen yet.
    pub fn from_observed(observed: &'a Observed, wanted: Option<OsacRequest<'_>>) -> Option<Self> {
        let remote = observed_order(observed)?;
        let requested_spec = order::build_spec(observed, wanted);
        let hosted = observed.hosted.as_ref().and_then(HostedClusterObserver::current_remote).map(|hosted| {
            HostedFacts {
                remote: hosted,
                status: &hosted.status.value,
                pools: read_groups(remote, &requested_spec, observed, wanted),
            }
        });
        let searches_nodes = !observed.ever_ready()
            && nodes::numbers_classes(observed, &remote.metadata.name).is_none()
            && observed
                .node_pools
                .0
                .values()
                .any(|part| is_searched(part, &remote.metadata.name, observed, wanted));
        Some(Self { remote, status: &remote.status.value, hosted, requested_spec, searches_nodes })
    }

    pub fn condition(&self, type_: &str) -> Option<&'a ObservedCondition> {
        find_condition(&self.status.conditions, type_)
    }

    pub fn is_true(&self, type_: &str) -> bool {
        self.condition(type_).is_some_and(ObservedCondition::is_true)
    }

    /// Whether OSAC has looked at it.
    pub fn has_started(&self) -> bool {
        !self.status.phase.is_empty() || !self.status.conditions.is_empty()
    }

    /// The last job that was to bring its spec about.
    pub fn provision_job(&self) -> Option<&'a Job> {
        newest_job(self.status)
    }

    /// The last job that was to take everything down.
    pub fn deprovision_job(&self) -> Option<&'a Job> {
        self.status.provisioning_jobs.value.iter().rfind(|job| job.type_ == Job::DEPROVISION)
    }

    /// Whether a job is one for the spec as it is.
    pub fn is_current(&self, job: &Job) -> bool {
        is_current_job(self.status, job)
    }

    /// Whether the automation has done everything that the spec requests. Manual work has no job.
    pub fn is_set_up(&self) -> bool {
        is_set_up(self.status)
    }

    /// The HostedCluster's current state takes precedence over the order's recorded state.
    pub fn api_answers(&self) -> bool {
        match &self.hosted {
            Some(hosted) => hosted.api_answers(),
            None => self.is_true(conditions::CONTROL_PLANE_AVAILABLE),
        }
    }

    /// Whether all that was asked for is there. That the job has done its work is not enough.
    pub fn is_up(&self) -> bool {
        let was_available = [conditions::CONTROL_PLANE_AVAILABLE, conditions::CLUSTER_AVAILABLE];
        self.is_set_up()
            && was_available.iter().all(|type_| self.is_true(type_))
            && self.api_answers()
            && self.incomplete_group().is_none()
            && !self.searches_nodes
    }

    /// A group of nodes that is seen, and is not there in full.
    pub fn incomplete_group(&self) -> Option<&NodeGroupFacts<'a>> {
        let pools = self.hosted.iter().flat_map(|hosted| &hosted.pools);
        pools.into_iter().find(|pool| pool.is_known() && !pool.is_served())
    }

    /// How many nodes a group has or gets, as far as the hub has taken up its size.
    pub fn hub_size(&self, pool: &NodeGroupFacts<'_>) -> Option<i64> {
        match pool.node_pool {
            Some(part) => part.remote()?.spec["replicas"].as_i64(),
            None => count_workers(self.status, &pool.name, |worker| !worker.is_leaving()),
        }
    }

    /// When the last of it came.
    pub fn up_since(&self) -> Option<Timestamp> {
        let types = [conditions::CONTROL_PLANE_AVAILABLE, conditions::CLUSTER_AVAILABLE];
        let transitions = types.iter().filter_map(|type_| self.condition(type_)?.last_transition_time);
        transitions.chain(self.hosted.as_ref().and_then(HostedFacts::up_since)).max()
    }
}

/// Whether the automation has done everything that the spec of an order requests. Manual work has no job.
pub(super) fn is_set_up(status: &ClusterOrderStatus) -> bool {
    let done = |job: &Job| job.is_done() && is_current_job(status, job);
    status.phase == "Ready" && newest_job(status).is_none_or(done)
}

fn is_current_job(status: &ClusterOrderStatus, job: &Job) -> bool {
    let desired = &status.desired_config_version;
    desired.is_empty() || job.config_version.is_empty() || job.config_version == *desired
}

/// Whether the NodePool of a resource class was looked for by one of its two names, and not yet by the other.
fn is_searched(
    part: &NodePoolObject,
    order: &str,
    observed: &Observed,
    wanted: Option<OsacRequest<'_>>,
) -> bool {
    let class = part.object.metadata.annotation(ours::NODE_CLASS);
    let hosts = wanted.map(|wanted| nodes::host_classes(observed, wanted)).unwrap_or_default();
    let Some(Host::ResourceClass(class)) = class.and_then(|class| hosts.get(class)) else { return false };
    if nodes::observed_name(part) == nodes::node_pool_name(order, class, None).as_deref() {
        nodes::is_missing(part)
    } else {
        part.sync == SyncState::Unknown || !is_current(&part.object)
    }
}

/// The requests for nodes in an order. Groups of one resource class are one; a node set is a group.
fn read_groups<'a>(
    remote: &'a ClusterOrder,
    requested: &Map<String, Value>,
    observed: &'a Observed,
    wanted: Option<OsacRequest<'_>>,
) -> Vec<NodeGroupFacts<'a>> {
    let requests = requested.get("nodeRequests").and_then(Value::as_array);
    let hosts = wanted.map(|wanted| nodes::host_classes(observed, wanted)).unwrap_or_default();
    let groups = || wanted.map(|wanted| wanted.backend_spec.groups.iter()).into_iter().flatten();
    let pool = |(position, request): (usize, &Value)| {
        let name = RequestName::of(request)?;
        let least = request["numberOfNodes"].as_i64().unwrap_or_default();
        let own: Vec<_> = groups()
            .filter(|g| hosts.get(&g.class).is_some_and(|host| RequestName::of_group(host, &g.name) == name))
            .collect();
        let class = own.first().map(|group| group.class.clone());
        let pool = NodeGroupFacts {
            name: String::new(),
            class,
            min_nodes: least,
            desired: Some(least),
            node_pool: None,
            reported: None,
        };
        Some(match name {
            RequestName::ResourceClass(resource_class) => {
                let pool_name =
                    |position| nodes::node_pool_name(&remote.metadata.name, resource_class, position);
                let node_pools = [pool_name(None), pool_name(Some(position))];
                let is_of_class = |part: &&NodePoolObject| {
                    let name = nodes::observed_name(part);
                    name.is_some() && node_pools.iter().any(|node_pool| node_pool.as_deref() == name)
                };
                let parts = || observed.node_pools.0.values().filter(is_of_class);
                let mut names: Vec<&str> = own.iter().map(|group| group.name.as_str()).collect();
                if wanted.is_none() {
                    names = parts().map(|part| part.group.as_str()).collect();
                }
                names.sort_unstable();
                let recorded =
                    || Some(parts().next()?.object.metadata.annotation(ours::NODE_CLASS)?.to_owned());
                NodeGroupFacts {
                    name: if names.is_empty() { resource_class.to_owned() } else { names.join(", ") },
                    class: pool.class.or_else(recorded),
                    node_pool: parts().find(|part| part.sync == SyncState::InSync),
                    ..pool
                }
            }
            RequestName::NodeSet(set) => NodeGroupFacts {
                name: set.to_owned(),
                reported: count_workers(&remote.status.value, set, NodeSetWorker::is_ready),
                ..pool
            },
        })
    };
    requests.into_iter().flatten().enumerate().filter_map(pool).collect()
}

/// How many machines of a node set are so. None: the order reports no machines yet.
fn count_workers(status: &ClusterOrderStatus, set: &str, are: fn(&NodeSetWorker) -> bool) -> Option<i64> {
    let workers = &status.workers.value;
    let count = || workers.iter().filter(|worker| worker.node_set == set && are(worker)).count();
    (!workers.is_empty()).then(|| i64::try_from(count()).unwrap_or(i64::MAX))
}
