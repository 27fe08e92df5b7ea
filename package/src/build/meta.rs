//! `crossplane.yaml`: the metadata of a package.
//!
//! Input: names only. Output: JSON values, to be written as YAML. No I/O.

use serde_json::{Value, json};

use crate::names::{CONFIGURATION, FUNCTION};

/// First core release with the EnvironmentConfig version that the function requires (<https://github.com/crossplane/crossplane/pull/5938>).
/// The suffix admits release candidates.
const FUNCTION_CROSSPLANE_VERSIONS: &str = ">=v1.18.0-0";
/// First core release with definitions of namespaced composites.
const CONFIGURATION_CROSSPLANE_VERSIONS: &str = ">=v2.0.0-0";

const README: &str = "\
Serves claims of the kind TestPlatformCluster, and composites of the kind TestCluster in the tenant's namespace: a throw-away
OpenShift cluster for tests, asked for with one small object.

The function turns a claim into remote objects, and their state into status, conditions and connection details. It never
drops what it finds running, pays for a cluster once, and gives the same answer to the same request.
";

/// The metadata of the function's package.
pub fn function_metadata() -> Value {
    json!({
        "apiVersion": "meta.pkg.crossplane.io/v1",
        "kind": "Function",
        "metadata": {
            "name": FUNCTION,
            "annotations": package_annotations("Composition function that serves TestPlatformCluster claims"),
        },
        "spec": {
            "capabilities": ["composition"],
            "crossplane": { "version": FUNCTION_CROSSPLANE_VERSIONS },
        },
    })
}

/// The metadata of the Configuration, without its dependencies: the function's digest is known only after its build.
///
/// provider-kubernetes is no dependency. An installation from a mirror would get a second provider-kubernetes, and the two would fight over
/// the same CRDs.
pub fn configuration_metadata() -> Value {
    json!({
        "apiVersion": "meta.pkg.crossplane.io/v1",
        "kind": "Configuration",
        "metadata": {
            "name": CONFIGURATION,
            "annotations": package_annotations("XRDs and Compositions of TestPlatformCluster and TestCluster; needs provider-kubernetes 1.2 or newer"),
        },
        "spec": { "crossplane": { "version": CONFIGURATION_CROSSPLANE_VERSIONS } },
    })
}

fn package_annotations(description: &str) -> Value {
    json!({
        "meta.crossplane.io/description": description,
        "meta.crossplane.io/license": env!("CARGO_PKG_LICENSE"),
        "meta.crossplane.io/readme": README,
    })
}
