//! What is seen of a ClusterOrder, and of the HostedCluster that it has become.

use jiff::Timestamp;
use serde_json::{Map, Value};
use testplatform_apis::{
    foreign::{
        meta::{ObservedCondition, condition},
        osac::{ClusterOrder, ClusterOrderStatus, Job, NodeSetWorker, conditions},
    },
    names::ours,
};

use super::{
    Wanted,
    nodes::{self, RequestName},
    order, readers,
};
use crate::{
    backend::hypershift::facts::{Facts as HostedFacts, Pool},
    observed::{HostedClusterObserver, NodePoolObject, Observed, Remote, SyncState},
};

/// The ClusterOrder as it was last observed.
pub(super) fn remote(observed: &Observed) -> Option<&ClusterOrder> {
    match observed.primary.as_ref()?.remote()? {
        Remote::Order(remote) => Some(remote),
        Remote::EphemeralCluster(_)
        | Remote::ClusterClaim(_)
        | Remote::HostedCluster(_)
        | Remote::Topology(_)
        | Remote::Instance(_) => None,
    }
}

/// The last job that was to bring its spec about.
pub(super) fn newest(status: &ClusterOrderStatus) -> Option<&Job> {
    status.provisioning_jobs.value.iter().rfind(|job| job.type_ == Job::PROVISION)
}

/// The whole picture.
pub(super) struct Facts<'a> {
    pub remote: &'a ClusterOrder,
    pub status: &'a ClusterOrderStatus,
    /// What is behind it, as it is now; none: it is not seen.
    pub hosted: Option<HostedFacts<'a>>,
    /// What the order asks for.
    pub asked: Map<String, Value>,
}

impl<'a> Facts<'a> {
    /// None: nothing was seen yet.
    pub fn of(observed: &'a Observed, wanted: Option<Wanted<'_>>) -> Option<Self> {
        let remote = remote(observed)?;
        let asked = order::spec(observed, wanted);
        let hosted = observed.hosted.as_ref().and_then(HostedClusterObserver::current_remote).map(|hosted| {
            HostedFacts {
                remote: hosted,
                status: &hosted.status.value,
                pools: pools(remote, &asked, observed, wanted),
            }
        });
        Some(Self { remote, status: &remote.status.value, hosted, asked })
    }

    pub fn condition(&self, type_: &str) -> Option<&'a ObservedCondition> {
        condition(&self.status.conditions, type_)
    }

    pub fn is_true(&self, type_: &str) -> bool {
        self.condition(type_).is_some_and(ObservedCondition::is_true)
    }

    /// Whether OSAC has looked at it.
    pub fn begun(&self) -> bool {
        !self.status.phase.is_empty() || !self.status.conditions.is_empty()
    }

    /// The last job that was to bring its spec about.
    pub fn job(&self) -> Option<&'a Job> {
        newest(self.status)
    }

    /// The last job that was to take everything down.
    pub fn last_job(&self) -> Option<&'a Job> {
        self.status.provisioning_jobs.value.iter().rfind(|job| job.type_ == Job::DEPROVISION)
    }

    /// Whether a job is one for the spec as it is.
    pub fn is_current(&self, job: &Job) -> bool {
        let desired = &self.status.desired_config_version;
        desired.is_empty() || job.config_version.is_empty() || job.config_version == *desired
    }

    /// Whether the automation has done all that the spec asks for. Where it is done by hand there is no job.
    pub fn is_set_up(&self) -> bool {
        let done = |job: &Job| job.is_done() && self.is_current(job);
        self.status.phase == "Ready" && self.job().is_none_or(done)
    }

    /// What the HostedCluster says now comes before what the order once said of it.
    pub fn answers(&self) -> bool {
        match &self.hosted {
            Some(hosted) => hosted.answers(),
            None => self.is_true(conditions::CONTROL_PLANE_AVAILABLE),
        }
    }

    /// Whether all that was asked for is there. That the job has done its work is not enough.
    pub fn is_up(&self) -> bool {
        let was_there = [conditions::CONTROL_PLANE_AVAILABLE, conditions::CLUSTER_AVAILABLE];
        self.is_set_up()
            && was_there.iter().all(|type_| self.is_true(type_))
            && self.answers()
            && self.lacking().is_none()
    }

    /// A group of nodes that is seen, and is not there in full.
    pub fn lacking(&self) -> Option<&Pool<'a>> {
        let pools = self.hosted.iter().flat_map(|hosted| &hosted.pools);
        pools.into_iter().find(|pool| pool.is_known() && !pool.is_served())
    }

    /// How many nodes a group has or gets, as far as the hub has taken up its size.
    pub fn size(&self, pool: &Pool<'_>) -> Option<i64> {
        match pool.part {
            Some(part) => part.remote()?.spec["replicas"].as_i64(),
            None => workers_of(self.status, &pool.name, |worker| !worker.is_leaving()),
        }
    }

    /// When the last of it came.
    pub fn up_since(&self) -> Option<Timestamp> {
        let said = [conditions::CONTROL_PLANE_AVAILABLE, conditions::CLUSTER_AVAILABLE];
        let said = said.iter().filter_map(|type_| self.condition(type_)?.last_transition_time);
        said.chain(self.hosted.as_ref().and_then(HostedFacts::up_since)).max()
    }
}

/// The requests for nodes in an order. Groups of one resource class are one; a node set is a group.
fn pools<'a>(
    remote: &'a ClusterOrder,
    asked: &Map<String, Value>,
    observed: &'a Observed,
    wanted: Option<Wanted<'_>>,
) -> Vec<Pool<'a>> {
    let requests = asked.get("nodeRequests").and_then(Value::as_array);
    let hosts = wanted.map(|wanted| nodes::hosts(observed, wanted)).unwrap_or_default();
    let groups = || wanted.map(|wanted| wanted.order.groups.iter()).into_iter().flatten();
    let pool = |request: &Value| {
        let name = RequestName::of(request)?;
        let least = request["numberOfNodes"].as_i64().unwrap_or_default();
        let own: Vec<_> = groups()
            .filter(|g| hosts.get(&g.class).is_some_and(|host| RequestName::of_group(host, &g.name) == name))
            .collect();
        let class = own.first().map(|group| group.class.clone());
        let pool =
            Pool { name: String::new(), class, least, desired: Some(least), part: None, reported: None };
        Some(match name {
            RequestName::ResourceClass(resource_class) => {
                let node_pool = readers::node_pool(&remote.metadata.name, resource_class);
                let seen = |part: &&NodePoolObject| {
                    part.manifest()["metadata"]["name"].as_str() == node_pool.as_deref()
                };
                let parts =
                    || observed.node_pools.0.values().filter(|part| node_pool.is_some() && seen(part));
                let mut names: Vec<&str> = own.iter().map(|group| group.name.as_str()).collect();
                if wanted.is_none() {
                    names = parts().map(|part| part.group.as_str()).collect();
                }
                names.sort_unstable();
                let noted = || Some(parts().next()?.object.metadata.annotation(ours::NODE_CLASS)?.to_owned());
                Pool {
                    name: if names.is_empty() { resource_class.to_owned() } else { names.join(", ") },
                    class: pool.class.or_else(noted),
                    part: parts().find(|part| part.sync == SyncState::InSync),
                    ..pool
                }
            }
            RequestName::NodeSet(set) => Pool {
                name: set.to_owned(),
                reported: workers_of(&remote.status.value, set, NodeSetWorker::is_ready),
                ..pool
            },
        })
    };
    requests.into_iter().flatten().filter_map(pool).collect()
}

/// How many machines of a node set are so. None: the order reports no machines yet.
fn workers_of(status: &ClusterOrderStatus, set: &str, are: fn(&NodeSetWorker) -> bool) -> Option<i64> {
    let workers = &status.workers.value;
    let count = || workers.iter().filter(|worker| worker.node_set == set && are(worker)).count();
    (!workers.is_empty()).then(|| i64::try_from(count()).unwrap_or(i64::MAX))
}
