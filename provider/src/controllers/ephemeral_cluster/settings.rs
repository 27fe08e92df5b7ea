//! Settings of an administrator that decisions on one EphemeralCluster need.

use jiff::SignedDuration;

use crate::config::Config;

/// Durations. Read from the configuration file, whose defaults these are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Timeout of provisioning, if the EphemeralCluster sets none.
    pub provision_timeout: SignedDuration,
    /// For which lifetime a job is given time, where the EphemeralCluster does not say.
    pub max_lifetime: SignedDuration,
    /// How long a job may wait for a build cluster, from its creation on.
    pub scheduling_timeout: SignedDuration,
    /// How long the end may take, from the signal on, before somebody is told.
    pub deprovision_timeout: SignedDuration,
    /// How long a job that is to end may be without a namespace before it is aborted.
    pub abort_grace: SignedDuration,
    /// For how long a status that another manager wrote keeps this provider from creating anything.
    pub other_writer_respite: SignedDuration,
}

/// Between the function's own deadline and the provider's, which is only the net below it.
pub const MARGIN: SignedDuration = SignedDuration::from_mins(15);

impl Default for Settings {
    fn default() -> Self {
        Self {
            provision_timeout: SignedDuration::from_hours(4),
            max_lifetime: SignedDuration::from_hours(2),
            scheduling_timeout: SignedDuration::from_hours(1),
            deprovision_timeout: SignedDuration::from_hours(4),
            abort_grace: SignedDuration::from_mins(5),
            other_writer_respite: SignedDuration::from_mins(10),
        }
    }
}

impl From<&Config> for Settings {
    fn from(config: &Config) -> Self {
        let ours = &config.ephemeral_cluster;
        Self {
            provision_timeout: ours.provision_timeout.as_signed(),
            max_lifetime: ours.max_lifetime.as_signed(),
            scheduling_timeout: ours.scheduling_timeout.as_signed(),
            deprovision_timeout: ours.deprovision_timeout.as_signed(),
            abort_grace: ours.abort_grace.as_signed(),
            other_writer_respite: ours.other_writer_respite.as_signed(),
        }
    }
}
