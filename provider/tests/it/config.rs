//! The configuration file: what it means, and what is said about one that is wrong.
//! `SNAPSHOTS=overwrite cargo test -p provider-testplatform --test it config` writes the schema.

use std::{fs, path::Path};

use provider_testplatform::{
    config::{Config, ConfigError, Mode, Switch},
    controllers::{cluster_claim::observed_state, ephemeral_cluster::settings::Settings},
};
use rstest::rstest;
use serde_json::Value;

const FULL: &str = include_str!("../config/full.yaml");

fn problems(text: &str) -> Vec<String> {
    match Config::parse("provider.yaml", text) {
        Ok(_) => vec![],
        Err(ConfigError::Invalid(problems)) => problems.iter().map(ToString::to_string).collect(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn empty_configuration_has_defaults() {
    for text in ["", "# nothing\n", "{}", "ephemeralCluster:\nprow: null\n"] {
        assert_eq!(Config::parse("provider.yaml", text).unwrap(), Config::default(), "{text:?}");
    }
    assert_eq!(Settings::from(&Config::default()), Settings::default());
    assert_eq!(Config::default().ephemeral_cluster.mode, Mode::Off);
    assert_eq!(Config::default().lease_namespace(), "provider-testplatform");
}

/// To a reader of YAML 1.1 a bare `on` is a boolean.
#[test]
fn claims_are_off_unless_switched_on() {
    assert_eq!(Config::default().cluster_claim.mode, Switch::Off);
    for text in ["on", "'on'", "true"] {
        let config = Config::parse("x", &format!("clusterClaim: {{ mode: {text} }}\n")).unwrap();
        assert_eq!(config.cluster_claim.mode, Switch::On);
        // No build cluster is needed for them.
        assert_eq!(config.build_clusters.directory, None);
    }
    assert_eq!(
        observed_state::ClaimSettings::from(&Config::default()),
        observed_state::ClaimSettings::default()
    );
}

/// A hub whose configuration is taken today goes on where nothing is published there.
#[test]
fn disabled_role_needs_no_namespace() {
    let backends =
        "clusters: { backends: { caas: { namespaces: [ephemeral-cluster, testplatform-spaces] } } }\n";
    assert_eq!(problems(backends), Vec::<String>::new());
}

/// Every field of the schema is in the file, so that none can be forgotten here.
#[test]
fn every_field_can_be_set() {
    let config = Config::parse("full.yaml", FULL).unwrap();
    let read: Value = serde_saphyr::from_str(FULL).unwrap();
    assert_eq!(serde_json::to_value(&config).unwrap(), read);
    let mut missing = vec![];
    let schema = Config::schema();
    declared(&schema, &schema, "", &mut |path| {
        if read.pointer(path).is_none() {
            missing.push(path.to_owned());
        }
    });
    assert_eq!(missing, Vec::<String>::new());
    assert_ne!(config.ephemeral_cluster, Config::default().ephemeral_cluster);
    assert_eq!(config.lease_namespace(), "provider");
}

/// Calls `visit` with a JSON pointer for each property that a schema declares; of lists for the first item.
fn declared(root: &Value, schema: &Value, path: &str, visit: &mut dyn FnMut(&str)) {
    let variants = schema["anyOf"].as_array().into_iter().flatten().chain([schema]);
    for variant in variants {
        let variant = match variant["$ref"].as_str() {
            Some(reference) => root.pointer(reference.trim_start_matches('#')).unwrap(),
            None => variant,
        };
        for (name, inner) in variant["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}/{name}");
            // The two ways to give profiles exclude each other; `file` is in the file.
            if path != "/ephemeralCluster/clusterProfiles/inline" {
                visit(&path);
                declared(root, inner, &path, visit);
            }
        }
        if let Some(items) = variant.get("items") {
            declared(root, items, &format!("{path}/0"), visit);
        }
    }
}

#[test]
fn the_schema_is_checked_in() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config.schema.json");
    let fresh = format!("{:#}\n", Config::schema());
    if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
        fs::write(&path, &fresh).unwrap();
    }
    let checked_in = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        checked_in == fresh,
        "provider/config.schema.json is not what the types say; run with SNAPSHOTS=overwrite"
    );
}

#[test]
fn schema_accepts_valid_configurations_and_no_unknown_field() {
    let schema = jsonschema::draft202012::new(&Config::schema()).unwrap();
    let full: Value = serde_saphyr::from_str(FULL).unwrap();
    let errors: Vec<_> = schema.iter_errors(&full).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    assert!(schema.is_valid(&serde_json::to_value(Config::default()).unwrap()));
    assert!(!schema.is_valid(&serde_json::json!({ "ephemeralCluster": { "mod": "off" } })));
}

#[rstest]
#[case::syntax("ephemeralCluster: [\n", "provider.yaml:1:19: unclosed bracket '['")]
#[case::not_a_mapping("- a\n", "provider.yaml:1:1: expected fields, each as name: value")]
#[case::twice("http: {}\nhttp: {}\n", "provider.yaml:2:1: duplicate mapping key `http` is not allowed here")]
#[case::unknown(
    "ephemeralCluster:\n  mod: off\n",
    "provider.yaml:2:3: ephemeralCluster.mod: unknown field `mod`, expected one of `mode`, `namespace`, `provisionTimeout`, `maxLifetime`, `schedulingTimeout`, `deprovisionTimeout`, `abortGrace`, `otherWriterRespite`, `waitImage`, `waitStep`, `resources`, `privilegedTenants`, `clusterProfiles`, `clusterClaimOwners`, `deniedImageNames`, `maxConfigBytes`"
)]
#[case::mode(
    "ephemeralCluster:\n  mode: on\n",
    "provider.yaml:2:9: ephemeralCluster.mode: true is not a mode: use fulfil, proxy or off"
)]
#[case::duration(
    "ephemeralCluster:\n  maxLifetime: 2 hours\n",
    "provider.yaml:2:16: ephemeralCluster.maxLifetime: \"2 hours\" is not a duration: unknown unit \" hours\", use one of h, m, s, ms, us, ns"
)]
#[case::bare_number(
    "ephemeralCluster:\n  waitImage: { name: 4.21 }\n",
    "provider.yaml:2:22: ephemeralCluster.waitImage.name: invalid type: floating point `4.21`, expected a string; put it in quotes"
)]
#[case::bare_duration(
    "ephemeralCluster: { abortGrace: 300 }\n",
    "provider.yaml:1:33: ephemeralCluster.abortGrace: invalid type: integer `300`, expected a duration such as 90s or 1h30m, as a string; put it in quotes"
)]
#[case::negative(
    "ephemeralCluster: { abortGrace: -5m }\n",
    "provider.yaml:1:33: ephemeralCluster.abortGrace: must not be negative; 0s switches it off"
)]
#[case::zero(
    "ephemeralCluster: { provisionTimeout: 0s }\n",
    "provider.yaml:1:39: ephemeralCluster.provisionTimeout: must be longer than nothing, such as 30m"
)]
#[case::poll(
    "ephemeralCluster: { waitStep: { pollInterval: 0s } }\n",
    "provider.yaml:1:47: ephemeralCluster.waitStep.pollInterval: must be at least 1ms"
)]
#[case::namespace(
    "ephemeralCluster: { namespace: Tenants }\n",
    "provider.yaml:1:32: ephemeralCluster.namespace: must be the name of a namespace: lower-case letters, digits and -, at most 63"
)]
#[case::image(
    "ephemeralCluster: { waitImage: { tag: '' } }\n",
    "provider.yaml:1:39: ephemeralCluster.waitImage.tag: must not be empty"
)]
#[case::privileged(
    "ephemeralCluster: { privilegedTenants: [''] }\n",
    "provider.yaml:1:41: ephemeralCluster.privilegedTenants[0]: must not be empty"
)]
#[case::claim_owner(
    "ephemeralCluster: { clusterClaimOwners: [{ tenant: '' }] }\n",
    "provider.yaml:1:52: ephemeralCluster.clusterClaimOwners[0].tenant: must not be empty"
)]
#[case::claim_owner_without(
    "ephemeralCluster: { clusterClaimOwners: [{ clusters: [a] }] }\n",
    "provider.yaml:1:42: ephemeralCluster.clusterClaimOwners[0]: missing field `tenant`"
)]
#[case::denied(
    "ephemeralCluster: { deniedImageNames: [testplatform-wait-cli] }\n",
    "provider.yaml:1:40: ephemeralCluster.deniedImageNames[0]: is denied anyhow: it is the name of the wait step's image; leave it out"
)]
#[case::size(
    "ephemeralCluster: { maxConfigBytes: 2000000 }\n",
    "provider.yaml:1:37: ephemeralCluster.maxConfigBytes: must be 1024 to 131053, the longest that Linux hands to a process in one environment variable"
)]
#[case::both_profiles(
    "ephemeralCluster: { clusterProfiles: { file: a, inline: {} } }\n",
    "provider.yaml:1:38: ephemeralCluster.clusterProfiles: has both file and inline: leave one of them out"
)]
#[case::no_profiles(
    "ephemeralCluster: { clusterProfiles: {} }\n",
    "provider.yaml:1:38: ephemeralCluster.clusterProfiles: has neither file nor inline: give one of them"
)]
#[case::group(
    "ephemeralCluster:\n  clusterProfiles:\n    inline:\n      cluster_profiles:\n      - name: aws\n        owners: [{ konflux: { tenant: t, cluster_groups: [g] } }]\n",
    "provider.yaml:4:7: ephemeralCluster.clusterProfiles.inline: cluster profile \"aws\" names the group \"g\", which is not among konflux.cluster_groups"
)]
#[case::claims_mode(
    "clusterClaim: { mode: fulfil }\n",
    "provider.yaml:1:23: clusterClaim.mode: \"fulfil\" is not a mode: use on or off"
)]
#[case::claims_namespace(
    "clusterClaim: { credentialsNamespace: A }\n",
    "provider.yaml:1:39: clusterClaim.credentialsNamespace: must be the name of a namespace: lower-case letters, digits and -, at most 63"
)]
#[case::claims_poll(
    "clusterClaim: { poll: 0s }\n",
    "provider.yaml:1:23: clusterClaim.poll: must be at least 1s, such as 10m: each claimed cluster takes a few calls"
)]
#[case::claims_dwell(
    "clusterClaim: { dwell: -1m }\n",
    "provider.yaml:1:24: clusterClaim.dwell: must not be negative; 0s starts a cluster again at once"
)]
#[case::clusters_backend(
    "clusters: { backends: { hive: { namespaces: [a] } } }\n",
    "provider.yaml:1:23: clusters.backends: unknown variant `hive`, expected one of `hypershift`, `cluster-api`, `caas`, `osac`"
)]
#[case::clusters_nowhere(
    "clusters: { backends: { hypershift: { namespaces: [] } } }\n",
    "provider.yaml:1:51: clusters.backends.hypershift.namespaces: is missing: name the namespaces of its objects, as hubs are annotated with"
)]
#[case::clusters_namespace(
    "clusters: { backends: { osac: { namespaces: [a, B] } } }\n",
    "provider.yaml:1:46: clusters.backends.osac.namespaces[0]: must be the name of a namespace: lower-case letters, digits and -, at most 63"
)]
#[case::clusters_beside_credentials(
    "clusters: { credentialsNamespace: a, backends: { caas: { namespaces: [a] } } }\n",
    "provider.yaml:1:70: clusters.backends.caas.namespaces: must not name clusters.credentialsNamespace: other secrets of clusters live there"
)]
#[case::clusters_beside_credentials_of_pools(
    "clusterClaim: { mode: 'on', credentialsNamespace: pools }\nclusters: { backends: { caas: { namespaces: [pools] } } }\n",
    "provider.yaml:2:45: clusters.backends.caas.namespaces: must not name clusterClaim.credentialsNamespace: other secrets of clusters live there"
)]
#[case::clusters_beside_tokens_of_spaces(
    "spaces: { mode: 'on', apiServer: 'https://a' }\nclusters: { backends: { osac: { namespaces: [b, testplatform-spaces] } } }\n",
    "provider.yaml:2:45: clusters.backends.osac.namespaces: must not name spaces.credentialsNamespace: other secrets of clusters live there"
)]
#[case::clusters_beside_jobs(
    "ephemeralCluster: { mode: proxy, namespace: a }\nbuildClusters: { directory: /b }\nclusters: { backends: { caas: { namespaces: [a] } } }\n",
    "provider.yaml:3:45: clusters.backends.caas.namespaces: must not name ephemeralCluster.namespace: other secrets of clusters live there"
)]
#[case::pools_beside_their_credentials(
    "clusterPool: { namespaces: [pools] }\nclusterClaim: { mode: 'on', credentialsNamespace: pools }\n",
    "provider.yaml:1:28: clusterPool.namespaces: must not name clusterClaim.credentialsNamespace: credentials of clouds live there"
)]
#[case::pools_beside_credentials_of_clusters(
    "clusterPool: { namespaces: [pools] }\nclusters: { credentialsNamespace: pools, backends: { caas: { namespaces: [a] } } }\n",
    "provider.yaml:1:28: clusterPool.namespaces: must not name clusters.credentialsNamespace: credentials of clouds live there"
)]
#[case::clusters_byoc(
    "clusters: { backends: { osac: { namespaces: [a], byoc: 'on' } } }\n",
    "provider.yaml:1:56: clusters.backends.osac.byoc: is for hypershift: no other backend takes credentials of claims"
)]
#[case::clusters_poll(
    "clusters: { poll: 0s }\n",
    "provider.yaml:1:19: clusters.poll: must be at least 1s, such as 10m: each cluster takes a few calls"
)]
#[case::facts_backends(
    "hubFacts: { mode: 'on' }\n",
    "provider.yaml:1:1: hubFacts.backends: is missing: name the backends whose clusters are to be counted"
)]
#[case::facts_backend(
    "hubFacts: { backends: [kind] }\n",
    "provider.yaml:1:24: hubFacts.backends[0]: unknown variant `kind`, expected one of `hypershift`, `cluster-api`, `caas`, `osac`"
)]
#[case::facts_namespace(
    "hubFacts: { namespace: A }\n",
    "provider.yaml:1:24: hubFacts.namespace: must be the name of a namespace: lower-case letters, digits and -, at most 63"
)]
#[case::facts_period(
    "hubFacts: { period: 9s }\n",
    "provider.yaml:1:21: hubFacts.period: must be 10s to 2m: each look lists every cluster, and facts are written anew within five minutes"
)]
#[case::facts_period_too_long(
    "hubFacts: { period: 3m }\n",
    "provider.yaml:1:21: hubFacts.period: must be 10s to 2m: each look lists every cluster, and facts are written anew within five minutes"
)]
#[case::facts_agents(
    "hubFacts: { classes: { metal: { agents: { namespace: '' } } } }\n",
    "provider.yaml:1:54: hubFacts.classes.metal.agents.namespace: must be the name of a namespace: lower-case letters, digits and -, at most 63"
)]
#[case::spaces_server(
    "spaces: { mode: 'on' }\n",
    "provider.yaml:1:1: spaces.apiServer: is missing: name the API server as tenants reach it"
)]
#[case::spaces_plain(
    "spaces: { apiServer: 'http://api.hub:6443' }\n",
    "provider.yaml:1:22: spaces.apiServer: must be a URL such as https://api.hub.example.com:6443"
)]
#[case::spaces_token(
    "spaces: { tokenLifetime: 5m }\n",
    "provider.yaml:1:26: spaces.tokenLifetime: must be at least 10m: Kubernetes gives no shorter ones"
)]
#[case::carry_hubs(
    "carry: { mode: 'on' }\n",
    "provider.yaml:1:1: carry.hubs: is missing: name the hubs by their ProviderConfigs, each with a kubeconfig"
)]
#[case::carry_poll(
    "carry: { poll: 1s }\n",
    "provider.yaml:1:16: carry.poll: must be at least 10s: each look reads every Secret of every claim"
)]
#[case::bundles_of_no_cluster(
    "clusters: { bundles: 'on' }\n",
    "provider.yaml:1:1: clusters.backends: is missing: bundles are applied where credentials are published"
)]
#[case::cloud_credentials_of_no_cluster(
    "clusters: { cloudCredentials: { mode: 'on' } }\n",
    "provider.yaml:1:1: clusters.backends.cluster-api: is missing: credentials of clouds are for clusters of Cluster API"
)]
#[case::cloud_issuers_beside_clusters(
    "clusters: { backends: { cluster-api: { namespaces: [clusters] } }, cloudCredentials: { mode: 'on', issuersNamespace: clusters } }\n",
    "provider.yaml:1:118: clusters.cloudCredentials.issuersNamespace: must be a namespace of its own: whoever reads the Secrets of clusters could read issuers"
)]
#[case::cloud_issuers_beside_ephemeral_clusters(
    "clusters: { backends: { cluster-api: { namespaces: [clusters] } }, cloudCredentials: { mode: 'on', issuersNamespace: ephemeral-cluster } }\n",
    "provider.yaml:1:118: clusters.cloudCredentials.issuersNamespace: must be a namespace of its own: whoever reads the Secrets of clusters could read issuers"
)]
#[case::cloud_issuers_beside_spaces(
    "clusters: { backends: { cluster-api: { namespaces: [clusters] } }, cloudCredentials: { mode: 'on', issuersNamespace: testplatform-spaces } }\n",
    "provider.yaml:1:118: clusters.cloudCredentials.issuersNamespace: must be a namespace of its own: whoever reads the Secrets of clusters could read issuers"
)]
#[case::cloud_issuers_beside_cluster_claims(
    "{ clusterClaim: { credentialsNamespace: pools }, clusters: { backends: { cluster-api: { namespaces: [clusters] } }, cloudCredentials: { mode: 'on', issuersNamespace: pools } } }\n",
    "provider.yaml:1:167: clusters.cloudCredentials.issuersNamespace: must be a namespace of its own: whoever reads the Secrets of clusters could read issuers"
)]
#[case::cloud_issuers_beside_brought_credentials(
    "clusters: { backends: { cluster-api: { namespaces: [clusters] }, hypershift: { namespaces: [clusters], byoc: 'on' } }, cloudCredentials: { mode: 'on', issuersNamespace: byoc-x } }\n",
    "provider.yaml:1:170: clusters.cloudCredentials.issuersNamespace: must be a namespace of its own: whoever reads the Secrets of clusters could read issuers"
)]
#[case::cloud_probe(
    "clusters: { cloudCredentials: { probe: 1ms } }\n",
    "provider.yaml:1:40: clusters.cloudCredentials.probe: must be at least 1s, such as 10m: each cluster takes a call to the identity service"
)]
#[case::cloud_grace(
    "clusters: { cloudCredentials: { grace: -1s } }\n",
    "provider.yaml:1:40: clusters.cloudCredentials.grace: must not be negative; 0s deletes what was replaced at once"
)]
#[case::prerequisites_of_no_cluster(
    "clusters: { prerequisites: { mode: 'on', resources: [configmaps] } }\n",
    "provider.yaml:1:1: clusters.backends: is missing: prerequisites are made where clusters are"
)]
#[case::prerequisites_of_nothing(
    "clusters: { backends: { hypershift: { namespaces: [clusters] } }, prerequisites: { mode: 'on' } }\n",
    "provider.yaml:1:67: clusters.prerequisites.resources: is missing: name what may be made on the hub, such as configmaps or jobs.batch"
)]
#[case::prerequisites_secret(
    "clusters: { prerequisites: { resources: [configmaps, secrets] } }\n",
    "provider.yaml:1:54: clusters.prerequisites.resources[1]: must not be secrets: orders are ConfigMaps, which are no place for what is secret"
)]
#[case::prerequisites_any(
    "clusters: { prerequisites: { resources: [configmaps, '*'] } }\n",
    "provider.yaml:1:54: clusters.prerequisites.resources[1]: must name one resource: what may be made is said one by one"
)]
#[case::prerequisites_any_of_a_group(
    "clusters: { prerequisites: { resources: [configmaps, '*.batch'] } }\n",
    "provider.yaml:1:54: clusters.prerequisites.resources[1]: must name one resource: what may be made is said one by one"
)]
#[case::prerequisites_subresource(
    "clusters: { prerequisites: { resources: [configmaps, jobs/status] } }\n",
    "provider.yaml:1:54: clusters.prerequisites.resources[1]: must not be a subresource: none is made"
)]
#[case::prerequisites_empty(
    "clusters: { prerequisites: { resources: [configmaps, ''] } }\n",
    "provider.yaml:1:54: clusters.prerequisites.resources[1]: must be a resource and its API group, such as configmaps or jobs.batch"
)]
#[case::prerequisites_empty_group(
    "clusters: { prerequisites: { resources: [configmaps, secrets.] } }\n",
    "provider.yaml:1:54: clusters.prerequisites.resources[1]: must be a resource and its API group, such as configmaps or jobs.batch"
)]
#[case::prerequisites_kind(
    "clusters: { prerequisites: { resources: [configmaps, ConfigMap] } }\n",
    "provider.yaml:1:54: clusters.prerequisites.resources[1]: must be a resource and its API group, such as configmaps or jobs.batch"
)]
#[case::cleanup_flavours(
    "cleanup: { mode: 'on', flavours: [] }\n",
    "provider.yaml:1:34: cleanup.flavours: is empty: name claims, testClusters or both"
)]
#[case::cleanup_poll(
    "cleanup: { poll: 1s }\n",
    "provider.yaml:1:18: cleanup.poll: must be at least 10s: each look reads every run that owns a claim"
)]
#[case::orphans_hubs(
    "orphans: { mode: report }\n",
    "provider.yaml:1:1: orphans.hubs: is missing: name the hubs by their ProviderConfigs, each with the Secret of its kubeconfig"
)]
#[case::orphans_secret(
    "orphans: { hubs: { h: { kubeconfigSecretRef: { namespace: a, name: B } } } }\n",
    "provider.yaml:1:68: orphans.hubs.h.kubeconfigSecretRef.name: must be the name of a Secret"
)]
#[case::orphans_kinds(
    "orphans: { hubs: { h: { kubeconfigSecretRef: { namespace: a, name: b }, kinds: [] } } }\n",
    "provider.yaml:1:80: orphans.hubs.h.kinds: is empty: name kinds such as EphemeralCluster"
)]
#[case::orphans_poll(
    "orphans: { poll: 30s }\n",
    "provider.yaml:1:18: orphans.poll: must be 1m to 15m: every reconcile lists both sides"
)]
#[case::orphans_grace(
    "orphans: { grace: 5m }\n",
    "provider.yaml:1:19: orphans.grace: must be 15m to 168h: a cluster that is ended too early is lost, and an orphan costs money until then"
)]
#[case::orphans_grace_without_end(
    "orphans: { grace: 87600h }\n",
    "provider.yaml:1:19: orphans.grace: must be 15m to 168h: a cluster that is ended too early is lost, and an orphan costs money until then"
)]
#[case::orphans_share(
    "orphans: { maxUnownedPercent: 100 }\n",
    "provider.yaml:1:31: orphans.maxUnownedPercent: must be 1 to 99; name single orphans in confirmedUids"
)]
#[case::carry_hub(
    "carry: { hubs: { Hub: { kubeconfig: /k } } }\n",
    "provider.yaml:1:23: carry.hubs.Hub: must be the name of a ProviderConfig: lower-case letters, digits, - and ., at most 253"
)]
#[case::spaces_namespace(
    "spaces: { credentialsNamespace: a.b }\n",
    "provider.yaml:1:33: spaces.credentialsNamespace: must be the name of a namespace: lower-case letters, digits and -, at most 63"
)]
#[case::timeout(
    "prow: { decoration: { timeout: 4h } }\n",
    "provider.yaml:1:32: prow.decoration.timeout: is set by this provider for each job: leave it out"
)]
#[case::containers(
    "prow: { podSpec: { containers: [] } }\n",
    "provider.yaml:1:32: prow.podSpec.containers: is made from prow.ciOperator: leave it out"
)]
#[case::command(
    "prow: { ciOperator: { command: [] } }\n",
    "provider.yaml:1:32: prow.ciOperator.command: must not be empty"
)]
#[case::renew(
    "leaderElection: { retryPeriod: 12s }\n",
    "provider.yaml:1:1: leaderElection.renewDeadline: must be longer than retryPeriod"
)]
#[case::lease(
    "leaderElection: { leaseDuration: 10s }\n",
    "provider.yaml:1:34: leaderElection.leaseDuration: must be longer than renewDeadline, in whole seconds"
)]
#[case::lease_in_whole_seconds(
    "leaderElection: { leaseDuration: 10.9s, renewDeadline: 10.5s }\n",
    "provider.yaml:1:34: leaderElection.leaseDuration: must be longer than renewDeadline, in whole seconds"
)]
#[case::address(
    "http: { address: '8080' }\n",
    "provider.yaml:1:18: http.address: is not an address with a port, such as [::]:8080 or 127.0.0.1:8080"
)]
fn each_mistake_has_its_line(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(problems(text).join("\n"), expected);
}

#[test]
fn every_error_of_the_configuration_is_reported_at_once() {
    let text = "\
ephemeralCluster:
  mode: fulfil
  namspace: tenants
  provisionTimeout: soon
  waitImage:
    tag: 5
    name: [x]
  privilegedTenants: [a, 1, b, '', 2]
prow:
  cluster: ''
bogus: true
";
    assert_eq!(problems(text).join("\n"), "\
provider.yaml:1:1: buildClusters.directory: is missing: name the directory with a kubeconfig file for each build cluster
provider.yaml:1:1: ephemeralCluster.clusterProfiles: is missing: in mode fulfil, give file or inline
provider.yaml:3:3: ephemeralCluster.namspace: unknown field `namspace`, expected one of `mode`, `namespace`, `provisionTimeout`, `maxLifetime`, `schedulingTimeout`, `deprovisionTimeout`, `abortGrace`, `otherWriterRespite`, `waitImage`, `waitStep`, `resources`, `privilegedTenants`, `clusterProfiles`, `clusterClaimOwners`, `deniedImageNames`, `maxConfigBytes`
provider.yaml:4:21: ephemeralCluster.provisionTimeout: \"soon\" is not a duration: use numbers with a unit, such as 90s, 45m or 1h30m
provider.yaml:6:10: ephemeralCluster.waitImage.tag: invalid type: integer `5`, expected a string; put it in quotes
provider.yaml:7:11: ephemeralCluster.waitImage.name: invalid type: sequence, expected a string
provider.yaml:8:26: ephemeralCluster.privilegedTenants[1]: invalid type: integer `1`, expected a string; put it in quotes
provider.yaml:8:32: ephemeralCluster.privilegedTenants[3]: must not be empty
provider.yaml:8:36: ephemeralCluster.privilegedTenants[4]: invalid type: integer `2`, expected a string; put it in quotes
provider.yaml:10:12: prow.cluster: must not be empty
provider.yaml:11:1: bogus: unknown field `bogus`, expected one of `ephemeralCluster`, `clusterClaim`, `clusterPool`, `clusters`, `hubFacts`, `spaces`, `carry`, `cleanup`, `orphans`, `prow`, `buildClusters`, `leaderElection`, `http`");
}
