//! Failures of a Cluster. Cluster API never marks a failure as terminal, so messages are classified. They come from machines and cloud, one
//! line for each.

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    foreign::{cluster_api::conditions, meta::ObservedCondition},
    redact::redact_text,
    text::bounded,
};

use super::facts::TopologyFacts;
use crate::cluster::backends::common::templated::{FailureCondition, Sentence};

/// Longer grace period: an unreconciled topology may be waiting for its ClusterClass, and an unreachable API may be restarting.
const LONG_GRACE: SignedDuration = SignedDuration::from_mins(5);

/// How long new nodes may take, as in the health checks of the machines.
const NODE_STARTUP: SignedDuration = SignedDuration::from_mins(30);

/// The conditions whose sentences say what is in the way.
const FAILURE_CONDITIONS: [&str; 7] = [
    conditions::TOPOLOGY_RECONCILED,
    conditions::INFRASTRUCTURE_READY,
    conditions::CONTROL_PLANE_MACHINES_READY,
    conditions::CONTROL_PLANE_INITIALIZED,
    conditions::CONTROL_PLANE_AVAILABLE,
    conditions::WORKER_MACHINES_READY,
    conditions::WORKERS_AVAILABLE,
];

/// Subject of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureClass {
    /// Others may free some.
    Quota,
    /// The way to a server, or the server itself.
    Transient,
    /// The cloud does not accept the credentials.
    Credentials,
    /// Something that was named is not there, or cannot be.
    Invalid,
    /// Anything else: work in progress, mostly.
    Other,
}

impl FailureClass {
    const fn is_final(self) -> bool {
        matches!(self, Self::Credentials | Self::Invalid)
    }
}

/// The lines of a sentence without what marks them as such.
fn message_lines(message: &str) -> impl DoubleEndedIterator<Item = &str> {
    message
        .lines()
        .map(|line| line.trim_start_matches([' ', '*', '-']).trim_end())
        .filter(|line| !line.is_empty())
}

/// The line of a condition that says most: a summary ends with what is in the way. Its reason, if it has none.
pub(super) fn last_line(condition: &ObservedCondition) -> &str {
    message_lines(&condition.message).next_back().unwrap_or(&condition.reason)
}

/// Classifies one line of a message.
pub(super) fn classify_line(line: &str) -> FailureClass {
    let sentence = Sentence::parse(line);
    if sentence.contains_any(&["quota", "limit exceeded", "limits exceeded"]) {
        FailureClass::Quota
    } else if sentence.is_network_error()
        || sentence.has_number(|number| (500..=599).contains(&number))
        || sentence.contains_any(&["internal server error"])
        || ["unavailable", "serviceunavailable"].iter().any(|word| sentence.has_word(word))
    {
        FailureClass::Transient
    } else if sentence.has_number(|number| number == 401)
        || sentence.contains_any(&[
            "unauthorized",
            "authentication failed",
            "invalid credentials",
            "credentials are invalid",
        ])
    {
        FailureClass::Credentials
    } else if sentence.has_number(|number| number == 404)
        || sentence.contains_any(&["no suitable", "could not be found"])
    {
        FailureClass::Invalid
    } else {
        let named = ["clusterclass", "image", "flavor", "network", "subnet", "key pair", "keypair"];
        let absent = sentence.contains_any(&named) && sentence.contains_any(&["not found", "does not exist"]);
        let unfit = sentence.contains_any(&["variable"])
            && sentence.contains_any(&[
                "invalid",
                "not defined",
                "not valid",
                "required",
                "must be",
                "unsupported",
                "unknown",
            ]);
        if absent || unfit { FailureClass::Invalid } else { FailureClass::Other }
    }
}

fn build_failure(condition: &ObservedCondition, line: &str, class: FailureClass) -> FailureCondition {
    let reason = match class {
        FailureClass::Quota => "QuotaExceeded",
        FailureClass::Credentials => "CredentialsInvalid",
        FailureClass::Transient | FailureClass::Invalid | FailureClass::Other => condition.type_.as_str(),
    };
    let plain = FailureCondition::from_condition(condition, None, class.is_final());
    let slow = condition.reason == conditions::RECONCILE_FAILED;
    let span = if slow { LONG_GRACE } else { plain.grace };
    FailureCondition {
        reason: bounded(reason, 63),
        message: bounded(&redact_text(line, 768), 768),
        grace: span,
        ..plain
    }
}

/// Every line that says what is in the way.
fn classified_lines<'a>(
    facts: &TopologyFacts<'a>,
) -> impl Iterator<Item = (&'a ObservedCondition, &'a str, FailureClass)> {
    let lacking: Vec<&ObservedCondition> =
        FAILURE_CONDITIONS.iter().filter_map(|type_| facts.not_true(type_)).collect();
    lacking
        .into_iter()
        .flat_map(|c| message_lines(&c.message).map(move |line| (c, line, classify_line(line))))
}

/// Failures that do not resolve by themselves.
pub(super) fn terminal_failures(facts: &TopologyFacts<'_>) -> Vec<FailureCondition> {
    let found = classified_lines(facts).filter(|(_, _, class)| class.is_final());
    let declared = declared_failure(facts).map(|failed| FailureCondition { terminal: true, ..failed });
    // Most conditions are not True from birth on, whatever they say meanwhile.
    let changed_at = facts.remote.metadata.status_changed_at;
    let found = found.map(|(c, line, class)| build_failure(c, line, class).since_message(changed_at));
    declared.into_iter().chain(found).collect()
}

/// Failure that the previous API version calls final. It has no start time.
fn declared_failure(facts: &TopologyFacts<'_>) -> Option<FailureCondition> {
    let old = &facts.status.deprecated.value.v1beta1;
    (!old.failure_reason.is_empty() || !old.failure_message.is_empty()).then(|| FailureCondition {
        reason: bounded(if old.failure_reason.is_empty() { "Failed" } else { &old.failure_reason }, 63),
        message: bounded(&redact_text(old.failure_message.lines().next().unwrap_or_default(), 768), 768),
        since: None,
        terminal: false,
        grace: SignedDuration::ZERO,
    })
}

/// Failures that may resolve by themselves and are worth reporting, the most important first.
pub(super) fn transient_failures(facts: &TopologyFacts<'_>) -> Vec<FailureCondition> {
    let of = |wanted: FailureClass| {
        let lines = classified_lines(facts).filter(move |(_, _, class)| *class == wanted);
        lines.map(|(c, line, class)| build_failure(c, line, class))
    };
    let stuck = [conditions::RECONCILE_FAILED, conditions::CLASS_NOT_RECONCILED];
    let topology =
        facts.is_false(conditions::TOPOLOGY_RECONCILED).filter(|c| stuck.contains(&c.reason.as_str()));
    let topology = topology.map(|c| build_failure(c, last_line(c), FailureClass::Other));
    of(FailureClass::Quota).chain(topology).chain(of(FailureClass::Transient)).collect()
}

/// Failures that degrade a cluster that was ready. Parts that nobody can inspect count later than those that are known to be down, and nodes
/// of a change later still.
pub(super) fn degrading_failures(facts: &TopologyFacts<'_>, now: Timestamp) -> Vec<FailureCondition> {
    let parts = [
        conditions::INFRASTRUCTURE_READY,
        conditions::CONTROL_PLANE_AVAILABLE,
        conditions::WORKERS_AVAILABLE,
    ];
    let rolls = facts.is_true(conditions::ROLLING_OUT);
    let denied = parts.iter().filter_map(|type_| facts.not_true(type_)).filter_map(|c| {
        let failure = build_failure(c, last_line(c), FailureClass::Other);
        if c.type_ == conditions::WORKERS_AVAILABLE && facts.nodes_are_coming() {
            let late = FailureCondition { grace: NODE_STARTUP, ..failure };
            return late.is_persistent(now).then_some(late);
        }
        let is_slow = rolls && c.type_ == conditions::CONTROL_PLANE_AVAILABLE;
        Some(if is_slow { FailureCondition { grace: LONG_GRACE, ..failure } } else { failure })
    });
    let probe = facts.is_false(conditions::REMOTE_CONNECTION_PROBE);
    let probe = probe
        .map(|c| FailureCondition { grace: LONG_GRACE, ..FailureCondition::from_condition(c, None, false) });
    let mut found: Vec<FailureCondition> = declared_failure(facts).into_iter().collect();
    found.extend(denied.chain(probe));
    // Other availability gates of the template; an unreconciled topology is not one of them.
    let gates =
        facts.is_false(conditions::AVAILABLE).filter(|_| facts.is_true(conditions::TOPOLOGY_RECONCILED));
    // Nodes that are coming are not created yet, which closes this gate too.
    let open = found.is_empty() && !facts.nodes_are_coming();
    found.extend(gates.filter(|_| open).map(|c| build_failure(c, last_line(c), FailureClass::Other)));
    found
}

/// Why it cannot be taken down: credentials that the cloud does not accept any more.
pub(super) fn teardown_failure(facts: &TopologyFacts<'_>) -> Option<String> {
    let deleting = facts.condition(conditions::DELETING).filter(|c| c.is_true());
    let of_deleting = deleting.into_iter().flat_map(|c| message_lines(&c.message));
    let mut all = of_deleting.chain(classified_lines(facts).map(|(_, line, _)| line));
    all.find(|line| classify_line(line) == FailureClass::Credentials)
        .map(|line| bounded(&redact_text(line, 512), 512))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("error creating Openstack instance: Quota exceeded for cores: Requested 4", FailureClass::Quota)]
    #[case("Expected HTTP response code [200], but got 503 instead", FailureClass::Transient)]
    #[case("Get https://10.0.0.1:5000/v3: dial tcp: i/o timeout", FailureClass::Transient)]
    #[case("Resource not found, got 404 instead", FailureClass::Invalid)]
    #[case("image 2f4ea0a1-4045-4bd4-8b0c-150340104040 could not be found", FailureClass::Invalid)]
    #[case("No suitable flavor m1.huge", FailureClass::Invalid)]
    #[case("flavor m1.huge not found", FailureClass::Invalid)]
    #[case("Machine demo-x7k2p-abc not found", FailureClass::Other)]
    #[case("ClusterClass default/openstack-v3 not found", FailureClass::Invalid)]
    #[case("variable is not defined", FailureClass::Invalid)]
    #[case("Authentication failed", FailureClass::Credentials)]
    #[case("The request you have made requires authentication, got 401 instead", FailureClass::Credentials)]
    #[case("Waiting for the load balancer to become ACTIVE", FailureClass::Other)]
    #[case("the service is unavailable.", FailureClass::Transient)]
    #[case(
        "MachineDeployment a: 0 available replicas, at least 1 required (spec.strategy.rollout.maxUnavailable is 0, spec.replicas is 1)",
        FailureClass::Other
    )]
    #[case("node group 404a is being made", FailureClass::Other)]
    #[case("Machine pr-404-x7k2p-workers-a: Condition Ready not yet reported", FailureClass::Other)]
    #[case("Machine pr-401-x7k2p-workers-a: Condition Ready not yet reported", FailureClass::Other)]
    #[case("Machine unauthorized-x7k2p-a: Condition Ready not yet reported", FailureClass::Other)]
    #[case("Machine image-e2e-x7k2p-workers-a not found", FailureClass::Other)]
    #[case("Cluster pr-503-x7k2p: no suitable flavor m1.huge", FailureClass::Invalid)]
    #[case("MachineDeployment quota-x7k2p: got 401 instead", FailureClass::Credentials)]
    fn sentences_are_told_apart(#[case] message: &str, #[case] expected: FailureClass) {
        assert_eq!(classify_line(message), expected);
    }

    #[test]
    fn a_summary_ends_with_what_is_in_the_way() {
        let message = "* InfrastructureReady: True\n  * MachineDeployment a: 1 of 2 replicas\n".to_owned();
        let condition = ObservedCondition { message, ..ObservedCondition::default() };
        assert_eq!(last_line(&condition), "MachineDeployment a: 1 of 2 replicas");
    }
}
