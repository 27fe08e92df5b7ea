//! Requests for a template: refused in words that name the field.

use function_model::{hypershift::build_hub, world::World};
use serde_json::json;
use testplatform_apis::condition::Request;

use crate::tables::Change;

/// A change of a good claim for a template, `RequestAccepted`'s reason, and parts of its message. All of them wait: a claim of which
/// nothing was made can be edited, and a catalogue too.
pub const REQUESTS: &[(Change, Request, &[&str])] = &[
    // The hub.
    (|_| {}, Request::HubsNotRead, &["the hubs were not read yet"]),
    (|w| w.hubs = Some(vec![]), Request::NoHubMatches, &["no hub matches this claim"]),
    (
        |w| {
            w.hubs = Some(vec![build_hub("hub-1")]);
            w.spec["hub"] = json!({ "name": "hub-2" });
        },
        Request::PinnedHubMissing,
        &["there is no hub hub-2, which spec.hub.name asks for"],
    ),
    (
        |w| {
            w.hubs = Some(vec![build_hub("hub-1")]);
            w.spec["hub"] = json!({ "selector": { "matchLabels": { "region": "moon" } } });
        },
        Request::NoHubMatches,
        &["hub-1: it has no label region=moon"],
    ),
    (
        |w| w.hubs = Some(vec![annotated("tenants-deny", "tenant-a")]),
        Request::TenantNotAllowed,
        &["hub-1: it is not offered to this namespace"],
    ),
    (
        |w| w.hubs = Some(vec![annotated("versions", "4.19")]),
        Request::VersionUnsupported,
        &["hub-1: it cannot create version 4.20.3"],
    ),
    (
        |w| w.hubs = Some(vec![annotated("max-clusters", "0")]),
        Request::NoCapacity,
        &["hub-1: it has 0 of at most 0 clusters"],
    ),
    (
        |w| {
            w.hubs = Some(vec![build_hub("hub-1")]);
            w.catalogue_entry("hosted")["namespace"] = json!("n".repeat(60));
        },
        Request::NoHubMatches,
        &["is too long for a cluster"],
    ),
    (
        |w| {
            w.hubs = Some(vec![build_hub("hub-1")]);
            w.spec = json!({ "template": "chart", "parameters": { "instanceType": "m5.large" } });
        },
        Request::NoHubMatches,
        &["hub-1: it creates no clusters with caas"],
    ),
    (|w| w.environment = None, Request::EnvironmentConfigMissing, &["EnvironmentConfig envcfg"]),
    // The entry.
    (
        |w| w.spec["template"] = json!("hosted-4-99"),
        Request::TemplateNotFound,
        &[
            "there is no template hosted-4-99; set spec.template to one of: ",
            "hosted (Hosted on the hub), hosted-next, order, topology",
        ],
    ),
    (
        |w| w.templates = vec![],
        Request::TemplateNotFound,
        &["there is no template hosted; the catalogue has no templates; ask the platform team for one"],
    ),
    (
        |w| w.templates.retain(|entry| entry["metadata"]["name"] == "others"),
        Request::TemplateNotFound,
        &["there is no template hosted; no template is offered to this namespace; ask the platform team"],
    ),
    (
        |w| w.spec["template"] = json!("retired"),
        Request::TemplateNotFound,
        &["template retired is switched off; set"],
    ),
    (
        |w| w.spec["template"] = json!("others"),
        Request::TemplateNotAllowed,
        &["template others is not offered to namespace tenant-a; set spec.template to one of: chart"],
    ),
    (
        |w| w.spec["template"] = json!("broken"),
        Request::CatalogueInvalid,
        &[
            "template broken cannot be used: data.",
            "data.backendRef.templateID: is not a name",
            "data.image: is missing",
        ],
    ),
    // The version.
    (
        |w| w.spec["version"] = json!("4.19"),
        Request::VersionUnsupported,
        &["spec.version is not offered by the template; set one of: 4.22.0, 4.21.0, 4.20.9, 4.20.3;"],
    ),
    (
        |w| w.spec = json!({ "template": "order", "version": "4.20" }),
        Request::VersionUnsupported,
        &["has its own"],
    ),
    (
        |w| w.spec["releaseImage"] = json!("quay.io/other/x:1"),
        Request::VersionUnsupported,
        &["spec.releaseImage must begin with one of: quay.io/dev/"],
    ),
    (|w| w.spec["releaseImage"] = json!("quay.io/dev/x"), Request::VersionUnsupported, &["tag or a digest"]),
    (
        |w| w.spec = json!({ "template": "order", "releaseImage": "quay.io/x:1" }),
        Request::VersionUnsupported,
        &["the template does not allow it"],
    ),
    (
        |w| w.spec = json!({ "template": "topology", "releaseImage": "quay.io/x:1" }),
        Request::FieldRefused,
        &["spec.releaseImage cannot be set: cluster-api does not accept any"],
    ),
    // Parameters.
    (
        |w| w.spec["parameters"] = json!({ "fipps": true }),
        Request::InvalidParameter,
        &[
            "spec.parameters.fipps is not a parameter of this template; it has channel, fips, proxy, replicas, sshKey",
        ],
    ),
    (
        |w| w.spec["parameters"] = json!({ "fips": "yes" }),
        Request::InvalidParameter,
        &["spec.parameters.fips must be true or false"],
    ),
    (
        |w| w.spec["parameters"] = json!({ "channel": "slow" }),
        Request::InvalidParameter,
        &["must be one of \"stable\", \"fast\""],
    ),
    (
        |w| w.spec["parameters"] = json!({ "proxy": "ftp://x" }),
        Request::InvalidParameter,
        &["spec.parameters.proxy must match ^https?://"],
    ),
    (|w| w.spec["parameters"] = json!({ "replicas": 4 }), Request::InvalidParameter, &["must be at most 3"]),
    (
        |w| w.spec["parameters"] = json!({ "sshKey": "hunter 2" }),
        Request::InvalidParameter,
        &["not a secret"],
    ),
    (
        |w| w.spec["template"] = json!("chart"),
        Request::InvalidParameter,
        &["spec.parameters.instanceType is required: size of the machines"],
    ),
    (
        |w| w.spec["parameters"] = json!({ "proxy": "x".repeat(40_000) }),
        Request::InvalidParameter,
        &["spec.parameters is larger than 32 KiB"],
    ),
    // Node groups.
    (
        |w| groups(w, &json!({ "name": "Not A Name" })),
        Request::InvalidNodeGroups,
        &["spec.nodeGroups[0].name is not a DNS label"],
    ),
    (
        |w| groups(w, &json!({ "class": "huge" })),
        Request::InvalidNodeGroups,
        &["spec.nodeGroups[0].class must be one of large, small"],
    ),
    (
        |w| groups(w, &json!({ "count": 11 })),
        Request::InvalidNodeGroups,
        &["may have 11 nodes in total; at most 10"],
    ),
    (
        |w| w.spec["nodeGroups"] = json!([]),
        Request::InvalidNodeGroups,
        &["has 0 nodes in total and needs at least 1"],
    ),
    (
        |w| groups(w, &json!({ "count": null, "autoscale": { "min": 0, "max": 3 } })),
        Request::InvalidNodeGroups,
        &["spec.nodeGroups[0].autoscale.min must be at least 1"],
    ),
    (
        |w| groups(w, &json!({ "labels": { "a b": "c" } })),
        Request::InvalidNodeGroups,
        &["spec.nodeGroups[0].labels"],
    ),
    (
        |w| groups(w, &json!({ "taints": [{ "key": "a", "value": "b c", "effect": "NoSchedule" }] })),
        Request::InvalidNodeGroups,
        &["spec.nodeGroups[0].taints"],
    ),
    (
        |w| groups(w, &json!({ "parameters": { "drain": "soon" } })),
        Request::InvalidNodeGroups,
        &["spec.nodeGroups[0].parameters.drain must match"],
    ),
    (
        |w| {
            groups(w, &json!({}));
            let twice = w.spec["nodeGroups"][0].clone();
            w.spec["nodeGroups"].as_array_mut().unwrap().push(twice);
        },
        Request::InvalidNodeGroups,
        &["spec.nodeGroups[1].name is already used"],
    ),
    (
        |w| {
            w.spec =
                json!({ "template": "order", "nodeGroups": [{ "name": "a", "class": "metal", "count": 0 }] });
        },
        Request::InvalidNodeGroups,
        &["count must be at least 1: osac"],
    ),
    (
        |w| w.spec = json!({ "template": "order", "nodeGroups": [] }),
        Request::InvalidNodeGroups,
        &["spec.nodeGroups must have a group: osac"],
    ),
    // A field that a backend does not support is refused by its name.
    (
        |w| groups(w, &json!({ "failureDomain": "z" })),
        Request::FieldRefused,
        &["spec.nodeGroups[0].failureDomain cannot be requested: hypershift"],
    ),
    (
        |w| {
            w.spec = json!({ "template": "topology", "nodeGroups": [{
                "name": "a", "class": "default", "count": 1, "arch": "arm64",
                "taints": [{ "key": "a", "effect": "NoExecute" }],
            }] });
        },
        Request::FieldRefused,
        &["spec.nodeGroups[0].arch cannot", "spec.nodeGroups[0].taints cannot"],
    ),
    (
        |w| {
            w.spec = json!({ "template": "order", "nodeGroups": [{
                "name": "a", "class": "metal", "autoscale": { "min": 1, "max": 2 }, "labels": { "a": "b" },
            }], "controlPlane": { "replicas": 3 } });
        },
        Request::FieldRefused,
        &[
            "autoscale cannot",
            "labels cannot",
            "spec.controlPlane.replicas cannot be chosen: osac has its own",
        ],
    ),
    (
        |w| {
            w.spec = json!({ "template": "chart", "parameters": { "instanceType": "m5.large" }, "nodeGroups": [] });
        },
        Request::FieldRefused,
        &["spec.nodeGroups cannot be set: the nodes of a cluster of caas are set by its parameters"],
    ),
    (
        |w| w.spec["controlPlane"] = json!({ "replicas": 5 }),
        Request::FieldRefused,
        &["spec.controlPlane.replicas must be one of 1, 3"],
    ),
    (
        |w| w.spec["controlPlane"] = json!({ "class": "large" }),
        Request::FieldRefused,
        &["no classes of control planes"],
    ),
    (
        |w| w.spec = json!({ "template": "topology", "controlPlane": { "class": "small" } }),
        Request::FieldRefused,
        &["spec.controlPlane.class must be one of large"],
    ),
    (
        |w| w.spec["network"] = json!({ "podCIDR": "10.0.0.1/14" }),
        Request::FieldRefused,
        &["spec.network.podCIDR has host bits set"],
    ),
    (
        |w| w.spec["network"] = json!({ "podCIDR": "pods" }),
        Request::FieldRefused,
        &["not a block of addresses"],
    ),
    (
        |w| w.spec["network"] = json!({ "podCIDR": "10.132.0.0/14", "serviceCIDR": "10.133.0.0/16" }),
        Request::FieldRefused,
        &["spec.network.serviceCIDR overlaps with podCIDR"],
    ),
    (
        |w| w.spec["network"] = json!({ "machineCIDR": "10.0.0.0/24" }),
        Request::FieldRefused,
        &["spec.network.machineCIDR cannot be set"],
    ),
    (
        |w| w.spec["network"] = json!({ "dnsNameservers": ["10.0.0.1"] }),
        Request::FieldRefused,
        &["dnsNameservers cannot be set"],
    ),
    (
        |w| w.spec = json!({ "template": "topology", "network": { "external": { "networkID": "public" }, "internal": { "subnetID": "x" } } }),
        Request::FieldRefused,
        &["spec.network.internal.subnetID cannot be set", "spec.network.external.networkID is not a UUID"],
    ),
    // The cluster's prerequisites, without any report.
    (
        |w| *w = World::with_prerequisites(),
        Request::PlatformCredentialsNotReady,
        &["demo-x7k2p-cloud-credential", "clusters.cloudCredentials in its configuration must be on"],
    ),
    (
        |w| {
            *w = World::with_prerequisites();
            w.catalogue_entry("topology")["backendRef"].as_object_mut().unwrap().remove("cloudCredential");
        },
        Request::PrerequisitesNotReady,
        &["demo-x7k2p-prerequisites", "clusters.prerequisites in its configuration must be on"],
    ),
    // The quota, which comes before whether anybody makes it.
    (
        |w| w.catalogue = Some(json!({ "quotas": [{ "tenant": "*", "maxConcurrent": 0 }] })),
        Request::QuotaExceeded,
        &["namespace tenant-a has used its quota of 0 clusters at a time"],
    ),
    (
        |w| w.catalogue = Some(json!({ "quotas": [{ "tenant": "*", "budget": 1 }] })),
        Request::QuotaExceeded,
        &["a matching cluster costs 2, and namespace tenant-a has a budget of 1"],
    ),
    (
        |w| w.catalogue = Some(json!({ "quotas": [{ "tenant": "tenant-a", "budget": "much" }] })),
        Request::CatalogueInvalid,
        &["the quota of this namespace cannot be read"],
    ),
    (
        |w| w.catalogue = Some(json!({ "quotas": 5 })),
        Request::CatalogueInvalid,
        &["data.quotas is not a list"],
    ),
];

/// A hub with an annotation of ours.
fn annotated(key: &str, value: &str) -> serde_json::Value {
    let mut hub = build_hub("hub-1");
    hub["metadata"]["annotations"][format!("testplatform.ci.openshift.org/{key}")] = json!(value);
    hub
}

/// One node group with something different.
fn groups(world: &mut World, change: &serde_json::Value) {
    let mut group = json!({ "name": "workers", "class": "small", "count": 1 });
    group.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    world.spec["nodeGroups"] = json!([group]);
}

#[test]
fn every_refusal_of_a_template_claim_names_the_field() {
    for (i, (change, reason, parts)) in REQUESTS.iter().enumerate() {
        let mut world = World::with_template("hosted");
        change(&mut world);
        world.settle();
        let shown = &world.conditions["RequestAccepted"];
        assert_eq!(
            (world.phase().as_str(), &shown["reason"]),
            ("Pending", &json!(reason.as_str())),
            "case {i}: {shown}"
        );
        assert_eq!(shown["status"], "False");
        for part in *parts {
            assert!(world.refusal_message().contains(part), "case {i}: {part:?} is not in {shown}");
        }
    }
}

/// A claim of the wrong shape is Failed, as in every block: an API server would have refused it.
#[test]
fn claim_that_no_api_server_admits_is_failed() {
    for (field, value, part) in [
        ("template", json!({ "name": "hosted" }), "spec.template: must be a string"),
        ("parameters", json!([]), "spec.parameters: "),
        ("version", json!(4.2), "spec.version: expected a string"),
        ("nodeGroups", json!([{ "name": "a" }]), "spec.nodeGroups[0]: missing field `class`"),
        ("nodeGroups", json!([{ "name": "a", "class": "small", "colour": 1 }]), "spec.nodeGroups[0]"),
        ("nodeGroups", json!([{ "name": "a", "class": "small" }]), "either count or autoscale"),
        (
            "nodeGroups",
            json!([{ "name": "a", "class": "small", "autoscale": { "min": 2, "max": 1 } }]),
            "must not be above",
        ),
        ("controlPlane", json!({ "replicas": "three" }), "spec.controlPlane.replicas: "),
        ("network", json!("none"), "spec.network: "),
        ("hub", json!({ "colour": "blue" }), "spec.hub"),
        ("timeouts", json!({ "provision": "5s" }), "spec.timeouts.provision: timeouts must be durations"),
    ] {
        let mut world = World::with_template("hosted");
        world.spec[field] = value;
        world.settle();
        let shown = &world.conditions["RequestAccepted"];
        assert_eq!(
            (world.phase().as_str(), &shown["reason"]),
            ("Failed", &json!("InvalidClaim")),
            "{field}: {shown}"
        );
        assert!(world.refusal_message().contains(part), "{part:?} is not in {shown}");
    }
    let mut world = World::with_template("hosted");
    world.spec = json!({ "template": 7, "version": 4.2, "releaseImage": "x", "network": [[]], "timeouts": { "teardown": "1s" } });
    world.settle();
    for part in ["spec.template: ", "spec.version: ", "spec.network: ", "spec.timeouts.teardown: "] {
        assert!(world.refusal_message().contains(part), "{part} is not in {}", world.refusal_message());
    }
}
