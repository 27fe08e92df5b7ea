//! State of the model: the API server of the hub, a build cluster, and the providers' own states. Small, because there will be
//! hundreds of thousands of them.

use provider_testplatform::controllers::ephemeral_cluster::prow_job::JobState;

/// Everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub now: u8,
    pub ec: Option<Ec>,
    pub jobs: Vec<Pj>,
    pub published: Option<Secret>,
    /// The build cluster does not answer.
    pub away: bool,
    /// It takes no signal, because of rights, quota or admission.
    pub deaf: bool,
    pub processes: Vec<Process>,
    /// ProwJobs that providers ever made, by uid.
    pub made: [u8; 3],
    pub budget: Budget,
    /// Objects get a second each, so that their times are in order.
    pub births: u8,
    /// The upstream controller has made this job and not yet said so.
    pub upstream: Option<u8>,
}

/// How often which part of the environment may still strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    pub ticks: u8,
    pub faults: u8,
    pub lags: u8,
    pub teardown: u8,
    pub deletion: u8,
    pub rebirth: u8,
    pub endings: u8,
    pub sweeps: u8,
    pub job_deletions: u8,
    pub outages: u8,
    pub rotations: u8,
    pub namespace_losses: u8,
    pub upstream_jobs: u8,
    pub other_writes: u8,
    pub renamings: u8,
    pub extensions: u8,
    pub refusals: u8,
}

impl Budget {
    /// Only what cannot be kept from happening.
    pub const NOTHING: Self = Self {
        ticks: 0,
        faults: 0,
        lags: 0,
        teardown: 0,
        deletion: 0,
        rebirth: 0,
        endings: 0,
        sweeps: 0,
        job_deletions: 0,
        outages: 0,
        rotations: 0,
        namespace_losses: 0,
        upstream_jobs: 0,
        other_writes: 0,
        renamings: 0,
        extensions: 0,
        refusals: 0,
    };
}

/// An EphemeralCluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ec {
    pub uid: u8,
    pub born: (u8, u8),
    pub finalizer: bool,
    pub deleted: Option<u8>,
    pub teardown: bool,
    pub status: u32,
    pub other: Option<u8>,
    pub revision: Option<u8>,
    pub diagnosed: bool,
    pub tenant: u8,
    /// Somebody gave it a longer lifetime.
    pub extended: bool,
}

/// A ProwJob with what it has on the build cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pj {
    pub id: u8,
    /// For whom it was really made.
    pub owner: u8,
    pub ours: bool,
    pub claimed: Option<u8>,
    pub tenant: u8,
    pub state: JobState,
    pub aborted_by_us: bool,
    pub born: (u8, u8),
    pub pending: Option<u8>,
    pub namespace: Option<Namespace>,
    /// It got the signal, whatever became of its namespace since.
    pub told: bool,
    /// The object was deleted; its namespace may be left.
    pub gone: bool,
}

/// ci-operator's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Namespace {
    pub terminating: bool,
    /// 0 nothing, 1 a half, then complete, revision by revision.
    pub source: u8,
    pub signalled: bool,
}

/// The published Secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Secret {
    pub owner: u8,
    pub job: u8,
    pub source: u8,
}

/// A provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Process {
    pub old_ec: Cache<Option<Ec>>,
    pub old_rest: Cache<(Vec<Pj>, Option<Secret>)>,
    pub work: Work,
}

/// Content of a cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cache<T> {
    /// The current state.
    #[default]
    Current,
    /// An earlier state.
    Old(T),
}

/// How far a provider is with a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Work {
    #[default]
    Idle,
    /// It reads anew, and has read the EphemeralCluster so far. The flag: nobody has written it since.
    Read(Ec, bool),
    /// It has decided, and done this many actions; its status counts as one, too.
    Acting { uid: u8, step: u32, done: u8, valid: bool },
}

/// State that one pass of a provider sees.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    pub ec: Ec,
    pub jobs: Vec<Pj>,
    /// The API server has no job of the name in the status.
    pub gone: bool,
    pub left: Option<Pj>,
    pub published: Option<Secret>,
    pub away: bool,
    pub now: u8,
    pub fresh: bool,
}
