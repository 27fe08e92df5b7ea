//! Who may reach the pods.

use std::path::Path;

use serde_json::{Value, json};

use crate::install::{documents, repository};

/// Where Prometheus runs on OpenShift, and where else it mostly does.
const SCRAPERS: [&str; 3] = ["openshift-monitoring", "openshift-user-workload-monitoring", "monitoring"];

/// Every object that a kustomization lists in files of its own.
fn listed(folder: &Path) -> Vec<Value> {
    let kustomization = documents(&folder.join("kustomization.yaml")).remove(0);
    let files =
        kustomization["resources"].as_array().unwrap().iter().map(|file| folder.join(file.as_str().unwrap()));
    files.filter(|file| file.is_file()).flat_map(|file| documents(&file)).collect()
}

/// The metrics name tenants, and connections to the port take memory. Kubelets come from the node, which no policy excludes.
#[test]
fn only_scrapers_reach_the_pods_of_the_provider() {
    let install = repository().join("package/install");
    for folder in ["hub", "components/carrier", "components/cleanup", "components/orphans"] {
        let objects = listed(&install.join(folder));
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        let pod = &deployment["spec"]["template"];
        let policies = objects.iter().filter(|object| object["kind"] == "NetworkPolicy");
        let mut policies = policies.filter(|policy| {
            policy["metadata"]["namespace"] == deployment["metadata"]["namespace"]
                && policy["spec"]["podSelector"]["matchLabels"] == pod["metadata"]["labels"]
        });
        let policy = policies.next().unwrap_or_else(|| panic!("{folder} has no policy for its pods"));
        assert!(policies.next().is_none(), "{folder} has two");

        assert_eq!(policy["spec"]["policyTypes"], json!(["Ingress"]), "{folder}");
        let scrapers = json!({ "matchExpressions": [
            { "key": "kubernetes.io/metadata.name", "operator": "In", "values": SCRAPERS },
        ] });
        let port = &pod["spec"]["containers"][0]["ports"][0];
        assert_eq!(port["name"], "metrics", "{folder}");
        let ingress = json!([{
            "from": [{ "namespaceSelector": scrapers }],
            "ports": [{ "port": port["containerPort"] }],
        }]);
        assert_eq!(policy["spec"]["ingress"], ingress, "{folder}");
    }
}
