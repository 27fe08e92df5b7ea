//! The kubeconfig of a space, in the incumbent's names, and with the certificates by which the hub is trusted.

use k8s_openapi::ByteString;
use serde_json::json;
use testplatform_apis::yaml::to_yaml;

/// Its text; an error only if it could not be written, which nothing in it brings about.
pub(super) fn kubeconfig(
    server: &str,
    certificates: &[u8],
    namespace: &str,
    account: &str,
    token: &str,
) -> Result<String, String> {
    let certificates = ByteString(certificates.to_vec());
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "default",
        "clusters": [{
            "name": "eaas-cluster",
            "cluster": { "server": server, "certificate-authority-data": certificates },
        }],
        "contexts": [{
            "name": "default",
            "context": { "cluster": "eaas-cluster", "namespace": namespace, "user": account },
        }],
        "users": [{ "name": account, "user": { "token": token } }],
    });
    to_yaml(&config).map_err(|_| "the kubeconfig cannot be written".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::credentials::kubeconfig::rewrite_kubeconfig;

    #[test]
    fn it_is_one_that_could_be_handed_on() {
        let text = kubeconfig("https://api.hub:6443", b"PEM", "space", "namespace-manager", "t0k3n").unwrap();
        assert_eq!(rewrite_kubeconfig(text.as_bytes()).as_deref(), Ok(text.as_bytes()));
        let read: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(read["clusters"][0]["cluster"]["certificate-authority-data"], "UEVN");
        assert_eq!(read["contexts"][0]["context"]["namespace"], "space");
        assert_eq!(read["users"][0]["user"]["token"], "t0k3n");
    }
}
