//! A catalogue of templates in the model, with an entry of each backend.

use serde_json::{Value, json};

use super::world::World;

const CATALOGUE: &str = r#"
metadata: { name: hosted }
data:
  title: Hosted on the hub
  backend: hypershift
  backendRef: { platform: KubeVirt, hostedCluster: { pullSecret: { name: pull } } }
  allowedTenants: [tenant-a]
  releases:
  - { version: 4.20.3, image: "quay.io/x:4.20.3-x86_64" }
  - { version: 4.20.9, image: "quay.io/x:4.20.9-x86_64" }
  - { version: 4.21.0, image: "quay.io/x:4.21.0-x86_64" }
  - { version: 4.22.0, image: "quay.io/x:4.22.0-x86_64" }
  - { version: 4.19.1, image: "quay.io/x:4.19.1-x86_64", enabled: false }
  parameters:
    fips: { type: boolean, target: hostedCluster.fips, default: false, immutable: true }
    channel: { enum: [stable, fast], target: hostedCluster.channel, default: stable }
    proxy: { pattern: "^https?://", target: hostedCluster.configuration.proxy.httpsProxy }
    sshKey: { secret: true, pattern: "^team-", target: hostedCluster.sshKey.name }
    replicas: { type: integer, minimum: 1, maximum: 3, target: hostedCluster.x.replicas }
  nodeParameters:
    drain: { pattern: "^[0-9]+m$", target: nodePool.nodeDrainTimeout, default: 10m }
  allowedNodeClasses:
    small: { machine: { kubevirt: { cores: 4, memory: 16Gi } } }
    large: { scaleToZero: true, machine: { kubevirt: { cores: 16, memory: 64Gi } } }
  defaultNodeGroups: [{ name: workers, class: small, count: 2 }]
  limits: { maxNodes: 10, minNodes: 1, network: [podCIDR, serviceCIDR], releaseImages: [quay.io/dev/] }
  cost: 2
  maxLifetime: 8h
  defaultLifetime: 2h
  timeouts: { provision: 90m }
---
metadata: { name: hosted-next }
data:
  backend: hypershift
  backendRef: { platform: KubeVirt, hostedCluster: { pullSecret: { name: pull } } }
  allowedTenants: ["*"]
  version: 4.21.3
  image: quay.io/x:4.21.3-x86_64
  upgradesFrom: [hosted]
  allowedNodeClasses:
    small: { machine: { kubevirt: { cores: 4, memory: 16Gi } } }
---
metadata: { name: topology }
data:
  backend: cluster-api
  backendRef:
    classRef: { name: openstack-v3 }
    cluster:
      clusterNetwork: { services: { cidrBlocks: [10.254.0.0/16] } }
      topology: { variables: [{ name: region, value: west }] }
    imageVariable: imageUUID
    controlPlaneClasses: { variable: controlPlaneFlavor, classes: { large: m1.large } }
    networkVariables: { externalNetworkID: externalNetworkId }
  allowedTenants: ["*"]
  deprecated: use hosted
  releases:
  - { version: v1.29.4, image: 2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a10, imageVersion: 1.29.4 }
  - { version: v1.30.2, image: 2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a12 }
  - { version: v1.30.6, image: 2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a13 }
  - { version: v1.31.2, image: 2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a11 }
  - { version: v1.33.0, image: 2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a14 }
  parameters:
    cni: { enum: [calico, cilium], default: calico, immutable: true }
    sshKeyName: { pattern: "^[a-z]+$" }
  nodeParameters:
    bootVolume: { type: integer, minimum: 10, target: bootVolumeSize }
  allowedNodeClasses:
    default: { scaleToZero: true, machine: { worker: default-worker } }
    bigger: { machine: { worker: default-worker, variables: { flavor: m1.large } } }
    gpu: { machine: { worker: gpu-worker } }
  limits: { network: [external, podCIDR] }
---
metadata: { name: topology-next }
data:
  backend: cluster-api
  backendRef:
    classRef: { name: openstack-v4, namespace: classes }
    cluster: { topology: { variables: [{ name: region, value: east }] } }
    imageVariable: imageUUID
    networkVariables: { externalNetworkID: externalNetworkId }
  allowedTenants: [tenant-a]
  deprecated: not yet
  version: v1.30.9
  image: 2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5b19
  upgradesFrom: [topology]
  allowedNodeClasses:
    default: { scaleToZero: true, machine: { worker: default-worker, variables: { flavor: m2.small } } }
---
metadata: { name: chart }
data:
  backend: caas
  backendRef: { clusterTemplate: hypershift-aws, versionParameter: version }
  allowedTenants: ["*"]
  version: 4.20.3
  parameters: { instanceType: { enum: [m5.large, m5.xlarge], required: true, description: size of the machines } }
---
metadata: { name: order }
data:
  backend: osac
  backendRef: { templateID: osac.templates.small }
  allowedTenants: ["*"]
  allowedNodeClasses: { metal: { machine: { resourceClass: fc430 } } }
---
metadata: { name: retired }
data:
  backend: osac
  backendRef: { templateID: osac.templates.small }
  enabled: false
  allowedTenants: ["*"]
---
metadata: { name: others }
data:
  backend: osac
  backendRef: { templateID: osac.templates.small }
  allowedTenants: [tenant-b]
---
metadata: { name: broken }
data:
  backend: osac
  backendRef: { templateID: "4.17" }
  version: 4.20.3
"#;

/// An entry of each backend, and some that cannot be used.
pub fn template_catalogue() -> Vec<Value> {
    serde_saphyr::from_multiple(CATALOGUE).unwrap()
}

/// Another composite, older than that of the world, with a cluster by template or without one yet.
pub fn build_peer(name: &str, tenant: &str, status: &Value) -> Value {
    json!({
        "apiVersion": "ci.openshift.org/v1alpha1", "kind": "XTestPlatformCluster",
        "metadata": { "name": name, "uid": name, "creationTimestamp": "2026-11-21T09:00:00Z" },
        "spec": { "template": "hosted", "claimRef": { "name": name, "namespace": tenant } },
        "status": status,
    })
}

/// The status of a composite with a cluster that costs so much.
pub fn holding_status(cost: i64) -> Value {
    json!({ "phase": "Ready", "hub": { "name": "hub-1" }, "template": { "name": "hosted", "cost": cost } })
}

impl World {
    /// A claim for a cluster by template.
    pub fn with_template(template: &str) -> Self {
        Self { spec: json!({ "template": template }), templates: template_catalogue(), ..Self::default() }
    }

    /// A field of the catalogue's entry.
    pub fn catalogue_entry(&mut self, name: &str) -> &mut Value {
        let found = self.templates.iter_mut().find(|e| e["metadata"]["name"] == name);
        &mut found.unwrap()["data"]
    }

    /// The message of `RequestAccepted`.
    pub fn refusal_message(&self) -> &str {
        self.conditions["RequestAccepted"]["message"].as_str().unwrap()
    }
}
