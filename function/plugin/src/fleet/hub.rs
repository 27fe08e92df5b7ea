//! Hubs of an overview: how many claims each has, and what its provider reports about it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use testplatform_apis::hub::{Facts, Known, Mirror, known_facts};

use super::{super::claim::text, FleetClaim};

/// Headings of [`FleetHub::format_cells`].
pub const HEADS: [&str; 6] = ["Hub", "Claims", "Clusters", "Provisioning", "Free nodes", "State"];

/// How well a hub is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HubHealth {
    /// Its provider says that it is well.
    Ready,
    /// Its provider reports a problem.
    NotReady(String),
    /// Nothing current is known, and why.
    Unknown(String),
}

impl HubHealth {
    /// The state in words.
    pub fn describe_state(&self) -> String {
        match self {
            Self::Ready => "ready".to_owned(),
            Self::NotReady(why) => format!("not ready: {why}"),
            Self::Unknown(why) => format!("unknown: {why}"),
        }
    }
}

/// A hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetHub {
    /// Its name: that of its ProviderConfig.
    pub name: String,
    /// How well it is.
    pub health: HubHealth,
    /// Living claims of this overview on it.
    pub claims: usize,
    /// All clusters that its provider counts, of any origin.
    pub clusters: Option<i64>,
    /// Clusters that were never ready.
    pub provisioning: Option<i64>,
    /// Unused nodes of each class that is counted.
    pub free_nodes: Vec<(String, i64)>,
    /// Backends that cannot create clusters, and why.
    pub problems: Vec<String>,
}

impl FleetHub {
    fn new(name: &str, claims: usize, known: &Known) -> Self {
        let facts = known.facts();
        Self {
            name: name.to_owned(),
            health: judge_health(known),
            claims,
            clusters: facts.and_then(Facts::cluster_count),
            provisioning: facts.and_then(Facts::provisioning_count),
            free_nodes: facts.map(list_free_nodes).unwrap_or_default(),
            problems: facts.map(list_problems).unwrap_or_default(),
        }
    }

    /// Unused nodes by class, on one line.
    pub fn format_free_nodes(&self) -> String {
        let of_class = |(class, free): &(String, i64)| format!("{class} {free}");
        self.free_nodes.iter().map(of_class).collect::<Vec<_>>().join(", ")
    }

    /// The cells of a table, as [`HEADS`] names them.
    pub fn format_cells(&self) -> [String; 6] {
        let count = |of: Option<i64>| of.map_or_else(|| "?".to_owned(), |count| count.to_string());
        let (clusters, provisioning) = (count(self.clusters), count(self.provisioning));
        let claims = self.claims.to_string();
        [
            self.name.clone(),
            claims,
            clusters,
            provisioning,
            self.format_free_nodes(),
            self.health.describe_state(),
        ]
    }
}

fn judge_health(known: &Known) -> HubHealth {
    let facts = match known {
        Known::Facts(facts) => facts,
        Known::Unknown(why) => return HubHealth::Unknown((*why).to_owned()),
    };
    match &facts.health {
        Some(health) if health.ready => HubHealth::Ready,
        Some(health) => {
            HubHealth::NotReady(health.message.clone().unwrap_or_else(|| "without a reason".to_owned()))
        }
        None => HubHealth::Unknown("its provider does not say".to_owned()),
    }
}

fn list_free_nodes(facts: &Facts) -> Vec<(String, i64)> {
    let counted = facts.classes.iter().filter_map(|(class, of)| Some((class.clone(), of.free?)));
    counted.collect()
}

fn list_problems(facts: &Facts) -> Vec<String> {
    let troubled = facts.backends.iter().filter_map(|(backend, of)| Some((backend, of.problem.as_ref()?)));
    troubled.map(|(backend, problem)| format!("{backend}: {problem}")).collect()
}

/// Hubs that a claim or a mirror names, by name.
pub(super) fn list_hubs(claims: &[FleetClaim], mirrors: &[Mirror], now: Timestamp) -> Vec<FleetHub> {
    let hub_of = |claim: &FleetClaim| text(&claim.claim.object, "/status/hub/name").to_owned();
    let of_claims = claims.iter().filter(|claim| claim.is_alive()).map(hub_of);
    let of_mirrors = mirrors.iter().map(|mirror| mirror.spec.provider_config_ref.name.clone());
    let names: BTreeSet<String> = of_claims.chain(of_mirrors).filter(|name| !name.is_empty()).collect();
    let describe = |name: &String| {
        let on_it = claims.iter().filter(|claim| claim.is_alive() && hub_of(claim) == *name).count();
        FleetHub::new(name, on_it, &known_facts(name, mirrors, now))
    };
    names.iter().map(describe).collect()
}
