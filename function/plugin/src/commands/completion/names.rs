//! Names that the cluster knows. Each question has a time limit and fails silently, because somebody waits for it at a prompt.

use std::{thread, time::Duration};

use clap_complete::engine::CompletionCandidate;
use serde_json::Value;
use testplatform_apis::{
    offer::{CONFIG_MAP, NAMESPACE},
    text::bounded,
};

use super::super::super::{
    claim::{Flavour, text},
    kubectl::Kubectl,
    offers::{label, parse_offers},
};

/// How long one question may take.
const LIMIT: Duration = Duration::from_secs(2);
/// The same for kubectl, which then ends by itself.
const REQUEST_LIMIT: &str = "--request-timeout=2s";
/// Prints name and phase of each claim.
const CLAIMS: &str = r#"-ojsonpath={range .items[*]}{.metadata.name}{"\t"}{.status.phase}{"\n"}{end}"#;
/// Prints the namespaces of the contexts in a kubeconfig.
const CONTEXT_NAMESPACES: &str = r#"-ojsonpath={range .contexts[*]}{.context.namespace}{"\n"}{end}"#;

/// The cluster that a command line is about.
pub struct ClusterNames {
    kubectl: Kubectl,
    /// kubectl without flags that select a context, for questions about the kubeconfig.
    local: Kubectl,
}

impl ClusterNames {
    /// Names from the cluster that the flags of kubectl select.
    pub fn new(kubectl: Kubectl) -> Self {
        let mut local = kubectl.clone();
        local.flags.retain(|flag| flag.starts_with("--kubeconfig="));
        Self { kubectl, local }
    }

    /// Claims of the namespace, with their phase. A name that both kinds have, and each name after a slash, has its kind before it.
    pub fn claims(&self, typed: &str) -> Vec<CompletionCandidate> {
        let list = |flavour: Flavour| {
            let printed =
                self.kubectl.run_silently(&["get", flavour.resource(), CLAIMS, REQUEST_LIMIT], LIMIT);
            let rows = printed.unwrap_or_default();
            let row = |line: &str| {
                let (name, phase) = line.split_once('\t').unwrap_or((line, ""));
                (flavour, name.to_owned(), phase.to_owned())
            };
            rows.lines().filter(|line| !line.trim().is_empty()).map(row).collect::<Vec<_>>()
        };
        let found: Vec<(Flavour, String, String)> = thread::scope(|scope| {
            let kinds = Flavour::ALL.map(|flavour| scope.spawn(move || list(flavour)));
            kinds.into_iter().flat_map(|kind| kind.join().unwrap_or_default()).collect()
        });
        let is_shared = |name: &str| found.iter().filter(|(_, other, _)| other == name).count() > 1;
        let candidate = |(flavour, name, phase): &(Flavour, String, String)| {
            let label = if typed.contains('/') || is_shared(name) {
                format!("{}/{name}", flavour.word())
            } else {
                name.clone()
            };
            with_help(label, phase)
        };
        matching(found.iter().map(candidate), typed)
    }

    /// Offers of the platform team, with their title.
    pub fn offers(&self, typed: &str) -> Vec<CompletionCandidate> {
        let question = ["get", "configmap", CONFIG_MAP, "-ojson", REQUEST_LIMIT, "--namespace", NAMESPACE];
        let mut kubectl = self.kubectl.clone();
        kubectl.flags.retain(|flag| !flag.starts_with("--namespace="));
        let printed = kubectl.run_silently(&question, LIMIT).unwrap_or_default();
        let config_map: Value = serde_json::from_str(&printed).unwrap_or_default();
        let offers = parse_offers(&config_map).unwrap_or_default();
        let candidate = |offer: &Value| {
            let name = if typed.contains('/') { label(offer) } else { text(offer, "/name").to_owned() };
            with_help(name, text(offer, "/title"))
        };
        matching(offers.iter().map(candidate), typed)
    }

    /// Namespaces. Callers without the right to list them get those of their contexts.
    pub fn namespaces(&self, typed: &str) -> Vec<CompletionCandidate> {
        let listed = self.kubectl.run_silently(&["get", "namespaces", "-oname", REQUEST_LIMIT], LIMIT);
        let own = || self.local.run_silently(&["config", "view", CONTEXT_NAMESPACES], LIMIT);
        let text = listed.filter(|text| !text.trim().is_empty()).or_else(own).unwrap_or_default();
        let names = text.lines().map(|line| line.strip_prefix("namespace/").unwrap_or(line).to_owned());
        static_candidates(names, typed)
    }

    /// Contexts of the kubeconfig.
    pub fn contexts(&self, typed: &str) -> Vec<CompletionCandidate> {
        let listed = self.local.run_silently(&["config", "get-contexts", "-oname"], LIMIT);
        static_candidates(listed.unwrap_or_default().lines().map(str::to_owned), typed)
    }
}

/// Candidates among names, each once.
pub fn static_candidates(names: impl IntoIterator<Item = String>, typed: &str) -> Vec<CompletionCandidate> {
    let mut names: Vec<String> = names.into_iter().filter(|name| !name.trim().is_empty()).collect();
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    matching(names.into_iter().map(CompletionCandidate::new), typed)
}

fn with_help(name: String, help: &str) -> CompletionCandidate {
    let help = bounded(help, 60);
    CompletionCandidate::new(name).help((!help.is_empty()).then(|| help.into()))
}

fn matching(all: impl Iterator<Item = CompletionCandidate>, typed: &str) -> Vec<CompletionCandidate> {
    all.filter(|candidate| candidate.get_value().to_string_lossy().starts_with(typed)).collect()
}
