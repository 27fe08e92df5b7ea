//! Lifetime of a cluster, and the values that the hub needs at creation to allow that lifetime.

use jiff::SignedDuration;
use serde_json::Value;
use testplatform_apis::{condition::Request, duration::GoDuration, input::Settings, names::ours};

use crate::cluster::{
    observed::{Observed, PrimaryObject, Transfer},
    request::{AdmissionIssue, Block, Lifetime},
};

/// When Hive destroys a cluster that ci-operator claims from a pool, from when it was assigned on. Source: `acquireCluster`,
/// openshift/ci-tools, `pkg/steps/cluster_claim.go`; nothing in a ci-operator configuration changes it.
pub(crate) const HIVES_END: GoDuration = GoDuration::from_hours(4);
/// How long such a cluster may be kept from Ready on: less what lies between its assignment and Ready, and time to tell the job.
const BEFORE_HIVES_END: GoDuration = GoDuration::from_mins(225);
/// Message to the owner about that, before the figure.
pub(crate) const HIVE_ENDS_IT: &str = "Hive destroys a cluster that ci-operator claims from a pool after";

/// Limits at creation.
pub(super) struct Limits {
    /// Default for a claim without a lifetime.
    default_lifetime: Option<GoDuration>,
    /// The longest.
    max_lifetime: Option<GoDuration>,
    /// Lifetime that can be reached later where there is no maximum.
    reachable: GoDuration,
    /// How long provisioning may take.
    timeout: GoDuration,
    /// The same, if the hub is told.
    reported_timeout: Option<GoDuration>,
    /// The longest by which Hive has not ended it yet, where ci-operator claims it from a pool.
    before_hive: Option<GoDuration>,
}

impl Block {
    /// How long a cluster may be kept without that Hive ends it before, where ci-operator claims it from a pool.
    pub(crate) fn before_hive(&self) -> Option<GoDuration> {
        match self {
            Self::CiOperator(block) => {
                let claim = block.get("test")?.get("clusterClaim")?.as_object()?;
                (!claim.is_empty()).then_some(BEFORE_HIVES_END)
            }
            Self::ClusterClaim(_) | Self::Template(_) => None,
        }
    }
}

impl Limits {
    /// Those of the input, and of the pool or template.
    pub fn of(block: &Block, settings: &Settings) -> Self {
        let of_input = Self {
            default_lifetime: settings.default_lifetime,
            max_lifetime: settings.max_lifetime,
            reachable: settings.hub_max_lifetime,
            timeout: settings.default_provision_timeout,
            reported_timeout: settings.told_provision_timeout,
            before_hive: block.before_hive(),
        };
        let (of_place, of_claim) = match block {
            Block::CiOperator(_) => {
                // A cluster that Hive ends has an end, whether or not the claim requests one.
                let most = of_input.before_hive.and(of_input.max_allowed());
                let default = of_input.default_lifetime.or(most).map(|d| most.map_or(d, |most| d.min(most)));
                return Self { default_lifetime: default, ..of_input };
            }
            Block::ClusterClaim(claimed) => {
                let place = claimed.pool.as_ref();
                let spans = (place.and_then(|p| p.default_lifetime), place.and_then(|p| p.max_lifetime));
                (spans, claimed.spec.timeout)
            }
            Block::Template(templated) => {
                let terms = &templated.terms;
                ((terms.default_lifetime, terms.max_lifetime), terms.provision)
            }
        };
        let (default, most) = of_place;
        let max_lifetime = [most, settings.max_lifetime].into_iter().flatten().min();
        // A maximum holds for claims that ask for nothing too, as Hive has it: else its own end would come as a surprise.
        let default = default.or(settings.default_lifetime).or(max_lifetime);
        let requested = of_claim.unwrap_or(settings.default_provision_timeout);
        let timeout = settings.max_provision_timeout.map_or(requested, |max| requested.min(max));
        Self {
            default_lifetime: default.map(|d| max_lifetime.map_or(d, |max| d.min(max))),
            max_lifetime,
            timeout,
            // The claim says it once, and the manifest remembers it.
            reported_timeout: Some(timeout),
            ..of_input
        }
    }

    /// The longest that may be had.
    fn max_allowed(&self) -> Option<GoDuration> {
        [self.max_lifetime, self.before_hive].into_iter().flatten().min()
    }
}

impl Lifetime {
    /// How long provisioning may take, from the composite's creation on. None while that is not known.
    pub fn provision_timeout(&self) -> Option<SignedDuration> {
        self.timeout.map(GoDuration::as_signed)
    }

    /// The claim's own, else the default; clamped.
    pub(super) fn of(
        requested: &Value,
        observed: &Observed,
        limits: &Limits,
        issues: &mut Vec<AdmissionIssue>,
    ) -> Self {
        let born = observed.primary.is_none() && (!observed.was_made_before() || observed.was_pending());
        let lost = !born && observed.primary.as_ref().is_none_or(PrimaryObject::is_searching);
        let before = reported_duration(observed, ours::LIFETIME);
        let longest =
            if born { limits.max_allowed() } else { reported_duration(observed, ours::MAX_LIFETIME) };
        // A default is granted at birth. A later one ends no cluster that was promised none, or a longer one, and what is taken over was born
        // with another: what the hub was told then.
        let granted = match (&observed.transfer, born) {
            (Transfer::Target(_), true) => None,
            (Transfer::Target(_), false) => before,
            (Transfer::None | Transfer::Source(_), true) => limits.default_lifetime,
            (Transfer::None | Transfer::Source(_), false) => {
                granted_at_creation(observed, requested.is_null(), before)
            }
        };
        let wanted = if let Ok(own) = parse_lifetime(requested) {
            own.or(granted)
        } else {
            issues.push(AdmissionIssue::new(
                Request::LifetimeIgnored,
                "spec.lifetime is not a duration of at least a minute, such as 90m or 2h30m, and was ignored",
            ));
            before.or(granted)
        };
        let cap = longest.or(limits.max_lifetime.filter(|_| !lost));
        // A lifetime reported by a version that did not know Hive's end stays, until the claim requests another.
        let is_as_reported = before.is_some() && wanted.map(|w| cap.map_or(w, |cap| w.min(cap))) == before;
        let before_hive = limits.before_hive.filter(|_| !lost && !is_as_reported);
        let cap = [cap, before_hive].into_iter().flatten().min();
        let effective = match (wanted, cap) {
            (Some(wanted), Some(cap)) if wanted > cap => {
                let since = if limits.before_hive == Some(cap) {
                    format!("because {HIVE_ENDS_IT} {}", HIVES_END.to_short_string())
                } else if observed.primary.is_some() {
                    "the value at the time of the request".to_owned()
                } else {
                    "the longest allowed".to_owned()
                };
                issues.push(AdmissionIssue::new(
                    Request::LifetimeClamped,
                    format!("spec.lifetime is clamped to {}, {since}", cap.to_short_string()),
                ));
                Some(cap)
            }
            (wanted, _) => wanted,
        };
        if born {
            // The hub's backstops are built on it. Without a maximum, what the hub allows anyway can be reached later.
            let longest = longest.or(effective.map(|e| e.max(limits.reachable)));
            return Self {
                effective,
                max: longest,
                granted,
                reported_timeout: limits.reported_timeout,
                lost,
                timeout: Some(limits.timeout),
            };
        }
        // The values of the creation hold, whatever the input has now.
        let reported_timeout = reported_duration(observed, ours::PROVISION_TIMEOUT);
        let otherwise = (!lost).then_some(Settings::PROVISION_TIMEOUT);
        Self {
            effective,
            max: longest,
            granted,
            reported_timeout,
            lost,
            timeout: reported_timeout.or(otherwise),
        }
    }
}

/// Duration that was reported to the hub: from the primary Object's manifest, or from the remote object where a searching manifest lacks
/// it.
fn reported_duration(observed: &Observed, key: &str) -> Option<GoDuration> {
    let primary = observed.primary.as_ref()?;
    let of_remote = || primary.remote()?.metadata().annotation(key);
    primary.manifest_annotation(key).or_else(of_remote)?.parse().ok()
}

/// The default that was granted at birth, as it was noted. With all notes lost, what a claim that asks for nothing was told to have.
fn granted_at_creation(
    observed: &Observed,
    silent: bool,
    reported: Option<GoDuration>,
) -> Option<GoDuration> {
    let found = silent && observed.primary.as_ref().is_some_and(PrimaryObject::is_probing);
    observed.annotations(ours::DEFAULT_LIFETIME).find_map(|d| d.parse().ok()).or(reported.filter(|_| found))
}

fn parse_lifetime(requested: &Value) -> Result<Option<GoDuration>, ()> {
    match requested {
        Value::Null => Ok(None),
        Value::String(text) => {
            let duration: GoDuration = text.parse().map_err(drop)?;
            if duration.as_secs() >= 60 { Ok(Some(duration)) } else { Err(()) }
        }
        _ => Err(()),
    }
}
