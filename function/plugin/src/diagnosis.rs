//! `doctor`: whether a cluster and a namespace can have claims. Pure: what kubectl found becomes findings.
//!
//! A tenant may read little of a cluster. Unreadable objects are unknown, and never missing.

use serde_json::{Value, json};
use testplatform_apis::text::bounded;

use super::{
    chain::{ChainLink, Mark},
    claim::{Flavour, ReportedCondition, text},
    facts::Lookup,
};

/// The oldest Kubernetes that serves the policies of the product, `ValidatingAdmissionPolicy` v1.
const OLDEST_KUBERNETES: u32 = 30;
/// Verbs on claims that the commands of the plugin need, each with one of the commands.
pub const CLAIM_VERBS: [(&str, &str); 6] = [
    ("create", "up"),
    ("get", "get"),
    ("list", "get"),
    ("watch", "wait"),
    ("patch", "down"),
    ("delete", "down --delete"),
];

/// Answers of the cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterFacts {
    /// The answer of `kubectl version -o json`.
    pub version: Value,
    /// The kinds of claims that the cluster serves.
    pub kinds: Vec<Flavour>,
    /// Verbs that the caller may not use, for each kind of claim.
    pub denied_verbs: Vec<(Flavour, Vec<&'static str>)>,
    /// Whether the caller may read Secrets of the namespace; none if nobody knows.
    pub may_read_secrets: Option<bool>,
    /// The `ResourceQuotas` of the namespace.
    pub quotas: Lookup<Vec<Value>>,
    /// The definitions behind the kinds, for Crossplane.
    pub definitions: Vec<(&'static str, Lookup<Value>)>,
    /// The composition function.
    pub function: Lookup<Value>,
    /// The ProviderConfig of the default hub.
    pub provider_config: Lookup<Value>,
    /// The EnvironmentConfig that names the cluster.
    pub environment: Lookup<Value>,
}

/// Something that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Subject and state.
    pub link: ChainLink,
    /// Remedy; empty if none is needed.
    pub todo: String,
}

impl Finding {
    fn good(subject: impl Into<String>, state: impl Into<String>) -> Self {
        Self::new(Mark::Good, subject, state, "")
    }

    fn new(
        mark: Mark,
        subject: impl Into<String>,
        state: impl Into<String>,
        todo: impl Into<String>,
    ) -> Self {
        let link = ChainLink { mark, what: subject.into(), state: state.into(), since: None };
        Self { link, todo: todo.into() }
    }

    /// The finding for a program. Fields are only ever added.
    pub fn to_json(&self) -> Value {
        json!({
            "subject": self.link.what,
            "state": self.link.mark.name(),
            "message": self.link.state,
            "toDo": self.todo,
        })
    }
}

/// Every finding, from the API server to the namespace.
pub fn diagnose(facts: &ClusterFacts) -> Vec<Finding> {
    let mut findings = vec![check_server(&facts.version)];
    findings.extend(check_kubectl(&facts.version));
    findings.push(check_kinds(&facts.kinds));
    for (name, definition) in &facts.definitions {
        findings.push(check_definition(name, definition));
    }
    if !facts.kinds.is_empty() {
        findings.push(check_function(&facts.function));
        findings.push(check_configuration(
            "environmentconfig/envcfg",
            &facts.environment,
            "names this cluster",
            "create it, unless the input of the function names another (docs/how-to/install.md)",
        ));
        findings.push(check_configuration(
            "providerconfig/testplatform-kubernetes-provider-config",
            &facts.provider_config,
            "leads to the hub",
            "create it, unless every hub has another (docs/how-to/install.md)",
        ));
    }
    for (flavour, denied) in &facts.denied_verbs {
        findings.push(check_rights(*flavour, denied));
    }
    if !facts.kinds.is_empty() {
        findings.push(check_secrets(facts.may_read_secrets));
        findings.extend(check_quotas(&facts.quotas));
    }
    findings
}

/// The minor version of a side of `kubectl version`; vendors add a sign to it.
fn minor(version: &Value, side: &str) -> Option<u32> {
    let minor = version[side]["minor"].as_str()?;
    minor.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn check_server(version: &Value) -> Finding {
    let name = bounded(text(version, "/serverVersion/gitVersion"), 60);
    match minor(version, "serverVersion") {
        Some(minor) if minor < OLDEST_KUBERNETES => Finding::new(
            Mark::Bad,
            "API server",
            format!("Kubernetes {name} is too old"),
            "update it to Kubernetes 1.30 or OpenShift 4.17",
        ),
        Some(_) => Finding::good("API server", format!("Kubernetes {name}")),
        None => Finding::new(Mark::Unknown, "API server", "it does not report its version", ""),
    }
}

/// A finding if kubectl does not support the version of the API server: it supports one minor version more or less.
fn check_kubectl(version: &Value) -> Option<Finding> {
    let (client, server) = (minor(version, "clientVersion")?, minor(version, "serverVersion")?);
    (client.abs_diff(server) > 1).then(|| {
        let state = format!("version 1.{client} does not support an API server of version 1.{server}");
        let todo = format!("use kubectl 1.{server}, or one minor version more or less");
        Finding::new(Mark::Waits, "kubectl", state, todo)
    })
}

fn check_kinds(kinds: &[Flavour]) -> Finding {
    if kinds.is_empty() {
        let todo = "check that this is the right --context, or ask its administrators to install the product \
                    (docs/how-to/install.md)";
        return Finding::new(Mark::Bad, "claims", "this cluster serves no claims of clusters", todo);
    }
    let names: Vec<&str> = kinds.iter().copied().map(Flavour::resource).collect();
    Finding::good("claims", format!("served as {}", names.join(" and ")))
}

/// The state of something that only administrators may read.
fn check_readable<'a>(subject: &str, found: &'a Lookup<Value>, todo: &str) -> Result<&'a Value, Finding> {
    match found {
        Lookup::Found(object) => Ok(object),
        Lookup::Missing => Err(Finding::new(Mark::Bad, subject, "it does not exist", todo)),
        Lookup::Forbidden => Err(Finding::new(Mark::Unknown, subject, "you may not read it", "")),
        Lookup::NotAsked => Err(Finding::new(Mark::Unknown, subject, "it cannot be read", "")),
    }
}

/// A finding if a condition is not True. The message is that of its controller.
fn check_condition(subject: &str, object: &Value, type_: &str, todo: &str) -> Option<Finding> {
    let state = match ReportedCondition::of(object, type_) {
        Some(condition) if condition.holds() => return None,
        Some(condition) => {
            format!("{type_} is {}: {}", condition.status(), bounded(&condition.message(), 300))
        }
        None => format!("{type_} is not reported"),
    };
    Some(Finding::new(Mark::Bad, subject, state, todo))
}

fn check_definition(name: &str, found: &Lookup<Value>) -> Finding {
    let subject = format!("definition {name}");
    let todo = "see its conditions and events, and those of Crossplane (docs/how-to/install.md)";
    let definition = match check_readable(&subject, found, todo) {
        Ok(definition) => definition,
        Err(finding) => return finding,
    };
    let has_claims = definition["spec"]["claimNames"].is_object();
    let types: &[&str] = if has_claims { &["Established", "Offered"] } else { &["Established"] };
    let problem = types.iter().find_map(|type_| check_condition(&subject, definition, type_, todo));
    problem.unwrap_or_else(|| Finding::good(subject, "Crossplane serves it"))
}

fn check_function(found: &Lookup<Value>) -> Finding {
    let subject = "function/function-testplatform";
    let todo = "an administrator installs or repairs it (docs/runbook/alerts-konflux.md#functiondown)";
    match check_readable(subject, found, todo) {
        Ok(function) => check_condition(subject, function, "Healthy", todo)
            .unwrap_or_else(|| Finding::good(subject, format!("healthy, {}", package_of(function)))),
        Err(finding) => finding,
    }
}

fn package_of(function: &Value) -> String {
    bounded(text(function, "/spec/package"), 200)
}

/// An object that may have another name, so that its absence alone is no fault.
fn check_configuration(subject: &str, found: &Lookup<Value>, purpose: &str, todo: &str) -> Finding {
    match check_readable(subject, found, todo) {
        Ok(_) => Finding::good(subject, purpose),
        Err(Finding { link: ChainLink { mark: Mark::Bad, what, state, .. }, todo }) => {
            Finding::new(Mark::Waits, what, state, todo)
        }
        Err(finding) => finding,
    }
}

fn check_rights(flavour: Flavour, denied: &[&str]) -> Finding {
    let subject = format!("rights on {}", flavour.word());
    if denied.is_empty() {
        return Finding::good(subject, "you may create, read, change and delete claims here");
    }
    let commands: Vec<&str> =
        CLAIM_VERBS.iter().filter(|(verb, _)| denied.contains(verb)).map(|(_, command)| *command).collect();
    let state = format!("you may not {}, which `{}` needs", denied.join(", "), commands.join("`, `"));
    let todo = "ask the administrators for the role of tenants in this namespace (docs/how-to/tenants.md)";
    Finding::new(Mark::Bad, subject, state, todo)
}

fn check_secrets(may_read: Option<bool>) -> Finding {
    let subject = "rights on secrets";
    match may_read {
        Some(true) => Finding::good(subject, "you may read the kubeconfig of a cluster"),
        Some(false) => {
            let todo = "ask the administrators for the right to get secrets in this namespace";
            Finding::new(Mark::Bad, subject, "you may not get secrets, and so no kubeconfig", todo)
        }
        None => Finding::new(Mark::Unknown, subject, "nobody knows whether you may get secrets", ""),
    }
}

/// Counts in a quota that a claim or its Secret adds to.
const COUNTED: [&str; 4] = [
    "count/testplatformclusters.ci.openshift.org",
    "count/testclusters.ci.openshift.org",
    "count/secrets",
    "secrets",
];

fn check_quotas(quotas: &Lookup<Vec<Value>>) -> Vec<Finding> {
    let quotas = match quotas {
        Lookup::Found(quotas) => quotas,
        Lookup::Missing => &vec![],
        Lookup::Forbidden | Lookup::NotAsked => {
            return vec![Finding::new(Mark::Unknown, "quota", "you may not read quotas here", "")];
        }
    };
    let full = quotas.iter().flat_map(|quota| {
        let name = bounded(text(quota, "/metadata/name"), 253);
        COUNTED.iter().filter_map(move |counted| {
            let number = |part: &str| quota["status"][part][counted].as_str()?.parse::<u64>().ok();
            let (hard, used) = (number("hard")?, number("used")?);
            let what = counted.trim_start_matches("count/").trim_end_matches(".ci.openshift.org");
            (used >= hard).then(|| {
                let state = format!("quota {name} allows {hard} {what}, and there are {used}");
                let todo = format!("delete {what} that are no longer needed, or ask for a higher quota");
                Finding::new(Mark::Bad, "quota", state, todo)
            })
        })
    });
    let full: Vec<Finding> = full.collect();
    if full.is_empty() { vec![Finding::good("quota", "there is room for another claim")] } else { full }
}

/// Whether something is missing.
pub fn is_incomplete(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.link.mark == Mark::Bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healthy() -> ClusterFacts {
        let condition = |type_: &str| json!({ "type": type_, "status": "True" });
        ClusterFacts {
            version: json!({
                "clientVersion": { "minor": "35" }, "serverVersion": { "minor": "34+", "gitVersion": "v1.34.1" },
            }),
            kinds: vec![Flavour::Claim],
            denied_verbs: vec![(Flavour::Claim, vec![])],
            may_read_secrets: Some(true),
            quotas: Lookup::Found(vec![]),
            definitions: vec![(
                "xtestplatformclusters.ci.openshift.org",
                Lookup::Found(json!({
                    "spec": { "claimNames": {} },
                    "status": { "conditions": [condition("Established"), condition("Offered")] },
                })),
            )],
            function: Lookup::Found(json!({
                "spec": { "package": "r/f@sha256:1" }, "status": { "conditions": [condition("Healthy")] },
            })),
            provider_config: Lookup::Found(json!({})),
            environment: Lookup::Found(json!({})),
        }
    }

    fn states(facts: &ClusterFacts, mark: Mark) -> Vec<String> {
        let findings = diagnose(facts);
        assert_eq!(is_incomplete(&findings), findings.iter().any(|f| f.link.mark == Mark::Bad));
        let found = findings.into_iter().filter(|finding| finding.link.mark == mark);
        found
            .map(|finding| format!("{}: {} [{}]", finding.link.what, finding.link.state, finding.todo))
            .collect()
    }

    #[test]
    fn healthy_cluster_has_nothing_to_do() {
        let findings = diagnose(&healthy());
        assert!(findings.iter().all(|f| f.link.mark == Mark::Good && f.todo.is_empty()), "{findings:#?}");
        assert_eq!(findings.len(), 9, "{findings:#?}");
    }

    #[test]
    fn unreadable_is_unknown_and_never_missing() {
        let facts = ClusterFacts {
            quotas: Lookup::Forbidden,
            definitions: vec![("d", Lookup::Forbidden)],
            function: Lookup::Forbidden,
            provider_config: Lookup::NotAsked,
            environment: Lookup::Forbidden,
            may_read_secrets: None,
            ..healthy()
        };
        assert_eq!(states(&facts, Mark::Bad), [""; 0]);
        assert_eq!(states(&facts, Mark::Unknown).len(), 6);
    }

    #[test]
    fn every_gap_has_a_remedy() {
        let broken = json!({ "status": { "conditions": [{ "type": "Healthy", "status": "False", "message": "no image" }] } });
        let quota = json!({
            "metadata": { "name": "q" },
            "status": { "hard": { "count/secrets": "9", "secrets": "1k" }, "used": { "count/secrets": "9", "secrets": "9" } },
        });
        let facts = ClusterFacts {
            version: json!({ "clientVersion": { "minor": "34" }, "serverVersion": { "minor": "29", "gitVersion": "v1.29.0" } }),
            denied_verbs: vec![(Flavour::Claim, vec!["patch", "delete"])],
            may_read_secrets: Some(false),
            quotas: Lookup::Found(vec![quota]),
            definitions: vec![("d", Lookup::Missing)],
            function: Lookup::Found(broken),
            environment: Lookup::Missing,
            ..healthy()
        };
        let bad = states(&facts, Mark::Bad);
        for words in [
            "API server: Kubernetes v1.29.0 is too old [update it to Kubernetes 1.30",
            "definition d: it does not exist [see its conditions",
            "function/function-testplatform: Healthy is False: no image [an administrator",
            "you may not patch, delete, which `down`, `down --delete` needs [ask",
            "rights on secrets: you may not get secrets, and so no kubeconfig [ask",
            "quota: quota q allows 9 secrets, and there are 9 [delete secrets",
        ] {
            assert!(bad.iter().any(|found| found.contains(words)), "{words}: {bad:#?}");
        }
        assert_eq!(bad.len(), 6, "{bad:#?}");
        let mild = states(&facts, Mark::Waits);
        assert!(
            mild[0].starts_with("kubectl: version 1.34 does not support an API server of version 1.29"),
            "{mild:?}"
        );
        assert!(
            mild[1].starts_with("environmentconfig/envcfg: it does not exist [create it, unless"),
            "{mild:?}"
        );
    }

    #[test]
    fn cluster_without_claims_is_asked_nothing_more() {
        let facts = ClusterFacts { version: healthy().version, ..ClusterFacts::default() };
        assert_eq!(diagnose(&facts).len(), 2);
        assert!(states(&facts, Mark::Bad)[0].contains("serves no claims of clusters [check that this is"));
    }
}
