//! The phases of a life in which the upstream controller can leave an EphemeralCluster.

/// The stage of a ProwJob on its build cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// ci-operator has no namespace.
    NoNamespace,
    /// ci-operator has a namespace.
    Namespace,
    /// The namespace has the credentials of the cluster.
    Installed,
    /// The namespace has the signal to end, too.
    Signalled,
}

/// A request to end the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Teardown {
    /// None yet.
    NotRequested,
    /// `spec.tearDownCluster` is set.
    Field,
    /// The EphemeralCluster is deleted.
    Deletion,
}

/// A condition of the upstream controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The ProwJob was made in this reconcile.
    Creating,
    /// The ProwJob was made before.
    Created,
    /// The API server did not take the ProwJob.
    CreationFailed,
    /// The tenant does not own the cluster profile.
    ProfileRefused,
    /// The build cluster has no namespace for the ProwJob.
    NamespaceMissing,
    /// The namespace has no kubeconfig.
    KubeconfigMissing,
    /// The credentials are published.
    Ready,
    /// The signal to end could not be written for want of a namespace.
    SignalFailed,
    /// The signal to end is there.
    Signalled,
    /// The ProwJob ended well.
    Succeeded,
    /// The ProwJob ended in this other state.
    Ended(&'static str),
}

/// An EphemeralCluster as the upstream controller left it.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// Part of its name.
    pub name: &'static str,
    /// State of its ProwJob, if it has one.
    pub job: Option<&'static str>,
    /// The status names the ProwJob.
    pub is_bound: bool,
    /// The finalizer is set.
    pub has_finalizer: bool,
    /// Objects on the build cluster.
    pub stage: Stage,
    /// The Secret with the credentials exists.
    pub is_published: bool,
    /// State of the teardown.
    pub teardown: Teardown,
    /// `status.phase`; no status at all if there is none.
    pub reported: Option<&'static str>,
    /// Conditions.
    pub conditions: &'static [Condition],
    /// The phase in which its life must end, and the reason of `ProwJobCompleted` then; empty if that condition is absent.
    pub end: (&'static str, &'static str),
}

const WELL: (&str, &str) = ("Deprovisioned", "ProwJobCompleted");

const UNTOUCHED: Phase = Phase {
    name: "untouched",
    job: None,
    is_bound: false,
    has_finalizer: false,
    stage: Stage::NoNamespace,
    is_published: false,
    teardown: Teardown::NotRequested,
    reported: None,
    conditions: &[],
    end: WELL,
};

const CREATED: Phase = Phase {
    name: "created",
    job: Some("scheduling"),
    is_bound: true,
    has_finalizer: true,
    reported: Some("Provisioning"),
    conditions: &[Condition::Creating],
    ..UNTOUCHED
};

const READY: Phase = Phase {
    name: "ready",
    job: Some("pending"),
    stage: Stage::Installed,
    is_published: true,
    reported: Some("Ready"),
    conditions: &[Condition::Created, Condition::Ready],
    ..CREATED
};

const TEARING_DOWN: Phase = Phase {
    name: "tearing-down",
    stage: Stage::Signalled,
    teardown: Teardown::Field,
    reported: Some("Deprovisioning"),
    conditions: &[Condition::Created, Condition::Ready, Condition::Signalled],
    ..READY
};

const DEPROVISIONED: Phase = Phase {
    name: "deprovisioned",
    job: Some("success"),
    has_finalizer: false,
    stage: Stage::NoNamespace,
    reported: Some("Deprovisioned"),
    conditions: &[
        Condition::Created,
        Condition::NamespaceMissing,
        Condition::SignalFailed,
        Condition::Succeeded,
    ],
    ..TEARING_DOWN
};

/// All phases, in the order of a life.
pub const PHASES: &[Phase] = &[
    UNTOUCHED,
    Phase {
        name: "creation-failed",
        reported: Some(""),
        conditions: &[Condition::CreationFailed],
        ..UNTOUCHED
    },
    Phase {
        name: "refused",
        reported: Some("Failed"),
        conditions: &[Condition::ProfileRefused],
        end: ("Failed", ""),
        ..UNTOUCHED
    },
    // The controller ended between two writes.
    Phase {
        name: "unbound",
        is_bound: false,
        has_finalizer: false,
        reported: None,
        conditions: &[],
        ..CREATED
    },
    CREATED,
    Phase {
        name: "pending",
        job: Some("pending"),
        conditions: &[Condition::Created, Condition::NamespaceMissing],
        ..CREATED
    },
    Phase {
        name: "provisioning",
        job: Some("pending"),
        stage: Stage::Namespace,
        conditions: &[Condition::Created, Condition::KubeconfigMissing],
        ..CREATED
    },
    READY,
    // Nobody has read the request yet.
    Phase { name: "test-completed", teardown: Teardown::Field, ..READY },
    Phase { name: "deleted", teardown: Teardown::Deletion, ..READY },
    TEARING_DOWN,
    Phase { name: "tearing-down-deleted", teardown: Teardown::Deletion, ..TEARING_DOWN },
    // The upstream controller calls this Failed, and goes on. Here Failed is final.
    Phase {
        name: "ended-too-early",
        job: Some("pending"),
        teardown: Teardown::Field,
        reported: Some("Failed"),
        conditions: &[Condition::Created, Condition::NamespaceMissing, Condition::SignalFailed],
        end: ("Failed", "ProwJobAborted"),
        ..CREATED
    },
    Phase { name: "torn-down", job: Some("success"), stage: Stage::NoNamespace, ..TEARING_DOWN },
    // The finalizer goes in a write of its own, before the status.
    Phase {
        name: "torn-down-released",
        job: Some("success"),
        has_finalizer: false,
        stage: Stage::NoNamespace,
        ..TEARING_DOWN
    },
    DEPROVISIONED,
    Phase {
        name: "failing",
        job: Some("failure"),
        conditions: &[Condition::Created, Condition::NamespaceMissing],
        end: ("Failed", "ProwJobFailure"),
        ..CREATED
    },
    Phase {
        name: "failed",
        job: Some("failure"),
        has_finalizer: false,
        reported: Some("Failed"),
        conditions: &[Condition::Created, Condition::NamespaceMissing, Condition::Ended("failure")],
        end: ("Failed", "ProwJobFailure"),
        ..CREATED
    },
    Phase {
        name: "aborted",
        job: Some("aborted"),
        has_finalizer: false,
        reported: Some("Failed"),
        conditions: &[Condition::Created, Condition::NamespaceMissing, Condition::Ended("aborted")],
        end: ("Failed", "ProwJobFailure"),
        ..CREATED
    },
];

impl Phase {
    /// `true` if nothing more happens on a build cluster.
    pub fn is_over(&self) -> bool {
        self.conditions.contains(&Condition::ProfileRefused)
            || matches!(self.job, Some("success" | "failure" | "aborted"))
    }

    /// `true` if the ProwJob can receive the signal to end, at this phase or later in this life.
    pub fn takes_signal(&self) -> bool {
        self.teardown == Teardown::NotRequested || self.stage > Stage::NoNamespace
    }

    /// How many ProwJobs its life has.
    pub fn jobs(&self) -> usize {
        usize::from(!self.conditions.contains(&Condition::ProfileRefused))
    }
}
