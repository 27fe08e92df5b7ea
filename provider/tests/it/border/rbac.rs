//! The manifests that are shipped are those that the table makes.

use provider_testplatform::{
    config::Config,
    controllers::{
        bundles, cleanup, cloud_credentials, hub_facts, orphans,
        secret_sync::{self, rights::ON_HUB},
        template_cluster,
    },
    rbac::{self, ServiceAccount, all_grants},
    rights::RbacScope,
};

#[test]
fn the_shipped_manifests_are_up_to_date() {
    let account = ServiceAccount::default();
    for (file, made) in [
        ("install/hub/provider-rbac.yaml", rbac::hub(&Config::default(), &account)),
        ("install/build-cluster/provider-rbac.yaml", rbac::build_cluster(&Config::default(), &account)),
        ("install/hub/provider-rbac-clusterclaims.yaml", rbac::hub(&claims("off"), &account)),
        ("install/components/carrier/rbac.yaml", rbac::hub(&carrier(), &carriers_account())),
        ("install/components/cleanup/rbac.yaml", rbac::hub(&cleaner(), &cleaners_account())),
        ("install/components/orphans/rbac.yaml", rbac::hub(&orphans(), &orphans_account())),
        ("../tests/own-rights/rights/rbac.yaml", rbac::hub(&load("tests/own-rights/config.yaml"), &account)),
    ] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../package").join(file);
        let shipped = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(shipped, made, "run `provider-testplatform rbac` and write package/{file}");
    }
}

/// Rights come beside those that are there already, for what is served besides.
#[test]
fn cleanup_of_test_clusters_has_its_additional_rights() {
    let folder = "package/install/components/cleanup-test-clusters";
    let read = |file: &str| std::fs::read_to_string(repository().join(file)).unwrap_or_default();
    let objects = |text: &str| -> Vec<serde_json::Value> { serde_saphyr::from_multiple(text).unwrap() };
    let mut shipped = objects(&read("package/install/components/cleanup/rbac.yaml"));
    let more = objects(&read(&format!("{folder}/rbac.yaml")));
    assert!(more.iter().all(|object| !shipped.contains(object)), "{more:?}");
    shipped.extend(more);
    let made = rbac::hub(&load(&format!("{folder}/config.yaml")), &cleaners_account());
    let by_name = |mut all: Vec<serde_json::Value>| {
        all.sort_by_key(|object| format!("{} {}", object["metadata"]["name"], object["kind"]));
        all
    };
    assert_eq!(by_name(shipped), by_name(objects(&made)));
}

#[test]
fn secret_sync_for_test_clusters_has_its_additional_rights() {
    let read = |file: &str| std::fs::read_to_string(repository().join(file)).unwrap_or_default();
    let objects = |text: &str| -> Vec<serde_json::Value> { serde_saphyr::from_multiple(text).unwrap() };
    let mut shipped = objects(&read("package/install/components/carrier/rbac.yaml"));
    shipped.extend(objects(&read("package/install/components/carrier-test-clusters/rbac.yaml")));
    let text = read("package/install/components/carrier/config.yaml");
    let text = text.replace("flavours: [claims]", "flavours: [claims, testClusters]");
    let made = rbac::hub(&Config::parse("config.yaml", &text).unwrap(), &carriers_account());
    let by_name = |mut all: Vec<serde_json::Value>| {
        all.sort_by_key(|object| format!("{} {}", object["metadata"]["name"], object["kind"]));
        all
    };
    assert_eq!(by_name(shipped), by_name(objects(&made)));
}

fn repository() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A configuration that is a file.
fn load(file: &str) -> Config {
    Config::load(&repository().join(file)).unwrap()
}

/// The configuration of the carrier that is shipped.
fn carrier() -> Config {
    load("package/install/components/carrier/config.yaml")
}

fn carriers_account() -> ServiceAccount {
    let name = "testplatform-carrier".to_owned();
    ServiceAccount { namespace: name.clone(), name }
}

/// Beside the claims it may watch composites, and read no Secret but those that tenants name; on a hub it may write three Secrets by their
/// names, and read none.
#[test]
fn secret_sync_has_few_rights() {
    let made = rbac::hub(&carrier(), &carriers_account());
    for part in ["secrets", "configmaps", "namespaces", "testclusters"] {
        assert!(!made.contains(part), "{part} is in it:\n{made}");
    }
    assert!(
        secret_sync::rights::GRANTS
            .iter()
            .all(|g| g.verbs.iter().all(|verb| ["list", "watch"].contains(verb)))
    );
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../package/install/hub/byoc-rbac.yaml");
    let shipped: Vec<serde_json::Value> =
        serde_saphyr::from_multiple(&std::fs::read_to_string(file).unwrap()).unwrap();
    let carrier = shipped.iter().find(|o| o["metadata"]["name"] == "testplatform-byoc-carrier").unwrap();
    let rules: Vec<serde_json::Value> = ON_HUB
        .iter()
        .map(|(resource, names, verbs)| {
            let mut rule = serde_json::json!({ "apiGroups": [""], "resources": [resource], "verbs": verbs });
            if !names.is_empty() {
                rule["resourceNames"] = serde_json::json!(names);
            }
            rule
        })
        .collect();
    assert_eq!(carrier["rules"], serde_json::json!(rules));
    for (_, names, verbs) in ON_HUB.iter().filter(|(resource, ..)| *resource == "secrets") {
        assert!(
            !verbs.iter().any(|verb| ["get", "list", "watch", "patch"].contains(verb)),
            "it could be read back"
        );
        assert!(verbs == &["create"] || !names.is_empty());
    }
}

/// The configuration of the cleaner that is shipped.
fn cleaner() -> Config {
    load("package/install/components/cleanup/config.yaml")
}

fn cleaners_account() -> ServiceAccount {
    let name = "testplatform-cleanup".to_owned();
    ServiceAccount { namespace: name.clone(), name }
}

/// It may change claims and neither make nor delete one, read runs by their names and change none, and reads no Secret.
#[test]
fn cleanup_has_few_rights() {
    let made = rbac::hub(&cleaner(), &cleaners_account());
    for part in
        ["secrets", "configmaps", "namespaces", "testclusters", "xtestplatformclusters", "delete", "/status"]
    {
        assert!(!made.contains(part), "{part} is in it:\n{made}");
    }
    for grant in cleanup::rights::GRANTS {
        let verbs: &[&str] = match grant.group {
            "tekton.dev" => &["get", "watch"],
            "ci.openshift.org" => &["list", "watch", "patch"],
            _ => &["create"],
        };
        assert_eq!(grant.verbs, verbs, "{grant:?}");
    }
    let text = "cleanup: { mode: 'on', flavours: [testClusters] }\nephemeralCluster: { mode: 'off' }";
    let made = rbac::hub(&Config::parse("test", text).unwrap(), &cleaners_account());
    assert!(made.contains("[testclusters]") && !made.contains("[testplatformclusters]"), "{made}");
}

/// The configuration of the search for orphans that is shipped.
fn orphans() -> Config {
    load("package/install/components/orphans/config.yaml")
}

fn orphans_account() -> ServiceAccount {
    let name = "testplatform-orphans".to_owned();
    ServiceAccount { namespace: name.clone(), name }
}

/// It reads owners and changes none, and of Secrets it reads those of kubeconfigs by their names.
#[test]
fn search_for_orphans_has_few_rights() {
    for grant in orphans::rights::GRANTS {
        let verbs: &[&str] = match (grant.place, grant.resource) {
            (RbacScope::Orphans, "environmentconfigs" | "namespaces") => &["get"],
            (RbacScope::Orphans, _) => &["get", "list"],
            (_, "configmaps") => &["get", "create", "patch"],
            _ => &["create"],
        };
        assert_eq!(grant.verbs, verbs, "{grant:?}");
        let by_name = ["environmentconfigs", "namespaces", "configmaps"].contains(&grant.resource);
        assert_eq!(grant.names.is_empty(), !by_name, "{grant:?}");
    }
    let made = rbac::hub(&orphans(), &orphans_account());
    let all: Vec<serde_json::Value> = serde_saphyr::from_multiple(&made).unwrap();
    let rules = all.iter().flat_map(|object| object["rules"].as_array().into_iter().flatten());
    let secrets: Vec<_> = rules.filter(|rule| rule["resources"][0] == "secrets").collect();
    let own = serde_json::json!([{
        "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["testplatform-appci-cluster"], "verbs": ["get"],
    }]);
    assert_eq!(serde_json::json!(secrets), own);
    assert!(made.contains("resourceNames: [envcfg]"), "{made}");
}

/// A configuration that has ClusterClaims switched on, and the Lease in the provider's own namespace: a hub without EphemeralClusters need not
/// have theirs.
fn claims(ephemeral_clusters: &str) -> Config {
    let text = format!(
        "ephemeralCluster: {{mode: {ephemeral_clusters}}}\nclusterClaim: {{mode: 'on', credentialsNamespace: testplatform-credentials}}\n\
         buildClusters: {{directory: /x}}\nleaderElection: {{namespace: provider-testplatform}}"
    );
    Config::parse("test", &text).unwrap()
}

/// Of Hive's kinds one may be patched, and Secrets are reached in one namespace alone.
#[test]
fn claims_take_little() {
    let account = ServiceAccount::default();
    let alone = rbac::hub(&claims("off"), &account);
    assert!(!alone.contains("ephemeralclusters") && !alone.contains("prowjobs"), "{alone}");
    assert!(!alone.contains("namespace: ephemeral-cluster"), "such a hub has none of them:\n{alone}");
    assert!(!rbac::hub(&Config::default(), &account).contains("hive"));
    let both = rbac::hub(&claims("proxy"), &account);
    assert!(both.contains("ephemeralclusters") && both.contains("clusterclaims"));
    for grant in all_grants().filter(|g| g.place == RbacScope::Hive) {
        assert_ne!(grant.resource, "secrets", "in every namespace");
        let writes = grant.verbs.iter().any(|verb| !["get", "list", "watch"].contains(verb));
        assert_eq!(writes, ["clusterclaims", "events"].contains(&grant.resource), "{grant:?}");
    }
}

#[test]
fn proxy_may_not_create_or_end_jobs() {
    let config =
        Config::parse("test", "ephemeralCluster: {mode: proxy}\nbuildClusters: {directory: /x}").unwrap();
    let account = ServiceAccount::default();
    let all = rbac::hub(&config, &account) + &rbac::build_cluster(&config, &account);
    assert!(!all.contains("ephemeralclusters/status") && !all.contains("prowjobs/status"));
    assert_eq!(all.matches("create").count(), 3, "Secrets of the hub, events, the Lease:\n{all}");
}

#[test]
fn on_build_clusters_secrets_are_read_by_name_only() {
    for grant in all_grants().filter(|g| g.place == RbacScope::BuildCluster && g.resource == "secrets") {
        let reads = grant.verbs.iter().any(|verb| ["get", "list", "watch", "*"].contains(verb));
        assert_eq!(reads, !grant.names.is_empty(), "{grant:?}");
    }
    assert!(all_grants().all(|g| !g.verbs.contains(&"*") && g.group != "*" && g.resource != "*"));
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
    for grant in hub_facts::rights::GRANTS {
        let writes = grant.verbs.iter().any(|verb| !["get", "list"].contains(verb));
        assert_eq!(writes, grant.place == RbacScope::Facts, "{grant:?}");
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
    let tables =
        [template_cluster::rights::GRANTS, bundles::rights::GRANTS, cloud_credentials::rights::GRANTS];
    for grant in tables.into_iter().flatten() {
        let writes = grant.verbs.iter().any(|verb| !["get", "list", "watch"].contains(verb));
        let own = matches!(
            grant.place,
            RbacScope::ClustersServed(_)
                | RbacScope::ClustersEnded(_)
                | RbacScope::Bundles
                | RbacScope::CloudCredentials
        );
        assert!(!writes || own, "{grant:?}");
    }
    assert!(!made.contains("overdue"), "nothing is ended that nobody switched on");
    let ends = format!("{text}\n  endOverdue: 'on'");
    let ends = rbac::hub(&Config::parse("test", &ends).unwrap(), &ServiceAccount::default());
    let more: Vec<serde_json::Value> = serde_saphyr::from_multiple(&ends).unwrap();
    let more: Vec<_> =
        more.iter().filter(|object| !roles.contains(object) && object["kind"] == "Role").collect();
    let found = |role: &serde_json::Value| {
        let namespace = &role["metadata"]["namespace"];
        let [rule] = role["rules"].as_array().unwrap().as_slice() else { panic!("{role}") };
        (
            namespace.as_str().unwrap().to_owned(),
            rule["resources"][0].as_str().unwrap().to_owned(),
            rule["verbs"].clone(),
        )
    };
    let delete = serde_json::json!(["delete"]);
    let of = |namespace: &str, resource: &str| (namespace.to_owned(), resource.to_owned(), delete.clone());
    assert_eq!(
        more.into_iter().map(found).collect::<Vec<_>>(),
        [of("clusters", "hostedclusters"), of("more", "hostedclusters"), of("osac-orders", "clusterorders")]
    );
    assert!(!made.contains("configmaps"), "without bundles");
    assert!(!rbac::hub(&Config::default(), &ServiceAccount::default()).contains("hostedclusters"));
}

/// In the namespaces of claims it may do what it may in those of clusters, once somebody binds it there; elsewhere it asks whether a cluster is
/// there, and nothing more.
#[test]
fn clusters_of_claims_with_their_own_credentials_take_little_more() {
    let of = |more: &str| {
        let text = format!("clusters: {{ backends: {{ hypershift: {{ namespaces: [clusters]{more} }} }} }}");
        let made = rbac::hub(&Config::parse("test", &text).unwrap(), &ServiceAccount::default());
        serde_saphyr::from_multiple::<serde_json::Value>(&made).unwrap()
    };
    let without = of("");
    let more: Vec<serde_json::Value> =
        of(", byoc: 'on'").into_iter().filter(|object| !without.contains(object)).collect();
    let found: Vec<(&str, &str)> = more
        .iter()
        .map(|object| (object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap()))
        .collect();
    let asks = "provider-testplatform-clusters-byoc";
    assert_eq!(
        found,
        [("ClusterRole", asks), ("ClusterRoleBinding", asks), ("ClusterRole", "testplatform-byoc-publisher")],
        "nobody is bound to the last one"
    );
    assert_eq!(more[0]["rules"].to_string().matches("get").count(), 1);
    assert!(!more[0]["rules"].to_string().contains("secrets"));
    let inside =
        without.iter().find(|o| o["kind"] == "Role" && o["metadata"]["namespace"] == "clusters").unwrap();
    assert_eq!(more[2]["rules"], inside["rules"]);
}

/// Of ConfigMaps, which have orders, annotations and a finalizer are patched, in the namespaces of clusters alone; Secrets as without.
#[test]
fn bundles_take_little() {
    let text = "clusters:\n  backends:\n    hypershift: {namespaces: [clusters, more]}\n    caas: {namespaces: [clusters]}\n";
    let made = |text: &str| rbac::hub(&Config::parse("test", text).unwrap(), &ServiceAccount::default());
    let (without, with) = (made(text), made(&format!("{text}  bundles: 'on'\n")));
    let read = |text: &str| serde_saphyr::from_multiple::<serde_json::Value>(text).unwrap();
    let without = read(&without);
    let more: Vec<serde_json::Value> =
        read(&with).into_iter().filter(|object| !without.contains(object)).collect();
    let roles: Vec<&serde_json::Value> = more.iter().filter(|object| object["rules"].is_array()).collect();
    let places: Vec<&str> =
        roles.iter().map(|role| role["metadata"]["namespace"].as_str().unwrap()).collect();
    assert_eq!((places, more.len()), (vec!["clusters", "more"], 4), "a Role and its binding in each");
    for role in roles {
        let little = serde_json::json!([
            { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "patch"] }
        ]);
        assert_eq!((&role["kind"], &role["rules"]), (&"Role".into(), &little));
    }
}

/// Secrets are written in the namespaces of clusters of Cluster API alone, and issuers only listed, in a namespace of their own.
#[test]
fn cloud_credentials_have_the_necessary_rights() {
    let text = "clusters:\n  backends:\n    cluster-api: {namespaces: [clusters]}\n    caas: {namespaces: [others]}\n";
    let made = |text: &str| rbac::hub(&Config::parse("test", text).unwrap(), &ServiceAccount::default());
    let on = "  cloudCredentials: {mode: 'on', issuersNamespace: issuers}\n";
    let (without, with) = (made(text), made(&format!("{text}{on}")));
    assert!(
        !without.contains("create, patch, delete") || !without.contains("namespace: issuers"),
        "{without}"
    );
    let read = |text: &str| serde_saphyr::from_multiple::<serde_json::Value>(text).unwrap();
    let without = read(&without);
    let more: Vec<serde_json::Value> =
        read(&with).into_iter().filter(|object| !without.contains(object)).collect();
    let rules: Vec<(&str, &serde_json::Value)> = more
        .iter()
        .filter(|object| object["rules"].is_array())
        .map(|role| (role["metadata"]["namespace"].as_str().unwrap(), &role["rules"]))
        .collect();
    let rule = |group: &str, resource: &str, verbs: &[&str]| serde_json::json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs });
    let here = serde_json::json!([
        rule("", "configmaps", &["get", "list", "watch", "patch"]),
        rule("", "secrets", &["get", "create", "patch", "delete"]),
        rule("events.k8s.io", "events", &["create"]),
    ]);
    let issuers = serde_json::json!([rule("", "secrets", &["list"])]);
    assert_eq!(rules, [("clusters", &here), ("issuers", &issuers)]);
}

/// Kinds of the configuration may be created and deleted in the namespaces of clusters, and nothing else; if it is off, no right remains.
#[test]
fn prerequisites_have_rights_for_the_named_kinds() {
    let text = "clusters:\n  backends:\n    hypershift: {namespaces: [clusters, more]}\n    osac: {namespaces: [orders]}\n";
    let made = |more: &str| {
        let config = Config::parse("test", &format!("{text}{more}")).unwrap();
        let made = rbac::hub(&config, &ServiceAccount::default());
        serde_saphyr::from_multiple::<serde_json::Value>(&made).unwrap()
    };
    let named = "resources: [roles.rbac.authorization.k8s.io, serviceaccounts, networkpolicies.networking.k8s.io, configmaps]";
    let without = made("");
    assert_eq!(made(&format!("  prerequisites: {{mode: 'off', {named}}}\n")), without);
    let with = made(&format!("  prerequisites: {{mode: 'on', {named}}}\n"));
    let more: Vec<&serde_json::Value> = with.iter().filter(|object| !without.contains(object)).collect();
    let roles: Vec<&&serde_json::Value> = more.iter().filter(|object| object["rules"].is_array()).collect();
    let places: Vec<&str> =
        roles.iter().map(|role| role["metadata"]["namespace"].as_str().unwrap()).collect();
    assert_eq!(
        (places, more.len()),
        (vec!["clusters", "more", "orders"], 6),
        "a Role and its binding in each"
    );
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| serde_json::json!({ "apiGroups": [group], "resources": resources, "verbs": verbs });
    let all = ["get", "create", "patch", "delete"];
    let allowed = serde_json::json!([
        rule("", &["configmaps"], &["get", "list", "watch", "patch"]),
        rule("events.k8s.io", &["events"], &["create"]),
        rule("", &["configmaps", "serviceaccounts"], &all),
        rule("networking.k8s.io", &["networkpolicies"], &all),
        rule("rbac.authorization.k8s.io", &["roles"], &all),
    ]);
    for role in roles {
        assert_eq!((&role["kind"], &role["rules"]), (&"Role".into(), &allowed));
        assert_eq!(role["metadata"]["name"], "provider-testplatform-prerequisites");
    }
    // The rights to see that a cluster's object is gone need no kinds.
    for place in ["clusters", "more", "orders"] {
        let asks = |object: &&serde_json::Value| {
            let text = object["rules"].to_string();
            object["metadata"]["namespace"] == place
                && (text.contains("hostedclusters") || text.contains("clusterorders"))
                && text.contains("\"get\"")
        };
        assert_eq!(without.iter().filter(asks).count(), 1, "{place}");
    }
}

/// Everywhere namespaces are watched and annotated, and tokens of one account are asked for; Secrets are reached in one namespace alone.
#[test]
fn spaces_take_little() {
    let text = "spaces: {mode: 'on', apiServer: 'https://api.hub:6443', credentialsNamespace: published}";
    let made = rbac::hub(&Config::parse("test", text).unwrap(), &ServiceAccount::default());
    for part in ["ephemeralclusters", "hive", "prowjobs", "rolebindings"] {
        assert!(!made.contains(part), "{part} is in it:\n{made}");
    }
    let roles: Vec<serde_json::Value> = serde_saphyr::from_multiple(&made).unwrap();
    for role in &roles {
        for rule in role["rules"].as_array().into_iter().flatten() {
            let (resource, verbs) = (rule["resources"][0].as_str().unwrap(), rule["verbs"].to_string());
            let here = role["metadata"]["namespace"] == "published";
            match resource {
                "secrets" => assert!(here, "{rule}"),
                "configmaps" => assert!(here && rule["resourceNames"][0] == "kube-root-ca.crt", "{rule}"),
                "namespaces" => assert_eq!(verbs, r#"["get","list","watch","patch"]"#),
                "serviceaccounts/token" => {
                    assert_eq!(rule["resourceNames"], serde_json::json!(["namespace-manager"]));
                    assert_eq!(verbs, r#"["create"]"#);
                }
                "leases" => {}
                other => panic!("{other}"),
            }
        }
    }
    assert!(!rbac::hub(&Config::default(), &ServiceAccount::default()).contains("serviceaccounts"));
}
