//! The manifests that are shipped are those that the table makes.

use provider_testplatform::{
    config::Config,
    rbac::{self, GRANTS, Place, ServiceAccount},
};

#[test]
fn the_shipped_manifests_are_up_to_date() {
    let account = ServiceAccount::default();
    for (file, made) in [
        ("hub/provider-rbac.yaml", rbac::hub(&Config::default(), &account)),
        ("build-cluster/provider-rbac.yaml", rbac::build_cluster(&Config::default(), &account)),
    ] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../package").join(file);
        let shipped = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(shipped, made, "run `provider-testplatform rbac` and write package/{file}");
    }
}

#[test]
fn a_proxy_makes_no_jobs_and_ends_none() {
    let config =
        Config::parse("test", "ephemeralCluster: {mode: proxy}\nbuildClusters: {directory: /x}").unwrap();
    let account = ServiceAccount::default();
    let all = rbac::hub(&config, &account) + &rbac::build_cluster(&config, &account);
    assert!(!all.contains("ephemeralclusters/status") && !all.contains("prowjobs/status"));
    assert_eq!(all.matches("create").count(), 3, "Secrets of the hub, events, the Lease:\n{all}");
}

#[test]
fn on_build_clusters_secrets_are_read_by_name_only() {
    for grant in GRANTS.iter().filter(|g| g.place == Place::BuildCluster && g.resource == "secrets") {
        let reads = grant.verbs.iter().any(|verb| ["get", "list", "watch", "*"].contains(verb));
        assert_eq!(reads, !grant.names.is_empty(), "{grant:?}");
    }
    assert!(GRANTS.iter().all(|g| !g.verbs.contains(&"*") && g.group != "*" && g.resource != "*"));
}
