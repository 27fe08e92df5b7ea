//! How long a cluster may live, and what the hub has to be told at birth so that it may live that long.

use jiff::SignedDuration;
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
    /// The default that the claim was born with, noted on the writer.
    pub granted: Option<GoDuration>,
    /// How long provisioning may take, as the hub was told at birth.
    pub told_timeout: Option<GoDuration>,
    /// How long provisioning may take.
    timeout: GoDuration,
}

impl Lifetime {
    /// How long provisioning may take, from the composite's creation on.
    pub fn provision_timeout(&self) -> SignedDuration {
        self.timeout.get()
    }

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
        // A default is granted at birth. A later one ends no cluster that was promised none, or a longer one.
        let granted = match &observed.writer {
            Some(writer) => {
                writer.object.metadata.annotation(ours::DEFAULT_LIFETIME).and_then(|d| d.parse().ok())
            }
            None => settings.default_lifetime,
        };
        let wanted = if let Ok(own) = parse(asked) {
            own.or(granted)
        } else {
            remarks.push(Remark::new(
                Request::LifetimeIgnored,
                "spec.lifetime is no duration of at least a minute, such as 90m or 2h30m, and was ignored",
            ));
            before.or(granted)
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
                    format!("spec.lifetime is clamped to {}, {since}", cap.short()),
                ));
                Some(cap)
            }
            (wanted, _) => wanted,
        };
        if observed.writer.is_none() {
            // The hub's backstops are built on it. Without a maximum, what the hub allows anyway can be reached later.
            let longest = longest.or(effective.map(|e| e.max(settings.hub_max_lifetime)));
            return Self {
                effective,
                longest,
                granted,
                told_timeout: settings.told_provision_timeout,
                timeout: settings.default_provision_timeout,
            };
        }
        let told_timeout = observed.writer.as_ref().and_then(|w| told(w, ours::PROVISION_TIMEOUT));
        // What held at birth holds, whatever the input says by now.
        let timeout = told_timeout.unwrap_or_else(|| Settings::default().default_provision_timeout);
        Self { effective, longest, granted, told_timeout, timeout }
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
