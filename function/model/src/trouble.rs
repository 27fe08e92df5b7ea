//! Events that can happen to any claim, independent of its backend.

use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::json;

use super::world::World;

/// Trouble that has nothing to do with the kind of remote object.
#[derive(Clone, Copy, Debug)]
pub enum Trouble {
    Replaced,
    TearDown,
    TearDownTakenBack,
    Lifetime,
    EnvironmentGone,
    EnvironmentBack,
    HubGone,
    HubBack,
    Refuses,
    RefusesNoMore,
    Ambiguous,
    StatusDropped,
    StatusLate,
    ConditionsLate,
    KeysLate,
    SecretsLost,
    WriterUnseen,
    WriterLost,
    FatalPass,
    BreaksOff,
    AppliesNothing,
    Minutes(i64),
}

impl Trouble {
    /// All but the passing of time.
    const EACH: [Self; 21] = [
        Self::Replaced,
        Self::TearDown,
        Self::TearDownTakenBack,
        Self::Lifetime,
        Self::EnvironmentGone,
        Self::EnvironmentBack,
        Self::HubGone,
        Self::HubBack,
        Self::Refuses,
        Self::RefusesNoMore,
        Self::Ambiguous,
        Self::StatusDropped,
        Self::StatusLate,
        Self::ConditionsLate,
        Self::KeysLate,
        Self::SecretsLost,
        Self::WriterUnseen,
        Self::WriterLost,
        Self::FatalPass,
        Self::BreaksOff,
        Self::AppliesNothing,
    ];

    /// Any of them; as often as all others together, time goes by.
    pub fn any_trouble() -> impl Strategy<Value = Self> {
        prop_oneof![2 => prop::sample::select(&Self::EACH[..]), 1 => (1i64..90).prop_map(Self::Minutes)]
    }

    /// Lets it happen to the claim whose writer is the composed resource `writer`.
    pub fn happen(self, world: &mut World, writer: &str) {
        match self {
            Self::Replaced => {
                if let Some(remote) = &mut world.remote {
                    remote["metadata"]["uid"] = json!("somebody-elses");
                }
            }
            Self::TearDown => world.spec["tearDownCluster"] = json!(true),
            Self::TearDownTakenBack => world.spec["tearDownCluster"] = json!(false),
            Self::Lifetime => world.spec["lifetime"] = json!("1h"),
            Self::EnvironmentGone => world.environment = None,
            Self::EnvironmentBack => world.environment = Some(json!({ "clusterName": "back" })),
            Self::HubGone => world.reachable = false,
            Self::HubBack => world.reachable = true,
            Self::Refuses => world.refuses = Some("admission webhook denied the request".into()),
            Self::RefusesNoMore => world.refuses = None,
            Self::Ambiguous => {
                world.refuses = Some("Patch \"https://hub\": context deadline exceeded".into());
            }
            Self::StatusDropped => world.drop_status(),
            // Core reads the composite from a cache, which may be behind, and its Secrets are read afresh.
            Self::StatusLate => {
                let before = (world.status.clone(), world.conditions.clone());
                world.pass();
                (world.status, world.conditions) = before;
            }
            // Core applies the status, then writes the keys, and updates the conditions last of all: a conflict, or its own end, and
            // they are what they were.
            Self::ConditionsLate => {
                let before = world.conditions.clone();
                world.pass();
                world.conditions = before;
            }
            Self::KeysLate => {
                let before = (world.details.clone(), world.tenant.clone(), world.conditions.clone());
                world.pass();
                (world.details, world.tenant, world.conditions) = before;
            }
            // With the hub's own Secret gone at the same time nothing could ever bring them back.
            Self::SecretsLost if world.reachable && !world.secrets.is_empty() => {
                world.details.clear();
                if let Some(credentials) = world.objects.get_mut("credentials") {
                    credentials.details.clear();
                }
                world.settle();
            }
            // Without status, too, nothing tells that there ever was one.
            Self::WriterUnseen if world.phase().is_empty() => {}
            Self::WriterUnseen => {
                let object = world.objects.remove(writer);
                let referred = world.refs.contains(writer);
                world.pass();
                if let Some(object) = object {
                    world.objects.insert(writer.into(), object);
                }
                // Core could not write of that pass what it refers to.
                if referred {
                    world.refs.insert(writer.into());
                }
            }
            // Before it was pinned nothing remembers what an Object without its finalizer leaves behind.
            Self::WriterLost if world.is_pinned() => drop(world.objects.remove(writer)),
            Self::SecretsLost | Self::WriterLost => {}
            Self::FatalPass => world.fail_pass(),
            Self::BreaksOff => world.breaks_off(writer),
            Self::AppliesNothing => world.applies_nothing(),
            Self::Minutes(minutes) => world.advance_time(SignedDuration::from_mins(minutes)),
        }
    }
}
