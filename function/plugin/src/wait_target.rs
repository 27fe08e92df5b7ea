//! The state that `wait` waits for.

use testplatform_apis::{
    condition::{ConditionType, TemplateConditionType},
    phase::Phase,
};

use super::{
    claim::{Claim, ClaimState, ReportedCondition, conditions},
    exit::Exit,
};

/// The state that `wait --for` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitTarget {
    /// A condition has a status. Neither is case-sensitive, as in kubectl.
    Condition {
        /// Type of the condition.
        type_: String,
        /// Its status: True, False or Unknown.
        status: String,
    },
    /// The claim is in a phase.
    Phase(Phase),
    /// The claim is deleted.
    Deleted,
}

impl WaitTarget {
    /// The default: the kubeconfig exists.
    pub const DEFAULT: &str = "condition=ClusterReady";

    /// Reads the value of `--for`. The error says which values there are.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.splitn(3, '=').collect();
        match words[..] {
            ["delete"] => Ok(Self::Deleted),
            ["phase", name] => {
                let phase = Phase::ALL.into_iter().find(|phase| phase.as_str().eq_ignore_ascii_case(name));
                phase.map(Self::Phase).ok_or_else(|| {
                    let phases = Phase::ALL.map(Phase::as_str).join(", ");
                    format!("there is no phase {name:?}; phases are {phases}")
                })
            }
            ["condition", type_] if !type_.is_empty() => {
                Ok(Self::Condition { type_: type_.to_owned(), status: "True".to_owned() })
            }
            ["condition", type_, status] if !type_.is_empty() && !status.is_empty() => {
                Ok(Self::Condition { type_: type_.to_owned(), status: status.to_owned() })
            }
            _ => Err("expected condition=TYPE, condition=TYPE=STATUS, phase=PHASE or delete".to_owned()),
        }
    }

    /// The target as on the command line.
    pub fn describe(&self) -> String {
        match self {
            Self::Condition { type_, status } => format!("condition {type_}={status}"),
            Self::Phase(phase) => format!("phase {phase}"),
            Self::Deleted => "deletion".to_owned(),
        }
    }

    /// `true` if a claim that still exists is in this state.
    pub fn is_met(&self, claim: &Claim) -> bool {
        match self {
            Self::Condition { type_, status } => conditions(&claim.object)
                .find(|condition| condition.type_().eq_ignore_ascii_case(type_))
                .is_some_and(|condition| condition.status().eq_ignore_ascii_case(status)),
            Self::Phase(phase) => claim.phase() == Some(*phase),
            Self::Deleted => false,
        }
    }

    /// The exit code if a claim cannot come to this state any more: it is Failed, or its cluster is gone.
    pub fn is_out_of_reach(&self, claim: &Claim) -> Option<Exit> {
        let final_state = match claim.state() {
            ClaimState::Failed => Exit::Failed,
            ClaimState::Ended => Exit::Over,
            ClaimState::Waiting | ClaimState::Ready => return None,
        };
        let is_lost = match self {
            Self::Deleted => false,
            Self::Phase(phase) => match claim.phase() {
                Some(Phase::Failed | Phase::Deprovisioned) => true,
                _ => !matches!(phase, Phase::Deprovisioning | Phase::Deprovisioned | Phase::Failed),
            },
            Self::Condition { type_, status } => {
                status.eq_ignore_ascii_case("True") && !may_still_become_true(type_)
            }
        };
        (is_lost && !self.is_met(claim)).then_some(final_state)
    }
}

/// Conditions that can become True although the claim has failed or its cluster is gone: those about its end, about the link to the hub, and
/// those that Crossplane sets.
fn may_still_become_true(type_: &str) -> bool {
    let ours = [ConditionType::ProwJobCompleted, ConditionType::RemoteConsistent].map(ConditionType::as_str);
    let others = [TemplateConditionType::TearDownComplete.as_str(), "Synced", "Ready", "Responsive"];
    ours.iter().chain(&others).any(|other| type_.eq_ignore_ascii_case(other))
}

/// The type of the condition that a target names, if neither we set it nor the claim has it: it may be misspelt.
pub fn unknown_condition<'t>(target: &'t WaitTarget, claim: &Claim) -> Option<&'t str> {
    let WaitTarget::Condition { type_, .. } = target else { return None };
    let ours = ConditionType::ALL.iter().map(|type_| type_.as_str());
    let of_templates = TemplateConditionType::ALL.iter().map(|type_| type_.as_str());
    let reported = conditions(&claim.object).map(ReportedCondition::type_);
    let is_known = ours.chain(of_templates).chain(reported).any(|known| type_.eq_ignore_ascii_case(known));
    (!is_known).then_some(type_)
}

/// Candidates of `--for` that most claims have.
pub fn common_targets() -> Vec<String> {
    let ours = [ConditionType::ClusterReady, ConditionType::RequestAccepted, ConditionType::ProwJobCompleted];
    let conditions = ours.into_iter().map(|type_| format!("condition={}", type_.as_str()));
    let phases = Phase::ALL.into_iter().map(|phase| format!("phase={phase}"));
    conditions.chain(phases).chain(["delete".to_owned()]).collect()
}

/// The message of the condition that a target names; empty if the claim has none.
pub fn condition_message(target: &WaitTarget, claim: &Claim) -> String {
    match target {
        WaitTarget::Condition { type_, .. } => conditions(&claim.object)
            .find(|condition| condition.type_().eq_ignore_ascii_case(type_))
            .map(ReportedCondition::message)
            .unwrap_or_default(),
        WaitTarget::Phase(_) | WaitTarget::Deleted => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claim(phase: &str, ready: &str) -> Claim {
        let object = json!({
            "apiVersion": "ci.openshift.org/v1alpha1", "kind": "TestPlatformCluster", "metadata": { "name": "demo" },
            "status": { "phase": phase, "conditions": [{ "type": "ClusterReady", "status": ready, "message": "m" }] },
        });
        Claim::read(object).unwrap()
    }

    #[test]
    fn targets_read_as_in_kubectl() {
        let condition = |type_: &str, status: &str| WaitTarget::Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
        };
        for (text, target) in [
            ("condition=ClusterReady", condition("ClusterReady", "True")),
            ("condition=clusterready=false", condition("clusterready", "false")),
            ("phase=ready", WaitTarget::Phase(Phase::Ready)),
            ("delete", WaitTarget::Deleted),
        ] {
            assert_eq!(WaitTarget::parse(text), Ok(target), "{text}");
        }
        for wrong in
            ["", "ready", "condition=", "condition=A=", "phase=Gone", "phase=", "delete=now", "jsonpath=x"]
        {
            assert!(WaitTarget::parse(wrong).is_err(), "{wrong}");
        }
        assert!(common_targets().iter().all(|target| WaitTarget::parse(target).is_ok()));
        assert!(WaitTarget::parse(WaitTarget::DEFAULT).is_ok());
    }

    #[test]
    fn state_decides_whether_the_target_is_met() {
        let met = |text: &str, claim: &Claim| WaitTarget::parse(text).unwrap().is_met(claim);
        let ready = claim("Ready", "True");
        assert!(met("condition=CLUSTERREADY=true", &ready) && met("phase=Ready", &ready));
        assert!(!met("condition=ClusterReady=False", &ready) && !met("phase=Failed", &ready));
        assert!(!met("condition=Absent", &ready) && !met("delete", &ready));
    }

    #[test]
    fn final_states_end_the_wait() {
        let lost = |text: &str, claim: &Claim| WaitTarget::parse(text).unwrap().is_out_of_reach(claim);
        let failed = claim("Failed", "False");
        assert_eq!(lost("condition=ClusterReady", &failed), Some(Exit::Failed));
        assert_eq!(lost("phase=Ready", &failed), Some(Exit::Failed));
        assert_eq!(lost("condition=CredentialsPublished", &failed), Some(Exit::Failed));
        assert_eq!(lost("condition=clusterredy=true", &failed), Some(Exit::Failed), "also if it is misspelt");
        for reachable in [
            "phase=Failed",
            "condition=ClusterReady=False",
            "condition=ProwJobCompleted",
            "condition=Ready",
            "delete",
        ] {
            assert_eq!(lost(reachable, &failed), None, "{reachable}");
        }
        let tearing = claim("Deprovisioning", "False");
        assert_eq!(lost("phase=Ready", &tearing), Some(Exit::Over));
        assert_eq!(lost("phase=Deprovisioned", &tearing), None);
        assert_eq!(lost("phase=Ready", &claim("Provisioning", "False")), None);
    }

    #[test]
    fn condition_that_nobody_sets_is_unknown() {
        let unknown = |text: &str| {
            let target = WaitTarget::parse(text).unwrap();
            unknown_condition(&target, &claim("Ready", "True")).map(str::to_owned)
        };
        assert_eq!(unknown("condition=ClusterRedy").as_deref(), Some("ClusterRedy"));
        for known in ["condition=clusterready", "condition=TearDownComplete", "phase=Ready", "delete"] {
            assert_eq!(unknown(known), None, "{known}");
        }
    }
}
