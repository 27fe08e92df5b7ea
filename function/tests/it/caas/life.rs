//! From the claim to Ready, and what of it can change: nothing.

use function_model::{
    bundles::build_bundle,
    world::{NAME, World},
};
use rstest::rstest;
use serde_json::{Value, json};

use crate::caas::{asked, is, minutes};

#[test]
fn instance_has_all_values_of_the_catalogue() {
    let mut world = World::caas_claim();
    world.catalogue_entry("chart")["parameters"]["fips"] = json!({ "type": "boolean", "default": true });
    world.catalogue_entry("chart")["parameters"]["replicas"] =
        json!({ "type": "integer", "target": "monitoring/replicas" });
    world.catalogue_entry("chart")["parameters"]["note"] = json!({});
    world.spec["parameters"]["replicas"] = json!(2);
    world.spec["parameters"]["note"] = json!("a,region={{ url }}");
    world.pass();
    let manifest = asked(&world);
    assert_eq!(
        (&manifest["apiVersion"], &manifest["kind"]),
        (&json!("clustertemplate.openshift.io/v1alpha1"), &json!("ClusterTemplateInstance"))
    );
    assert_eq!(
        (&manifest["metadata"]["namespace"], &manifest["metadata"]["name"]),
        (&json!("clusters"), &json!(NAME))
    );
    assert!(manifest["metadata"]["annotations"]["clustertemplates.openshift.io/requester"].is_null());
    assert_eq!(
        manifest["spec"],
        json!({ "clusterTemplateRef": "hypershift-aws", "parameters": [
            { "name": "fips", "value": "true" },
            { "name": "instanceType", "value": "m5.large" },
            { "name": "note", "value": "a\\,region=\\{\\{ url }}" },
            { "name": "version", "value": "4.20.3" },
            { "name": "replicas", "value": "2", "clusterSetup": "monitoring" },
        ] })
    );
    let object = &world.objects["instance"].object;
    assert_eq!(object["metadata"]["name"], format!("managed-{NAME}"));
    assert_eq!(object["metadata"]["labels"]["testplatform.ci.openshift.org/component"], "instance");
    let cel = object["spec"]["readiness"]["celQuery"].as_str().unwrap();
    assert!(cel.contains("credentials-revision") && cel.contains("ClusterInstallSucceeded"), "{cel}");
    assert!(!world.objects.contains_key("hosted"), "nobody said that there is one");
}

#[test]
fn without_anything_to_say_there_are_no_parameters() {
    let mut world = World::caas_claim();
    world.catalogue_entry("chart")["backendRef"] = json!({ "clusterTemplate": "plain" });
    for member in ["parameters", "version"] {
        world.catalogue_entry("chart").as_object_mut().unwrap().remove(member);
    }
    world.spec = json!({ "template": "chart" });
    world.settle();
    assert_eq!(asked(&world)["spec"], json!({ "clusterTemplateRef": "plain" }));
}

#[test]
fn ready_is_ready_with_its_credentials() {
    let mut world = World::caas_claim();
    world.settle();
    assert_eq!(world.phase(), "Pending", "nobody looked at it");
    world.caas_installs();
    world.settle();
    assert_eq!(world.phase(), "Provisioning", "nothing is Ready without credentials");
    world.caas_publishes();
    world.settle();
    assert_eq!(world.phase(), "Ready");
    for (type_, reason) in [
        ("ClusterReady", "Ready"),
        ("InfrastructureReady", "Available"),
        ("ControlPlaneAvailable", "Available"),
        ("TemplateApplied", "NothingToApply"),
        ("SpecApplied", "UpToDate"),
    ] {
        assert_eq!(world.condition(type_), is("True", reason), "{type_}");
    }
    assert_eq!(world.condition("NodesReady"), is("Unknown", "NotReported"));
    assert_eq!(world.status["apiServerURL"], "https://api.demo.example:6443");
    assert!(world.status["nodes"].is_null() && world.status["version"].is_null(), "nobody tells");
    assert_eq!(world.status["versionDesired"], "4.20.3");
    assert_eq!(world.status["appliedGeneration"], json!(null), "the model counts none");
}

/// The HostedCluster of a chart is observed where the entry says so, by the uid in its name.
#[test]
fn hosted_cluster_adds_to_the_report_of_caas() {
    let mut world = World::chart_observed();
    world.catalogue_entry("chart")["backendRef"]["hostedClusterNamespace"] = json!("hosted");
    world.pass();
    assert!(!world.objects.contains_key("hosted"), "it has no name yet");
    world.settle();
    let object = &world.objects["hosted"].object;
    assert_eq!(
        object["spec"]["forProvider"]["manifest"],
        json!({
            "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster",
            "metadata": { "name": "remote-1", "namespace": "hosted" },
        })
    );
    assert_eq!(object["spec"]["managementPolicies"], json!(["Observe"]));
    assert_eq!(object["spec"]["providerConfigRef"]["name"], "hub-1");

    world.report_caas("ClusterInstalling", "Cluster is installing", &[]);
    world.argo_makes();
    world.report_hosted_cluster("Available", "False", "Waiting", "");
    world.report_hosted_cluster("InfrastructureReady", "False", "Waiting", "waiting for the load balancer");
    world.settle();
    assert_eq!(world.status["progress"]["step"], "Infrastructure");
    assert!(world.status["progress"]["message"].as_str().unwrap().contains("load balancer"));
    world.caas_installs();
    world.caas_publishes();
    world.settle();
    assert_eq!(world.phase(), "Ready");
    assert_eq!(world.status["version"], "4.20.3");
    assert_eq!(world.status["consoleURL"], "https://console-openshift-console.apps.remote-1.hub.example");
}

/// CaaS says Ready as soon as its provider object did; the truth is that one.
#[test]
fn ready_waits_for_the_hosted_cluster() {
    let mut world = World::chart_observed();
    world.settle();
    world.caas_installs();
    world.caas_publishes();
    world.report_hosted_cluster("Available", "False", "Waiting", "etcd");
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    assert_eq!(world.condition("ControlPlaneAvailable"), is("False", "Creating"));
    world.report_hosted_cluster("Available", "True", "AsExpected", "");
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

#[rstest]
#[case("parameters", json!({ "instanceType": "m5.xlarge" }), "spec.parameters.instanceType")]
#[case("version", json!("4.21"), "spec.version")]
#[case("template", json!("chart-next"), "spec.template")]
fn chart_cluster_is_immutable(#[case] field: &str, #[case] value: Value, #[case] path: &str) {
    let mut world = World::chart_ready();
    let releases = json!([{ "version": "4.20.3" }, { "version": "4.21.0" }]);
    world.catalogue_entry("chart").as_object_mut().unwrap().remove("version");
    world.catalogue_entry("chart")["releases"] = releases;
    let mut next = world.templates.iter().find(|e| e["metadata"]["name"] == "chart").unwrap().clone();
    next["metadata"]["name"] = json!("chart-next");
    world.templates.push(next);
    let before = asked(&world)["spec"].clone();
    world.spec[field] = value;
    world.settle();
    assert_eq!(asked(&world)["spec"], before);
    assert_eq!(world.condition("SpecApplied"), is("False", "Immutable"));
    assert!(
        world.condition_message("SpecApplied").contains(path),
        "{}",
        world.condition_message("SpecApplied")
    );
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
}

/// Unset fields keep their values, and a changed catalogue affects new clusters alone.
#[test]
fn a_catalogue_that_changes_changes_no_cluster() {
    for change in [
        |w: &mut World| w.templates.clear(),
        |w: &mut World| w.catalogue_entry("chart")["backendRef"]["clusterTemplate"] = json!("other"),
        |w: &mut World| w.catalogue_entry("chart")["backendRef"]["versionParameter"] = json!("release"),
        |w: &mut World| w.catalogue_entry("chart")["parameters"]["more"] = json!({ "default": "x" }),
        |w: &mut World| w.catalogue_entry("chart")["observes"] = json!(null),
        |w: &mut World| w.environment = None,
        |w: &mut World| w.hubs = None,
    ] {
        let mut world = World::chart_observed_ready();
        let before = asked(&world)["spec"].clone();
        change(&mut world);
        world.settle();
        assert_eq!(asked(&world)["spec"], before);
        assert!(world.objects.contains_key("hosted"), "what is looked at stays looked at");
        assert_eq!(world.phase(), "Ready");
    }
}

/// By a quota that an administrator can lift, or by a template that is missing: it is asked for again and again, until its time is over.
#[rstest]
#[case(
    "admission webhook \"v.kb.io\" denied the request: failed quota: maximum cluster instances reached",
    "failed quota"
)]
#[case("admission webhook \"m.kb.io\" denied the request: cluster template 'x' not found", "not found")]
fn refusal_of_the_webhook_is_waited_for(#[case] words: &str, #[case] part: &str) {
    let mut world = World::caas_claim();
    world.refuses = Some(words.to_owned());
    world.settle();
    assert_eq!(world.phase(), "Pending");
    assert!(world.status["message"].as_str().unwrap().contains(part), "{}", world.status["message"]);
    world.refuses = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Pending", 1));
    let mut world = World::caas_claim();
    world.refuses = Some(words.to_owned());
    world.settle();
    world.advance_time(minutes(300));
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 0));
}

/// The chart's set-up comes first, and the entry's bundles after it.
#[test]
fn bundles_follow_the_setup_of_the_chart() {
    let mut world = World::caas_claim();
    world.catalogue_entry("chart")["postInstall"] = json!([build_bundle("base", &json!({}))]);
    world.settle();
    assert_eq!(world.requested_bundles().cluster.kind, "ClusterTemplateInstance");
    world.caas_installs();
    world.caas_publishes();
    world.settle();
    assert_eq!(world.condition("TemplateApplied"), ("False".into(), "Running".into()));
    assert_eq!(world.condition("ClusterReady"), ("False".into(), "SettingUp".into()));
    world.bundles_applied();
    world.settle();
    assert_eq!(world.condition("TemplateApplied"), ("True".into(), "Applied".into()));
    assert_eq!(world.phase(), "Ready");
}
