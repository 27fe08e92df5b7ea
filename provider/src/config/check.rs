//! Checks a configuration whose fields have the right types.

use testplatform_apis::{duration::GoDuration, names::ObjectName, template::Backend};

use super::{
    AllowedResource, Carry, Cleanups, ClusterClaims, ClusterProfiles, Clusters, Config, EphemeralClusters,
    HubFacts, LeaderElection, Mode, Orphans, Prow, Spaces, Switch, ephemeral_cluster::MAX_CONFIG_BYTES,
    source::Finding,
};
use crate::config::{WAIT_IMAGE, profiles::Profiles};

/// More often would be nothing but load.
const SHORTEST_POLL: GoDuration = GoDuration::from_secs(1);

/// Each look is a call for each Secret.
const SHORTEST_CARRY: GoDuration = GoDuration::from_secs(10);

/// Each look is a call for each run.
const SHORTEST_CLEANUP: GoDuration = GoDuration::from_secs(10);

/// A complete listing takes a call for each page of each kind on both sides.
const SHORTEST_LISTING: GoDuration = GoDuration::from_mins(1);
/// Two listings in a row are within any grace period.
const LONGEST_LISTING: GoDuration = GoDuration::from_mins(15);
/// A moved claim, or a recreated Object, has its owner again within this time.
const SHORTEST_GRACE: GoDuration = GoDuration::from_mins(15);
/// The longest one: without an end nobody would ever be told of an orphan.
const LONGEST_GRACE: GoDuration = GoDuration::from_hours(168);

/// An API server refuses to give a token for less.
const SHORTEST_TOKEN: GoDuration = GoDuration::from_mins(10);

/// Facts are written no more often.
const SHORTEST_LOOK: GoDuration = GoDuration::from_secs(10);
/// Longer intervals write facts too late for their readers.
const LONGEST_LOOK: GoDuration = GoDuration::from_mins(2);

/// Everything that is wrong.
pub fn check_config(config: &Config) -> Vec<Finding> {
    let mut found = FindingList(vec![]);
    found.ephemeral_cluster(&config.ephemeral_cluster);
    found.cluster_claim(&config.cluster_claim);
    for (index, namespace) in config.cluster_pool.namespaces.iter().enumerate() {
        found.namespace(&format!("clusterPool.namespaces[{index}]"), namespace);
    }
    found.clusters(&config.clusters);
    found.clusters_apart(config);
    found.cloud_issuers(config);
    found.hub_facts(&config.hub_facts);
    found.spaces(&config.spaces);
    found.carry(&config.carry);
    found.cleanup(&config.cleanup);
    found.orphans(&config.orphans);
    found.prow(&config.prow);
    found.positive("buildClusters.requestTimeout", config.build_clusters.request_timeout);
    if config.ephemeral_cluster.mode != Mode::Off && config.build_clusters.directory.is_none() {
        found.add(
            "buildClusters.directory",
            "is missing: name the directory with a kubeconfig file for each build cluster",
        );
    }
    found.leader_election(&config.leader_election);
    found.0
}

struct FindingList(Vec<Finding>);

impl FindingList {
    fn add(&mut self, path: &str, message: impl Into<String>) {
        self.0.push(Finding { path: path.into(), message: message.into() });
    }

    fn ephemeral_cluster(&mut self, section: &EphemeralClusters) {
        self.namespace("ephemeralCluster.namespace", &section.namespace);
        for (field, duration) in [
            ("provisionTimeout", section.provision_timeout),
            ("maxLifetime", section.max_lifetime),
            ("schedulingTimeout", section.scheduling_timeout),
            ("deprovisionTimeout", section.deprovision_timeout),
            ("waitStep.tolerance", section.wait_step.tolerance),
        ] {
            self.positive(&format!("ephemeralCluster.{field}"), duration);
        }
        for (field, duration) in
            [("abortGrace", section.abort_grace), ("otherWriterRespite", section.other_writer_respite)]
        {
            if duration < GoDuration::ZERO {
                self.add(&format!("ephemeralCluster.{field}"), "must not be negative; 0s switches it off");
            }
        }
        if section.wait_step.poll_interval.as_nanos() < 1_000_000 {
            self.add("ephemeralCluster.waitStep.pollInterval", "must be at least 1ms");
        }
        for (field, value) in [
            ("namespace", &section.wait_image.namespace),
            ("name", &section.wait_image.name),
            ("tag", &section.wait_image.tag),
        ] {
            self.not_empty(&format!("ephemeralCluster.waitImage.{field}"), value);
        }
        for (index, tenant) in section.privileged_tenants.iter().enumerate() {
            self.not_empty(&format!("ephemeralCluster.privilegedTenants[{index}]"), tenant);
        }
        for (index, owner) in section.cluster_claim_owners.iter().flatten().enumerate() {
            self.not_empty(&format!("ephemeralCluster.clusterClaimOwners[{index}].tenant"), &owner.tenant);
        }
        for (index, name) in section.denied_image_names.iter().enumerate() {
            let path = format!("ephemeralCluster.deniedImageNames[{index}]");
            self.not_empty(&path, name);
            if name == WAIT_IMAGE {
                self.add(&path, "is denied anyhow: it is the name of the wait step's image; leave it out");
            }
        }
        if !(1024..=MAX_CONFIG_BYTES).contains(&section.max_config_bytes) {
            self.add(
                "ephemeralCluster.maxConfigBytes",
                format!("must be 1024 to {MAX_CONFIG_BYTES}, the longest that Linux hands to a process in one environment variable"),
            );
        }
        self.cluster_profiles(section);
    }

    fn cluster_profiles(&mut self, section: &EphemeralClusters) {
        const PATH: &str = "ephemeralCluster.clusterProfiles";
        match &section.cluster_profiles {
            None if section.mode == Mode::Fulfil => {
                self.add(PATH, "is missing: in mode fulfil, give file or inline");
            }
            None => {}
            Some(ClusterProfiles { file: Some(_), inline: Some(_) }) => {
                self.add(PATH, "has both file and inline: leave one of them out");
            }
            Some(ClusterProfiles { file: None, inline: None }) => {
                self.add(PATH, "has neither file nor inline: give one of them");
            }
            Some(ClusterProfiles { file: None, inline: Some(registry) }) => {
                if let Err(error) = Profiles::try_from(registry.clone()) {
                    self.add(&format!("{PATH}.inline"), error.to_string());
                }
            }
            Some(ClusterProfiles { file: Some(file), inline: None }) => {
                self.not_empty(&format!("{PATH}.file"), &file.to_string_lossy());
            }
        }
    }

    fn cluster_claim(&mut self, section: &ClusterClaims) {
        self.namespace("clusterClaim.credentialsNamespace", &section.credentials_namespace);
        if section.poll < SHORTEST_POLL {
            self.add(
                "clusterClaim.poll",
                "must be at least 1s, such as 10m: each claimed cluster takes a few calls",
            );
        }
        if section.dwell < GoDuration::ZERO {
            self.add("clusterClaim.dwell", "must not be negative; 0s starts a cluster again at once");
        }
    }

    fn clusters(&mut self, section: &Clusters) {
        self.namespace("clusters.credentialsNamespace", &section.credentials_namespace);
        if section.poll < SHORTEST_POLL {
            self.add("clusters.poll", "must be at least 1s, such as 10m: each cluster takes a few calls");
        }
        if section.applies_bundles() && !section.is_on() {
            self.add("clusters.backends", "is missing: bundles are applied where credentials are published");
        }
        self.cloud_credentials(section);
        self.prerequisites(section);
        for (backend, of) in &section.backends {
            let path = format!("clusters.backends.{backend}.namespaces");
            if of.namespaces.is_empty() {
                self.add(&path, "is missing: name the namespaces of its objects, as hubs are annotated with");
            }
            for (index, namespace) in of.namespaces.iter().enumerate() {
                self.namespace(&format!("{path}[{index}]"), namespace);
            }
            if of.brings() && backend.descriptor().refuses_tenant_credentials.is_some() {
                let path = format!("clusters.backends.{backend}.byoc");
                let takes = Backend::join_names(|other| other.refuses_tenant_credentials.is_none());
                self.add(&path, format!("is for {takes}: no other backend takes credentials of claims"));
            }
            // A reader of published credentials could read everything else in the clusters' namespaces.
            if of.namespaces.contains(&section.credentials_namespace) {
                self.add(
                    &path,
                    "must not name clusters.credentialsNamespace: other secrets of clusters live there",
                );
            }
        }
    }

    /// Konflux clusters read Secrets in each of these namespaces too, where anything is published there.
    fn clusters_apart(&mut self, config: &Config) {
        let (jobs, pools, spaces) = (&config.ephemeral_cluster, &config.cluster_claim, &config.spaces);
        let pools_on = pools.mode == Switch::On;
        for (field, namespace, on) in [
            ("ephemeralCluster.namespace", &jobs.namespace, jobs.mode != Mode::Off),
            ("clusterClaim.credentialsNamespace", &pools.credentials_namespace, pools_on),
            ("spaces.credentialsNamespace", &spaces.credentials_namespace, spaces.is_on()),
            (
                "clusters.credentialsNamespace",
                &config.clusters.credentials_namespace,
                config.clusters.is_on(),
            ),
        ] {
            if on && config.cluster_pool.namespaces.contains(namespace) {
                self.add(
                    "clusterPool.namespaces",
                    format!("must not name {field}: credentials of clouds live there"),
                );
            }
            // Of the one that they may be with clusters.credentialsNamespace it was said already.
            let apart = on && *namespace != config.clusters.credentials_namespace;
            for (backend, of) in &config.clusters.backends {
                if apart && of.namespaces.contains(namespace) {
                    self.add(
                        &format!("clusters.backends.{backend}.namespaces"),
                        format!("must not name {field}: other secrets of clusters live there"),
                    );
                }
            }
        }
    }

    fn cloud_credentials(&mut self, section: &Clusters) {
        let cloud = &section.cloud_credentials;
        self.namespace("clusters.cloudCredentials.issuersNamespace", &cloud.issuers_namespace);
        if cloud.probe < SHORTEST_POLL {
            self.add(
                "clusters.cloudCredentials.probe",
                "must be at least 1s, such as 10m: each cluster takes a call to the identity service",
            );
        }
        if cloud.grace < GoDuration::ZERO {
            self.add(
                "clusters.cloudCredentials.grace",
                "must not be negative; 0s deletes what was replaced at once",
            );
        }
        if cloud.mode == Switch::On && section.cloud_namespaces().is_empty() {
            for backend in Backend::with_cloud_credentials() {
                let title = backend.descriptor().title;
                self.add(
                    &format!("clusters.backends.{backend}"),
                    format!("is missing: credentials of clouds are for clusters of {title}"),
                );
            }
        }
    }

    /// Wherever Konflux clusters read Secrets there are no issuers.
    fn cloud_issuers(&mut self, config: &Config) {
        let (section, cloud) = (&config.clusters, &config.clusters.cloud_credentials);
        let own = &cloud.issuers_namespace;
        let of_credentials = [
            &section.credentials_namespace,
            &config.ephemeral_cluster.namespace,
            &config.cluster_claim.credentials_namespace,
            &config.spaces.credentials_namespace,
        ];
        let is_used = of_credentials.contains(&own) || section.backends.values().any(|of| of.serves(own));
        if cloud.mode == Switch::On && is_used {
            self.add(
                "clusters.cloudCredentials.issuersNamespace",
                "must be a namespace of its own: whoever reads the Secrets of clusters could read issuers",
            );
        }
    }

    fn prerequisites(&mut self, section: &Clusters) {
        const PATH: &str = "clusters.prerequisites.resources";
        let on = section.prerequisites.mode == Switch::On;
        if on && !section.is_on() {
            self.add("clusters.backends", "is missing: prerequisites are made where clusters are");
        }
        if on && section.prerequisites.resources.is_empty() {
            self.add(PATH, "is missing: name what may be made on the hub, such as configmaps or jobs.batch");
        }
        for (index, text) in section.prerequisites.resources.iter().enumerate() {
            if let Err(why) = text.parse::<AllowedResource>() {
                self.add(&format!("{PATH}[{index}]"), why);
            }
        }
    }

    fn hub_facts(&mut self, section: &HubFacts) {
        for (field, namespace) in section.fixed_namespaces() {
            self.namespace(field, namespace);
        }
        if !(SHORTEST_LOOK..=LONGEST_LOOK).contains(&section.period) {
            self.add(
                "hubFacts.period",
                "must be 10s to 2m: each look lists every cluster, and facts are written anew within five minutes",
            );
        }
        if section.is_on() && section.backends.is_empty() {
            self.add("hubFacts.backends", "is missing: name the backends whose clusters are to be counted");
        }
        for (class, how) in &section.classes {
            if let Some(agents) = &how.agents {
                self.namespace(&format!("hubFacts.classes.{class}.agents.namespace"), &agents.namespace);
            }
        }
    }

    fn spaces(&mut self, section: &Spaces) {
        self.namespace("spaces.credentialsNamespace", &section.credentials_namespace);
        let url = |url: &str| {
            let rest = url.strip_prefix("https://").unwrap_or_default();
            !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_graphic()) && !rest.contains('@')
        };
        match section.api_server.as_deref() {
            None if section.is_on() => {
                self.add("spaces.apiServer", "is missing: name the API server as tenants reach it");
            }
            Some(given) if !url(given) => {
                self.add("spaces.apiServer", "must be a URL such as https://api.hub.example.com:6443");
            }
            None | Some(_) => {}
        }
        if section.token_lifetime < SHORTEST_TOKEN {
            self.add("spaces.tokenLifetime", "must be at least 10m: Kubernetes gives no shorter ones");
        }
    }

    fn carry(&mut self, section: &Carry) {
        if section.is_on() && section.hubs.is_empty() {
            self.add(
                "carry.hubs",
                "is missing: name the hubs by their ProviderConfigs, each with a kubeconfig",
            );
        }
        if section.is_on() && section.flavours.is_empty() {
            self.add("carry.flavours", "is empty: name claims, testClusters or both");
        }
        for (hub, of) in &section.hubs {
            if ObjectName::try_from(hub.as_str()).is_err() {
                self.add(
                    &format!("carry.hubs.{hub}"),
                    "must be the name of a ProviderConfig: lower-case letters, digits, - and ., at most 253",
                );
            }
            self.not_empty(&format!("carry.hubs.{hub}.kubeconfig"), &of.kubeconfig.to_string_lossy());
        }
        if section.poll < SHORTEST_CARRY {
            self.add("carry.poll", "must be at least 10s: each look reads every Secret of every claim");
        }
    }

    fn cleanup(&mut self, section: &Cleanups) {
        if section.is_on() && section.flavours.is_empty() {
            self.add("cleanup.flavours", "is empty: name claims, testClusters or both");
        }
        if section.poll < SHORTEST_CLEANUP {
            self.add("cleanup.poll", "must be at least 10s: each look reads every run that owns a claim");
        }
    }

    fn orphans(&mut self, section: &Orphans) {
        self.namespace("orphans.namespace", &section.namespace);
        if section.is_on() && section.hubs.is_empty() {
            self.add(
                "orphans.hubs",
                "is missing: name the hubs by their ProviderConfigs, each with the Secret of its kubeconfig",
            );
        }
        if section.is_on() && section.flavours.is_empty() {
            self.add("orphans.flavours", "is empty: name claims, testClusters or both");
        }
        if ObjectName::try_from(section.environment_config.as_str()).is_err() {
            self.add("orphans.environmentConfig", "must be the name of an EnvironmentConfig, such as envcfg");
        }
        for (hub, of) in &section.hubs {
            let path = format!("orphans.hubs.{hub}");
            let secret = &of.kubeconfig_secret_ref;
            self.namespace(&format!("{path}.kubeconfigSecretRef.namespace"), &secret.namespace);
            if ObjectName::try_from(secret.name.as_str()).is_err() {
                self.add(&format!("{path}.kubeconfigSecretRef.name"), "must be the name of a Secret");
            }
            self.not_empty(&format!("{path}.kubeconfigSecretRef.key"), &secret.key);
            if of.kinds.is_empty() {
                self.add(&format!("{path}.kinds"), "is empty: name kinds such as EphemeralCluster");
            }
            for (index, namespace) in of.namespaces.iter().enumerate() {
                self.namespace(&format!("{path}.namespaces[{index}]"), namespace);
            }
        }
        if !(SHORTEST_LISTING..=LONGEST_LISTING).contains(&section.poll) {
            self.add("orphans.poll", "must be 1m to 15m: every reconcile lists both sides");
        }
        if !(SHORTEST_GRACE..=LONGEST_GRACE).contains(&section.grace) {
            self.add(
                "orphans.grace",
                "must be 15m to 168h: a cluster that is ended too early is lost, and an orphan costs money until then",
            );
        }
        if !(1..=99).contains(&section.max_unowned_percent) {
            self.add("orphans.maxUnownedPercent", "must be 1 to 99; name single orphans in confirmedUids");
        }
    }

    fn prow(&mut self, section: &Prow) {
        self.namespace("prow.namespace", &section.namespace);
        self.namespace("prow.podNamespace", &section.pod_namespace);
        self.not_empty("prow.cluster", &section.cluster);
        self.not_empty("prow.ciOperator.image", &section.ci_operator.image);
        if section.ci_operator.command.is_empty() {
            self.add("prow.ciOperator.command", "must not be empty");
        }
        for field in ["timeout", "skip_cloning"] {
            if section.decoration.contains_key(field) {
                self.add(
                    &format!("prow.decoration.{field}"),
                    "is set by this provider for each job: leave it out",
                );
            }
        }
        for field in ["containers", "volumes", "serviceAccountName"] {
            if section.pod_spec.contains_key(field) {
                self.add(&format!("prow.podSpec.{field}"), "is made from prow.ciOperator: leave it out");
            }
        }
    }

    fn leader_election(&mut self, section: &LeaderElection) {
        if let Some(namespace) = &section.namespace {
            self.namespace("leaderElection.namespace", namespace);
        }
        if ObjectName::try_from(section.name.as_str()).is_err() {
            self.add(
                "leaderElection.name",
                "must be a name: lower-case letters, digits, - and ., at most 253",
            );
        }
        self.positive("leaderElection.retryPeriod", section.retry_period);
        if section.renew_deadline <= section.retry_period {
            self.add("leaderElection.renewDeadline", "must be longer than retryPeriod");
        }
        // Other processes rely on the Lease, which has whole seconds.
        let others_wait = GoDuration::from_secs(section.lease_duration.as_secs());
        if others_wait <= section.renew_deadline {
            self.add("leaderElection.leaseDuration", "must be longer than renewDeadline, in whole seconds");
        }
        if section.lease_duration < GoDuration::from_secs(1) {
            self.add("leaderElection.leaseDuration", "must be at least 1s: a Lease counts whole seconds");
        }
    }

    fn positive(&mut self, path: &str, duration: GoDuration) {
        if duration <= GoDuration::ZERO {
            self.add(path, "must be longer than nothing, such as 30m");
        }
    }

    fn not_empty(&mut self, path: &str, text: &str) {
        if text.is_empty() {
            self.add(path, "must not be empty");
        }
    }

    fn namespace(&mut self, path: &str, name: &str) {
        if name.len() > 63 || name.contains('.') || ObjectName::try_from(name).is_err() {
            self.add(path, "must be the name of a namespace: lower-case letters, digits and -, at most 63");
        }
    }
}
