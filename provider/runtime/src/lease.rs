//! Which of several replicas acts: the holder of a Lease.
//!
//! A holder is alive as long as *we* see the Lease change; the time written in it does not count, because clocks differ. A process that cannot
//! renew in time has lost the Lease and exits: it then cannot finish anything concurrently with a new holder.
//!
//! **Libraries.** kube-leader-election compares the times in the Lease with the local clock, so that two replicas may lead while clocks differ.
//! kube-lease-manager tolerates a difference that is configured. kube has no election.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{Api, api::Patch};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    apply::{create_params, patch_params},
    error::{already_exists, plain_message},
    lookup,
};

/// How long things may take. Each is longer than the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// How long a Lease that is not renewed counts.
    pub lease: Duration,
    /// How long the holder tries to renew before it gives up.
    pub renew: Duration,
    /// Between two tries.
    pub retry: Duration,
}

/// State of a Lease when it was last seen to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedLease {
    /// Holder; empty if there is none.
    pub holder: String,
    /// How long it counts.
    pub counts: Duration,
    /// When it was first seen so.
    pub since: Instant,
    renewed: Option<Timestamp>,
}

/// Decision about a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Take it: it has no holder, or the holder is gone.
    Acquire,
    /// It is ours: renew it.
    Renew,
    /// Somebody else holds it, for so long at least.
    Wait(Duration),
}

/// Decides.
pub fn decide(now: Instant, seen: Option<&ObservedLease>, me: &str) -> Decision {
    match seen {
        None => Decision::Acquire,
        Some(seen) if seen.holder == me => Decision::Renew,
        Some(seen) if seen.holder.is_empty() => Decision::Acquire,
        Some(seen) => match (seen.since + seen.counts).checked_duration_since(now) {
            Some(left) if !left.is_zero() => Decision::Wait(left),
            _ => Decision::Acquire,
        },
    }
}

impl ObservedLease {
    /// Updates the observation with the current Lease.
    pub fn observe_lease(last: Option<Self>, spec: &LeaseSpec, now: Instant) -> Self {
        let holder = spec.holder_identity.clone().unwrap_or_default();
        let renewed = spec.renew_time.as_ref().map(|time| time.0);
        let seconds = u64::try_from(spec.lease_duration_seconds.unwrap_or_default()).unwrap_or_default();
        let counts = Duration::from_secs(seconds);
        match last {
            Some(last) if last.holder == holder && last.renewed == renewed => Self { counts, ..last },
            _ => Self { holder, counts, since: now, renewed },
        }
    }
}

/// A Lease, and who we are.
pub struct Election {
    /// Leases of a namespace.
    pub api: Api<Lease>,
    /// Its name.
    pub name: String,
    /// Identity of this process; no other process ever has the same.
    pub me: String,
    /// How long things may take.
    pub times: Times,
    /// The clock, for those who read the Lease.
    pub now: fn() -> Timestamp,
}

/// Why a Lease was lost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// Somebody else took it.
    #[error("{0} took it")]
    To(String),
    /// It could not be renewed in time.
    #[error("it could not be renewed for {0:?}: {1}")]
    Late(Duration, String),
}

impl Election {
    /// Waits until it is ours. Returns a moment from which on others count it as ours at the least.
    pub async fn acquire(&self) -> Instant {
        let mut observed = None;
        let mut last_holder = String::new();
        loop {
            // Other processes count from the arrival of the write, which no response reveals.
            let begun = Instant::now();
            match self.with_timeout(self.try_acquire(&mut observed)).await {
                Ok(Decision::Renew) => return begun,
                Ok(Decision::Acquire) => {}
                Ok(Decision::Wait(_)) => {
                    let holder =
                        observed.as_ref().map(|observed| observed.holder.clone()).unwrap_or_default();
                    if last_holder != holder {
                        tracing::info!(holder, "waiting for the lease");
                        last_holder = holder;
                    }
                }
                Err(error) => tracing::warn!(error, "the lease cannot be read or written"),
            }
            sleep(self.times.retry).await;
        }
    }

    /// Renews it until it is lost. It was ours since `renewed`.
    pub async fn keep_renewing(&self, mut renewed: Instant) -> Lost {
        loop {
            sleep(self.times.retry).await;
            // However slow an answer is: by then the process has to be at its end, because soon after another one acts.
            let remaining = self.times.renew.saturating_sub(renewed.elapsed());
            let begun = Instant::now();
            let error = match timeout(remaining, self.with_timeout(self.renew_once())).await {
                Ok(Ok(None)) => {
                    renewed = begun;
                    continue;
                }
                Ok(Ok(Some(other))) => return Lost::To(other),
                Ok(Err(error)) => error,
                Err(_) => "no answer in time".to_owned(),
            };
            tracing::warn!(error, "the lease was not renewed");
            if renewed.elapsed() + self.times.retry >= self.times.renew {
                return Lost::Late(renewed.elapsed(), error);
            }
        }
    }

    /// Gives it back, so that the next one need not wait.
    pub async fn release(&self) {
        let release = async {
            let lease = self.api.get(&self.name).await.map_err(|error| plain_message(&error))?;
            if lease_holder(&lease) != self.me {
                return Ok(());
            }
            let spec = json!({ "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": self.time() });
            self.patch_lease(&lease, spec).await
        };
        if let Err(error) = self.with_timeout(release).await {
            tracing::warn!(error, "the lease was not released; it expires by itself");
        }
    }

    /// Takes it if it is free. `Renew` means that it is ours.
    async fn try_acquire(&self, seen: &mut Option<ObservedLease>) -> Result<Decision, String> {
        let Some(lease) = self.find_lease().await? else {
            // The previous holder does not know yet that the Lease was deleted: it creates the Lease again, or ends within its lease duration.
            return match decide(Instant::now(), seen.as_ref(), &self.me) {
                wait @ Decision::Wait(_) => Ok(wait),
                Decision::Acquire | Decision::Renew => self.create_lease().await,
            };
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let look = ObservedLease::observe_lease(seen.take(), &spec, Instant::now());
        // The holder writes the lease duration with each renewal. Until then anybody may have changed it.
        let look = ObservedLease { counts: look.counts.max(self.times.lease), ..look };
        let decision = decide(Instant::now(), Some(&look), &self.me);
        *seen = Some(look);
        match decision {
            Decision::Wait(_) => return Ok(decision),
            // The response to our own write was lost. Its time of arrival is unknown, so the Lease is written again.
            Decision::Renew => {
                let now = self.time();
                self.patch_lease(&lease, json!({ "acquireTime": now, "renewTime": now })).await?;
                return Ok(Decision::Renew);
            }
            Decision::Acquire => {}
        }
        let transitions = spec.lease_transitions.unwrap_or_default().saturating_add(1);
        let now = self.time();
        let spec = json!({
            "holderIdentity": self.me, "leaseDurationSeconds": self.times.lease.as_secs(),
            "acquireTime": now, "renewTime": now, "leaseTransitions": transitions,
        });
        self.patch_lease(&lease, spec).await?;
        Ok(Decision::Renew)
    }

    /// Reads the Lease, if there is one.
    async fn find_lease(&self) -> Result<Option<Lease>, String> {
        lookup::get_opt(&self.api, &self.name).await.map_err(|error| plain_message(&error))
    }

    /// Makes it. `Renew` means that it is ours, `Acquire` that somebody else made it first.
    async fn create_lease(&self) -> Result<Decision, String> {
        let now = Some(self.time());
        let lease = Lease {
            metadata: ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() },
            spec: Some(LeaseSpec {
                holder_identity: Some(self.me.clone()),
                lease_duration_seconds: i32::try_from(self.times.lease.as_secs()).ok(),
                acquire_time: now.clone(),
                renew_time: now,
                lease_transitions: Some(0),
                ..LeaseSpec::default()
            }),
        };
        match self.api.create(&create_params(), &lease).await {
            Ok(_) => Ok(Decision::Renew),
            Err(error) if already_exists(&error) => Ok(Decision::Acquire),
            Err(error) => Err(plain_message(&error)),
        }
    }

    /// Renews the Lease once; creates it again if somebody deleted it. Returns another holder, if there is one.
    async fn renew_once(&self) -> Result<Option<String>, String> {
        let mut found = self.find_lease().await?;
        if found.is_none() {
            if self.create_lease().await? == Decision::Renew {
                tracing::warn!("the lease was deleted and is created again");
                return Ok(None);
            }
            // The current holder decides.
            found = self.find_lease().await?;
        }
        let lease = found.ok_or("it is deleted repeatedly")?;
        let holder = lease_holder(&lease);
        if holder != self.me && !holder.is_empty() {
            return Ok(Some(holder.to_owned()));
        }
        // All that others go by, as client-go has it: somebody may have emptied it.
        let spec = json!({
            "holderIdentity": self.me, "leaseDurationSeconds": self.times.lease.as_secs(), "renewTime": self.time(),
        });
        self.patch_lease(&lease, spec).await.map(|()| None)
    }

    /// Fails if somebody else wrote meanwhile.
    async fn patch_lease(&self, lease: &Lease, spec: serde_json::Value) -> Result<(), String> {
        let version = &lease.metadata.resource_version;
        let patch = Patch::Merge(json!({ "metadata": { "resourceVersion": version }, "spec": spec }));
        self.api
            .patch(&self.name, &patch_params(), &patch)
            .await
            .map(|_| ())
            .map_err(|error| plain_message(&error))
    }

    /// A try that hangs must not be what the Lease is lost by.
    async fn with_timeout<T>(&self, call: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        let patience = (self.times.renew / 2).max(self.times.retry);
        timeout(patience, call).await.unwrap_or_else(|_| Err("no answer in time".to_owned()))
    }

    fn time(&self) -> MicroTime {
        MicroTime((self.now)())
    }
}

fn lease_holder(lease: &Lease) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: &str, renewed: i64) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(15),
            renew_time: Some(MicroTime(Timestamp::from_second(renewed).unwrap())),
            ..LeaseSpec::default()
        }
    }

    #[test]
    fn a_holder_counts_for_as_long_as_it_moves() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(decide(start, None, "me"), Decision::Acquire);

        let seen = ObservedLease::observe_lease(None, &lease("other", 1), at(0));
        assert_eq!(decide(at(5), Some(&seen), "me"), Decision::Wait(Duration::from_secs(10)));
        let seen = ObservedLease::observe_lease(Some(seen), &lease("other", 1), at(10));
        assert_eq!(decide(at(10), Some(&seen), "me"), Decision::Wait(Duration::from_secs(5)), "not renewed");
        assert_eq!(decide(at(15), Some(&seen), "me"), Decision::Acquire, "it has not moved for too long");
        let seen = ObservedLease::observe_lease(Some(seen), &lease("other", 2), at(14));
        assert_eq!(decide(at(15), Some(&seen), "me"), Decision::Wait(Duration::from_secs(14)), "it moved");

        let seen = ObservedLease::observe_lease(Some(seen), &lease("", 2), at(16));
        assert_eq!(decide(at(16), Some(&seen), "me"), Decision::Acquire, "given back");
        let seen = ObservedLease::observe_lease(Some(seen), &lease("me", 3), at(17));
        assert_eq!(decide(at(99), Some(&seen), "me"), Decision::Renew);
    }

    #[test]
    fn what_the_time_in_it_says_does_not_matter() {
        let start = Instant::now();
        let ancient = ObservedLease::observe_lease(None, &lease("other", 0), start);
        assert_eq!(decide(start, Some(&ancient), "me"), Decision::Wait(Duration::from_secs(15)));
    }
}
