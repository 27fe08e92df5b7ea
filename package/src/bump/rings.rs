//! Environments, and the rings in which production changes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Problem;

/// Environment of a cluster. The order is that of promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Environment {
    /// A developer's own cluster.
    #[serde(alias = "dev")]
    Development,
    /// Clusters that test a change.
    #[serde(alias = "stg")]
    Staging,
    /// All other clusters.
    #[serde(alias = "prod")]
    Production,
}

impl Environment {
    /// All, in the order of promotion.
    pub const ALL: [Self; 3] = [Self::Development, Self::Staging, Self::Production];

    /// The name, which is also the directory name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Development => "development",
            Self::Staging => "staging",
            Self::Production => "production",
        }
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Environment {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "dev" | "development" => Ok(Self::Development),
            "stg" | "stage" | "staging" => Ok(Self::Staging),
            "prod" | "production" => Ok(Self::Production),
            _ => Err(format!("{name:?} is not an environment; there are dev, staging and production")),
        }
    }
}

/// Assignment of clusters to rings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rings {
    rings: Vec<Ring>,
}

/// A group of clusters that change together.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ring {
    /// `ring-2`
    pub name: String,
    /// Environment of its clusters.
    pub environment: Environment,
    /// Its clusters.
    #[serde(default)]
    pub clusters: Vec<String>,
}

/// Rings that come with the tool.
const DEFAULT: &str = include_str!("../../bump/rings.yaml");

impl Rings {
    /// The rings that come with the tool.
    ///
    /// # Errors
    /// Never, as a test shows.
    pub fn default_rings() -> Result<Self, Problem> {
        Self::read("package/bump/rings.yaml", DEFAULT)
    }

    /// Rings from a file of the same form.
    ///
    /// # Errors
    /// If the format is wrong, with the line.
    pub fn read(file: &str, text: &str) -> Result<Self, Problem> {
        serde_saphyr::from_str(text).map_err(|error| {
            let message = error.to_string();
            let message = message.lines().next().unwrap_or_default().to_owned();
            let line = error.location().and_then(|location| usize::try_from(location.line()).ok());
            Problem::new(
                file,
                format!("no list of rings: {message}"),
                "give it the form of package/bump/rings.yaml",
            )
            .at_line(line.filter(|line| *line > 0).unwrap_or(1))
        })
    }

    /// All of them.
    pub fn all(&self) -> &[Ring] {
        &self.rings
    }

    /// A ring by its name or its number.
    pub fn find_ring(&self, name: &str) -> Option<&Ring> {
        self.rings.iter().find(|ring| ring.name == name || ring.name.strip_prefix("ring-") == Some(name))
    }

    /// The ring of a cluster.
    pub fn ring_of(&self, cluster: &str) -> Option<&Ring> {
        self.rings.iter().find(|ring| ring.clusters.iter().any(|member| member == cluster))
    }

    /// The environment of a ring by its directory name, listed here or not: ring 0 is development, 1 staging.
    pub fn ring_environment(&self, directory: &str) -> Option<Environment> {
        if let Some(ring) = self.find_ring(directory) {
            return Some(ring.environment);
        }
        match directory.strip_prefix("ring-")?.parse::<u32>().ok()? {
            0 => Some(Environment::Development),
            1 => Some(Environment::Staging),
            _ => Some(Environment::Production),
        }
    }
}
