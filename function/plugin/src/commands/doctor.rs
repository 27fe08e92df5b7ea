//! `doctor`: whether the cluster and the namespace can have claims, and what to do if not.

use serde_json::{Value, json};
use testplatform_apis::yaml::to_yaml;

use super::{
    super::{
        chain::{ChainLink, format_links},
        claim::Flavour,
        diagnosis::{CLAIM_VERBS, ClusterFacts, Finding, diagnose, is_incomplete},
        exit::{Exit, Stop},
        explanation::break_line,
        facts::Lookup,
        session::Session,
        trouble::Trouble,
    },
    why::WhyFormat,
};

/// Runs it.
pub fn run(session: &mut Session<'_>, format: WhyFormat) -> Result<(), Stop> {
    session.stay();
    let facts = read_facts(session)?;
    let findings = diagnose(&facts);
    print_findings(session, &findings, format)?;
    session.flush()?;
    if is_incomplete(&findings) {
        let message = "claims cannot be used here as they should";
        return Err(Stop::new(Exit::Incomplete, message, "Do what is listed above."));
    }
    Ok(())
}

fn read_facts(session: &Session<'_>) -> Result<ClusterFacts, Stop> {
    // Without an API server there is nothing to check.
    let version = session.kubectl.json(&["version", "-ojson"])?.unwrap_or_default();
    let kinds = session.find_served_kinds()?;
    if kinds.is_empty() {
        return Ok(ClusterFacts { version, ..ClusterFacts::default() });
    }
    let mut denied_verbs = vec![];
    for kind in &kinds {
        let mut denied = vec![];
        for (verb, _) in CLAIM_VERBS {
            if may(session, verb, kind.resource())? == Some(false) {
                denied.push(verb);
            }
        }
        denied_verbs.push((*kind, denied));
    }
    let quotas = look_up(session.kubectl.items(&["get", "resourcequotas", "-ojson"]))?;
    let mut definitions = vec![];
    for kind in &kinds {
        let name = match kind {
            Flavour::Claim => "xtestplatformclusters.ci.openshift.org",
            Flavour::Cluster => "testclusters.ci.openshift.org",
        };
        definitions
            .push((name, get(session, "compositeresourcedefinitions.apiextensions.crossplane.io", name)?));
    }
    Ok(ClusterFacts {
        version,
        kinds,
        denied_verbs,
        may_read_secrets: may(session, "get", "secrets")?,
        quotas,
        definitions,
        function: get(session, "functions.pkg.crossplane.io", "function-testplatform")?,
        provider_config: get(
            session,
            "providerconfigs.kubernetes.crossplane.io",
            "testplatform-kubernetes-provider-config",
        )?,
        environment: get(session, "environmentconfigs.apiextensions.crossplane.io", "envcfg")?,
    })
}

/// Whether the caller has a right in the namespace; none if kubectl does not say so.
fn may(session: &Session<'_>, verb: &str, resource: &str) -> Result<Option<bool>, Stop> {
    // It prints the answer, and fails if that is no.
    let (printed, trouble) = session.kubectl.run_with_output(&["auth", "can-i", verb, resource], None)?;
    match (printed.split_whitespace().next(), trouble) {
        (Some("yes"), _) => Ok(Some(true)),
        (Some("no"), _) => Ok(Some(false)),
        (_, Some(trouble @ Trouble::NotRun(_))) => Err(trouble.into()),
        _ => Ok(None),
    }
}

fn get(session: &Session<'_>, resource: &str, name: &str) -> Result<Lookup<Value>, Stop> {
    let found = session.kubectl.json(&["get", resource, name, "-ojson"]);
    look_up(found.map(Option::unwrap_or_default))
}

fn look_up<T>(found: Result<T, Trouble>) -> Result<Lookup<T>, Stop> {
    match found {
        Ok(found) => Ok(Lookup::Found(found)),
        Err(Trouble::NotFound(_) | Trouble::NoKind(_)) => Ok(Lookup::Missing),
        Err(Trouble::Forbidden(_)) => Ok(Lookup::Forbidden),
        Err(trouble @ Trouble::NotRun(_)) => Err(trouble.into()),
        Err(Trouble::Neither(_) | Trouble::Conflict(_) | Trouble::Other(_)) => Ok(Lookup::NotAsked),
    }
}

fn print_findings(session: &mut Session<'_>, findings: &[Finding], format: WhyFormat) -> Result<(), Stop> {
    let answer = || {
        let checks: Vec<Value> = findings.iter().map(Finding::to_json).collect();
        json!({ "complete": !is_incomplete(findings), "checks": checks })
    };
    match format {
        WhyFormat::Json => session.print_line(&format!("{:#}", answer())),
        WhyFormat::Yaml => {
            let yaml =
                to_yaml(&answer()).map_err(|error| Stop::error(format!("cannot write YAML: {error}")))?;
            session.print(&yaml)
        }
        WhyFormat::Text => {
            let (paint, room, now) = (session.paint, session.around.columns, session.now());
            let links: Vec<ChainLink> = findings.iter().map(|finding| finding.link.clone()).collect();
            for line in format_links(&links, paint, room, now) {
                session.print_line(&line)?;
            }
            let todo: Vec<&Finding> = findings.iter().filter(|finding| !finding.todo.is_empty()).collect();
            if !todo.is_empty() {
                session.print_line("\nTo do")?;
            }
            for finding in todo {
                let line = format!("  {}: {}", finding.link.what, finding.todo);
                session.print_line(&break_line(&line, room, 4))?;
            }
            Ok(())
        }
    }
}
