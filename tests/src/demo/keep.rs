//! Commands of `cargo demo --keep`. Each can be pasted as it stands.

use std::path::Path;

use super::claim::Claim;
use crate::{binaries::Binaries, crossplane::Engine, hub, program};

/// First characters of a line with a command.
pub const INDENT: &str = "    ";

/// A block of commands below a heading.
pub struct Commands {
    /// Where the commands lead.
    pub heading: &'static str,
    /// One command a line.
    pub lines: Vec<String>,
}

/// The commands for a claim, from the tenant to the delivered cluster. The plugin and kubectl are built before the demo starts.
pub fn list_commands(engine: &Engine, claim: &Claim, composite: &str) -> anyhow::Result<Vec<Commands>> {
    let folder =
        |program: &Path| program.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    let (plugin, kubectl) = (folder(program::plugin()?), folder(&Binaries::ensure()?.kubectl));
    let (namespace, name) = (&claim.namespace, &claim.name);
    let delivered = engine.nest().directory().join("delivered.kubeconfig");
    let (konflux, delivered) = (engine.konflux.kubeconfig().display(), delivered.display());
    let hub_kubeconfig = engine.hub.kubeconfig().display();
    Ok(vec![
        Commands {
            heading: "In another terminal, first the plugin and kubectl, and the tenant's cluster:",
            lines: vec![
                format!("export PATH=\"{plugin}:{kubectl}:$PATH\""),
                format!("export KUBECONFIG={konflux}"),
            ],
        },
        Commands {
            heading: "As the tenant:",
            lines: vec![
                format!("kubectl testplatform get -n {namespace}"),
                format!("kubectl testplatform why {name} -n {namespace}"),
                format!("kubectl testplatform kubeconfig {name} -n {namespace} --out {delivered}"),
            ],
        },
        Commands {
            heading: "In the delivered cluster, and on the hub:",
            lines: vec![
                format!("kubectl --kubeconfig {delivered} get configmaps"),
                format!(
                    "kubectl --kubeconfig {hub_kubeconfig} -n {} get ephemeralcluster {composite} -o yaml",
                    hub::NAMESPACE
                ),
            ],
        },
        Commands {
            heading: "To end the cluster:",
            lines: vec![format!("kubectl testplatform down {name} -n {namespace} --wait")],
        },
    ])
}
