//! The manifests that are shipped are those that the table makes.

use provider_testplatform::{
    config::Config,
    rbac::{self, CLUSTER_GRANTS, FACT_GRANTS, GRANTS, POOL_GRANTS, Place, ServiceAccount},
};

#[test]
fn the_shipped_manifests_are_up_to_date() {
    let account = ServiceAccount::default();
    for (file, made) in [
        ("install/hub/provider-rbac.yaml", rbac::hub(&Config::default(), &account)),
        ("install/build-cluster/provider-rbac.yaml", rbac::build_cluster(&Config::default(), &account)),
        ("install/hub/provider-rbac-clusterclaims.yaml", rbac::hub(&claims("off"), &account)),
    ] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../package").join(file);
        let shipped = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(shipped, made, "run `provider-testplatform rbac` and write package/{file}");
    }
}

/// A configuration that has ClusterClaims switched on.
fn claims(ephemeral_clusters: &str) -> Config {
    let text = format!(
        "ephemeralCluster: {{mode: {ephemeral_clusters}}}\nclusterClaim: {{mode: 'on', credentialsNamespace: testplatform-credentials}}\n\
         buildClusters: {{directory: /x}}"
    );
    Config::parse("test", &text).unwrap()
}

/// Of Hive's kinds one may be patched, and Secrets are reached in one namespace alone.
#[test]
fn claims_take_little() {
    let account = ServiceAccount::default();
    let alone = rbac::hub(&claims("off"), &account);
    assert!(!alone.contains("ephemeralclusters") && !alone.contains("prowjobs"), "{alone}");
    assert!(!rbac::hub(&Config::default(), &account).contains("hive"));
    let both = rbac::hub(&claims("proxy"), &account);
    assert!(both.contains("ephemeralclusters") && both.contains("clusterclaims"));
    for grant in GRANTS.iter().filter(|g| g.place == Place::Hive) {
        assert_ne!(grant.resource, "secrets", "in every namespace");
        let writes = grant.verbs.iter().any(|verb| !["get", "list", "watch"].contains(verb));
        assert_eq!(writes, ["clusterclaims", "events"].contains(&grant.resource), "{grant:?}");
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
    assert!(
        GRANTS.iter().chain(POOL_GRANTS).chain(CLUSTER_GRANTS).chain(FACT_GRANTS).all(|g| !g
            .verbs
            .contains(&"*")
            && g.group != "*"
            && g.resource != "*")
    );
}

/// The hub's facts take a ConfigMap by its name and lists of what is named in the configuration; alone, nothing of other clusters.
#[test]
fn facts_take_little() {
    let text = "hubFacts:\n  mode: 'on'\n  backends: [hypershift, osac]\n  classes:\n    metal: {agents: {namespace: hosts}}\n    vm: {}";
    let config = Config::parse("test", text).unwrap();
    let made = rbac::hub(&config, &ServiceAccount::default());
    for part in [
        "hostedclusters",
        "clusterorders",
        "namespace: hosts\n",
        "namespace: hypershift\n",
        "supported-versions",
    ] {
        assert!(made.contains(part), "{part} is missing:\n{made}");
    }
    for part in ["secrets", "ephemeralclusters", "hive", "clustertemplateinstances", "cluster.x-k8s.io"] {
        assert!(!made.contains(part), "{part} is in it:\n{made}");
    }
    for grant in FACT_GRANTS {
        let writes = grant.verbs.iter().any(|verb| !["get", "list"].contains(verb));
        assert_eq!(writes, grant.place == Place::Facts, "{grant:?}");
        assert_eq!(grant.resource == "configmaps", !grant.names.is_empty(), "{grant:?}");
    }
    assert!(!rbac::hub(&Config::default(), &ServiceAccount::default()).contains("configmaps"));
}

/// Everywhere clusters are only watched; Secrets of theirs are read where they are made, one by one, and of OSAC's not even there.
#[test]
fn clusters_take_little() {
    let text = "clusters:\n  backends:\n    hypershift: {namespaces: [clusters, more]}\n    osac: {namespaces: [osac-orders]}";
    let made = rbac::hub(&Config::parse("test", text).unwrap(), &ServiceAccount::default());
    for part in
        ["hostedclusters", "clusterorders", "namespace: more\n", "namespace: testplatform-credentials\n"]
    {
        assert!(made.contains(part), "{part} is missing:\n{made}");
    }
    for part in ["ephemeralclusters", "hive", "clustertemplateinstances", "cluster.x-k8s.io"] {
        assert!(!made.contains(part), "{part} is in it:\n{made}");
    }
    let roles: Vec<serde_json::Value> = serde_saphyr::from_multiple(&made).unwrap();
    let mut secrets = vec![];
    for role in roles.iter().filter(|role| role["rules"].is_array()) {
        for rule in role["rules"].as_array().unwrap() {
            if rule["resources"] == serde_json::json!(["secrets"]) {
                assert_eq!(role["kind"], "Role", "in every namespace");
                secrets.push((
                    role["metadata"]["namespace"].as_str().unwrap(),
                    rule["verbs"].as_array().unwrap().len(),
                ));
            }
            let watches = rule["verbs"].to_string().contains("watch") && role["kind"] == "ClusterRole";
            assert!(!watches || !rule["verbs"].to_string().contains("patch"), "{role}");
        }
    }
    assert_eq!(secrets, [("clusters", 1), ("more", 1), ("testplatform-credentials", 6)]);
    for grant in CLUSTER_GRANTS {
        let writes = grant.verbs.iter().any(|verb| !["get", "list", "watch"].contains(verb));
        assert!(!writes || matches!(grant.place, Place::ClustersServed(_)), "{grant:?}");
    }
    assert!(!rbac::hub(&Config::default(), &ServiceAccount::default()).contains("hostedclusters"));
}
