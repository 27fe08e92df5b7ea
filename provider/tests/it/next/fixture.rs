//! An EphemeralCluster and what is around it, made for one test, and what becomes of both.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use provider_testplatform::{
    build_clusters::JobSite,
    controllers::ephemeral_cluster::{
        object::{EphemeralCluster, OtherWriter},
        observed_state::{Draft, Job, JobRefusal, ObservedState},
        operation::{Operation, Plan},
        plan,
        prow_job::{JobState, ProwJob, name_for},
        settings::Settings,
        status::{self, Condition},
    },
    credentials::{Credentials, NamespaceCredentials, Published},
};
use serde_json::json;
use testplatform_apis::names::{ephemeral_cluster as theirs, ours};
use testplatform_runtime::{reconcile::Action, redacted::Redacted};

pub const NAME: &str = "demo-x7k2p";
pub const UID: &str = "5f0c1a52-3b1e-4b5e-9a52-1f2f6f0f7c11";
pub const CLUSTER: &str = "build07";
pub const NAMESPACE: &str = "ci-op-1a2b3c";

/// One EphemeralCluster, everything else, and the time.
#[derive(Clone)]
pub struct Case {
    pub object: EphemeralCluster,
    pub world: ObservedState,
    pub now: Timestamp,
}

pub fn born() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

pub fn minutes(count: i64) -> SignedDuration {
    SignedDuration::from_mins(count)
}

/// One that nobody has looked at, read anew, with a job to be made.
pub fn newborn() -> Case {
    let annotations = [(theirs::KONFLUX_TENANT, "tenant-a"), (theirs::KONFLUX_CLUSTER, "stone-prd")];
    let object = EphemeralCluster {
        metadata: ObjectMeta {
            name: Some(NAME.into()),
            namespace: Some("ephemeral-cluster".into()),
            uid: Some(UID.into()),
            generation: Some(1),
            creation_timestamp: Some(Time(born())),
            annotations: Some(annotations.map(|(k, v)| (k.to_owned(), v.to_owned())).into()),
            ..ObjectMeta::default()
        },
        ..EphemeralCluster::default()
    };
    let world = ObservedState {
        settings: Arc::new(Settings::default()),
        jobs: vec![],
        fresh: true,
        draft: Some(Draft::Job(Box::new(json!({ "metadata": { "name": name_for(UID) } })))),
        job_is_missing: false,
        orphaned_site: None,
        published: Published::Absent,
    };
    Case { object, world, now: born() }
}

/// A job of ours, as it is one minute after the EphemeralCluster was made.
pub fn job(state: JobState, site: JobSite) -> Job {
    let mut prow_job = ProwJob {
        metadata: ObjectMeta {
            name: Some(name_for(UID)),
            creation_timestamp: Some(Time(born() + minutes(1))),
            labels: Some(
                [(theirs::LABEL, NAME), (ours::EPHEMERAL_CLUSTER_UID, UID)]
                    .map(|(k, v)| (k.to_owned(), v.to_owned()))
                    .into(),
            ),
            annotations: Some(
                [(theirs::KONFLUX_TENANT, "tenant-a"), (theirs::KONFLUX_CLUSTER, "stone-prd")]
                    .map(|(k, v)| (k.to_owned(), v.to_owned()))
                    .into(),
            ),
            ..ObjectMeta::default()
        },
        ..ProwJob::default()
    };
    prow_job.status.value.state = state;
    prow_job.status.value.url = "https://prow.example/view/1".into();
    prow_job.status.value.pending_time = (state != JobState::Scheduling).then(|| born() + minutes(2));
    Job { prow_job, site }
}

/// A job of the upstream controller's: a name of chance, no uid.
pub fn upstream_job(name: &str, state: JobState, site: JobSite) -> Job {
    let mut job = job(state, site);
    job.prow_job.metadata.name = Some(name.into());
    job.prow_job.metadata.labels = Some([(theirs::LABEL.to_owned(), NAME.to_owned())].into());
    job.prow_job.metadata.annotations = None;
    job
}

pub fn credentials(revision: &str) -> Credentials {
    Credentials {
        kubeconfig: Redacted(b"kubeconfig".to_vec()),
        password: Redacted(vec![]),
        source_revision: revision.into(),
    }
}

pub fn no_namespace() -> JobSite {
    JobSite::NoNamespace { cluster: CLUSTER.into() }
}

pub fn unreachable() -> JobSite {
    JobSite::Unreachable { cluster: CLUSTER.into(), error: "no route to host".into() }
}

pub fn unknown() -> JobSite {
    JobSite::Unknown { cluster: CLUSTER.into() }
}

pub fn namespace(source: NamespaceCredentials) -> JobSite {
    JobSite::Namespace {
        cluster: CLUSTER.into(),
        name: NAMESPACE.into(),
        terminating: false,
        source,
        signalled: false,
    }
}

pub fn terminating() -> JobSite {
    JobSite::Namespace {
        cluster: CLUSTER.into(),
        name: NAMESPACE.into(),
        terminating: true,
        source: NamespaceCredentials::Pending("nothing".into()),
        signalled: false,
    }
}

pub fn complete() -> JobSite {
    namespace(NamespaceCredentials::Complete(credentials("a-1")))
}

pub fn pending() -> JobSite {
    namespace(NamespaceCredentials::Pending("no Secret yet".into()))
}

/// Served up to where its job is so.
pub fn served(state: JobState, site: JobSite) -> Case {
    let mut case = newborn().settled();
    case.world.jobs = vec![job(state, site)];
    case.now = born() + minutes(10);
    case.settled()
}

/// Ready since ten minutes after it was made.
pub fn ready() -> Case {
    served(JobState::Pending, complete())
}

impl Case {
    /// The next step.
    pub fn step(&self) -> Plan {
        plan::plan(&self.object, &self.world, self.now)
    }

    /// After a pass in which the build cluster did not take the signal.
    pub fn untold(mut self) -> Self {
        let step = self.step();
        let signal =
            step.actions.iter().find(|action| matches!(action, Operation::SignalWaitStep { .. })).unwrap();
        self.object.status.value = plan::failed(&self.object, &step, signal, "quota", self.now).unwrap();
        self
    }

    /// After all that is to be done now. Another look at it does nothing, and writes the same bytes.
    pub fn settled(mut self) -> Self {
        for _ in 0..8 {
            let mut step = self.step();
            if step.requeue == Action::BypassCaches {
                assert!(!self.world.fresh, "reading anew twice");
                let cached = std::mem::replace(&mut self.world.fresh, true);
                step = self.step();
                self.world.fresh = cached;
            }
            let stored = self.object.status.value.clone();
            let desired = step.status.clone().unwrap_or_else(|| stored.clone());
            let acts = !step.actions.is_empty() || !step.events.is_empty() || !step.afterwards.is_empty();
            if !acts && !status::differs(&stored, &desired) {
                assert_eq!(json!(stored), json!(desired));
                return self;
            }
            self.object.status.value = desired;
            for action in step.actions.into_iter().chain(step.afterwards) {
                self.act(action);
            }
        }
        panic!("no rest: {:#?}", self.step());
    }

    fn act(&mut self, action: Operation) {
        let metadata = &mut self.object.metadata;
        match action {
            Operation::AddFinalizer => metadata.finalizers = Some(vec![theirs::FINALIZER.into()]),
            Operation::RemoveFinalizer => metadata.finalizers = None,
            Operation::SetAnnotations(changes) => {
                for (key, value) in changes {
                    let annotations = metadata.annotations.get_or_insert_default();
                    match value {
                        Some(value) => annotations.insert(key, value),
                        None => annotations.remove(&key),
                    };
                }
            }
            Operation::CreateProwJob(_) => {
                self.world.jobs.push(job(JobState::Scheduling, JobSite::Unscheduled));
            }
            Operation::ClaimProwJob { name, labels, annotations } => {
                let job = self.find(&name);
                job.prow_job.metadata.labels.get_or_insert_default().extend(labels);
                job.prow_job.metadata.annotations.get_or_insert_default().extend(annotations);
            }
            // The signal is not taken, or it would have been long before.
            Operation::AbortProwJob { name, description }
            | Operation::SignalWaitStepOrAbort { name, description, .. } => {
                let status = &mut self.find(&name).prow_job.status.value;
                (status.state, status.description) = (JobState::Aborted, description);
            }
            Operation::SignalWaitStep { .. } => {
                let sites = self.world.jobs.iter_mut().map(|job| &mut job.site);
                for site in sites.chain(&mut self.world.orphaned_site) {
                    if let JobSite::Namespace { signalled, .. } = site {
                        *signalled = true;
                    }
                }
            }
            Operation::PublishCredentials(credentials) => {
                self.world.published = Published::Ours {
                    revision: "17".into(),
                    source_revision: Some(credentials.source_revision),
                };
            }
            Operation::IssueCredentials(_) => panic!("nobody wished for a ServiceAccount"),
            Operation::WithdrawCredentials => self.world.published = Published::Absent,
            Operation::EmitEvent(_) => {}
        }
    }

    fn find(&mut self, name: &str) -> &mut Job {
        self.world.jobs.iter_mut().find(|job| job.prow_job.name() == name).unwrap()
    }

    pub fn job(&mut self) -> &mut Job {
        &mut self.world.jobs[0]
    }

    pub fn at(mut self, since_birth: i64) -> Self {
        self.now = born() + minutes(since_birth);
        self
    }

    pub fn on(mut self, site: JobSite) -> Self {
        self.job().site = site;
        self
    }

    pub fn in_state(mut self, state: JobState) -> Self {
        self.job().prow_job.status.value.state = state;
        self
    }

    pub fn torn_down(mut self) -> Self {
        self.object.spec.value.tear_down_cluster = true;
        self
    }

    pub fn deleted(mut self) -> Self {
        self.object.metadata.deletion_timestamp = Some(Time(self.now));
        self
    }

    pub fn annotated(mut self, key: &str, value: &str) -> Self {
        self.object.metadata.annotations.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    pub fn cached(mut self) -> Self {
        (self.world.fresh, self.world.draft) = (false, None);
        self
    }

    pub fn drafted(mut self, draft: Draft) -> Self {
        self.world.draft = Some(draft);
        self
    }

    pub fn gone(mut self) -> Self {
        self.world.jobs.clear();
        self.world.job_is_missing = true;
        self
    }

    pub fn written_by_another(mut self, at: i64) -> Self {
        self.object.other_writer = Some(OtherWriter { manager: "dptp".into(), at: born() + minutes(at) });
        self
    }

    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        self.object.status.value.conditions.iter().find(|c| c.type_ == type_)
    }

    /// Status and reason of a condition; empty without it.
    pub fn said(&self, type_: &str) -> (&str, &str) {
        self.condition(type_).map_or(("", ""), |c| (&c.status, &c.reason))
    }
}

pub fn refusal(reason: &'static str) -> JobRefusal {
    JobRefusal { reason, message: "cluster profile aws is not for tenant-a".into() }
}
