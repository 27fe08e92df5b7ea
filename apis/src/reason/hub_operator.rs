//! Reasons on which an operator of a hub acts.

use super::{
    Action::{Entry, Sentence},
    Reason, RunbookPage, reason,
};

pub(super) const REASONS: &[Reason] = &[
    reason(
        "BuildClusterUnknown",
        "`ClusterReady`, `CredentialsInSync` or `TestCompleted` False on the EphemeralCluster; event, unless it is at its end",
        "The provider has no kubeconfig for the build cluster of the job.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "BuildClusterUnreachable",
        "`ClusterReady`, `CredentialsInSync` or `TestCompleted` False on the EphemeralCluster; event, unless it is at its end",
        "The build cluster does not answer, or denies access to the provider.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "BundlesFailed",
        "Event on the ConfigMap `NAME-bundles`, with bundle, object, reason and message, which are in its annotation `testplatform.ci.openshift.org/bundles-report` too",
        "A bundle was not ready within its timeout, or never can be.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "BundlesGivenUp",
        "Event on the ConfigMap `NAME-bundles`",
        "The preDelete bundles of the template were not complete within their timeout, or the cluster did not answer any more. The cluster is deleted anyway, because nobody should pay for an unused one.",
        Sentence(
            "Check for leftovers outside of the cluster that a `preDelete` bundle should have removed, such as a registration.",
        ),
    ),
    reason(
        "CIOperatorJobsGenerateFailure",
        "`ProwJobCreating` False on the EphemeralCluster; event",
        "Phase Failed: the request names no releases, or results in a configuration that does not fit into a job.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "CloudCredentialLeftBehind",
        "Event on the ConfigMap `NAME-cloud-credential`, with the credential's name",
        "No known issuer may delete it (403), no issuer is known any more, or the identity service has not answered for 24 hours after the cluster was gone.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "CloudCredentialOwnerInvalid",
        "Event on the ConfigMap `NAME-cloud-credential`; state `OwnerInvalid` in its report",
        "No credential of the cluster works, and no issuer can create one: the user has left, or has lost a role.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "CloudCredentialRotationFailed",
        "Event on the ConfigMap `NAME-cloud-credential`; its annotation `testplatform.ci.openshift.org/cloud-credential-report` has state `RotationFailed` and the cause",
        "The credential in the Secret works and stays; its replacement could not be created.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "ClusterDeleted",
        "Annotation `testplatform.ci.openshift.org/failed` of the Object; phase Failed on the claim",
        "The ClusterClaim exists, but Hive says that its cluster was deleted.",
        Sentence("Find out on the hub who deleted the ClusterDeployment."),
    ),
    reason(
        "ClusterOverdue",
        "Warning event on the object of a cluster by template, on the hub",
        "The cluster has reached its latest end (annotation `testplatform.ci.openshift.org/latest-end`): an hour after the last moment to which its claim could extend it.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "CredentialsInvalid",
        "`InfrastructureReady` False on claims with a template",
        "The cloud rejects the credentials with which the hub creates the cluster.",
        Sentence("Renew the Secret that the template's entry refers to."),
    ),
    reason(
        "CredentialsNotOwned",
        "`ClusterReady` or `CredentialsInSync` False on the EphemeralCluster; event there, and on the ClusterClaim",
        "A Secret `COMPOSITE-credentials` exists, but was not created for this EphemeralCluster or ClusterClaim; the message names its owner.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "CredentialsUnreadable",
        "`ClusterReady` or `CredentialsInSync` False on the EphemeralCluster; event",
        "The Secrets exist on the build cluster, but could not be read. The provider retries every minute.",
        Sentence("Compare the rights there with [`package/install/build-cluster/provider-rbac.yaml`]."),
    ),
    reason(
        "Deleted",
        "`ClusterRunning` False on the claim",
        "The assigned cluster was deleted on the hub.",
        Sentence("Follow ClusterDeleted."),
    ),
    reason(
        "Deleting",
        "`ClusterRunning` False on the claim",
        "The assigned cluster is being deleted on the hub although the claim exists.",
        Sentence("Find out who deleted the ClusterDeployment; the reason changes to ClusterDeleted."),
    ),
    reason(
        "DeprovisionFailed",
        "`ProwJobCompleted` True on the EphemeralCluster, phase Failed; event",
        "The job failed after the signal.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "DeprovisionTimeout",
        "`ProwJobCompleted` False on the EphemeralCluster; event",
        "The job has not ended within `deprovisionTimeout` (4 h by default) after teardown was requested, or it could not be signalled ([SignalFailed]).",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "EndedWithoutSignal",
        "`ProwJobCompleted` True on the EphemeralCluster, phase Failed; event. Where the job ended well: before the message of that, phase Deprovisioned",
        "The job ended although teardown was not requested: successfully, or after the cluster was ready.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "EphemeralClusterValidationFailure",
        "`ProwJobCreating` False on the EphemeralCluster, phase Failed; event",
        "The request can never be served: a malformed field, a cluster profile that does not exist or is not the tenant's, a reserved name.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "HeldByOtherController",
        "`ProwJobCreating` Unknown on the EphemeralCluster; event",
        "Another controller wrote the status within the last `otherWriterRespite` (10 minutes by default), and may be creating a ProwJob itself.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "JobFailed",
        "`TemplateApplied` False and `SpecApplied` False on claims with a template",
        "The job on the hub that creates, sets up or changes the cluster failed; the message has its error. A cluster that was Ready stays Ready.",
        Sentence("Look at the job on the hub."),
    ),
    reason(
        "KubeconfigWithdrawn",
        "`CredentialsInSync` False on the EphemeralCluster",
        "kubectl cannot use the kubeconfig that an earlier version published, or that kubeconfig would run a program or read local files. The provider has withdrawn it.",
        Sentence("See [KubeconfigRejected]."),
    ),
    reason(
        "NamespacePending",
        "`ClusterReady`, `CredentialsInSync` or `TestCompleted` False on the EphemeralCluster",
        "The build cluster has no namespace of ci-operator for the ProwJob: not yet, or it is being deleted.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "NeverScheduled",
        "`ClusterReady` False and `ProwJobCompleted` True on the EphemeralCluster, phase Failed; event",
        "The ProwJob got no build cluster, or no pod on it, within `schedulingTimeout`. It was aborted; it had nothing that could be lost.",
        Sentence("Find out why Prow does not start jobs."),
    ),
    reason(
        "OwnerInvalid",
        "`PlatformCredentialsValid` False on claims with a template",
        "No cloud credential works for the cluster, and no issuer can create one: the user left or lost a role, and the tenant has no other issuer. Existing machines keep running, but none can be created, changed or removed.",
        Sentence(
            "Give the cloud an issuer, as in [CloudCredentialOwnerInvalid]. A new credential is created within a minute.",
        ),
    ),
    reason(
        "OwnershipMismatch",
        "`CredentialsPublished` and `ClusterAssigned` False on claims for pools; `ClusterReady` and `CredentialsInSync` False, or `ProwJobCompleted` True on the EphemeralCluster, with an event; `blockingReason` in the ClusterClaim's annotation, and event there",
        "EphemeralCluster: its annotations now name another tenant or Konflux cluster than the ProwJob was created for, or the job was created for another object.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "PrerequisitesFailed",
        "Event on the ConfigMap `NAME-prerequisites`, with bundle, object, reason and message, which are in its annotation `testplatform.ci.openshift.org/prerequisites-report` too",
        "A prerequisite was not ready within its timeout, or never can be; the cluster is not requested.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "PrerequisitesGivenUp",
        "Event on the ConfigMap `NAME-prerequisites`, with the remaining objects",
        "The cluster's object is gone, but 10 minutes later one of its prerequisites still exists. It has its own finalizer, or the provider may no longer delete it.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "ProwJobCreateFailed",
        "`ProwJobCreating` False on the EphemeralCluster",
        "The API server refused the ProwJob.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "ProwJobFailure",
        "`ProwJobCompleted` True and `ClusterReady` False on the EphemeralCluster, phase Failed; event",
        "The job failed before there was a cluster.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "ProwJobGone",
        "`ProwJobCompleted` True and `ClusterReady` False on the EphemeralCluster; event if nobody had asked for the end",
        "The ProwJob does not exist any more.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "ProwJobScheduling",
        "`ClusterReady` False on the EphemeralCluster",
        "The ProwJob has no build cluster yet.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "PublishFailed",
        "`ClusterReady` or `CredentialsInSync` False on the EphemeralCluster",
        "The Secret with the credentials could not be written.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "RotationFailed",
        "`PlatformCredentialsValid` False on claims with a template",
        "The cluster's cloud credential works, but its replacement could not be created. A replacement is due because somebody requested it, or because another user changed the claim. The old credential stays in use.",
        Sentence(
            "Follow the message; [CloudCredentialRotationFailed] has details. `not deleted yet`: 16 of its credentials wait for deletion; the replacement is created once there are fewer.",
        ),
    ),
    reason(
        "SignalFailed",
        "`TestCompleted` False on the EphemeralCluster, phase Deprovisioning",
        "The build cluster refuses Secret `test-done-signal` in the job's namespace.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "StatusUnreadable",
        "Event on the EphemeralCluster, and its annotation `testplatform.ci.openshift.org/diagnostics`",
        "The status cannot be read, so the provider creates nothing and does not overwrite it.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "TooManyProwJobsBound",
        "Event on the EphemeralCluster; with the upstream controller `ProwJobCreating` False, phase Failed",
        "Two controllers created a ProwJob each for one EphemeralCluster.",
        Entry(RunbookPage::Hub),
    ),
    reason(
        "Unreachable",
        "`PlatformCredentialsValid` Unknown on claims with a template",
        "The identity service of the cloud does not answer, so the state of the cluster's credential is unknown.",
        Sentence(
            "Check the identity service, and that the provider reaches it at the `auth_url` of the issuers.",
        ),
    ),
];
