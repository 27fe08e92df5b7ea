//! `crossplane.yaml`: what a package says about itself.
//!
//! Input: nothing but names. Output: JSON values, to be written as YAML. No I/O.

use serde_json::{Value, json};

use super::{CONFIGURATION, FUNCTION};

/// From there on core has EnvironmentConfigs of the version that the function asks for
/// (<https://github.com/crossplane/crossplane/pull/5938>); the suffix lets release candidates match.
const FUNCTION_NEEDS: &str = ">=v1.18.0-0";
/// From there on there are definitions of composites in namespaces.
const CONFIGURATION_NEEDS: &str = ">=v2.0.0-0";

const README: &str = "\
Serves claims of the kind TestPlatformCluster, and composites of the kind TestCluster in the tenant's namespace: a throw-away
OpenShift cluster for tests, asked for with one small object.

The function turns a claim into remote objects, and their state into status, conditions and connection details. It never
drops what it finds running, pays for a cluster once, and gives the same answer to the same request.
";

/// The metadata of the function's package.
pub fn function() -> Value {
    json!({
        "apiVersion": "meta.pkg.crossplane.io/v1",
        "kind": "Function",
        "metadata": {
            "name": FUNCTION,
            "annotations": annotations("Composition function that serves TestPlatformCluster claims"),
        },
        "spec": {
            "capabilities": ["composition"],
            "crossplane": { "version": FUNCTION_NEEDS },
        },
    })
}

/// The metadata of the Configuration, without what it depends on: that has a digest only once the function is built.
///
/// provider-kubernetes is no dependency. Whoever has it already, from a mirror, would get a second one
/// beside it, and the two would fight for the same CRDs.
pub fn configuration() -> Value {
    json!({
        "apiVersion": "meta.pkg.crossplane.io/v1",
        "kind": "Configuration",
        "metadata": {
            "name": CONFIGURATION,
            "annotations": annotations("XRDs and Compositions of TestPlatformCluster and TestCluster; needs provider-kubernetes 1.2 or newer"),
        },
        "spec": { "crossplane": { "version": CONFIGURATION_NEEDS } },
    })
}

fn annotations(description: &str) -> Value {
    json!({
        "meta.crossplane.io/description": description,
        "meta.crossplane.io/license": env!("CARGO_PKG_LICENSE"),
        "meta.crossplane.io/readme": README,
    })
}
