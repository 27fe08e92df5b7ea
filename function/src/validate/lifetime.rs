//! How long a cluster may live, and what the hub has to be told at birth so that it may live that long.

use serde_json::Value;
use testplatform_apis::{condition::Request, duration::GoDuration, input::Settings, names::ours};

use super::Remark;
use crate::observed::{Observed, Writer};

/// The lifetime of one cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lifetime {
    /// From Ready on; none: no end.
    pub effective: Option<GoDuration>,
    /// The longest that it may ever become. Written at birth, constant: the hub's backstops are built on it.
    pub longest: Option<GoDuration>,
    /// How long provisioning may take, as the hub was told at birth.
    pub provision_timeout: Option<GoDuration>,
}

impl Lifetime {
    /// The claim's own, else the default; clamped.
    pub(super) fn of(
        asked: &Value,
        observed: &Observed,
        settings: &Settings,
        remarks: &mut Vec<Remark>,
    ) -> Self {
        let told = |writer: &Writer, key| writer.manifest_annotation(key).and_then(|d| d.parse().ok());
        let before: Option<GoDuration> = observed.writer.as_ref().and_then(|w| told(w, ours::LIFETIME));
        let longest = match &observed.writer {
            Some(writer) => told(writer, ours::MAX_LIFETIME),
            None => settings.max_lifetime,
        };
        // A default must not end a cluster that was promised none: it applies only from birth on.
        let born_with = observed.writer.is_none() || longest.is_some() || before.is_some();
        let default = settings.default_lifetime.filter(|_| born_with);
        let wanted = if let Ok(own) = parse(asked) {
            own.or(default)
        } else {
            remarks.push(Remark::new(
                Request::LifetimeIgnored,
                "spec.lifetime is no duration of at least a minute, such as 90m or 2h30m, and was ignored",
            ));
            before.or(default)
        };
        let cap = longest.or(settings.max_lifetime);
        let effective = match (wanted, cap) {
            (Some(wanted), Some(cap)) if wanted > cap => {
                let since = if observed.writer.is_some() {
                    "what was set when the cluster was asked for"
                } else {
                    "the longest allowed"
                };
                remarks.push(Remark::new(
                    Request::LifetimeClamped,
                    format!("spec.lifetime is clamped to {cap}, {since}"),
                ));
                Some(cap)
            }
            (wanted, _) => wanted,
        };
        if observed.writer.is_none() {
            // Whatever is set at birth must be reachable later, so the hub learns at least that.
            let longest = longest.or(effective);
            return Self { effective, longest, provision_timeout: settings.told_provision_timeout };
        }
        let provision_timeout = observed.writer.as_ref().and_then(|w| told(w, ours::PROVISION_TIMEOUT));
        Self { effective, longest, provision_timeout }
    }
}

fn parse(asked: &Value) -> Result<Option<GoDuration>, ()> {
    match asked {
        Value::Null => Ok(None),
        Value::String(text) => {
            let duration: GoDuration = text.parse().map_err(drop)?;
            if duration.as_secs() >= 60 { Ok(Some(duration)) } else { Err(()) }
        }
        _ => Err(()),
    }
}
