//! Between the small states of the model and what the real `next` takes and gives.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    rc::Rc,
    sync::{Arc, LazyLock},
};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use provider_testplatform::{
    build_clusters::JobSite,
    controllers::ephemeral_cluster::{
        object::{EphemeralCluster, OtherWriter},
        observed_state::{Draft, Job, ObservedState},
        operation::Plan,
        prow_job::{self, JobState, ProwJob},
        settings::Settings,
        status::Status,
    },
    credentials::{Credentials, NamespaceCredentials, Published},
};
use serde_json::json;
use testplatform_apis::names::{ephemeral_cluster as theirs, ours};
use testplatform_runtime::redacted::Redacted;

use super::{
    explore::Fingerprint,
    world::{Ec, Pj, Secret, View},
};

pub const NAME: &str = "demo";
const CLUSTER: &str = "build01";
/// The tick of the model's clock; every deadline is one or two of them.
pub const TICK: SignedDuration = SignedDuration::from_mins(15);

/// The lifetime of one that was given more.
const LONGER: &str = "30m";

/// Statuses and steps by number, so that states are small.
#[derive(Default)]
pub struct Lab {
    pub settings: Arc<Settings>,
    pub statuses: RefCell<Interned<Status>>,
    pub steps: RefCell<Interned<Plan>>,
    /// Steps by what was seen.
    pub decided: RefCell<HashMap<Fingerprint, u32>>,
    /// States that were left alone already.
    pub judged: RefCell<HashSet<Fingerprint>>,
    /// States on the way to an end that was reached.
    pub ending: RefCell<HashSet<Fingerprint>>,
    pub lifetime: Option<&'static str>,
    /// The CRD is the upstream one, which prunes unknown fields.
    pub prunes: bool,
}

#[derive(Debug)]
pub struct Interned<T> {
    values: Vec<Rc<T>>,
    numbers: HashMap<String, u32>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self { values: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + std::fmt::Debug> Interned<T> {
    pub fn number(&mut self, value: &T) -> u32 {
        let next = u32::try_from(self.values.len()).unwrap();
        *self.numbers.entry(format!("{value:?}")).or_insert_with(|| {
            self.values.push(Rc::new(value.clone()));
            next
        })
    }

    pub fn get(&self, number: u32) -> Rc<T> {
        self.values[number as usize].clone()
    }
}

pub fn uid(number: u8) -> String {
    format!("uid-{number}")
}

pub fn at(tick: u8) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(10_000) + TICK * i32::from(tick)
}

fn born((tick, second): (u8, u8)) -> Timestamp {
    at(tick) + SignedDuration::from_secs(i64::from(second))
}

/// Of our job for each owner. Each is a digest, and is asked for again and again.
static NAMES: LazyLock<Vec<String>> =
    LazyLock::new(|| (0..=u8::MAX).map(|owner| prow_job::name_for(&uid(owner))).collect());

impl Pj {
    pub fn name(&self) -> String {
        if self.ours { NAMES[usize::from(self.owner)].clone() } else { format!("upstream-{}", self.id) }
    }

    pub fn runs(&self) -> bool {
        !self.gone && !self.state.is_final()
    }

    fn object(&self) -> ProwJob {
        let mut labels = vec![(theirs::LABEL.to_owned(), NAME.to_owned())];
        let mut annotations = vec![];
        if let Some(owner) = self.claimed.or(self.ours.then_some(self.owner)) {
            labels.push((ours::EPHEMERAL_CLUSTER_UID.into(), uid(owner)));
            annotations.push((theirs::KONFLUX_TENANT.into(), format!("tenant-{}", self.tenant)));
        }
        let mut job = ProwJob {
            metadata: ObjectMeta {
                name: Some(self.name()),
                creation_timestamp: Some(Time(born(self.born))),
                labels: Some(labels.into_iter().collect()),
                annotations: Some(annotations.into_iter().collect()),
                ..ObjectMeta::default()
            },
            ..ProwJob::default()
        };
        job.status.value.state = self.state;
        job.status.value.pending_time = self.pending.map(at);
        if self.aborted_by_us {
            job.status.value.description = "provider-testplatform: in the model".into();
        }
        job
    }

    fn site(&self, away: bool, published: Option<&Secret>) -> JobSite {
        let cluster = CLUSTER.to_owned();
        let Some(namespace) = &self.namespace else {
            return match (self.state, away) {
                (JobState::Scheduling, _) => JobSite::Unscheduled,
                (_, true) => JobSite::Unreachable { cluster, error: "no route".into() },
                (_, false) => JobSite::NoNamespace { cluster },
            };
        };
        if away {
            return JobSite::Unreachable { cluster, error: "no route".into() };
        }
        let source = match namespace.source {
            0 => NamespaceCredentials::Pending("no Secret".into()),
            1 => NamespaceCredentials::Rejected("the kubeconfig is not finished".into()),
            n if published.is_some_and(|p| p.job == self.id && p.source == n) => {
                NamespaceCredentials::Unchanged
            }
            n => NamespaceCredentials::Complete(Credentials {
                kubeconfig: Redacted(vec![self.id]),
                password: Redacted(vec![]),
                source_revision: format!("{}-{n}", self.id),
            }),
        };
        JobSite::Namespace {
            cluster,
            name: format!("ci-op-{}", self.id),
            terminating: namespace.terminating,
            source,
            signalled: namespace.signalled,
        }
    }

    /// As `next` gets it.
    pub fn job(&self, away: bool, published: Option<&Secret>) -> Job {
        Job { prow_job: self.object(), site: self.site(away, published) }
    }
}

impl Lab {
    /// As `next` gets it.
    pub fn object(&self, ec: &Ec) -> EphemeralCluster {
        let mut annotations = vec![(theirs::KONFLUX_TENANT.to_owned(), format!("tenant-{}", ec.tenant))];
        annotations.extend(ec.revision.map(|r| (ours::CREDENTIALS_REVISION.into(), r.to_string())));
        annotations.extend(ec.diagnosed.then(|| (ours::DIAGNOSTICS.into(), String::new())));
        let lifetime = self.lifetime.map(|first| if ec.extended { LONGER } else { first });
        annotations.extend(lifetime.map(|l| (ours::LIFETIME.into(), l.into())));
        let mut object = EphemeralCluster {
            metadata: ObjectMeta {
                name: Some(NAME.into()),
                namespace: Some(theirs::UPSTREAM_NAMESPACE.into()),
                uid: Some(uid(ec.uid)),
                generation: Some(1),
                creation_timestamp: Some(Time(born(ec.born))),
                deletion_timestamp: ec.deleted.map(|tick| Time(at(tick))),
                finalizers: ec.finalizer.then(|| vec![theirs::FINALIZER.into()]),
                annotations: Some(annotations.into_iter().collect()),
                ..ObjectMeta::default()
            },
            other_writer: ec.other.map(|tick| OtherWriter { manager: "other".into(), at: at(tick) }),
            ..EphemeralCluster::default()
        };
        object.spec.value.tear_down_cluster = ec.teardown;
        object.status.value = (*self.statuses.borrow().get(ec.status)).clone();
        object
    }

    /// As `next` gets it.
    pub fn world(&self, view: &View) -> ObservedState {
        let published = view.published.as_ref();
        ObservedState {
            settings: self.settings.clone(),
            jobs: view.jobs.iter().map(|job| job.job(view.away, published)).collect(),
            fresh: view.fresh,
            draft: view.fresh.then(|| Draft::Job(Box::new(json!({ "kind": "ProwJob" })))),
            job_is_missing: view.gone,
            orphaned_site: view.left.as_ref().map(|job| job.site(view.away, published)),
            published: match published {
                None => Published::Absent,
                Some(secret) if secret.owner == view.ec.uid => Published::Ours {
                    revision: (secret.job * 16 + secret.source).to_string(),
                    source_revision: Some(format!("{}-{}", secret.job, secret.source)),
                },
                Some(_) => Published::Foreign("another EphemeralCluster has it".into()),
            },
        }
    }
}
