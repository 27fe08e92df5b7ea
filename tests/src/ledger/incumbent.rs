//! The template pipeline that the function replaced, in the function's place: its definition, and a Composition of a stand-in that composes and
//! answers the same. The stand-in is one program where the pipeline is five steps by three, so its own CPU is not that of the pipeline.

use anyhow::Context as _;
use serde_json::Value;
use testplatform_test_data::upstream;

use crate::{
    cluster::{SOON, at_root, condition},
    crossplane::{Engine, XRD_NAME},
    function::Function,
    kinds::XRD,
    manifests, program,
};

/// Name of the function, and of its Composition.
pub const NAME: &str = "function-incumbent";

/// Serves it, under its own definition of claims.
pub async fn serve(engine: &Engine) -> anyhow::Result<Function> {
    let konflux = engine.konflux.cluster();
    let file = upstream().join("xrds/xtestplatformclusters.ci.openshift.org.yaml");
    let definition = manifests::read(&file)?.into_iter().next().context("an empty XRD")?;
    konflux.apply(&definition).await?;
    let is_served = |xrd: &Value| {
        let generation = &xrd["metadata"]["generation"];
        ["Established", "Offered"].iter().all(|type_| {
            condition(xrd, type_)
                .is_some_and(|c| c["status"] == "True" && c["observedGeneration"] == *generation)
        })
    };
    konflux.until_is(&at_root(XRD, XRD_NAME), SOON, "served as it is", is_served).await?;
    let function = engine.beside(NAME, program::incumbent()?).await?;
    engine.compose(NAME, NAME).await?;
    Ok(function)
}

/// The phase that a claim shows, under either function.
pub fn phase_of(claim: &Value) -> &str {
    let shown = condition(claim, "_EphemeralClusterPhase").map(|c| &c["message"]);
    claim["status"]["phase"].as_str().or_else(|| shown?.as_str()).unwrap_or_default()
}
