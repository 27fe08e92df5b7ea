//! What is wrong with a Cluster. Cluster API has no word for what will not pass, so its sentences are told apart: they come from the
//! machines and the cloud below, one line for each.

use jiff::SignedDuration;
use testplatform_apis::{
    foreign::{cluster_api::conditions, meta::ObservedCondition},
    redact::redacted,
};

use super::facts::Facts;
use crate::{
    backend::templated::{Sentence, Trouble},
    text::bounded,
};

/// What has to last longer: a topology that cannot be worked through may be waiting for its ClusterClass, and an API that is not
/// reached for a while may be restarting.
const LONGER: SignedDuration = SignedDuration::from_mins(5);

/// The conditions whose sentences say what is in the way.
const SAYING: [&str; 7] = [
    conditions::TOPOLOGY_RECONCILED,
    conditions::INFRASTRUCTURE_READY,
    conditions::CONTROL_PLANE_MACHINES_READY,
    conditions::CONTROL_PLANE_INITIALIZED,
    conditions::CONTROL_PLANE_AVAILABLE,
    conditions::WORKER_MACHINES_READY,
    conditions::WORKERS_AVAILABLE,
];

/// What a sentence is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Others may free some.
    Quota,
    /// The way to a server, or the server itself.
    Passing,
    /// The cloud does not accept the credentials.
    Credentials,
    /// Something that was named is not there, or cannot be.
    Invalid,
    /// Anything else: work in progress, mostly.
    Other,
}

impl Class {
    const fn is_final(self) -> bool {
        matches!(self, Self::Credentials | Self::Invalid)
    }
}

/// The lines of a sentence without what marks them as such.
fn lines(message: &str) -> impl DoubleEndedIterator<Item = &str> {
    message
        .lines()
        .map(|line| line.trim_start_matches([' ', '*', '-']).trim_end())
        .filter(|line| !line.is_empty())
}

/// The line of a condition that says most: a summary ends with what is in the way. Its reason, if it has none.
pub(super) fn line(condition: &ObservedCondition) -> &str {
    lines(&condition.message).next_back().unwrap_or(&condition.reason)
}

/// What a line is about.
pub(super) fn class(line: &str) -> Class {
    let said = Sentence::of(line);
    if said.says(&["quota", "limit exceeded", "limits exceeded"]) {
        Class::Quota
    } else if said.of_the_network()
        || said.has_number(|number| (500..=599).contains(&number))
        || said.says(&["internal server error", "unavailable"])
    {
        Class::Passing
    } else if said.has_number(|number| number == 401)
        || said.says(&[
            "unauthorized",
            "authentication failed",
            "invalid credentials",
            "credentials are invalid",
        ])
    {
        Class::Credentials
    } else if said.has_number(|number| number == 404) || said.says(&["no suitable", "could not be found"]) {
        Class::Invalid
    } else {
        let named = ["clusterclass", "image", "flavor", "network", "subnet", "key pair", "keypair"];
        let absent = said.says(&named) && said.says(&["not found", "does not exist"]);
        let unfit = said.says(&["variable"])
            && said.says(&[
                "invalid",
                "not defined",
                "not valid",
                "required",
                "must be",
                "unsupported",
                "unknown",
            ]);
        if absent || unfit { Class::Invalid } else { Class::Other }
    }
}

fn trouble(condition: &ObservedCondition, line: &str, class: Class) -> Trouble {
    let reason = match class {
        Class::Quota => "QuotaExceeded",
        Class::Credentials => "CredentialsInvalid",
        Class::Passing | Class::Invalid | Class::Other => condition.type_.as_str(),
    };
    let plain = Trouble::of(condition, None, class.is_final());
    let slow = condition.reason == conditions::RECONCILE_FAILED;
    let span = if slow { LONGER } else { plain.span };
    Trouble { reason: bounded(reason, 63), message: bounded(&redacted(line, 768), 768), span, ..plain }
}

/// Every line that says what is in the way.
fn said<'a>(facts: &Facts<'a>) -> impl Iterator<Item = (&'a ObservedCondition, &'a str, Class)> {
    let lacking: Vec<&ObservedCondition> = SAYING.iter().filter_map(|type_| facts.lacks(type_)).collect();
    lacking.into_iter().flat_map(|c| lines(&c.message).map(move |line| (c, line, class(line))))
}

/// What will not pass by itself.
pub(super) fn terminal(facts: &Facts<'_>) -> Vec<Trouble> {
    let found = said(facts).filter(|(_, _, class)| class.is_final());
    let declared = failure(facts).map(|failed| Trouble { terminal: true, ..failed });
    // Most conditions are not True from birth on, whatever they say meanwhile.
    let said_at = facts.remote.metadata.said_at;
    let found = found.map(|(c, line, class)| trouble(c, line, class).in_words(said_at));
    declared.into_iter().chain(found).collect()
}

/// What the API before this one calls final. It says so at once, and not since when.
fn failure(facts: &Facts<'_>) -> Option<Trouble> {
    let old = &facts.status.deprecated.value.v1beta1;
    (!old.failure_reason.is_empty() || !old.failure_message.is_empty()).then(|| Trouble {
        reason: bounded(if old.failure_reason.is_empty() { "Failed" } else { &old.failure_reason }, 63),
        message: bounded(&redacted(old.failure_message.lines().next().unwrap_or_default(), 768), 768),
        since: None,
        terminal: false,
        span: SignedDuration::ZERO,
    })
}

/// What may pass, and is worth to be told: the weightiest first.
pub(super) fn passing(facts: &Facts<'_>) -> Vec<Trouble> {
    let of = |wanted: Class| {
        let lines = said(facts).filter(move |(_, _, class)| *class == wanted);
        lines.map(|(c, line, class)| trouble(c, line, class))
    };
    let stuck = [conditions::RECONCILE_FAILED, conditions::CLASS_NOT_RECONCILED];
    let topology =
        facts.denies(conditions::TOPOLOGY_RECONCILED).filter(|c| stuck.contains(&c.reason.as_str()));
    let topology = topology.map(|c| trouble(c, line(c), Class::Other));
    of(Class::Quota).chain(topology).chain(of(Class::Passing)).collect()
}

/// What keeps a cluster that was ready from being so.
pub(super) fn degrading(facts: &Facts<'_>) -> Vec<Trouble> {
    let parts = [
        conditions::INFRASTRUCTURE_READY,
        conditions::CONTROL_PLANE_AVAILABLE,
        conditions::WORKERS_AVAILABLE,
    ];
    let denied = parts.iter().filter_map(|type_| facts.denies(type_));
    let probe = facts.denies(conditions::REMOTE_CONNECTION_PROBE);
    let probe = probe.map(|c| Trouble { span: LONGER, ..Trouble::of(c, None, false) });
    let mut found: Vec<Trouble> = failure(facts).into_iter().collect();
    found.extend(denied.map(|c| trouble(c, line(c), Class::Other)).chain(probe));
    // What else the template counts as available; a topology that is not worked through is none of it.
    let gates =
        facts.denies(conditions::AVAILABLE).filter(|_| facts.is_true(conditions::TOPOLOGY_RECONCILED));
    found.extend(gates.filter(|_| found.is_empty()).map(|c| trouble(c, line(c), Class::Other)));
    found
}

/// Why it cannot be taken down: credentials that the cloud does not accept any more.
pub(super) fn keeps_from_ending(facts: &Facts<'_>) -> Option<String> {
    let deleting = facts.condition(conditions::DELETING).filter(|c| c.is_true());
    let of_deleting = deleting.into_iter().flat_map(|c| lines(&c.message));
    let mut all = of_deleting.chain(said(facts).map(|(_, line, _)| line));
    all.find(|line| class(line) == Class::Credentials).map(|line| bounded(&redacted(line, 512), 512))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("error creating Openstack instance: Quota exceeded for cores: Requested 4", Class::Quota)]
    #[case("Expected HTTP response code [200], but got 503 instead", Class::Passing)]
    #[case("Get https://10.0.0.1:5000/v3: dial tcp: i/o timeout", Class::Passing)]
    #[case("Resource not found, got 404 instead", Class::Invalid)]
    #[case("image 2f4ea0a1-4045-4bd4-8b0c-150340104040 could not be found", Class::Invalid)]
    #[case("No suitable flavor m1.huge", Class::Invalid)]
    #[case("flavor m1.huge not found", Class::Invalid)]
    #[case("Machine demo-x7k2p-abc not found", Class::Other)]
    #[case("ClusterClass default/openstack-v3 not found", Class::Invalid)]
    #[case("variable is not defined", Class::Invalid)]
    #[case("Authentication failed", Class::Credentials)]
    #[case("The request you have made requires authentication, got 401 instead", Class::Credentials)]
    #[case("Waiting for the load balancer to become ACTIVE", Class::Other)]
    #[case("node group 404a is being made", Class::Other)]
    #[case("Machine pr-404-x7k2p-workers-a: Condition Ready not yet reported", Class::Other)]
    #[case("Machine pr-401-x7k2p-workers-a: Condition Ready not yet reported", Class::Other)]
    #[case("Machine unauthorized-x7k2p-a: Condition Ready not yet reported", Class::Other)]
    #[case("Machine image-e2e-x7k2p-workers-a not found", Class::Other)]
    #[case("Cluster pr-503-x7k2p: no suitable flavor m1.huge", Class::Invalid)]
    #[case("MachineDeployment quota-x7k2p: got 401 instead", Class::Credentials)]
    fn sentences_are_told_apart(#[case] said: &str, #[case] expected: Class) {
        assert_eq!(class(said), expected);
    }

    #[test]
    fn a_summary_ends_with_what_is_in_the_way() {
        let message = "* InfrastructureReady: True\n  * MachineDeployment a: 1 of 2 replicas\n".to_owned();
        let condition = ObservedCondition { message, ..ObservedCondition::default() };
        assert_eq!(line(&condition), "MachineDeployment a: 1 of 2 replicas");
    }
}
