//! The definition of `TestCluster`: that of claims, but for where it lives and the Secret that it names.

use serde_json::{Value, json};
use testplatform_apis::{test_cluster::SECRET_IMMUTABLE, xrd};

fn spec(xrd: &mut Value) -> &mut Value {
    &mut xrd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
}

#[test]
fn test_cluster_has_the_schema_of_claims_without_the_secret() {
    let claims = xrd::test_platform_cluster().unwrap();
    let mut clusters = xrd::test_cluster().unwrap();
    let secret =
        spec(&mut clusters)["properties"].as_object_mut().unwrap().remove("writeConnectionSecretToRef");
    assert_eq!(secret.unwrap()["required"], json!(["name"]));
    let rule = spec(&mut clusters)["x-kubernetes-validations"].as_array_mut().unwrap().pop();
    assert_eq!(rule.unwrap()["message"], SECRET_IMMUTABLE);
    assert_eq!(clusters["spec"]["versions"], claims["spec"]["versions"]);
    assert_eq!(clusters["spec"]["group"], claims["spec"]["group"]);
}

/// Fields that Crossplane refuses in a definition of version 2, and the scope that puts its composites into namespaces.
#[test]
fn test_cluster_is_namespaced() {
    let xrd = xrd::test_cluster().unwrap();
    assert_eq!(
        (&xrd["apiVersion"], &xrd["spec"]["scope"]),
        (&json!("apiextensions.crossplane.io/v2"), &json!("Namespaced"))
    );
    assert_eq!(xrd["metadata"]["name"], "testclusters.ci.openshift.org");
    for legacy in ["claimNames", "connectionSecretKeys"] {
        assert!(xrd["spec"][legacy].is_null(), "{legacy}");
    }
}
